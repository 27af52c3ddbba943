"""Sequences as users give them, and what conditions see of them.

``as_sequences`` takes a list of token lists, a list of lists of attributes (as users of CRFsuite have them: lists of
names or dicts), a list of spaCy documents, or a mapping, a data frame or another library's table with a column
``tokens`` and further columns, one value per sequence. Inside, the positions of all sequences stand in one flat list;
``offsets`` gives the start of each sequence.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.data.attributes import AttributeRows
from tiltfit.data.excerpts import LENGTH, cut
from tiltfit.data.foreign import dataset_columns, holds_lists
from tiltfit.data.inputs import Inputs, TableInputs, Unit, WordIndex, tokenise
from tiltfit.data.positions import Origin, flatten
from tiltfit.errors import ConstraintError, DataError, did_you_mean

Kind = Literal["tokens", "attributes"]

TOKENS = "tokens"
"""The column of a table that holds the sequences."""
_NEAR = 2  # tokens on either side


@dataclass(frozen=True, eq=False)
class Sequences(Inputs):
    """``items``: every position of every sequence, tokens or ``AttributeRows``; sequence k is
    ``items[offsets[k]:offsets[k + 1]]``. ``columns``: further values, one per sequence.
    """

    items: Sequence[Any]
    offsets: IntArray
    columns: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    origin: Origin = field(default_factory=Origin)

    unit: Unit = field(default="tokens", init=False)

    @property
    def kind(self) -> Kind:
        return "tokens" if self._attributes is None else "attributes"

    @property
    def n(self) -> int:
        """Number of positions."""
        return len(self.items)

    @property
    def n_sequences(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> IntArray:
        return np.diff(self.offsets)

    def where(self, i: int, name: str | None = None) -> str:
        """Return a name for position i: ``"Position 2 of sequence 0 (X[0][2])"``; ``name`` replaces X (``y[0][2]``)."""
        return (self.origin if name is None else Origin(name)).of(self.offsets, i)

    def refused(self, i: int, why: str, name: str | None = None, others: Iterable[int] = ()) -> DataError:
        """Return an error about position i of X, or of ``name``; ``others`` are positions with the same fault."""
        return (self.origin if name is None else Origin(name)).refused(self.offsets, i, why, others)

    def place(self, i: int) -> str:
        found = self.where(i)
        return found[0].lower() + found[1:]

    def sequence_of(self, i: int) -> int:
        """The number of the sequence that position i is in."""
        return int(np.searchsorted(self.offsets, i, side="right")) - 1

    def split(self, values: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        """Cut one value per position into one array per sequence."""
        return np.split(values, self.offsets[1:-1]) if self.n_sequences else []

    def without_empty(self) -> Self:
        """The same positions; sequences that have none are left out."""
        full = self.lengths > 0
        if full.all():
            return self
        columns = {name: values[full] for name, values in self.columns.items()}
        offsets = np.concatenate([[0], np.cumsum(self.lengths[full])]).astype(np.intp)
        return replace(self, offsets=offsets, columns=columns)

    @property
    def n_instances(self) -> int:
        return self.n_sequences

    @property
    def has_texts(self) -> bool:
        return self.kind == "tokens"

    def excerpt(self, i: int, words: Sequence[str] = ()) -> str:
        """A token with its neighbours."""
        s = self.sequence_of(i)
        near = range(max(self.offsets[s], i - _NEAR), min(self.offsets[s + 1], i + _NEAR + 1))
        return cut(" ".join(f"[{self.items[j]}]" if j == i else str(self.items[j]) for j in near))

    def instance_excerpt(self, instance: int) -> str:
        """The beginning of a sequence."""
        start, end = self.offsets[instance : instance + 2].tolist()
        return cut(" ".join(str(self.items[j]) for j in range(start, min(end, start + LENGTH // 2))))

    # What conditions see

    def index(self, column: str | None = None) -> WordIndex:
        if column is None:
            return self._index
        texts = self._table(column).texts(column)
        words = (itertools.repeat(tokenise(t), k) for t, k in zip(texts, self.lengths, strict=True))
        return WordIndex(itertools.chain.from_iterable(words))

    def texts(self, column: str | None = None) -> Sequence[str]:
        if column is None:
            return self._tokens("A word, pattern or punctuation")
        texts = self._table(column).texts(column)
        return [t for t, k in zip(texts, self.lengths, strict=True) for _ in range(k)]

    def column(self, name: str) -> npt.NDArray[Any]:
        return np.repeat(self._table(name).column(name), self.lengths)

    def feature(self, name: str) -> FloatArray:
        rows = self._attributes
        if rows is None:
            raise ConstraintError(
                f"feature({name!r}) needs attributes, but X holds tokens. Use word({name!r}), or column(...) for a "
                "value of the sequence."
            )
        if name in self._numbers:
            return np.asarray(rows.matrix[:, [self._numbers[name]]].toarray(), dtype=np.float64).ravel()
        started = next((n for n in rows.names if n.startswith((f"{name}=", f"{name}:"))), None)
        if started is not None:
            raise ConstraintError(
                f"feature({name!r}) is not a number: the attribute {name!r} holds texts. Name one of them, as in "
                f"feature({started!r})."
            )
        return np.zeros(self.n)  # other sequences may have it

    def row(self, i: int) -> Any:
        return self.items[i]

    @cached_property
    def _attributes(self) -> AttributeRows | None:
        return self.items if isinstance(self.items, AttributeRows) else None

    @cached_property
    def _index(self) -> TokenIndex:
        return TokenIndex(self._tokens("word(...)"))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {} if self._attributes is None else {name: j for j, name in enumerate(self._attributes.names)}

    def _tokens(self, what: str) -> Sequence[str]:
        if self.kind == "tokens":
            return self.items
        raise ConstraintError(
            f"{what} looks at tokens, but X holds attributes. Use feature('name'), or pass token lists and features=."
        )

    def _table(self, name: str) -> TableInputs:
        if name not in self.columns:
            if not self.columns:
                raise ConstraintError(
                    f"column({name!r}) needs a value for each sequence, but X is a list of sequences. Pass a mapping "
                    f'or a data frame with the columns "{TOKENS}" and {name!r}.'
                )
            raise ConstraintError(f"X has no column {name!r}.{did_you_mean(name, self.columns)}")
        return TableInputs(self.columns)


class TokenIndex(WordIndex):
    """A word index whose words are whole tokens, whatever they contain, one per position."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self.n = len(tokens)
        numbers: dict[str, int] = {}
        codes = np.fromiter((numbers.setdefault(t, len(numbers)) for t in tokens), dtype=np.int64, count=self.n)
        self._numbers = numbers
        self._order = np.argsort(codes, kind="stable")
        self._ends = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=len(numbers)))])
        self._spellings = {}
        for token in numbers:
            self._spellings.setdefault(token.casefold(), []).append(token)

    def positions(self, word: str, *, case: bool) -> IntArray:
        """Sorted positions of the token ``word``."""
        forms = [word] if case else self._spellings.get(word.casefold(), [])
        numbers = [self._numbers[form] for form in forms if form in self._numbers]
        found = [self._order[self._ends[k] : self._ends[k + 1]] for k in numbers]
        return np.sort(np.concatenate(found)) if found else np.empty(0, dtype=np.intp)


def as_sequences(X: object, *, allow_empty: bool = True) -> Sequences:
    """Check and flatten what a user passes as X. ``allow_empty=False`` refuses sequences without positions, as fitting
    must.

    >>> found = as_sequences([["a", "b"], ["c"]])
    >>> found.items, found.offsets.tolist(), found.where(2)
    (['a', 'b', 'c'], [0, 2, 3], 'Position 0 of sequence 1 (X[1][0])')
    """
    foreign = dataset_columns(X)
    if foreign is not None:
        # Lists are not values of a sequence: most often they are tags.
        X = {name: values for name, values in foreign.items() if name == TOKENS or not holds_lists(values)}
    if isinstance(X, Sequences):
        found = X
    elif _is_table(X):
        found = _from_table(X)
    else:
        origin = Origin()
        items, offsets = flatten(X, origin)
        found = Sequences(items, offsets, {}, origin)
    if not allow_empty:
        _refuse_empty(found)
    return found


def _refuse_empty(sequences: Sequences) -> None:
    empty = np.flatnonzero(sequences.lengths == 0)
    if not sequences.n_sequences:
        raise DataError("X has no sequences: at least one is needed.")
    if len(empty):
        more = f" (and {len(empty) - 1} more)" if len(empty) > 1 else ""
        raise DataError(
            f"Sequence {empty[0]}{more} is empty. Leave it out: there is nothing to learn from it.",
            parameter="X",
            instances=empty.tolist(),
        )


def _is_table(X: object) -> bool:
    return isinstance(X, Mapping) or hasattr(X, "collect") or hasattr(X, "columns")


def _from_table(X: Any) -> Sequences:
    if hasattr(X, "collect"):
        raise DataError("X is a lazy frame: pass X.collect().")
    names = [str(name) for name in (X if isinstance(X, Mapping) else X.columns)]
    if TOKENS not in names:
        raise DataError(f"X is a table without a column {TOKENS!r} of token lists.{did_you_mean(TOKENS, names)}")
    if len(set(names)) < len(names):
        raise DataError(f"X has columns of the same name: {sorted({n for n in names if names.count(n) > 1})}.")
    origin = Origin(f'X["{TOKENS}"]')
    items, offsets = flatten(X[TOKENS], origin)
    columns = {name: _column(name, X[name], len(offsets) - 1) for name in names if name != TOKENS}
    return Sequences(items, offsets, columns, origin)


def _column(name: str, values: Any, n: int) -> npt.NDArray[Any]:
    array = values.to_numpy() if hasattr(values, "to_numpy") else values
    if isinstance(array, list | tuple):
        mixed = len({isinstance(v, str) for v in array}) > 1 or any(v is None for v in array)
        # NumPy would turn a list of numbers and texts into texts.
        array = np.fromiter(array, dtype=object, count=len(array)) if mixed else np.asarray(array)
    array = np.asarray(array)
    if array.shape != (n,):
        raise DataError(
            f"Column {name!r} of X has the shape {array.shape}, but there are {n} sequences: give one value "
            "per sequence."
        )
    return array
