"""The rounds of a run as they happen, and which of them was the best on a development set (early stopping).

Solvers minimise Eq. 6, which knows nothing of the labels kept aside: where constraints are wrong, a round on the way
may be better than the minimum. After a round the journal scores its weights, keeps the best ones, and says when there
has been none better for too long.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.methods.history import Callback, Fit, Round
from tiltfit.methods.problem import Evaluation

STOPPED = "stopped by the callback"
_UNSETTLED = "Soften a hard constraint with slack=, or use inference='exact'."


@dataclass(frozen=True, eq=False)
class Development:
    """``score(weights)``: how good they are on the ``size`` labels kept aside; the higher, the better. ``patience``: so
    many scores in a row that are no better than those before, and it is over."""

    score: Callable[[FloatArray], float]
    patience: int
    size: int


@dataclass(frozen=True, eq=False)
class Best:
    """The last round that scored as high as any: of equals, the one with the lower objective."""

    round: int
    score: float
    weights: FloatArray


class Journal:
    """What one run has told so far. ``every``: only every so many rounds are scored.

    >>> journal = Journal(development=Development(score=lambda weights: -abs(weights[0] - 2), patience=2, size=1))
    >>> empty = Round(1, 9, *[0.0] * 6, evaluations=1)
    >>> [journal.add(replace(empty, round=k), np.array([float(k)])) for k in (1, 2, 3, 4)]
    [False, False, False, True]
    >>> journal.best.round, journal.reason
    (2, 'no better on the development set for 2 rounds')
    """

    def __init__(
        self, callback: Callback | None = None, development: Development | None = None, *, every: int = 1
    ) -> None:
        self.rounds: list[Round] = []
        self.best: Best | None = None
        self.reason: str | None = None
        self._callback, self._development, self._every = callback, development, every
        self._in_vain = 0  # scores since one was better than all before

    def begin(self, weights: FloatArray) -> None:
        """Score the start, round 0, if it has learned something already: a fit must not be worse than that."""
        if self._development is not None and np.any(weights):
            self.best = Best(0, float(self._development.score(weights)), weights.copy())

    def add(self, told: Round, weights: FloatArray) -> bool:
        """Note a round that ended at ``weights``; whether to stop, for the ``reason`` given then."""
        self.rounds.append(told)
        if self._development is not None and told.round % self._every == 0:
            self._score(self._development, weights)
        if self._callback is not None and self._callback(self.rounds[-1]):
            self.reason = STOPPED
        elif self._development is not None and self._in_vain >= self._development.patience:
            self.reason = f"no better on the development set for {self._development.patience} rounds"
        return self.reason is not None

    @property
    def is_enough(self) -> bool:
        """Whether it was the development set that stopped the run: then it has found what it looked for."""
        return self.reason is not None and self.reason != STOPPED

    def settle(self, weights: FloatArray) -> FloatArray:
        """The weights to keep of a run that ended at ``weights``: those of its best round, if rounds were scored."""
        if self._development is not None and self.rounds and self.rounds[-1].dev_score is None:
            self._score(self._development, weights)
        return weights if self.best is None else self.best.weights

    def finished(
        self,
        weights: FloatArray,
        final: Evaluation,
        converged: bool,
        message: str,
        *,
        learned_from: bool = True,
        advice: str | None = None,
    ) -> Fit:
        """The result at ``weights``; a last information projection that was not solved makes it unconverged, if that is
        what was learned from, and not for the report alone. ``advice``: for ``message`` (``Fit``)."""
        last = final.projection if learned_from else None
        if last is not None and last.sampling is not None and not last.converged:
            converged, message, advice = False, "the last information projection did not settle", _UNSETTLED
        elif last is not None and last.sampling is None and not _is_solved(final):
            converged, advice = False, None
            message = f"the last information projection was not solved (gap {last.gap:.2g})"
        if self.best is not None:
            message += f"; the weights are those of round {self.best.round}, the best on the development set"
        score = None if self.best is None else self.best.score
        return Fit(weights, final.projection, final.value, tuple(self.rounds), converged, message, score, advice)

    def _score(self, development: Development, weights: FloatArray) -> None:
        score = float(development.score(weights))
        self.rounds[-1] = replace(self.rounds[-1], dev_score=score)
        self._in_vain += 1
        if self.best is None or score > self.best.score:
            self._in_vain = 0
        if self.best is None or score >= self.best.score:
            self.best = Best(self.rounds[-1].round, score, weights.copy())


def _is_solved(final: Evaluation) -> bool:
    return final.projection is not None and final.projection.converged and bool(np.isfinite(final.value))
