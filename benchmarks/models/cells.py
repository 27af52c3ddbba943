"""One cell: a contestant on a split. The sentence encoder reads a collection once, in a cell of its own."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from experiments.believe.cells import RULES, Given
from experiments.command import KEPT
from experiments.defaults.cells import calibration_error
from experiments.defaults.tasks import macro_f1

from benchmarks.memory import resident_growth
from benchmarks.models.contestants import CONTESTANTS, Contestant, Judged, Vectors
from benchmarks.models.splits import load
from tiltfit import TiltClassifier
from tiltfit.arrays import FloatArray
from tiltfit.demo.tickets import CONSTRAINTS, generate
from tiltfit.features.vectors import SENTENCES, encode, named_encoder

LEAST = 1e-12  # of a probability whose logarithm is taken


@dataclass(frozen=True)
class Encoded:
    """All texts of a collection by the sentence encoder: in a file, for the cells that need them."""

    name: str
    folder: Path = KEPT

    @property
    def key(self) -> str:
        return f"{self.name} | {SENTENCES}"

    def measure(self) -> dict[str, Any]:
        given = load(self.name, 0)
        texts = list(dict.fromkeys([*given.texts, *given.judged]))
        started = time.process_time()
        vectors = encode(named_encoder(SENTENCES), texts)
        seconds = time.process_time() - started
        self.folder.mkdir(parents=True, exist_ok=True)
        digests = np.array([_digest(text) for text in texts])
        np.savez(self.path, digests=digests, vectors=vectors.astype(np.float32))
        return {"seconds": seconds, "texts": len(texts)}

    @property
    def path(self) -> Path:
        return self.folder / f"models-{self.name}.npz"

    def vectors(self, given: Given) -> Vectors:
        if not self.path.is_file():
            self.measure()
        with np.load(self.path) as file:
            place = {digest: i for i, digest in enumerate(file["digests"].tolist())}
            table = file["vectors"].astype(np.float64)

        def of(texts: Sequence[str]) -> FloatArray:
            return np.asarray(table[[place[_digest(text)] for text in texts]])

        return Vectors(of(given.texts), of(given.judged))


@dataclass(frozen=True)
class Cell:
    """``title``: that of the contestant."""

    name: str
    split: int
    title: str
    folder: Path = KEPT

    @property
    def key(self) -> str:
        return f"{self.name} | {self.split} | {self.title}"

    @property
    def contestant(self) -> Contestant:
        return next(c for c in CONTESTANTS if c.title == self.title)

    def measure(self) -> dict[str, Any]:
        """``score`` as usual for the collection (accuracy; F1 of spam on sms; macro-F1 with labelled words),
        ``log_loss``, ``calibration`` error, processor ``seconds`` and bytes of ``memory`` of fit and prediction, and
        the ``objective`` that was reached."""
        given = load(self.name, self.split)
        vectors = Encoded(self.name, self.folder).vectors(given) if self.contestant.sentences else None
        _compile()
        found: list[Judged] = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # statements that are not quite met: part of what is measured
            started = time.process_time()
            memory = resident_growth(lambda: found.append(self.contestant.fit(given, vectors, self.split)))
            seconds = time.process_time() - started
        (judged,) = found
        return {
            **figures(self.name, given, judged),
            "seconds": seconds,
            "memory": memory,
            "objective": judged.objective,
        }


def figures(name: str, given: Given, judged: Judged) -> dict[str, float]:
    """How good probabilities are."""
    classes = np.asarray(judged.classes).tolist()
    best = np.asarray(judged.classes)[judged.p.argmax(axis=1)]
    column = np.array([classes.index(label) for label in given.truth.tolist()])
    true = judged.p[np.arange(len(column)), column]
    return {
        "score": RULES.get(name, macro_f1)(given.truth, best),
        "log_loss": float(-np.log(np.maximum(true, LEAST)).mean()),
        "calibration": calibration_error(judged.p.max(axis=1), best == given.truth),
    }


@cache
def _compile() -> None:
    """A fit to a few generated texts, so that compilation does not count."""
    from tiltfit import ConstraintSet

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        TiltClassifier(ConstraintSet.from_toml(CONSTRAINTS), n_jobs=1).fit(list(generate(300, 1).texts))


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]
