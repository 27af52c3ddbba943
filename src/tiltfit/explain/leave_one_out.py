"""The effect of each constraint: the same fit without it.

A price says how hard the data fight a constraint, not whether that is good. A constraint that is wrong, or that the
model can only meet in the wrong way, shows in what happens when it is left out: the others come closer to their
targets, for they no longer have to give way. With labels kept aside, it shows in their accuracy.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

import numpy as np

from tiltfit.errors import DataError
from tiltfit.estimators.development import parts
from tiltfit.estimators.estimator import TiltEstimator
from tiltfit.explain.entries import Entries
from tiltfit.explain.refit import changed, fit_all, fit_with, labels_of, stated, unit_of
from tiltfit.language.constraint import ConstraintSet
from tiltfit.language.sentences import titled

_FIGHTS = 0.02  # what the others gain, on average, from where on a constraint is said to fight them
_HURTS = 0.005


@dataclass(frozen=True)
class Influence:
    """One constraint. ``changed``: the share of labels that are others without it. ``others``: by how much the others
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
        """JSON-able."""
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
