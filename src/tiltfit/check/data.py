"""The data that constraints are checked on: documents, rows or the tokens of sequences, and what y says of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tiltfit.arrays import BoolArray
from tiltfit.data.inputs import Unit
from tiltfit.errors import DataError, UnknownLabelError
from tiltfit.language.constraint import ConstraintSet
from tiltfit.language.values import Label, exact
from tiltfit.samples.labels import is_list
from tiltfit.samples.sample import Sample, make_sample
from tiltfit.samples.task import task_of

_ANY = ("a", "b")  # where nothing names a class: constraints on changes need to know none


@dataclass(frozen=True, eq=False)
class Data:
    """``sample``: inputs, classes and labels. ``unit``: what messages call its positions. ``errors``: what is wrong
    with y; then no label is known."""

    sample: Sample
    unit: Unit
    errors: tuple[str, ...] = ()

    @staticmethod
    def of(
        constraints: ConstraintSet,
        X: Any,
        y: Any = None,
        feature_names: Iterable[str] | None = None,
        unit: Unit | None = None,
    ) -> Data:
        """Documents or rows; sequences if X or y holds lists of tokens or labels, or a constraint is about them."""
        if y is not None and not is_list(y):
            raise DataError(f"y must be a list of labels, one per row of X, but is {y!r}.", parameter="y")
        task = task_of(X, y, constraints)
        inputs = task.read(X, feature_names, allow_empty=False)
        named = [name for c in constraints for name in c.names]
        errors: tuple[str, ...] = ()
        try:
            shown = [] if y is None else task.targets(y, inputs, constraints.classes, named or _ANY, 1).classes.tolist()
            sample = make_sample(task, inputs, y, classes=_classes(constraints, shown or named))
        except UnknownLabelError as error:
            errors = (str(error),)
            sample = make_sample(task, inputs, classes=_classes(constraints, named))
        return Data(sample, task.unit or unit or inputs.unit, errors)

    @property
    def n(self) -> int:
        return self.sample.n

    @property
    def is_sequences(self) -> bool:
        return self.sample.is_sequences

    @property
    def open_positions(self) -> BoolArray:
        """Positions whose label is to be decided; all of them where every one is known."""
        unknown = self.sample.open_positions
        return unknown if unknown.any() else ~unknown


def _classes(constraints: ConstraintSet, found: list[Any]) -> list[Any]:
    """The classes that the constraints declare, else those found; one more where only one is known: something is not
    that class."""
    if constraints.classes is not None:
        return list(constraints.classes)
    distinct = list({exact(label): label for label in found}.values())
    if not distinct:
        return list(_ANY)
    return [distinct[0], _another(distinct[0])] if len(distinct) == 1 else distinct


def _another(label: Label) -> Label:
    if isinstance(label, bool):
        return not label
    return f"not {label}" if isinstance(label, str) else label + 1
