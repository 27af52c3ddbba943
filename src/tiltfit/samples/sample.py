"""The data that constraints are looked up on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tiltfit.arrays import BoolArray, FloatArray, IntArray
from tiltfit.data.inputs import Inputs
from tiltfit.inference.chain import Chains
from tiltfit.inference.independent import Independent
from tiltfit.language.conditions import Condition
from tiltfit.language.constraint import Constraint
from tiltfit.language.sentences import titled


@dataclass(frozen=True, eq=False)
class Sample:
    """The data that constraints are looked up on. ``labels``: class number or −1, one a position; ``weight``: one an
    instance. ``banned``: labels that y rules out at positions without a label, if it does (positions × classes)."""

    inputs: Inputs
    classes: Sequence[object]
    structure: Independent | Chains
    labels: IntArray
    weight: FloatArray
    banned: BoolArray | None = None

    @property
    def noun(self) -> str:
        """What an instance is called."""
        return "sequence" if isinstance(self.structure, Chains) else "row"

    @cached_property
    def instance(self) -> IntArray:
        """The instance of every position."""
        return np.asarray(self.structure.spread(np.arange(len(self.structure))), dtype=np.intp)

    @cached_property
    def position_weight(self) -> FloatArray:
        return np.asarray(self.structure.spread(self.weight), dtype=np.float64)

    @cached_property
    def open_positions(self) -> BoolArray:
        """Positions whose label is unknown."""
        return np.asarray(self.labels < 0)

    @cached_property
    def open_edges(self) -> BoolArray:
        """Positions that an edge leads to one of whose ends is unknown."""
        unknown = self.open_positions.copy()
        unknown[1:] |= self.open_positions[:-1]
        unknown[self.structure.first] = False
        return unknown

    @cached_property
    def unlabelled(self) -> BoolArray:
        """Instances with an unknown position."""
        return np.bincount(self.instance, weights=self.open_positions, minlength=len(self.structure)) > 0

    def is_open(self, on_edges: bool) -> BoolArray:
        """Positions whose label is unknown, or those that an edge with an unknown end leads to."""
        return self.open_edges if on_edges else self.open_positions

    def title(self, constraint: Constraint) -> str:
        """How messages refer to a constraint: its name, or its sentence about what there is here."""
        return titled(constraint, self.inputs.unit)

    def fires(self, condition: Condition | None) -> BoolArray:
        if condition is None:
            return np.ones(self.inputs.n, dtype=np.bool_)
        return np.asarray(condition.fires(self.inputs), dtype=np.bool_)
