"""The constraint report of a fit, from grounded constraints, p and q; and that of a stream, from its ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.data.inputs import Unit
from tiltfit.inference.potentials import Marginals
from tiltfit.language.constraint import Constraint, ConstraintSet
from tiltfit.language.sentences import describe, event_subject
from tiltfit.projections.grounding import Grounded
from tiltfit.projections.information import Projection
from tiltfit.projections.ledger import Ledger
from tiltfit.report.constraints import MET, ConstraintReport, Entry
from tiltfit.report.sampling import allowance, worth

_ERRORS = 3.0  # standard errors by which the mean of so few instances may be off


def report_constraints(
    grounded: Grounded,
    model: tuple[Marginals, FloatArray] | None,
    projection: Projection | None,
    classes: Sequence[object],
    unit: Unit,
    gamma: float,
    roles: Mapping[int, str] | None = None,
    predicted: FloatArray | None = None,
) -> ConstraintReport:
    """Return the report of a fit. ``model``: p on the touched instances of ``grounded``, and its expectations
    (``Tilt.of_model``); ``predicted``: those of the predicted labels (``Grounded.of_labels``). ``roles``: how a method
    that does not follow constraints uses some of them, by number."""
    rows = _Rows(grounded, model, projection, gamma, roles, predicted)
    entries: list[Entry] = []
    for number, constraint in enumerate(grounded.constraints):
        for target in constraint.relation.targets(classes):
            label = None if target.label is None else str(target.label)
            entries.append(rows.entry(number, target.number, label, unit))
    return ConstraintReport(tuple(entries))


class _Rows:
    """The grounded rows with their expectations and prices, by constraint."""

    def __init__(
        self,
        grounded: Grounded,
        model: tuple[Marginals, FloatArray] | None,
        projection: Projection | None,
        gamma: float,
        roles: Mapping[int, str] | None,
        predicted: FloatArray | None,
    ) -> None:
        self._grounded, self._roles = grounded, roles
        self._projection, self._predicted = projection, predicted
        if grounded.tilt is not None and model is not None and projection is not None:
            marginals, expectation = model
            self._model, _, unit = grounded.told(expectation, marginals)
            self._model_violation = grounded.tilt.violation(expectation) * unit
            self._told, self._support, self._unit = grounded.told(projection.expectation, projection.marginals)
            self._pulls = gamma * self._support * projection.prices

    def entry(self, number: int, component: int, label: str | None, unit: Unit) -> Entry:
        g, constraint = self._grounded, self._grounded.constraints[number]
        sentence = describe(constraint, unit)
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
            subject=event_subject(constraint, unit),
            pull=float(self._pulls[rows].sum()),
            predicted=self._mean_predicted(rows, support),
            **_revised(g, constraint),
        )

    def _mean_predicted(self, rows: IntArray, support: FloatArray) -> float | None:
        """The mean over groups; None where the predicted labels do not tell."""
        if self._predicted is None or not np.all(np.isfinite(self._predicted[rows])):
            return None
        return _mean(self._predicted[rows], support)


def _revised(grounded: Grounded, constraint: Constraint) -> dict[str, float]:
    """The fields of an entry that say what labels made of its target."""
    revision = grounded.revisions.get(constraint)
    if revision is None:
        return {}
    return {"revised": revision.target, "labels": revision.places, "agreeing": revision.hits}


def _mean(values: FloatArray, weights: FloatArray) -> float:
    return float(np.average(values, weights=weights)) if weights.sum() > 0 else 0.0


def report_stream(
    ledger: Ledger,
    prices: FloatArray,
    pulls: FloatArray,
    constraints: ConstraintSet,
    classes: Sequence[object],
    unit: Unit,
    apart: dict[int, float],
) -> ConstraintReport:
    """Return the report of a stream, on the recent instances and their drift. ``prices``, ``pulls``: of the ledger's
    rows; ``apart``: supports of the constraints that have no rows, since they forbid labels or are about single
    instances."""
    owner = np.array([key[0] for key in ledger.keys], dtype=np.intp)
    component = np.array([key[1] for key in ledger.keys], dtype=np.intp)
    entries: list[Entry] = []
    for number, constraint in enumerate(constraints):
        for target in constraint.relation.targets(classes):
            k = target.number
            of_part = component == k if k >= 0 else component < 0
            rows = np.flatnonzero((owner == number) & of_part & (ledger.column("recent_support") > 0))
            label = None if target.label is None else str(target.label)
            if len(rows):
                entries.append(_stream_entry(ledger, prices, pulls, constraint, rows, label, unit))
            else:
                status = "rests" if number not in apart else "each" if constraint.is_local else "rules"
                sentence, met = describe(constraint, unit), apart.get(number, 0.0)
                entries.append(Entry(constraint.name, sentence, label, met, 0, None, None, None, 0.0, status))
    return ConstraintReport(tuple(entries))


def _stream_entry(
    ledger: Ledger,
    prices: FloatArray,
    pulls: FloatArray,
    constraint: Constraint,
    rows: IntArray,
    label: str | None,
    unit: Unit,
) -> Entry:
    support, recent = ledger.column("support")[rows], ledger.column("recent_support")[rows]
    of_p, of_q = ledger.told(rows, "p"), ledger.told(rows, "q")
    violation, of_model = (
        ledger.penalty.take(rows).violation(ledger.expectation(rows, under)) * ledger.unit(rows, under)
        for under in ("q", "p")
    )
    hard = constraint.is_hard
    limit = _ERRORS * np.sqrt(0.25 / recent) if hard else MET
    status = "met" if np.all(violation <= limit) else ("learning" if hard else "missed")
    drift = of_p - ledger.told(rows, "p", recent=False)
    known = bool(np.all(np.isfinite(drift)))
    n_bounds = len({ledger.keys[r][1] for r in rows})
    return Entry(
        name=constraint.name,
        sentence=describe(constraint, unit),
        component=label,
        support=float(support.sum()) / n_bounds,
        groups=len(rows) // n_bounds,
        model=float(np.average(of_p, weights=recent)) if known else None,
        projected=float(np.average(of_q, weights=recent)),
        price=float(prices[rows][np.argmax(np.abs(prices[rows]))]),
        violation=float(np.max(violation)),
        status=status,
        worst_group=ledger.keys[rows[np.argmax(violation)]][2],
        counts=constraint.event.counts and constraint.of is None,
        drift=float(np.average(drift, weights=recent)) if known else None,
        model_violation=float(np.max(of_model)) if known else None,
        subject=event_subject(constraint, unit),
        pull=float(pulls[rows].sum()),
    )
