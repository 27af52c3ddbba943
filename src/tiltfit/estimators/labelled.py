"""Labelled data as a place to look up how often an event happens there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from tiltfit.arrays import BoolArray, FloatArray, IntArray
from tiltfit.data.inputs import Inputs, MatrixInputs, TableInputs, TextInputs, is_missing
from tiltfit.data.sequences import as_sequences, encode_tags
from tiltfit.errors import DataError
from tiltfit.estimators.encoders import as_table, as_texts
from tiltfit.estimators.evidence import Mean, Share, shares
from tiltfit.estimators.targets import encode_labels
from tiltfit.inference.chain import Chains
from tiltfit.inference.independent import Independent
from tiltfit.language.condition import Condition
from tiltfit.language.constraint import ConstraintSet
from tiltfit.language.event import Event
from tiltfit.language.events import End, Start
from tiltfit.projections.occurrences import Piece, pieces, statistic_of


@dataclass(frozen=True, eq=False)
class Labelled:
    """``labels``: class number or −1, one a position of ``inputs``. ``has_tokens``: they are sequences, and of tokens,
    not of attributes."""

    inputs: Inputs
    classes: list[Any]
    structure: Independent | Chains
    labels: IntArray
    has_tokens: bool = False

    @staticmethod
    def of(X: Any, y: Any, classes: Iterable[object] | None, feature_names: Iterable[str] | None) -> Labelled:
        """Documents or rows, or sequences if y holds lists of labels; refused if y has no label."""
        declared = None if classes is None else list(classes)
        if not _has_label(y):
            raise DataError("constraints_from_labels needs labels, but nothing in y has one.")
        if is_tagged(y):
            sequences = as_sequences(X, allow_empty=False)
            found, labels = encode_tags(y, sequences, declared)
            chains = Chains(sequences.offsets, np.zeros(sequences.n, dtype=np.int32), 1)
            here = Labelled(sequences.inputs(), found.tolist(), chains, labels, sequences.kind == "tokens")
        else:
            inputs = document_inputs(X, feature_names)
            found, labels = encode_labels(y, inputs.n, declared, ConstraintSet())
            here = Labelled(inputs, found.tolist(), Independent(inputs.n), labels)
        if not np.any(here.labels >= 0):
            raise DataError("constraints_from_labels needs labels, but all of y is -1, which is no class, or a set.")
        return here

    @property
    def is_sequences(self) -> bool:
        return isinstance(self.structure, Chains)

    @cached_property
    def instance(self) -> IntArray:
        """The sequence or document of every position."""
        return np.asarray(self.structure.spread(np.arange(len(self.structure))), dtype=np.intp)

    @cached_property
    def complete(self) -> IntArray:
        """The sequences all of whose tokens have labels."""
        unknown = np.bincount(self.instance, weights=self.labels < 0, minlength=len(self.structure))
        return np.flatnonzero(unknown == 0)

    def label_shares(self, positions: IntArray) -> list[Share]:
        """Of the labelled ones among these positions: the share of every class. Empty if there are none."""
        known = positions[self.labels[positions] >= 0]
        if not len(known):
            return []
        return shares(self.labels[known], self.instance[known], len(self.classes), self.inputs.unit)

    def share(self, event: Event, given: Condition | None) -> Share | None:
        """How often the event happened where it could and ``given`` fires; None if that was nowhere."""
        fires = np.ones(self.inputs.n, dtype=np.bool_) if given is None else given.fires(self.inputs)
        (piece,) = pieces(event, self.classes, self.structure)
        at = np.flatnonzero(piece.at & fires & self._known(piece))
        if not len(at):
            return None
        noun = "sequences" if isinstance(event, Start | End) else "transitions" if piece.on_edges else self.inputs.unit
        return shares((self._value(piece, at) > 0).astype(np.intp), self.instance[at], 2, noun)[1]

    def mean(self, event: Event, given: Condition | None) -> Mean | Share | None:
        """How often the event happened in completely labelled sequences; None if there are fewer than two."""
        if len(self.complete) < 2:
            return None
        counts, is_share = self._statistic(event) if event.whole else (self._sums(event, given), False)
        if is_share:
            return Share(int(np.sum(counts)), len(counts), "sequences")
        return Mean(float(np.mean(counts)), float(np.std(counts, ddof=1)), len(counts))

    def _statistic(self, event: Event) -> tuple[FloatArray, bool]:
        """Its value on every complete sequence, and whether it can only be 0 or 1."""
        statistic = statistic_of(event, self.classes)
        each = (self.labels[self.structure.positions(np.array([s]))] for s in self.complete)
        counts = np.array([statistic.count(labels) for labels in each])
        return counts, (statistic.least, statistic.most) == (0.0, 1.0)

    def _sums(self, event: Event, given: Condition | None) -> FloatArray:
        fires = np.ones(self.inputs.n, dtype=np.bool_) if given is None else given.fires(self.inputs)
        sums = np.zeros(len(self.structure))
        for piece in pieces(event, self.classes, self.structure):
            at = np.flatnonzero(piece.at & fires & self._known(piece))
            np.add.at(sums, self.instance[at], self._value(piece, at))
        return np.asarray(sums[self.complete])

    def _known(self, piece: Piece) -> BoolArray:
        known = self.labels >= 0
        if piece.on_edges:
            known[1:] &= self.labels[:-1] >= 0
        return np.asarray(known)

    def _value(self, piece: Piece, at: IntArray) -> FloatArray:
        where = (self.labels[at - 1], self.labels[at]) if piece.on_edges else (self.labels[at],)
        return np.asarray(piece.table[where])


def is_list(value: Any) -> bool:
    """Whether it holds several things one after the other; a text does not, nor does a set of labels."""
    return (
        hasattr(value, "__len__")
        and hasattr(value, "__iter__")
        and not isinstance(value, str | bytes | set | frozenset)
    )


def is_tagged(y: Any) -> bool:
    """Whether y holds lists of labels, one a sequence."""
    return any(is_list(row) for row in y)


def _has_label(y: Any) -> bool:
    if not is_list(y):
        return False
    return any(any(not is_missing(v) for v in row) if is_list(row) else not is_missing(row) for row in y)


def document_inputs(X: Any, feature_names: Iterable[str] | None) -> Inputs:
    """What conditions see of texts, a table or a matrix."""
    texts = as_texts(X)
    if texts is not None:
        return TextInputs(texts)
    table = as_table(X)
    if table is not None:
        return TableInputs(table)
    rows: Any = X  # whatever kind of sparse matrix
    try:
        matrix: Any = rows.tocsr() if sparse.issparse(X) else np.asarray(X)
    except ValueError:  # rows of different lengths
        matrix = np.empty(0)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise DataError(
            "X is neither a list of texts, a table, nor a matrix of numbers. (Sequences need lists of labels in y.)"
        )
    names = None if feature_names is None else [str(name) for name in feature_names]
    if names is not None and len(names) != matrix.shape[1]:
        raise DataError(f"feature_names has {len(names)} names, but X has {matrix.shape[1]} columns.")
    return MatrixInputs(matrix, names)
