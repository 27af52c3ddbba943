"""The data that a model is fitted on, projected on, checked on or explained on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from tiltfit.arrays import BoolArray, FloatArray, IntArray
from tiltfit.data.inputs import Inputs
from tiltfit.errors import DataError, TiltfitError
from tiltfit.inference.chain import Chains
from tiltfit.inference.independent import Independent
from tiltfit.language.conditions import Condition
from tiltfit.language.constraint import Constraint, ConstraintSet
from tiltfit.language.sentences import titled
from tiltfit.samples.task import DOCUMENTS, SEQUENCES, Task


@dataclass(frozen=True, eq=False)
class Sample:
    """Data with labels. ``labels``: class number or −1, one per position; ``weight``: one per instance. ``banned``: the
    labels that sets in y rule out at positions without a label, if any (positions × classes). ``number``: the number in
    X of every instance, where instances without positions were left out."""

    inputs: Inputs
    classes: Sequence[Any]
    structure: Independent | Chains
    labels: IntArray
    weight: FloatArray
    banned: BoolArray | None = None
    number: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    def __post_init__(self) -> None:
        if len(self.number) != len(self.weight):
            object.__setattr__(self, "number", np.arange(len(self.weight)))

    @property
    def task(self) -> Task:
        return SEQUENCES if self.structure.has_edges else DOCUMENTS

    @property
    def is_sequences(self) -> bool:
        return self.structure.has_edges

    @property
    def noun(self) -> str:
        """The noun for an instance."""
        return self.task.instance

    @property
    def n(self) -> int:
        """Number of positions."""
        return self.inputs.n

    @cached_property
    def instance(self) -> IntArray:
        """The instance of every position."""
        return np.asarray(self.structure.spread(np.arange(len(self.structure))), dtype=np.intp)

    @cached_property
    def position_weight(self) -> FloatArray:
        return np.asarray(self.structure.spread(self.weight), dtype=np.float64)

    @cached_property
    def open_positions(self) -> BoolArray:
        """The positions whose label is unknown."""
        return np.asarray(self.labels < 0)

    @cached_property
    def open_edges(self) -> BoolArray:
        """The positions that an edge with an unknown end leads to."""
        unknown = self.open_positions.copy()
        unknown[1:] |= self.open_positions[:-1]
        unknown[self.structure.first] = False
        return unknown

    @cached_property
    def unlabelled(self) -> BoolArray:
        """The instances with an unknown position."""
        return np.bincount(self.instance, weights=self.open_positions, minlength=len(self.structure)) > 0

    def is_open(self, on_edges: bool) -> BoolArray:
        """The positions whose label is unknown, or those that an edge with an unknown end leads to."""
        return self.open_edges if on_edges else self.open_positions

    def title(self, constraint: Constraint) -> str:
        """The name that messages have for a constraint: its own, or its sentence about the positions here."""
        return titled(constraint, self.inputs.unit)

    def fires(self, condition: Condition | None, constraint: Constraint | None = None) -> BoolArray:
        """The positions where a condition holds; None holds everywhere. Errors carry the title of ``constraint``."""
        if condition is None:
            return np.ones(self.inputs.n, dtype=np.bool_)
        try:
            return np.asarray(condition.fires(self.inputs), dtype=np.bool_)
        except TiltfitError as error:
            if constraint is None or error.constraint is not None:
                raise
            raise error.with_message(str(error), constraint=self.title(constraint)) from error


def make_sample(
    task: Task,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    classes: Iterable[object] | None = None,
    constraints: ConstraintSet | None = None,
    least: int = 2,
) -> Sample:
    """The sample that X and y are. Sequences without positions are left out.

    ``X``: as users give it, or ``Inputs``. ``classes``: all labels; by default those that ``constraints`` declare, else
    those of y (and of the constraints, if y shows fewer than two). ``least``: how many there must be.
    """
    inputs = X if isinstance(X, Inputs) else task.read(X)
    known = constraints or ConstraintSet()
    declared = known.classes if classes is None else list(classes)
    found, labels, banned = task.targets(y, inputs, declared, [name for c in known for name in c.names], least)
    weight = instance_weights(sample_weight, inputs.n_instances, task.instance)
    number = np.flatnonzero(inputs.lengths > 0)
    full = inputs.without_empty()
    if full.votes is not None:
        full = full.having(votes=full.votes.among(found.tolist(), declared))
    return Sample(full, found.tolist(), task.structure(full), labels, weight[number], banned, number)


def instance_weights(sample_weight: Any, n: int, noun: str) -> FloatArray:
    """``sample_weight`` as an array with one number per instance; anything else is refused. ``noun``: of one."""
    if sample_weight is None:
        return np.ones(n)
    try:
        weight = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"sample_weight={sample_weight!r:.80} must be a list of numbers, one per {noun}.", parameter="sample_weight"
        ) from error
    if weight.ndim == 0:
        weight = np.full(n, float(weight))
    if weight.shape != (n,):
        raise DataError(
            f"sample_weight has the shape {weight.shape}, but there are {n} {noun}s.", parameter="sample_weight"
        )
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if len(bad):
        raise DataError(
            f"sample_weight is {weight[bad[0]]} for {noun} {bad[0]}: it must be a number of at least 0.",
            parameter="sample_weight",
            instances=bad.tolist(),
        )
    if not np.any(weight > 0):
        raise DataError(f"sample_weight sums to zero: no {noun} counts.", parameter="sample_weight")
    return weight
