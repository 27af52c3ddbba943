"""The strength of constraints: β, in units of m."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.language.constraint import Constraint
from tiltfit.samples.sample import Sample


@dataclass(frozen=True)
class Strength:
    """The default β, and whether it is that of a constraint (``unit``) or of each firing (``support``: β/c).

    A share of another event has m = (E[event] − u·E[other])/c, c the places where the other might happen; but its
    deviation is (E[event] − u·E[other])/E[other] = m/ρ and its support ρ·c, with ρ = E[other]/c, the *rate* of the
    other event. Hence in units of m

        (m/ρ)²/(2β) = m²/(2βρ²)        |m/ρ|/β = |m|/(βρ)

    with β/(ρc) for β under ``support``: β is multiplied by ρ² (L1: ρ), and divided by ρ under ``support``. To keep the
    row linear, ρ is not that of q but a fixed estimate (``rate``): ``rates``, by the number of the constraint, 1 where
    there is none.
    """

    beta: float
    scale: str
    rates: Mapping[int, float] = field(default_factory=dict)

    def of(self, softness: float | None, support: FloatArray, rate: float = 1.0, power: int = 2) -> FloatArray:
        """β in units of m of rows with these supports, of a penalty that grows as its deviation to that power."""
        value = (self.beta if softness is None else softness) * rate**power
        return value / (rate * support) if self.scale == "support" else np.full(len(support), value)


_PRIOR_PLACES, PRIOR_RATE = 10.0, 0.1
"""ρ where no label is known: events in outputs are rarer than the places where they might happen. It counts as much as
ten known places, so it fades as labels come."""


def with_rates(strength: Strength, constraints: Iterable[Constraint], sample: Sample) -> Strength:
    """The same with the rates of all events that shares are of; rates that are known already stay."""
    found = {k: rate(c, sample) for k, c in enumerate(constraints) if c.of is not None}
    return replace(strength, rates={**found, **strength.rates})


def rate(constraint: Constraint, sample: Sample) -> float:
    """ρ = (1 + Σ w·[other happens]) / (10 + Σ w) over the places of the other event whose labels are known.

    The constraint is a share of another event.
    """
    assert constraint.of is not None
    happened, places = _PRIOR_PLACES * PRIOR_RATE, _PRIOR_PLACES
    around = sample.fires(constraint.of.given)
    for term in constraint.of.event.terms(sample.classes, sample.structure):
        at = np.flatnonzero(term.at & around & ~sample.is_open(term.on_edges))
        happened += float(sample.position_weight[at] @ term.values(sample.labels, at))
        places += float(sample.position_weight[at].sum())
    return happened / places
