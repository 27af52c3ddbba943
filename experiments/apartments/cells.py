"""One fit on the 200 texts, scored on labels that it did not see."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from experiments.apartments.data import WORDS, Look, ads, constraints, prototypes, unlabelled
from tiltfit import TiltTagger

SUPERVISED = "supervised"
ROUNDS = 60  # of alternation, at most
PAPER_ALPHA, PAPER_BETA = 1.0, 0.01


@dataclass(frozen=True)
class Cell:
    """``part``: whose labels score it. A development cell never opens the test part. Nothing in it is random.

    ``method``: of ``TiltTagger``; ``supervised`` learns from the labels of train, and from nothing else. ``hmm`` is AP
    with a hidden Markov model. ``stay_beta``: that of the constraint on transitions alone, if it is another one.
    ``after_words``: starts from the fit with words alone. ``size``: learns from so many texts only."""

    said: str = WORDS
    look: Look = field(default_factory=Look)
    method: str = "ap"
    alpha: float = PAPER_ALPHA
    beta: float = PAPER_BETA
    stay_beta: float | None = None
    solver: str = "auto"
    after_words: bool = False
    part: str = "dev"
    size: int = 0

    @property
    def key(self) -> str:
        stay = "" if self.stay_beta is None else f", stay β {self.stay_beta:g}"
        solver = "" if self.solver == "auto" else f", {self.solver}"
        start = ", after words" if self.after_words else ""
        how = f"α {self.alpha:g}, β {self.beta:g}{stay}{solver}{start}"
        size = f" | first {self.size}" if self.size else ""
        return f"{self.part} | {self.method} | {self.said} | {self.look} | {how}{size}"

    def measure(self) -> dict[str, Any]:
        """``accuracy``; of every ad how many tokens are ``right`` and how many there are; ``stay``: share of
        transitions between equal labels; ``shares`` of labels; processor ``seconds`` of ``fit``; ``rounds``."""
        scored = ads(self.part)
        tagger = self._tagger()
        X, y = self._learned_from()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # constraints that are not quite met: part of what is measured
            self._tagger().fit(X[:8], None if y is None else y[:8])  # compiles
            if self.after_words:
                tagger.init = replace(self, said=WORDS, after_words=False)._tagger().fit(X)
            started = time.process_time()
            tagger.fit(X, y)
        seconds = time.process_time() - started
        predicted = tagger.predict(scored.tokens)
        pairs = [np.asarray(a) == np.asarray(b) for a, b in zip(predicted, scored.labels, strict=True)]
        stays = [a == b for row in predicted for a, b in pairwise(row)]
        labels, counts = np.unique([label for row in predicted for label in row], return_counts=True)
        return {
            "accuracy": float(np.mean(np.concatenate(pairs))),
            "stay": float(np.mean(stays)),
            "seconds": seconds,
            "rounds": tagger.n_iter_,
            "right": [int(pair.sum()) for pair in pairs],
            "tokens": [len(pair) for pair in pairs],
            "shares": dict(zip(labels.tolist(), (counts / counts.sum()).round(4).tolist(), strict=True)),
        }

    def _tagger(self) -> TiltTagger:
        generates = self.method == "hmm"
        return TiltTagger(
            [] if self.method == SUPERVISED else constraints(self.said, self.stay_beta),
            classes=list(prototypes()),
            model="hmm" if generates else "crf",
            method="ap" if generates or self.method == SUPERVISED else self.method,
            features=None if generates else self.look.templates(),
            transitions=None if generates or self.look.punctuation else {"before": {}},
            solver=self.solver,
            max_iter=ROUNDS if self.solver == "alternating" else 500,
            alpha=self.alpha,
            beta=self.beta,
            n_jobs=1,
        )

    def _learned_from(self) -> tuple[list[list[str]], list[list[str]] | None]:
        if self.method == SUPERVISED:
            train = ads("train")
            return train.tokens, train.labels
        texts = unlabelled()
        return (texts[: self.size] if self.size else texts), None
