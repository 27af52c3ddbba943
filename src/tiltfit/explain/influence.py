"""What depends on a constraint: the same fit without it (``leave_one_out``), or with a target moved (``sensitivity``).

A pull says how hard the data fight a constraint, not whether that is good. A constraint that is wrong, or that the
model can only meet in the wrong way, shows in what happens when it is left out: the others come closer to their
targets, for they no longer have to give way. With labels kept aside, it shows in their accuracy.

    changed = share of labels that differ,         shift = mean over X of ½·Σ_y |p_moved(y|x) − p(y|x)|

Targets are guesses. One whose neighbourhood gives the same labels need not be guessed well. Every fit but the first
begins with the weights of the full one, and is far shorter.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from sklearn.base import clone

from tiltfit.arrays import FloatArray
from tiltfit.data.inputs import Unit
from tiltfit.errors import ConstraintError, DataError
from tiltfit.estimators.development import parts
from tiltfit.estimators.estimator import TiltEstimator
from tiltfit.estimators.options import check_share
from tiltfit.explain.view import check_nothing_lost
from tiltfit.features.hashing import buckets
from tiltfit.features.text import HashedWords
from tiltfit.language.constraint import Constraint, ConstraintSet
from tiltfit.language.prose import amount, percent
from tiltfit.language.sentences import titled
from tiltfit.language.values import Label
from tiltfit.report.entries import Entries

_FIGHTS = 0.02  # what the others gain, on average, from where on a constraint is said to fight them
_HURTS = 0.005


def stated(estimator: TiltEstimator, what: str) -> ConstraintSet:
    """The constraints of an estimator, fitted or not. ``what``: what is to be done with them."""
    if not isinstance(estimator, TiltEstimator):
        raise DataError(f"{estimator!r:.80} is neither a TiltClassifier nor a TiltTagger.")
    check_nothing_lost(estimator, "set constraints= again and fit")
    constraints = ConstraintSet.of(estimator.constraints, unit_of(estimator))
    if len(constraints) == 0:
        raise DataError(f"There is no constraint to {what}.")
    return constraints


def unit_of(estimator: TiltEstimator) -> Unit:
    """The word for its positions; documents for a classifier that is not fitted yet."""
    return getattr(estimator, "unit_", estimator.task.unit or "documents")


def fit_all(estimator: TiltEstimator, X: Any, y: Any) -> TiltEstimator:
    """A copy with all constraints, fitted; from the weights of ``estimator`` if it has some."""
    copy = clone(estimator)
    if estimator.__sklearn_is_fitted__() and estimator.learned_ is None:
        copy.set_params(init=estimator)
        if hasattr(copy, "vectorizer") and estimator.names_ is not None and buckets(estimator.names_):
            copy.set_params(vectorizer=HashedWords.weighting)  # as a stream has chosen: else its weights do not fit
    return copy.fit(X, y)  # type: ignore[no-any-return]


def fit_with(full: TiltEstimator, constraints: ConstraintSet, X: Any, y: Any) -> TiltEstimator:
    """A copy of ``full`` with other constraints, fitted from its weights (an object as ``model=`` begins anew)."""
    init = full if full.learned_ is None else None
    copy = clone(full).set_params(constraints=constraints, classes=full.classes_.tolist(), init=init, n_init=1)
    return copy.fit(X, y)  # type: ignore[no-any-return]


def labels_of(fitted: TiltEstimator, X: Any) -> list[Any]:
    """The label of every document or token."""
    return fitted.task.flat(fitted.predict(X))


def shares_of(fitted: TiltEstimator, X: Any) -> FloatArray:
    """p of every document or token, rows × classes."""
    return fitted.infer(X).marginals.node


def changed(before: list[Any], after: list[Any]) -> float:
    """The share of labels that differ."""
    return float(np.mean([a != b for a, b in zip(before, after, strict=True)]))


@dataclass(frozen=True)
class Influence:
    """One constraint. ``changed``: the share of labels that differ without it. ``others``: by how much the others
    miss their targets on average with it, ``others_without`` without it. ``score`` and ``score_without``: accuracy on
    the labels kept aside, if there are any."""

    title: str
    changed: float
    others: float
    others_without: float
    score: float | None = None
    score_without: float | None = None

    @property
    def relief(self) -> float:
        """The distance by which the others come closer without it, on average."""
        return self.others - self.others_without

    @property
    def gain(self) -> float | None:
        """The gain in accuracy that it brings (a loss below 0)."""
        if self.score is None or self.score_without is None:
            return None
        return self.score - self.score_without

    @property
    def verdict(self) -> str:
        """The verdict, in words."""
        said = []
        if self.changed == 1.0 and self.score_without is None and self.others == self.others_without == 0.0:
            return "without it there is nothing to learn from"
        if self.relief > _FIGHTS:
            said.append(f"fights the others: without it they miss {self.others_without:.1%} on average, with it "
                        f"{self.others:.1%}")  # fmt: skip
        if self.gain is not None and abs(self.gain) > _HURTS:
            said.append(f"{'helps' if self.gain > 0 else 'hurts'}: {self.gain:+.1%} of the labels kept aside")
        if not said:
            said.append("changes nothing" if self.changed == 0 else f"changes {self.changed:.1%} of the labels")
        return "; ".join(said)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self) | {"relief": self.relief, "gain": self.gain, "verdict": self.verdict}

    def __str__(self) -> str:
        return f"{self.title}\n    {self.verdict}"


@dataclass(frozen=True)
class Influences(Entries[Influence]):
    """One entry per constraint, those that fight or hurt most first. ``print`` it."""


def leave_one_out(estimator: TiltEstimator, X: Any, y: Any = None, *, dev: Any = None) -> Influences:
    """Fit with all constraints, then without each of them in turn, from the weights of the full fit.

    It takes about as many fits as there are constraints, each far shorter than the first. Those that hurt the labels
    kept aside come first, then those that fight the others most.

    Parameters
    ----------
    estimator : ``TiltClassifier`` or ``TiltTagger``
        With constraints; it is left as it is. If it is fitted, the full fit begins with its weights.
    X, y
        As for ``fit``.
    dev : (X_dev, y_dev), optional
        Labels kept aside; without them nothing is said of accuracy.
    """
    constraints = stated(estimator, "leave out")
    parts(dev, patience=1)  # refuses anything but a development set
    full = fit_all(estimator, X, y)
    unit = unit_of(full)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # each fit would repeat what the full one said
        labels, score, missed = labels_of(full, X), _score(full, dev), _missed(full, constraints)
        entries = []
        for k, constraint in enumerate(constraints):
            rest = ConstraintSet((*constraints[:k], *constraints[k + 1 :]), tuple(full.classes_.tolist()))
            try:
                fewer = fit_with(full, rest, X, y)
            except DataError:  # without it, there is nothing to learn from
                entries.append(Influence(titled(constraint, unit), 1.0, 0.0, 0.0, score, None))
                continue
            entries.append(
                Influence(
                    title=titled(constraint, unit),
                    changed=changed(labels, labels_of(fewer, X)),
                    others=_mean([*missed[:k], *missed[k + 1 :]]),
                    others_without=_mean(_missed(fewer, rest)),
                    score=score,
                    score_without=_score(fewer, dev),
                )
            )
    return Influences(tuple(sorted(entries, key=lambda e: (min(e.gain or 0.0, 0.0), -e.relief))))


def _missed(fitted: TiltEstimator, constraints: ConstraintSet) -> list[float]:
    """By how much every constraint misses its target, under q; of a distribution the class that misses most."""
    told = iter(fitted.constraint_report_)
    sizes = [len(c.relation.targets(list(fitted.classes_))) for c in constraints]
    return [max(entry.relative(entry.violation, entry.projected) for entry in islice(told, size)) for size in sizes]


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else 0.0


def _score(fitted: TiltEstimator, dev: Any) -> float | None:
    return None if dev is None else float(fitted.score(*dev))


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
        """Plain data, for JSON."""
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
