"""How strong constraints are: β, in units of what they speak of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.language.constraint import Constraint
from tiltfit.projections.occurrences import pieces
from tiltfit.samples.sample import Sample


@dataclass(frozen=True)
class Strength:
    """The default β, and whether it is that of a constraint (``unit``) or of each firing (``support``: β/c).

    A share of another event has m = (E[event] − u·E[other])/c, c the places where the other might happen; but its
    deviation is (E[event] − u·E[other])/E[other] = m/ρ and its support ρ·c, with ρ = E[other]/c, the *rate* of the
    other event. Hence in units of m

        (m/ρ)²/(2β) = m²/(2βρ²)        |m/ρ|/β = |m|/(βρ)

    with β/(ρc) for β under ``support``: β is multiplied by ρ² (L1: ρ), and divided by ρ under ``support``. So that the
    row stays linear, ρ is not that of q but an estimate that does not move (``rate``): ``rates``, by the number of the
    constraint, 1 where there is none.
    """

    beta: float
    scale: str
    rates: Mapping[int, float] = field(default_factory=dict)

    def of(self, softness: float | None, support: FloatArray, rate: float = 1.0, power: int = 2) -> FloatArray:
        """β in units of m of rows with these supports, of a penalty that grows as its deviation to that power."""
        value = (self.beta if softness is None else softness) * rate**power
        return value / (rate * support) if self.scale == "support" else np.full(len(support), value)


_PRIOR_PLACES, PRIOR_RATE = 10.0, 0.1
"""What ρ is taken for where no label is known: nothing more is claimed than that events in outputs are rarer than the
places where they might happen. It counts as much as ten known places, and so fades as labels come."""


def with_rates(strength: Strength, constraints: Iterable[Constraint], sample: Sample) -> Strength:
    """The same, with the rates of all events that shares are of; those that it has stay."""
    found = {k: rate(c, sample) for k, c in enumerate(constraints) if c.of is not None}
    return replace(strength, rates={**found, **strength.rates})


def rate(constraint: Constraint, sample: Sample) -> float:
    """ρ = (1 + Σ w·[other happens]) / (10 + Σ w) over the places of the other event whose labels are known.

    The constraint is a share of another event.
    """
    assert constraint.of is not None
    happened, places = _PRIOR_PLACES * PRIOR_RATE, _PRIOR_PLACES
    around = sample.fires(constraint.of.given)
    for piece in pieces(constraint.of.event, sample.classes, sample.structure):
        at = np.flatnonzero(piece.at & around & ~sample.is_open(piece.on_edges))
        cells = (sample.labels[at - 1], sample.labels[at]) if piece.on_edges else sample.labels[at]
        happened += float(sample.position_weight[at] @ piece.table[cells])
        places += float(sample.position_weight[at].sum())
    return happened / places
