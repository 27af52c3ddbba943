"""The change of predictions with a target: the same fit with one target moved down, and up.

    changed = share of labels that are others,     shift = mean over X of ½·Σ_y |p_moved(y|x) − p(y|x)|

Targets are guesses. One whose neighbourhood gives the same labels need not be guessed well.
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.errors import ConstraintError
from tiltfit.estimators.estimator import TiltEstimator
from tiltfit.estimators.options import check_share
from tiltfit.explain.entries import Entries
from tiltfit.explain.refit import changed, fit_all, fit_with, labels_of, shares_of, stated, unit_of
from tiltfit.language.constraint import Constraint, ConstraintSet
from tiltfit.language.prose import amount, percent
from tiltfit.language.sentences import titled
from tiltfit.language.values import Label


@dataclass(frozen=True)
class Move:
    """A target moved ``to`` another: the share of labels that change, the mean shift of p (total variation), and what
    the classes' mean probabilities gain by it, largest gain first."""

    to: str
    changed: float
    shift: float
    gains: tuple[tuple[Any, float], ...]

    def __str__(self) -> str:
        told = f"{self.to}: {self.changed:.1%} of the labels change, p by {self.shift:.1%} on average"
        best, worst = self.gains[0], self.gains[-1]
        return f"{told} ({best[0]} {best[1]:+.1%}, {worst[0]} {worst[1]:+.1%})"


@dataclass(frozen=True)
class Sensitivity:
    """One target. ``said``: as it is; ``down`` and ``up``: moved (None where it cannot be: at an end, or against the
    others)."""

    title: str
    said: str
    down: Move | None
    up: Move | None

    @property
    def changed(self) -> float:
        """The larger share of labels that change."""
        return max((move.changed for move in (self.down, self.up) if move is not None), default=0.0)

    @property
    def shift(self) -> float:
        """The larger shift of p."""
        return max((move.shift for move in (self.down, self.up) if move is not None), default=0.0)

    @property
    def verdict(self) -> str:
        """In words."""
        if self.down is None and self.up is None:
            return "cannot be moved"
        if self.changed == 0:
            return f"no label depends on it (p moves by {self.shift:.1%} on average)"
        return f"up to {self.changed:.1%} of the labels depend on it"

    def __str__(self) -> str:
        moves = [f"    {move}" for move in (self.down, self.up) if move is not None]
        return "\n".join([f"{self.title}\n    {self.said}: {self.verdict}", *moves])

    def to_dict(self) -> dict[str, Any]:
        """JSON-able."""
        return asdict(self) | {"changed": self.changed, "shift": self.shift, "verdict": self.verdict}


@dataclass(frozen=True)
class Sensitivities(Entries[Sensitivity]):
    """One entry per target, those on which most labels depend first. ``print`` it, or use ``to_dicts()``."""


def sensitivity(estimator: TiltEstimator, X: Any, y: Any = None, *, change: float = 0.05) -> Sensitivities:
    """Fit with all constraints, then with each target moved by −``change`` and by +``change`` in turn, from the weights
    of the full fit.

    Shares are kept inside [0, 1]; a count is moved by that share of itself. The share of each label of a distribution
    is a separate target; those of the others give way in proportion. ``estimator`` is left as it is; if it is fitted,
    the full fit begins with its weights. It takes two short fits per target.
    """
    change = check_share("change", change)
    constraints = stated(estimator, "move")
    full = fit_all(estimator, X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # each fit would repeat what the full one said
        before = labels_of(full, X), shares_of(full, X)
        entries = []
        for k, constraint in enumerate(constraints):
            for label in _targets(constraint):
                moves = []
                for by in (-float(change), float(change)):
                    moved = _moved(constraints, k, by, label, full)
                    moves.append(None if moved is None else _move(moved, k, before, (full, X, y)))
                part = "" if label is None else f" [{label}]"
                title = titled(constraint, unit_of(full)) + part
                entries.append(Sensitivity(title, _words(constraint), *moves))
    return Sensitivities(tuple(sorted(entries, key=lambda e: (-e.changed, -e.shift))))


def _moved(
    constraints: ConstraintSet, k: int, by: float, label: Label | None, full: TiltEstimator
) -> ConstraintSet | None:
    """The constraints with target k moved; None where that is the same, or cannot be."""
    constraint = constraints[k]
    most = np.inf if _counts(constraint) else 1.0
    if _counts(constraint):
        by *= max(constraint.relation.numbers) or 1.0
    try:
        relation = constraint.relation.moved(by, most, label)
        if relation == constraint.relation:
            return None
        other = replace(constraint, relation=relation)
        return ConstraintSet((*constraints[:k], other, *constraints[k + 1 :]), tuple(full.classes_.tolist()))
    except ConstraintError:  # against another, whatever the data
        return None


def _move(constraints: ConstraintSet, k: int, before: tuple[list[Any], FloatArray], fitting: Any) -> Move | None:
    full, X, y = fitting
    try:
        fitted = fit_with(full, constraints, X, y)
    except ConstraintError:  # against others, on these data
        return None
    labels, p = before
    moved = shares_of(fitted, X) - p
    gains = zip(full.classes_.tolist(), moved.mean(axis=0).tolist(), strict=True)
    return Move(
        to=_words(constraints[k]),
        changed=changed(labels, labels_of(fitted, X)),
        shift=float(0.5 * np.abs(moved).sum(axis=1).mean()),
        gains=tuple(sorted(gains, key=lambda pair: -pair[1])),
    )


def _targets(constraint: Constraint) -> tuple[Label | None, ...]:
    """The targets that can be moved: the share of each label of a distribution (of two, the other moves as well)."""
    names = constraint.relation.names
    if not names:
        return (None,)
    return names[:1] if len(names) <= 2 else names


def _counts(constraint: Constraint) -> bool:
    return constraint.event.counts and constraint.of is None


def _words(constraint: Constraint) -> str:
    return constraint.relation.words(amount if _counts(constraint) else percent)
