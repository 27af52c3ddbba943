"""What sources say of rows or tokens: rules, annotators, other models. Silence is no vote."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from scipy import sparse

from tiltfit.arrays import BoolArray, IntArray
from tiltfit.data.columns import listed, named_columns, refuse_length
from tiltfit.data.foreign import holds_lists
from tiltfit.data.inputs import is_missing
from tiltfit.errors import ConstraintError, DataError, did_you_mean

SILENT = (-1, "abstain")
"""What means silence, besides what is missing, unless it is one of the classes."""


@dataclass(frozen=True, eq=False)
class Said:
    """The votes of a source: ``positions`` where it speaks, in order, and which of the labels it says there."""

    positions: IntArray
    codes: IntArray


@dataclass(frozen=True, eq=False)
class Votes:
    """``said``: by source. ``labels``: what the codes mean. ``n``: number of positions. ``lengths``: of the sequences,
    if positions are tokens."""

    said: Mapping[str, Said]
    labels: tuple[Any, ...]
    n: int
    lengths: IntArray | None = None

    @staticmethod
    def of(
        given: Any,
        n: int | None = None,
        lengths: IntArray | None = None,
        excerpt: Callable[[int], str] = "sequence {}".format,
    ) -> Votes:
        """The votes that a user passes. ``n``: how many rows or sequences there must be. ``lengths``: of the sequences;
        None: those that the first source has, or rows. ``excerpt``: a sequence as people would recognise it."""
        if isinstance(given, Votes):
            return given
        if sparse.issparse(given):
            given = cast(Any, given).tocsc()
        rows = {name: v if isinstance(v, Said) else listed(v, name) for name, v in _sources(given)}
        if not rows:
            raise DataError("votes= has no sources.", parameter="votes")
        sizes = {name: given.shape[0] if isinstance(v, Said) else len(v) for name, v in rows.items()}
        if lengths is None and n is None:
            lengths = _lengths(rows, next(iter(sizes.values())))
        elif lengths is None:
            _refuse_lists(rows)
        n = next(iter(sizes.values())) if n is None else n
        found, numbers = {}, _Numbers()
        for name, values in rows.items():
            if sizes[name] != n:
                noun = "rows" if lengths is None else "sequences"
                raise DataError(
                    f"votes= of the source {name!r} has {sizes[name]} entries, but there are {n} {noun}: give one for "
                    "each.",
                    parameter="votes",
                )
            if isinstance(values, Said):
                found[name] = numbers.of_sparse(values, given)
            else:
                found[name] = numbers.of_list(
                    name, values if lengths is None else _by_token(name, values, lengths, excerpt)
                )
        total = n if lengths is None else int(np.sum(lengths))
        return Votes(found, numbers.labels, total, lengths)

    @property
    def sources(self) -> list[str]:
        """The names of all sources."""
        return list(self.said)

    @property
    def spoken(self) -> list[Any]:
        """All labels that are said."""
        return [label for label in self.labels if not _is_silent(label)]

    def among(self, classes: Sequence[Any], declared: Sequence[Any] | None = None) -> Votes:
        """The same with the classes as labels. ``declared``: the classes in the order in which the user named them.

        What is none of the classes is silence (``SILENT``), or else the number of a class, if no class is a number.
        Where classes are digits as texts, numbers are their names: a cell of a table says 4, and means "4".
        """
        known = {_key(name): k for k, name in enumerate(classes)}
        known |= {_key(n): known[_key(str(n))] for n in self._names_as_numbers(classes)}
        table = np.full(len(self.labels) + 1, -1, dtype=np.intp)
        for code, label in enumerate(self.labels):
            if _key(label) in known:
                table[code] = known[_key(label)]
            elif _is_silent(label):
                continue
            elif _is_number_of(label, classes):
                _refuse_other_order(classes, declared)
                table[code] = label
            else:
                raise self._unknown(code, classes)
        said = {}
        for name, votes in self.said.items():
            codes = table[votes.codes]
            said[name] = Said(votes.positions[codes >= 0], codes[codes >= 0])
        return replace(self, said=said, labels=tuple(classes))

    def fires(self, source: str, says: Any = None) -> BoolArray:
        """The positions where a source says ``says``, or anything (None)."""
        if source not in self.said:
            named = ", ".join(map(repr, self.sources[:10])) + (", …" if len(self.said) > 10 else "")
            raise ConstraintError(
                f"votes= has no source called {source!r}, but {named}.{did_you_mean(source, self.sources)}"
            )
        votes, mask = self.said[source], np.zeros(self.n, dtype=np.bool_)
        if says is None:
            mask[votes.positions] = True
            return mask
        code = next((k for k, label in enumerate(self.labels) if _key(label) == _key(says)), None)
        if code is None:
            some = ", ".join(map(repr, self.labels[:10])) + (", …" if len(self.labels) > 10 else "")
            raise ConstraintError(
                f"{source!r} can say one of the classes ({some}), but not {says!r}.{did_you_mean(says, self.labels)}"
            )
        mask[votes.positions[votes.codes == code]] = True
        return mask

    def _names_as_numbers(self, classes: Sequence[Any]) -> list[int]:
        """The numbers that are said and whose digits are the name of a class; refused beside others that are not."""
        numbers = [label for label in self.labels if _is_whole(label)]
        named = [n for n in numbers if str(n) in classes]
        other = next((n for n in numbers if str(n) not in classes and not _is_silent(n)), None)
        if named and other is not None:
            raise DataError(
                f"votes= say {named[0]}, which is the name of a class, and {other}, which is none and could only be "
                "the number of one: write the names of the classes.",
                parameter="votes",
            )
        return named

    def _unknown(self, code: int, classes: Sequence[Any]) -> DataError:
        """The error of a label that is none of the classes."""
        source, votes = next((name, votes) for name, votes in self.said.items() if np.any(votes.codes == code))
        position = int(votes.positions[votes.codes == code][0])
        where = f"row {position}"
        if self.lengths is not None:
            ends = np.cumsum(self.lengths)
            k = int(np.searchsorted(ends, position, side="right"))
            where = f"token {position - int(ends[k] - self.lengths[k])} of sequence {k}"
        some = ", ".join(map(repr, classes[:10])) + (", …" if len(classes) > 10 else "")
        label = self.labels[code]
        return DataError(
            f"votes= of the source {source!r} say {label!r} of {where}, which is not one of the classes ({some})."
            f"{did_you_mean(label, classes)} None, -1 and 'abstain' mean that a source says nothing.",
            parameter="votes",
        )


class _Numbers:
    """Labels as they turn up, by number."""

    def __init__(self) -> None:
        self._found: dict[Any, tuple[int, Any]] = {}

    def __getitem__(self, label: Any) -> int:
        return self._found.setdefault(_key(label), (len(self._found), label))[0]

    @property
    def labels(self) -> tuple[Any, ...]:
        return tuple(label for _, label in self._found.values())

    def of_list(self, name: str, values: Sequence[Any]) -> Said:
        """One value per position."""
        strange = next((value for value in values if not isinstance(value, Hashable)), None)
        if strange is not None:
            raise DataError(
                f"votes= of the source {name!r} hold {strange!r:.80}, which is no label: a vote is one label, or None.",
                parameter="votes",
            )
        spoken = [(i, self[_plain(v)]) for i, v in enumerate(values) if not is_missing(v)]
        found = np.array(spoken, dtype=np.intp).reshape(-1, 2)
        return Said(found[:, 0], found[:, 1])

    def of_sparse(self, stored: Said, given: Any) -> Said:
        """What a column of a sparse matrix stores: ``codes`` are places in its data."""
        values = [self[_plain(v)] for v in given.data[stored.codes].tolist()]
        return Said(stored.positions, np.array(values, dtype=np.intp))


def _sources(given: Any) -> list[tuple[str, Any]]:
    """Names and votes of all sources."""
    if sparse.issparse(given):
        given = cast(Any, given)
        stored = [np.arange(a, b) for a, b in zip(given.indptr[:-1], given.indptr[1:], strict=True)]
        return [(_called(j), Said(given.indices[here].astype(np.intp), here)) for j, here in enumerate(stored)]
    if isinstance(given, Mapping) or hasattr(given, "columns") or hasattr(given, "column_names"):
        return list(named_columns(given, "votes"))
    try:
        matrix = np.asarray(given)
    except ValueError:
        matrix = np.empty(0)
    if matrix.ndim != 2 or not matrix.shape[1]:
        raise DataError(
            "votes= must be a data frame or a dict with a column for each source, or a matrix (rows × sources); for "
            "sequences a dict with lists aligned with tokens for each source.",
            parameter="votes",
        )
    return [(_called(j), matrix[:, j]) for j in range(matrix.shape[1])]


def _lengths(rows: Mapping[str, Any], n: int) -> IntArray | None:
    """The lengths of sequences, by the first source that has a list for each; None: there are no lists."""
    lists = [values for values in rows.values() if not isinstance(values, Said) and holds_lists(values)]
    if not lists:
        return None
    found = np.zeros(n, dtype=np.intp)
    for values in reversed(lists):
        for k, row in enumerate(values[:n]):
            if holds_lists([row]):
                found[k] = len(listed(row, "votes"))
    return found


def _refuse_lists(rows: Mapping[str, Any]) -> None:
    """Refuse votes on tokens where there are none."""
    for name, values in rows.items():
        k = -1 if isinstance(values, Said) else next((k for k, v in enumerate(values) if holds_lists([v])), -1)
        if k >= 0:
            raise DataError(
                f"votes= of the source {name!r} has the list {values[k]!r:.80} for row {k}: give one vote per row.",
                parameter="votes",
                instance=k,
            )


def _called(j: int) -> str:
    """The name of a source of a matrix, as ``tiltfit convert`` calls them."""
    return f"rule_{j}"


def _by_token(name: str, rows: Sequence[Any], lengths: IntArray, excerpt: Callable[[int], str]) -> list[Any]:
    """One vote per token; what is missing for a whole sequence is silence."""
    found: list[Any] = []
    for k, (row, length) in enumerate(zip(rows, lengths.tolist(), strict=True)):
        if not holds_lists([row]):
            if not is_missing(row):
                raise DataError(
                    f"votes= of the source {name!r} must be a list aligned with the tokens of sequence {k}, but is "
                    f"{row!r}.",
                    parameter="votes",
                    instance=k,
                )
            found += [None] * length
            continue
        values = listed(row, name)
        refuse_length(len(values), length, k, f"the source {name!r} of votes=", excerpt(k), "votes")
        found += values
    return found


def _plain(value: Any) -> Any:
    """A label without NumPy's wrapping; 1.0, as a column has it where votes are missing, is 1."""
    found = value.item() if isinstance(value, np.generic) else value
    return int(found) if isinstance(found, float) and found.is_integer() else found


def _key(label: Any) -> tuple[bool, Any]:
    """What is equal for the same label: True is not 1, but 1.0 is."""
    found = _plain(label)
    return isinstance(found, bool), found


def _is_silent(label: Any) -> bool:
    return label == "" or (label.casefold() if isinstance(label, str) else label) in SILENT


def _is_number_of(label: Any, classes: Sequence[Any]) -> bool:
    """Return whether it is the number of a class, where classes are called otherwise."""
    return _is_whole(label) and all(isinstance(c, str) for c in classes) and 0 <= label < len(classes)


def _is_whole(label: Any) -> bool:
    return isinstance(label, int) and not isinstance(label, bool)


def _refuse_other_order(classes: Sequence[Any], declared: Sequence[Any] | None) -> None:
    if declared is not None and list(declared) != list(classes):
        raise DataError(
            f"votes= has numbers of classes, which mean them in sorted order ({', '.join(map(repr, classes))}), but "
            f"they were declared in another ({', '.join(map(repr, declared))}). Write the names of the classes.",
            parameter="votes",
        )
