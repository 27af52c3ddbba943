"""Four ways to learn the tickets, from the same constraints or from all labels, judged on the same test tickets."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score, f1_score

from tiltfit.data.inputs import TextInputs
from tiltfit.demo.tickets import Tickets
from tiltfit.estimators.classifier import TiltClassifier
from tiltfit.language.condition import Condition
from tiltfit.language.conditions import word
from tiltfit.language.constraint import ConstraintSet
from tiltfit.language.expect import expect


@dataclass(frozen=True)
class Contestant:
    """A way to learn; ``learn`` gives something that predicts, and looks at labels only if ``uses_labels``."""

    key: str
    name: str
    uses_labels: bool
    learn: Callable[[Tickets, ConstraintSet], Any]


@dataclass(frozen=True, eq=False)
class Result:
    """The scores of a contestant on the test tickets; ``seconds`` are those of learning."""

    contestant: Contestant
    labels: int
    model: Any
    predicted: npt.NDArray[Any]
    accuracy: float
    macro_f1: float
    seconds: float


def compete(contestant: Contestant, train: Tickets, test: Tickets, constraints: ConstraintSet) -> Result:
    """Learn on ``train``, judge on ``test``."""
    start = time.perf_counter()
    model = contestant.learn(train, constraints)
    seconds = time.perf_counter() - start
    predicted = model.predict(test.texts)
    return Result(
        contestant,
        len(train) if contestant.uses_labels else 0,
        model,
        predicted,
        float(accuracy_score(test.labels, predicted)),
        float(f1_score(test.labels, predicted, average="macro")),
        seconds,
    )


def compile_kernels() -> None:
    """Fit something tiny, so that compilation does not count as learning time."""
    said = [expect("a", given=word("x")).about(0.9), expect("b").at_least(0.4)]
    TiltClassifier(said, classes=["a", "b"]).fit(["x", "y", "x z"]).predict(["x"])


class Mentioned(BaseEstimator):  # type: ignore[misc]
    """A vectorizer that sees only whether each word, phrase or pattern of the constraints occurs in a text."""

    def __init__(self, constraints: ConstraintSet) -> None:
        self.constraints = constraints

    def fit_transform(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        return self.transform(texts)

    def transform(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        inputs = TextInputs(texts)
        return np.column_stack([leaf.fires(inputs) for leaf in self._leaves()]).astype(np.float64)

    def get_feature_names_out(self) -> list[str]:
        return [repr(leaf) for leaf in self._leaves()]

    def _leaves(self) -> list[Condition]:
        stated = [c.given for c in self.constraints if c.given is not None]
        return list(dict.fromkeys(leaf for condition in stated for leaf in condition.leaves))


def _tilt(train: Tickets, constraints: ConstraintSet) -> TiltClassifier:
    return TiltClassifier(constraints).fit(train.texts)


def _vote(train: Tickets, constraints: ConstraintSet) -> TiltClassifier:
    """Fit to the rows that a majority vote labels; rows without a vote are left out."""
    return TiltClassifier(constraints, method="vote").fit(train.texts)


def _tilt_mentioned(train: Tickets, constraints: ConstraintSet) -> TiltClassifier:
    return TiltClassifier(constraints, vectorizer=Mentioned(constraints)).fit(train.texts)


def _supervised(train: Tickets, constraints: ConstraintSet) -> TiltClassifier:
    return TiltClassifier(classes=constraints.classes).fit(train.texts, train.labels)


CONTESTANTS = (
    Contestant("constraints", "constraints, no labels", False, _tilt),
    Contestant("majority_vote", "majority vote, then regression", False, _vote),
    Contestant("mentioned_only", "constraints, their own words only", False, _tilt_mentioned),
    Contestant("supervised", "all labels (supervised)", True, _supervised),
)
