"""What only conditions look at, beside X: further columns (*evidence*), and what sources say (*votes*).

The model sees neither. A value of evidence belongs to a row or a token; where sequences have one value each, it is a
column of theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy.typing as npt

from tiltfit.data.columns import as_column, listed, named_columns, refuse_length
from tiltfit.data.foreign import holds_lists
from tiltfit.data.inputs import Inputs, TableInputs, is_missing
from tiltfit.data.sequences import Sequences
from tiltfit.data.votes import Votes
from tiltfit.errors import DataError

I = TypeVar("I", bound=Inputs)  # noqa: E741


@dataclass(frozen=True, eq=False)
class WithEvidence:
    """X with what conditions, and not the model, look at besides.

    ``fit(X, evidence=E, votes=V)`` is short for ``fit(WithEvidence(X, E, V))``. It goes wherever X goes: into
    ``check``, ``why``, ``disputes``, ``report_page`` and ``leave_one_out``. X may itself be a ``WithFeatures``.

    Parameters
    ----------
    X : as for ``fit``
        What the model learns from.
    evidence : data frame or dict of columns, optional
        Columns for conditions, ``column("pos").equals("NN")``. For documents and rows one value per row; for sequences
        a list aligned with the tokens of each, or one value per sequence.
    votes : data frame, dict of columns, array or sparse matrix, optional
        What sources say of each row: classes by name, or by number in the order of ``classes_`` (digits that are the
        name of a class are that name). None, NaN, -1 and "abstain" are silence, and so is what a sparse matrix does not
        store. For sequences a dict: for each source a list aligned with the tokens of each sequence. The sources of a
        matrix are called ``rule_0``, ``rule_1`` and so on. For ``witness(source, says=label)``.

    Examples
    --------
    >>> from tiltfit import ConstraintSet, WithEvidence, column, expect, witness
    >>> said = ConstraintSet((expect("person", given=column("pos").equals("NNP")).about(0.9),
    ...                       expect("person", given=witness("old tagger", says="person")).about(0.8)))
    >>> X = WithEvidence([["Ann", "sings"]], {"pos": [["NNP", "VBZ"]]}, {"old tagger": [["person", None]]})
    >>> [support.support for support in said.check(X)]
    [1, 1]
    """

    X: Any
    evidence: Any = None
    votes: Any = None

    def __post_init__(self) -> None:
        if isinstance(self.X, WithEvidence):
            raise DataError("X of WithEvidence is one itself: give it evidence and votes.", parameter="X")

    def beside(self, inputs: I) -> I:
        """The inputs that were made of X, with the evidence and the votes."""
        for name in ("evidence", "votes"):
            _refuse_other_order(self.X, getattr(self, name), name)
        found = inputs
        if self.evidence is not None:
            found = _with_evidence(found, self.evidence)
        if self.votes is not None:
            lengths = found.lengths if isinstance(found, Sequences) else None
            found = found.having(votes=Votes.of(self.votes, found.n_instances, lengths, found.instance_excerpt))
        return found


def _refuse_other_order(X: Any, given: Any, name: str) -> None:
    """Rows belong together by their place. Two frames whose indexes are the same labels in another order say that they
    do not."""
    ours: Any = getattr(getattr(X, "X", X), "index", None)
    theirs: Any = getattr(given, "index", None)
    if not (hasattr(ours, "equals") and hasattr(theirs, "equals")) or len(ours) != len(theirs) or ours.equals(theirs):
        return
    if ours.isin(theirs).all() and theirs.isin(ours).all():
        raise DataError(
            f"The rows of {name}= are in another order than those of X, by their indexes. Rows are matched by place: "
            f"pass {name}.loc[X.index].",
            parameter=name,
        )


def apart(X: Any) -> WithEvidence:
    """X, and what is beside it."""
    return X if isinstance(X, WithEvidence) else WithEvidence(X)


def together(X: Any, evidence: Any, votes: Any) -> Any:
    """X alone if there is nothing beside it."""
    for name, given in (("evidence", evidence), ("votes", votes)):
        if given is not None and isinstance(X, WithEvidence) and getattr(X, name) is not None:
            raise DataError(f"{name}= is given twice: X is a WithEvidence that has it already.", parameter=name)
    if evidence is None and votes is None:
        return X
    before = apart(X)
    return WithEvidence(
        before.X,
        before.evidence if evidence is None else evidence,
        before.votes if votes is None else votes,
    )


def _with_evidence(inputs: I, given: Any) -> I:
    columns = dict(named_columns(given, "evidence"))
    taken = next((name for name in columns if name in inputs.column_names), None)
    if taken is not None:
        raise DataError(
            f"evidence= has a column {taken!r}, but X has one of this name already. Rename one of them.",
            parameter="evidence",
        )
    if not isinstance(inputs, Sequences):
        rows = {name: _row_values(name, values, inputs) for name, values in columns.items()}
        return inputs.having(evidence=TableInputs(rows))
    by_token, by_sequence = {}, dict(inputs.columns)
    for name, values in columns.items():
        found = listed(values, name)
        if holds_lists(found):
            by_token[name] = _token_values(name, found, inputs)
        else:
            by_sequence[name] = _row_values(name, found, inputs)
    return replace(inputs, columns=by_sequence, evidence=TableInputs({**inputs.evidence_columns, **by_token}))


def _row_values(name: str, given: Any, inputs: Inputs) -> npt.NDArray[Any]:
    values, n = listed(given, name), inputs.n_instances
    noun = "sequences" if inputs.unit == "tokens" else inputs.unit
    if len(values) != n:
        raise DataError(
            f"Column {name!r} of evidence= has {len(values)} values, but X has {n} {noun}: give one value for each.",
            parameter="evidence",
        )
    if holds_lists(values):
        raise DataError(
            f"Column {name!r} of evidence= holds lists, where one value per row is expected.", parameter="evidence"
        )
    return as_column(values)


def _token_values(name: str, rows: Sequence[Any], sequences: Sequences) -> npt.NDArray[Any]:
    """One value per token; what is missing for a whole sequence is missing for its tokens."""
    lengths = sequences.lengths.tolist()
    if len(rows) != len(lengths):
        raise DataError(
            f"Column {name!r} of evidence= has {len(rows)} lists, but X has {len(lengths)} sequences: give one "
            "for each.",
            parameter="evidence",
        )
    found: list[Any] = []
    for k, (row, length) in enumerate(zip(rows, lengths, strict=True)):
        if not holds_lists([row]) and not is_missing(row):
            raise DataError(
                f"Column {name!r} of evidence= has lists for other sequences, but {row!r} for sequence {k}.",
                parameter="evidence",
                instance=k,
            )
        values = listed(row, name) if holds_lists([row]) else [None] * length
        what = f"column {name!r} of evidence="
        refuse_length(len(values), length, k, what, sequences.instance_excerpt(k), "evidence")
        found += values
    return as_column(found)
