"""How vectors of meaning should stand beside words: ``python -m experiments.meaning``.

Statements at 0.9, no labels: rules on trec, youtube and sms, labelled words on movie. Fitted on training parts, scored
on trec's *validation* part and, of the others, on texts held out from the training part; test parts are not read. The
criterion, fixed before: the best mean over collections among what is nowhere more than a point below words. Of every
encoder the best way is the default (``tiltfit.features.meaning``).

Writes the table of ``docs/howto/embeddings.md``. Needs TILTFIT_DATA and ``pip install
'tiltfit[embeddings,sentences]'``; takes five minutes, most of it in the sentence encoder.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any
from unittest import mock

import numpy as np
from benchmarks.page import table
from sklearn.model_selection import train_test_split

from experiments.believe.cells import RULES, Given
from experiments.command import write_between
from experiments.defaults.tasks import macro_f1
from experiments.development import development_split
from experiments.rules import voted_texts
from tiltfit import TiltClassifier
from tiltfit.estimators import pooling
from tiltfit.features.meaning import MEANINGS
from tiltfit.features.text import WORDS_AND_MEANING
from tiltfit.features.vectors import ENCODERS, SENTENCES, STATIC, Encoder, named_encoder, register_encoder

PAGE = Path(__file__).resolve().parents[1] / "docs" / "howto" / "embeddings.md"
VALID = "valid"
PARTS = (("trec", VALID), ("youtube", 0), ("sms", 0), ("movie", 0))
"""``VALID``: learned from the training part. A number: the seed of the third of it that is held out."""


@dataclass(frozen=True)
class Way:
    """``encoder`` beside words, of this length; ``power``: that of κ, if they are fitted apart. Without a length: the
    vectors alone. Without an encoder: the words alone."""

    encoder: str = ""
    length: float = 0.0
    power: float | None = None

    @property
    def title(self) -> str:
        if not self.encoder:
            return "words alone (`auto`)"
        if not self.length:
            return f"{self.encoder}, alone"
        if self.power is None:
            return f"words and {self.encoder} of length {self.length:g}, one fit"
        return f"words and {self.encoder}, apart, " + ("equal say" if not self.power else f"say ∝ κ^{self.power:g}")

    def score(self, given: Given, of: str) -> float:
        """In percent, as usual for the collection."""
        options: dict[str, Any] = {"classes": given.classes, "n_jobs": 1, "vectorizer": "auto"}
        if self.encoder and not self.length:
            options["vectorizer"] = named_encoder(self.encoder)
        elif self.encoder:
            options["vectorizer"] = WORDS_AND_MEANING
        meaning = {WORDS_AND_MEANING: (self.encoder, self.length, self.power is not None)}
        with (
            mock.patch.dict(MEANINGS, meaning),
            mock.patch.object(pooling, "POWER", self.power),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")  # statements that are not quite met
            clf = TiltClassifier(given.constraints, **options).fit(given.texts)
        return 100 * RULES.get(of, macro_f1)(given.truth, clf.predict(given.judged))


WORDS = Way()
WAYS = (
    WORDS,
    Way(STATIC),
    Way(STATIC, 5.0),
    Way(STATIC, 10.0),
    Way(STATIC, 10.0, 2.0),
    Way(SENTENCES),
    Way(SENTENCES, 5.0),
    Way(SENTENCES, 10.0),
    *(Way(SENTENCES, 10.0, power) for power in (0.0, 1.0, 2.0, 4.0)),
)


@dataclass(eq=False)
class Remembered:
    """An encoder that reads every text once."""

    encoder: Encoder
    known: dict[str, Any] = field(default_factory=dict)

    def encode(self, texts: Sequence[str]) -> Any:
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        if new:
            self.known |= dict(zip(new, self.encoder.encode(new), strict=True))
        return np.array([self.known[text] for text in texts])


@cache
def load(name: str, part: str | int) -> Given:
    """What to learn from, and what to judge by."""
    if name not in RULES:
        split = development_split(name, int(part))
        return Given(list(split.texts), split.labels, split.constraints, list(split.judged_texts), split.judged_labels)
    train = voted_texts(name, "train")
    judged = voted_texts(name, VALID)
    if part != VALID:
        rows = np.arange(len(train.texts))
        learned, aside = train_test_split(rows, test_size=0.3, random_state=int(part), stratify=train.labels)
        train, judged = train.take(learned), train.take(aside)
    return Given(list(train.texts), train.labels, train.constraints(), list(judged.texts), judged.labels)


def measured() -> dict[Way, dict[str, float]]:
    """Means over the parts of each collection."""
    found: dict[Way, dict[str, list[float]]] = {way: {} for way in WAYS}
    for name, part in PARTS:
        given = load(name, part)
        for way in WAYS:
            score = way.score(given, name)
            found[way].setdefault(name, []).append(score)
            print(f"{name} {part}: {way.title}: {score:.1f}", file=sys.stderr, flush=True)
    return {way: {name: fmean(scores) for name, scores in by.items()} for way, by in found.items()}


def as_table(found: dict[Way, dict[str, float]]) -> str:
    """Markdown; the chosen way of each encoder is bold."""
    bold = {chosen(found, encoder) for encoder in (STATIC, SENTENCES)}
    names, rows = list(found[WORDS]), []
    for way, by in found.items():
        numbers = [f"{by[name]:.1f}" for name in names]
        least = min(by[name] - found[WORDS][name] for name in names)
        row = [way.title, *numbers, f"{fmean(by.values()):.1f}", f"{least:+.1f}"]
        rows.append([f"**{cell}**" for cell in row] if way in bold else row)
    return table(["", *names, "mean", "worst against words"], rows)


def chosen(found: dict[Way, dict[str, float]], encoder: str) -> Way:
    """By the criterion; words alone if nothing else meets it."""
    words = found[WORDS]
    meets = [w for w in found if w.encoder == encoder and all(found[w][name] >= words[name] - 1 for name in words)]
    return max(meets, key=lambda way: fmean(found[way].values()), default=WORDS)


def main() -> int:
    for name in (STATIC, SENTENCES):
        encoder = Remembered(named_encoder(name))
        ENCODERS.remove(name)
        register_encoder(name, lambda encoder=encoder: encoder)  # type: ignore[misc]
    named_encoder.cache_clear()
    return write_between(PAGE, "python -m experiments.meaning", as_table(measured()))


if __name__ == "__main__":
    sys.exit(main())
