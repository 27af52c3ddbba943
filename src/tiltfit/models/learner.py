"""The interface of a model that somebody else trains: a network, a booster, a classifier of another library.

    for learned, scores in learner.rounds(X, loss, settings):      s(x, y) of the rows that ``loss`` is about
        ...                                                        until the caller has had enough

``loss`` is Eq. 6 as a function of the scores (``methods.scored``): its gradient ω·(p − q) is all that a learner needs
to know of constraints. The caller looks at every round, reports it, and decides when to stop; a learner that knows how
many rounds it makes says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy.typing as npt
from scipy import sparse

from tiltfit.arrays import FloatArray, IntArray

Matrix = sparse.csr_array | FloatArray


@dataclass(frozen=True)
class Settings:
    """``alpha``, ``penalize_intercept``: the ridge, for learners that have none of their own. ``seed``: for all that is
    random. ``classes``: the labels, in the order of the columns of scores."""

    alpha: float
    penalize_intercept: bool
    seed: int
    classes: tuple[Any, ...]


class Loss(Protocol):
    """O as a function of the scores of some rows."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows × classes."""

    @property
    def omega(self) -> FloatArray:
        """The weight of every row: w if it is labelled, else γ·w."""

    def value_and_grad(self, scores: FloatArray) -> tuple[float, FloatArray]:
        """O, and ∂O/∂s = ω·(p − q)."""

    def hess(self, scores: FloatArray) -> FloatArray:
        """ω·p·(1 − p)."""

    def projected(self, scores: FloatArray) -> FloatArray:
        """q, one row each; of labelled rows the label."""

    def stated(self) -> FloatArray:
        """What constraints and labels say when nothing has been learned: q of a p that gives way to them."""


class Learned(Protocol):
    """What came out of a round. ``model``: the trained thing itself. ``penalty``: what it adds to the objective."""

    @property
    def model(self) -> Any: ...
    @property
    def penalty(self) -> float: ...

    def scores(self, X: Matrix) -> FloatArray:
        """s(x, y), rows × classes: finite, and up to a number for each row."""

    def dump(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Plain values and arrays that it can be made of again, or an UnsupportedError that says what to do instead."""


class Learner(Protocol):
    """``name``: what messages call it. ``ridge``: whether ``alpha`` is its ridge, else it has a strength of its own.
    ``n_rounds``: how many rounds it makes; None: as many as the objective falls for."""

    @property
    def name(self) -> str: ...
    @property
    def ridge(self) -> bool: ...
    @property
    def n_rounds(self) -> int | None: ...

    def rounds(self, X: Matrix, loss: Loss, settings: Settings) -> Iterator[tuple[Learned, FloatArray]]:
        """What it has learned after each round, and the scores that this gives the rows of X."""


@dataclass(frozen=True, eq=False)
class Lesson:
    """A learner, the features of all rows, and what it is told. ``among``: of some rows alone."""

    learner: Learner
    X: Matrix
    settings: Settings

    def among(self, rows: IntArray) -> Matrix:
        return self.X[rows]


Written = Mapping[str, Any]
