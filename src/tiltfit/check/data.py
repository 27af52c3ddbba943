"""The data that constraints are checked on: documents, rows or the tokens of sequences, and what y says of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tiltfit.arrays import BoolArray, IntArray
from tiltfit.data.inputs import Inputs, Unit
from tiltfit.data.sequences import TOKENS, Sequences, as_sequences, encode_known_tags
from tiltfit.errors import DataError, UnknownLabelError
from tiltfit.estimators.labelled import document_inputs, is_list, is_tagged
from tiltfit.estimators.targets import as_objects, encode_known, find_unlabelled, set_members
from tiltfit.inference.chain import Chains
from tiltfit.inference.independent import Independent
from tiltfit.language.constraint import ConstraintSet
from tiltfit.language.values import Label, exact, match
from tiltfit.samples.sample import Sample

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
        """Documents or rows; sequences if X or y holds lists of tokens or labels, or a constraint speaks of them."""
        if y is not None and not is_list(y):
            raise DataError(f"y must be a list of labels, one a row of X, but is {y!r}.")
        if not _is_sequences(constraints, X, y):
            return Data._documents(constraints, document_inputs(X, feature_names), y, unit)
        if feature_names is not None:
            raise DataError("feature_names= names the columns of a matrix, but X holds sequences. Leave it out.")
        return Data._sequences(constraints, as_sequences(X, allow_empty=False), y)

    @staticmethod
    def _documents(constraints: ConstraintSet, inputs: Inputs, y: Any, unit: Unit | None) -> Data:
        if inputs.n == 0:
            raise DataError("X has no rows: at least one is needed.")
        classes, codes, banned = _nothing_known(constraints, inputs.n)
        errors: tuple[str, ...] = ()
        if y is not None:
            try:
                found = encode_known(y, inputs.n, _declared(constraints, _shown(y, constraints)), constraints)
                classes, codes, banned = found[0].tolist(), found[1], found[2]
            except UnknownLabelError as error:
                errors = (str(error),)
        sample = Sample(inputs, classes, Independent(inputs.n), codes, np.ones(inputs.n), banned=banned)
        return Data(sample, unit or inputs.unit, errors)

    @staticmethod
    def _sequences(constraints: ConstraintSet, sequences: Sequences, y: Any) -> Data:
        classes, codes, banned = _nothing_known(constraints, sequences.n)
        errors: tuple[str, ...] = ()
        if y is not None:
            names = [name for c in constraints for name in c.names] or _ANY
            try:
                shown = encode_known_tags(y, sequences, constraints.classes, names, 1)[0].tolist()
                found = encode_known_tags(y, sequences, _declared(constraints, shown), names)
                classes, codes, banned = found[0].tolist(), found[1], found[2]
            except UnknownLabelError as error:
                errors = (str(error),)
        chains = Chains(sequences.offsets, np.zeros(sequences.n, dtype=np.int32), 1)
        sample = Sample(sequences.inputs(), classes, chains, codes, np.ones(len(chains)), banned=banned)
        return Data(sample, "tokens", errors)

    @property
    def n(self) -> int:
        return self.sample.inputs.n

    @property
    def is_sequences(self) -> bool:
        return isinstance(self.sample.structure, Chains)

    @property
    def open_positions(self) -> BoolArray:
        """Positions whose label is to be decided; all of them where every one is known."""
        unknown = self.sample.open_positions
        return unknown if unknown.any() else ~unknown


def _is_sequences(constraints: ConstraintSet, X: Any, y: Any) -> bool:
    if isinstance(X, Sequences) or (y is not None and is_list(y) and is_tagged(y)):
        return True
    if hasattr(X, "columns") or isinstance(X, dict):
        names = list(X.columns if hasattr(X, "columns") else X)
        return TOKENS in names and any(is_list(row) for row in X[TOKENS])
    if not isinstance(X, list | tuple) or not X or isinstance(X[0], str) or not is_list(X[0]):
        return False
    inside = next((row[0] for row in X if is_list(row) and len(row)), None)
    # A list of lists of numbers is a matrix; tokens are texts, and attributes dicts or lists of texts.
    return any(c.is_sequence for c in constraints) or isinstance(inside, str | dict | list | tuple)


def _nothing_known(constraints: ConstraintSet, n: int) -> tuple[list[Any], IntArray, BoolArray | None]:
    named = _distinct(name for c in constraints for name in c.names)
    classes = list(_declared(constraints, named) or named)
    return classes, np.full(n, -1, dtype=np.intp), None


def _shown(y: Any, constraints: ConstraintSet) -> list[Any]:
    """The labels that y shows; those that constraints name, too, where these are fewer than two."""
    values = as_objects(y)
    if values.ndim != 1:
        return []  # refused when it is encoded
    known = values[~find_unlabelled(values, constraints.classes)]
    found = _distinct([*known.tolist(), *set_members(values)])
    if len(found) > 1:
        return found
    return _distinct([*found, *(name for c in constraints for name in c.names if match(name, found) is None)])


def _declared(constraints: ConstraintSet, found: list[Any]) -> list[Any] | None:
    """The classes that the constraints declare, or one more where only one is known: something is not that class."""
    if constraints.classes is not None:
        return list(constraints.classes)
    if not found:
        return list(_ANY)
    return [found[0], _another(found[0])] if len(found) == 1 else None


def _another(label: Label) -> Label:
    if isinstance(label, bool):
        return not label
    return f"not {label}" if isinstance(label, str) else label + 1


def _distinct(labels: Iterable[Any]) -> list[Any]:
    return list({exact(label): label for label in labels}.values())
