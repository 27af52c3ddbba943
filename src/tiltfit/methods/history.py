"""What a solver tells while it works and when it is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tiltfit.arrays import FloatArray
from tiltfit.projections.information import Projection


@dataclass(frozen=True)
class Round:
    """One round of a solver, reported when it is over.

    ``information`` and ``moment`` are the joint objective (Eq. 6) after each half step; ``objective`` is the last of
    them. ``gap`` is the duality gap of the information projection; ``worst_violation`` the largest distance between an
    expectation under q and where its penalty is least; ``gradient`` the largest entry of ∇O
    (``alternating``: before its moment step; ``joint``: after its step). ``dev_score`` is the score of the round's
    weights on the development set, None where there is none or the round was not scored.
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


Callback = Callable[[Round], bool | None]


@dataclass(frozen=True, eq=False)
class Fit:
    """What a method learned: weights, the final information projection (None without constraints), and how it went.

    ``dev_score``: that of the weights on the development set, if there was one. ``advice``: what would help where it
    did not converge; None: more rounds, or a larger tolerance.
    """

    weights: FloatArray
    projection: Projection | None
    objective: float
    history: tuple[Round, ...]
    converged: bool
    message: str
    dev_score: float | None = None
    advice: str | None = None
