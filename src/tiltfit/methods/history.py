"""The rounds of a fit as they happen, and the result at its end.

Solvers minimise Eq. 6, which knows nothing of the labels kept aside for development. Where constraints are wrong, a
round on the way may be better than the minimum, so the journal scores the weights of each round, keeps the best ones,
and says when none has been better for too long (early stopping).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.methods.problem import Evaluation
from tiltfit.optimize.result import Stop
from tiltfit.projections.information import Projection

WINDOW = 8  # rounds
LOOSE = 0.5  # tolerance of sampled projections on the way: prices go on from round to round, as the chains do
CLOSE = 1e-3  # and at the end
_FALLS = 0.95  # of the gradient from window to window: above, it no longer falls
_UNSETTLED = "Soften a hard constraint with slack=, or use inference='exact'."


@dataclass(frozen=True)
class Round:
    """One round of a solver, reported when it is over.

    ``information`` and ``moment`` are the joint objective (Eq. 6) after each half step; ``objective`` is the last of
    them. ``gap`` is the duality gap of the information projection; ``worst_violation`` the largest distance between an
    expectation under q and where its penalty is least; ``gradient`` the largest entry of ∇O
    (``alternating``: before its moment step; ``joint``: after its step). ``dev_score`` is the score of the round's
    weights on the development set, None where there is none or the round was not scored. ``stage``: 2 in the second
    stage (``refine=``), which has an objective of its own.
    """

    round: int
    max_iter: int
    objective: float
    information: float
    moment: float
    gap: float
    worst_violation: float
    gradient: float
    evaluations: int
    dev_score: float | None = None
    stage: int = 1

    @staticmethod
    def undivided(
        number: int,
        max_iter: int,
        value: float,
        gradient: float,
        evaluations: int,
        *,
        gap: float = 0.0,
        worst_violation: float = 0.0,
    ) -> Round:
        """A round without half steps."""
        return Round(number, max_iter, value, value, value, gap, worst_violation, gradient, evaluations)

    @staticmethod
    def of(number: int, max_iter: int, now: Evaluation, evaluations: int, **halves: float) -> Round:
        """The round that an evaluation describes. ``halves``: the objective after its half steps, if it has some."""
        plain = Round.undivided(
            number, max_iter, now.value, now.steepest, evaluations, gap=now.gap, worst_violation=now.worst_violation
        )
        return replace(plain, **halves)  # type: ignore[arg-type]


def after(one: Round, begun: int) -> Round:
    """A round as it is numbered after ``begun`` others."""
    return replace(one, round=one.round + begun, max_iter=one.max_iter + begun)


Callback = Callable[[Round], bool | None]


@dataclass(frozen=True, eq=False)
class Fit:
    """The result of a method: weights, the final information projection (None without constraints), and how it went.

    ``stop``: why it ended; ``details``: the numbers that its sentence mentions. ``dev_score``: the score of the weights
    on the development set, ``best_round`` the round they are from. ``softened``: hard constraints contradicted each
    other and were given slack. ``advice``: what would help if it did not converge; None: more rounds, or a larger
    tolerance. ``note``: what else happened.
    """

    weights: FloatArray
    projection: Projection | None
    objective: float
    history: tuple[Round, ...]
    stop: Stop
    details: Mapping[str, float] = field(default_factory=dict)
    dev_score: float | None = None
    best_round: int | None = None
    softened: bool = False
    advice: str | None = None
    note: str | None = None

    @property
    def converged(self) -> bool:
        """False where hard constraints contradict each other, however the fit with slack ended."""
        return self.stop.converged and not self.softened

    @property
    def message(self) -> str:
        """A sentence on how the fit ended."""
        text = self.stop.value.format(**({"rounds": len(self.history)} | dict(self.details)))
        if self.best_round is not None:
            text += f"; the weights are those of round {self.best_round}, the best on the development set"
        if self.softened:
            text += " (hard constraints contradict each other and were given slack)"
        return text if self.note is None else f"{text}; {self.note}"


@dataclass(frozen=True, eq=False)
class Development:
    """``score(weights)``: how good they are on the ``size`` labels kept aside; higher is better. ``patience``: the run
    ends after this many scores in a row that are no better than those before."""

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
    """The rounds of one run so far. ``every``: only every so many rounds are scored.

    >>> journal = Journal(development=Development(score=lambda weights: -abs(weights[0] - 2), patience=2, size=1))
    >>> empty = Round(1, 9, *[0.0] * 6, evaluations=1)
    >>> [journal.add(replace(empty, round=k), np.array([float(k)])) for k in (1, 2, 3, 4)]
    [False, False, False, True]
    >>> journal.best.round, journal.stop
    (2, <Stop.EARLY: 'no better on the development set for {patience} rounds'>)
    """

    def __init__(
        self, callback: Callback | None = None, development: Development | None = None, *, every: int = 1
    ) -> None:
        self.rounds: list[Round] = []
        self.best: Best | None = None
        self.stop: Stop | None = None
        self._callback, self._development, self._every = callback, development, every
        self._in_vain = 0  # scores since one was better than all before

    def begin(self, weights: FloatArray) -> None:
        """Score the start, round 0, if it has learned something already: a fit must not be worse than that."""
        if self._development is not None and np.any(weights):
            self.best = Best(0, float(self._development.score(weights)), weights.copy())

    def add(self, one: Round, weights: FloatArray) -> bool:
        """Note a round that ended at ``weights``, and return whether to stop (``self.stop`` says why)."""
        self.rounds.append(one)
        if self._development is not None and one.round % self._every == 0:
            self._score(self._development, weights)
        if self._callback is not None and self._callback(self.rounds[-1]):
            self.stop = Stop.CALLBACK
        elif self._development is not None and self._in_vain >= self._development.patience:
            self.stop = Stop.EARLY
        return self.stop is not None

    def settle(self, weights: FloatArray) -> FloatArray:
        """The weights to keep of a run that ended at ``weights``: those of its best round, if rounds were scored."""
        if self._development is not None and self.rounds and self.rounds[-1].dev_score is None:
            self._score(self._development, weights)
        return weights if self.best is None else self.best.weights

    def finished(
        self,
        weights: FloatArray,
        final: Evaluation,
        stop: Stop,
        *,
        learned_from: bool = True,
        details: Mapping[str, float] | None = None,
        advice: str | None = None,
    ) -> Fit:
        """The result at ``weights`` of a run that ended by ``stop``.

        A last information projection that was not solved makes it unconverged, if the weights were learned from it
        (``learned_from``), and it is not for the report alone.
        """
        last = final.projection if learned_from else None
        if last is not None and last.sampling is not None and not last.converged:
            stop, advice = Stop.UNSETTLED, _UNSETTLED
        elif last is not None and last.sampling is None and not (last.converged and np.isfinite(final.value)):
            stop, advice = Stop.UNSOLVED, None
        known = {"gap": final.gap, "patience": 0 if self._development is None else self._development.patience}
        return Fit(
            weights=weights,
            projection=final.projection,
            objective=final.value,
            history=tuple(self.rounds),
            stop=stop,
            details=known | dict(details or {}),
            dev_score=None if self.best is None else self.best.score,
            best_round=None if self.best is None else self.best.round,
            advice=advice,
        )

    def _score(self, development: Development, weights: FloatArray) -> None:
        score = float(development.score(weights))
        self.rounds[-1] = replace(self.rounds[-1], dev_score=score)
        self._in_vain += 1
        if self.best is None or score > self.best.score:
            self._in_vain = 0
        if self.best is None or score >= self.best.score:
            self.best = Best(self.rounds[-1].round, score, weights.copy())


def settled(gradients: list[float]) -> bool:
    """True if they no longer fall from one window of rounds to the next."""
    if len(gradients) < 2 * WINDOW:
        return False
    return min(gradients[-WINDOW:]) > _FALLS * min(gradients[:-WINDOW][-WINDOW:])


def remaining(drop: float, last_drop: float) -> float:
    """Σ of the drops to come if they keep shrinking as the last two did: drop·r/(1 − r)."""
    if not np.isfinite(last_drop) or last_drop <= 0:
        return np.inf
    ratio = min(max(drop, 0.0) / last_drop, 1.0)
    return np.inf if ratio == 1.0 else max(drop, 0.0) * ratio / (1 - ratio)
