"""How long vectors of tokens should be beside their attributes: ``python -m experiments.token_meaning``.

Entities of laptop and ncbi, without labels (sources at 0.9, O at 0.97 where none speaks) and from 50 and 25 labelled
sequences without statements (three draws), scored by entity F1 on the *validation* parts; and the references of the
demo, by its statements alone (three draws, token accuracy). Writes the table of ``docs/howto/embeddings.md``. Needs
TILTFIT_DATA and ``pip install 'tiltfit[embeddings]'``; takes about five minutes.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from experiments.command import write_between
from experiments.defaults.tasks import demo, entity_f1
from experiments.entities import entities
from tiltfit import TiltTagger
from tiltfit.estimators import token_vectors
from tiltfit.features.tokens import TokenTemplates
from tiltfit.features.vectors import STATIC

PAGE = Path(__file__).resolve().parents[1] / "docs" / "howto" / "embeddings.md"
LENGTHS = (1.0, 2.0, 4.0, 8.0)
LABELLED = {"laptop": 50, "ncbi": 25}
DRAWS = (0, 1, 2)

Run = Callable[[Any], tuple[float, float]]
"""The score and the seconds of a fit with ``features=``."""


def by_sources(name: str) -> Run:
    """Without a label."""
    train, valid = entities(name, "train"), entities(name, "valid")

    def run(features: Any) -> tuple[float, float]:
        tagger = TiltTagger(train.constraints(), classes=train.classes, features=features)
        begun = time.perf_counter()
        tagger.fit(train.X)
        return entity_f1(valid.tags, tagger.predict(valid.X)), time.perf_counter() - begun

    return run


def by_labels(name: str) -> Run:
    """From a few labelled sequences, without statements: the mean of the draws."""
    train, valid = entities(name, "train"), entities(name, "valid")

    def run(features: Any) -> tuple[float, float]:
        scores, begun = [], time.perf_counter()
        for draw in DRAWS:
            few = train.take(np.random.default_rng(draw).permutation(len(train.tags))[: LABELLED[name]])
            tagger = TiltTagger(classes=train.classes, features=features).fit(few.X, few.tags)
            scores.append(entity_f1(valid.tags, tagger.predict(valid.X)))
        return float(np.mean(scores)), (time.perf_counter() - begun) / len(DRAWS)

    return run


def references(features: Any) -> tuple[float, float]:
    """The demo's statements alone: the mean of the draws."""
    scores, begun = [], time.perf_counter()
    for draw in DRAWS:
        job = demo(100, 100, draw, "all")
        tagger = TiltTagger(job.constraints, classes=job.classes, features=features).fit(job.X)
        scores.append(job.score(job.truth, tagger.predict(job.judged)))
    return float(np.mean(scores)), (time.perf_counter() - begun) / len(DRAWS)


def table() -> str:
    """Scores in percent, and seconds of the fits without labels, as Markdown."""
    runs: dict[str, Run] = {}
    for name, n in LABELLED.items():
        runs[f"{name}, no labels"], runs[f"{name}, {n} labelled"] = by_sources(name), by_labels(name)
    runs["references, no labels"] = references
    tried: dict[str, tuple[Any, float]] = {"attributes alone (default)": (None, 1.0)}
    beside = TokenTemplates(vectors=STATIC)
    tried |= {f"attributes, and vectors of length {length:g}": (beside, length) for length in LENGTHS}
    tried["vectors alone"] = (TokenTemplates.only(vectors=STATIC), token_vectors.LENGTH)
    lines = [f"| | {' | '.join(runs)} | seconds, ncbi |", f"|---|{'---:|' * (len(runs) + 1)}"]
    for title, (features, length) in tried.items():
        with mock.patch.object(token_vectors, "LENGTH", length), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # vectors alone need not meet what is stated
            found = {name: run(features) for name, run in runs.items()}
        cells = [f"{100 * score:.1f}" for score, _ in found.values()]
        lines.append(f"| {title} | {' | '.join(cells)} | {found['ncbi, no labels'][1]:.0f} |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


def main() -> int:
    return write_between(PAGE, "python -m experiments.token_meaning", table())


if __name__ == "__main__":
    sys.exit(main())
