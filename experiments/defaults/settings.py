"""How strong a statement is that does not say so itself: the settings that are compared.

    bounded pull   U = w·|m − u|,        w = P + T·c/n     c its support, n the documents or tokens (T/n at most 10)
    square         U = (m − u)²/2β       β that of a statement (unit) or β/c (support)

and whether intercepts (of taggers: the weights of plain transitions) are free of α.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tiltfit import Constraint
from tiltfit.language.relations import About, DistributedAs
from tiltfit.projections.components import PULL, Strength, components, on_sample, with_rows
from tiltfit.samples.sample import Sample

AUTO, FREE, PENALISED = "auto", "free", "penalised"
"""``auto``: free of α for documents, not for taggers."""


@dataclass(frozen=True)
class Bounded:
    """``pull``: P; ``of_all``: T."""

    pull: float
    of_all: float = 0.0

    def __str__(self) -> str:
        return f"P = {self.pull:g}, T = {self.of_all:,.0f}"

    @property
    def parameters(self) -> dict[str, Any]:
        return {"scale": "unit"}  # what statements say is not divided by their support

    def restated(self, constraints: Sequence[Constraint], sample: Sample) -> list[Constraint]:
        """The constraints with their strength, as it follows from their support on the sample."""
        return [self._restated(constraint, sample) for constraint in constraints]

    def _restated(self, constraint: Constraint, sample: Sample) -> Constraint:
        relation, c = constraint.relation, support(constraint, sample)
        if c == 0:
            return constraint
        each = self.of_all / float(sample.position_weight.sum())
        w = self.pull + c * (min(each, PULL) if sample.is_sequences else each)
        if isinstance(relation, About):
            return replace(constraint, relation=replace(relation, penalty="l1"), beta=1 / w)
        # Generalised KL is no distance: as hard a pull where it is half a unit off.
        return replace(constraint, beta=0.5 / w) if isinstance(relation, DistributedAs) else constraint


@dataclass(frozen=True)
class Square:
    """As in the paper."""

    scale: str
    beta: float

    def __str__(self) -> str:
        return f"square, {self.scale} β = {self.beta:g}"

    @property
    def parameters(self) -> dict[str, Any]:
        return {"scale": self.scale, "beta": self.beta}

    def restated(self, constraints: Sequence[Constraint], sample: Sample) -> list[Constraint]:
        return list(constraints)


@dataclass(frozen=True)
class Setting:
    strength: Bounded | Square
    intercepts: str = AUTO

    def __str__(self) -> str:
        told = "" if self.intercepts == AUTO else f", {self.intercepts} intercepts"
        return f"{self.strength}{told}"

    def on(self, *, sequences: bool) -> Setting:
        """The same with what ``auto`` means there, so that equal fits are one cell."""
        auto = PENALISED if sequences else FREE
        return replace(self, intercepts=auto if self.intercepts == AUTO else self.intercepts)

    @property
    def parameters(self) -> dict[str, Any]:
        """Those of the estimator. Intercepts must be settled (``on``)."""
        return {**self.strength.parameters, "penalize_intercept": self.intercepts == PENALISED}


def support(constraint: Constraint, sample: Sample) -> float:
    """How often the event of a constraint could happen where labels are unknown; 0 where it never could.

    Shares of another event (``of=``) are not among the tasks: their support would be an estimate.
    """
    assert constraint.of is None
    found = components(0, constraint, sample)
    strength = on_sample(Strength(None, "auto"), [constraint], sample, part=False)
    if not any(term.at.any() for component in found for term in component.terms):
        return 0.0
    return float(with_rows(found, sample, strength)[0].support.sum())
