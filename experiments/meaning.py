"""How long vectors of meaning should be beside words: ``python -m experiments.meaning``.

Rules at 0.9 on trec and youtube; fitted on the training parts without labels, scored on the *validation* parts, which
the length is chosen by. Writes the table of ``docs/howto/embeddings.md``. Needs TILTFIT_DATA and
``pip install 'tiltfit[embeddings]'``; takes a minute.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.rules import voted_texts
from tiltfit import TiltClassifier
from tiltfit.features.meaning import WordsAndMeaning
from tiltfit.features.text import fit_bag_of_words
from tiltfit.features.vectors import STATIC, encode, named_encoder

PAGE = Path(__file__).resolve().parents[1] / "docs" / "howto" / "embeddings.md"
COLLECTIONS = ("trec", "youtube")
LENGTHS = (3.0, 5.0, 10.0, 20.0)


@dataclass
class Beside:
    """``words+meaning`` with vectors of another length."""

    length: float

    def fit_transform(self, texts: Sequence[str]) -> Any:
        dimensions = encode(named_encoder(STATIC), texts[:1]).shape[1]
        self.fitted = WordsAndMeaning(fit_bag_of_words(texts, "tfidf")[0], dimensions, length=self.length)
        return self.fitted.transform(texts)

    def transform(self, texts: Sequence[str]) -> Any:
        return self.fitted.transform(texts)


def table() -> str:
    """Accuracy on the validation parts, as Markdown."""
    tried: dict[str, Any] = {"words alone (`auto`)": "auto", "meaning alone, length 10": named_encoder(STATIC)}
    tried |= {f"words, and meaning of length {length:g}": Beside(length) for length in LENGTHS}
    parts = {name: (voted_texts(name, "train"), voted_texts(name, "valid")) for name in COLLECTIONS}
    sizes = [f"{name} ({len(valid.texts)} texts)" for name, (_, valid) in parts.items()]
    lines = [f"| | {' | '.join(sizes)} | mean |", f"|---|{'---:|' * (len(sizes) + 1)}"]
    for title, vectorizer in tried.items():
        scores = []
        for train, valid in parts.values():
            classes = sorted(set(train.labels.tolist()))
            clf = TiltClassifier(train.constraints(), classes=classes, vectorizer=vectorizer).fit(train.texts)
            scores.append(100 * clf.score(valid.texts, valid.labels))
        lines.append(f"| {title} | {' | '.join(f'{score:.1f}' for score in [*scores, np.mean(scores)])} |")
    return "\n".join(lines)


def main() -> int:
    page, found = PAGE.read_text(encoding="utf-8"), table()
    begin, end = "<!-- written by python -m experiments.meaning -->\n", "<!-- end -->"
    new, n = re.subn(f"(?s){begin}.*?{end}", lambda _: f"{begin}{found}\n{end}", page)
    if n != 1:
        print(f"{PAGE} has no place for the table.", file=sys.stderr)
        return 1
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
