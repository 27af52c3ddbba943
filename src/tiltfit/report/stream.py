"""The constraint report of a stream: what constraints came to in the instances met of late, and how that drifts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.language.constraint import Constraint, ConstraintSet
from tiltfit.language.sentences import describe, event_subject
from tiltfit.projections.ledger import Ledger
from tiltfit.report.constraints import ConstraintReport
from tiltfit.report.entry import MET, Entry

_ERRORS = 3.0  # standard errors by which the mean of so few instances may be off


def report_stream(
    ledger: Ledger,
    prices: FloatArray,
    constraints: ConstraintSet,
    classes: Sequence[object],
    unit: str,
    apart: dict[int, float],
) -> ConstraintReport:
    """``prices``: of the ledger's rows; ``apart``: supports of the constraints that have none, since they forbid labels
    or speak of single instances."""
    owner = np.array([key[0] for key in ledger.keys], dtype=np.intp)
    component = np.array([key[1] for key in ledger.keys], dtype=np.intp)
    entries: list[Entry] = []
    for number, constraint in enumerate(constraints):
        for target in constraint.relation.targets(classes):
            k = target.number
            of_part = component == k if k >= 0 else component < 0
            rows = np.flatnonzero((owner == number) & of_part & (ledger.column("recent_support") > 0))
            label = None if target.label is None else str(target.label)
            sentence = describe(constraint, unit)  # type: ignore[arg-type]
            if len(rows):
                entries.append(_entry(ledger, prices, constraint, rows, (sentence, unit), label))
            else:
                status = "rests" if number not in apart else "each" if constraint.is_local else "rules"
                met = apart.get(number, 0.0)
                entries.append(Entry(constraint.name, sentence, label, met, 0, None, None, None, 0.0, status))
    return ConstraintReport(tuple(entries))


def _entry(
    ledger: Ledger, prices: FloatArray, constraint: Constraint, rows: IntArray, said: tuple[str, str], label: str | None
) -> Entry:
    support, recent = ledger.column("support")[rows], ledger.column("recent_support")[rows]
    of_p, of_q = ledger.told(rows, "p"), ledger.told(rows, "q")
    violation = ledger.penalty.take(rows).violation(ledger.expectation(rows)) * ledger.unit(rows)
    hard = constraint.is_hard
    limit = _ERRORS * np.sqrt(0.25 / recent) if hard else MET
    status = "met" if np.all(violation <= limit) else ("learning" if hard else "missed")
    drift = of_p - ledger.told(rows, "p", recent=False)
    known = bool(np.all(np.isfinite(drift)))
    n_bounds = len({ledger.keys[r][1] for r in rows})
    return Entry(
        name=constraint.name,
        sentence=said[0],
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
        subject=event_subject(constraint, said[1]),  # type: ignore[arg-type]
    )
