"""The constraint report of a fit: grounded constraints with what p and q make of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tiltfit.inference.potentials import Marginals
from tiltfit.projections.grounding import Grounded
from tiltfit.projections.information import Projection
from tiltfit.report.constraints import ConstraintReport
from tiltfit.report.entry import MET, Entry
from tiltfit.report.sampling import allowance, worth


def report_constraints(
    grounded: Grounded,
    model: tuple[Marginals, npt.NDArray[np.float64]] | None,
    projection: Projection | None,
    classes: Sequence[object],
    unit: str,
    roles: Mapping[int, str] | None = None,
) -> ConstraintReport:
    """``model``: p on the touched instances of ``grounded``, and its expectations (``Tilt.of_model``). ``roles``: of a
    method that does not follow constraints, what it did with some of them, by their numbers (the others: nothing)."""
    rows = _Rows(grounded, model, projection, roles)
    entries: list[Entry] = []
    for number, constraint in enumerate(grounded.constraints):
        for target in constraint.relation.targets(classes):
            label = None if target.label is None else str(target.label)
            entries.append(rows.entry(number, target.number, label, unit))
    return ConstraintReport(tuple(entries))


class _Rows:
    """The grounded rows with what they came to, looked up by constraint."""

    def __init__(
        self,
        grounded: Grounded,
        model: tuple[Marginals, npt.NDArray[np.float64]] | None,
        projection: Projection | None,
        roles: Mapping[int, str] | None,
    ) -> None:
        self._grounded, self._roles = grounded, roles
        self._projection = projection
        if grounded.tilt is not None and model is not None and projection is not None:
            marginals, expectation = model
            self._model, _, unit = grounded.told(expectation, marginals)
            self._model_violation = grounded.tilt.violation(expectation) * unit
            self._told, self._support, self._unit = grounded.told(projection.expectation, projection.marginals)

    def entry(self, number: int, component: int, label: str | None, unit: str) -> Entry:
        from tiltfit.language.sentences import describe, event_subject

        g, constraint = self._grounded, self._grounded.constraints[number]
        sentence = describe(constraint, unit)  # type: ignore[arg-type]
        # A share of another event between two bounds has a row for each bound, but is one expectation.
        of_part = g.component == component if component >= 0 else g.component < 0
        role = None if self._roles is None else self._roles.get(number, "not used")
        rows = np.flatnonzero((g.owner == number) & of_part)
        if not len(rows) or g.tilt is None or self._projection is None:
            status = "rules" if number in g.ruled else "rests"
            ruled = g.ruled_support.get(number, 0.0)
            return Entry(constraint.name, sentence, label, ruled, 0, None, None, None, 0.0, status, role=role)
        support, n_bounds = self._support[rows], len(np.unique(g.component[rows]))
        prices, violation = self._projection.prices[rows], self._projection.violation[rows] * self._unit[rows]
        worst, hard = float(np.max(violation)), constraint.is_hard
        limit = allowance(self._projection, self._unit)[rows] if hard else MET
        status = "met" if np.all(violation <= limit) else ("violated" if hard else "missed")
        of_model = self._model_violation[rows]
        if role is not None:
            status = "met" if np.all(of_model <= MET) else "missed"
        effective, r_hat = worth(self._projection, rows)
        return Entry(
            name=constraint.name,
            sentence=sentence,
            component=label,
            support=float(support.sum()) / n_bounds,
            groups=len(rows) // n_bounds,
            model=_mean(self._model[rows], support),
            projected=_mean(self._told[rows], support),
            price=float(prices[np.argmax(np.abs(prices))]),
            violation=worst,
            status=status,
            worst_group=g.group[rows[np.argmax(violation if role is None else of_model)]],
            counts=constraint.event.counts and constraint.of is None,
            instance=g.noun if constraint.is_local else None,
            effective=effective,
            r_hat=r_hat,
            model_violation=float(np.max(of_model)),
            role=role,
            subject=event_subject(constraint, unit),  # type: ignore[arg-type]
        )


def _mean(values: npt.NDArray[np.float64], weights: npt.NDArray[np.float64]) -> float:
    return float(np.average(values, weights=weights)) if weights.sum() > 0 else 0.0
