"""Sequences as users give them, and what conditions see of them.

``as_sequences`` takes a list of token lists, a list of lists of attributes (as users of CRFsuite have them: lists of
names or dicts), a list of spaCy documents, or a mapping, a data frame or another library's table with a column
``tokens`` and further columns, one value per sequence. Inside, the positions of all sequences stand in one flat list;
``offsets`` gives the start of each sequence.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.data.attributes import AttributeRows
from tiltfit.data.foreign import (
    dataset_columns,
    found_in,
    holds_lists,
    is_document,
    refuse_lazy,
    refuse_repeated,
    tokens_of,
)
from tiltfit.data.inputs import LENGTH, Inputs, TableInputs, Unit, WordIndex, cut, is_missing
from tiltfit.data.votes import Votes
from tiltfit.data.words import normal, tokenise
from tiltfit.errors import ConstraintError, DataError, did_you_mean

Kind = Literal["tokens", "attributes"]

TOKENS = "tokens"
"""The column of a table that holds the sequences."""
_NEAR = 2  # tokens on either side
_UNFIT = {"Cc": "the control character", "Cs": "half of a surrogate pair,"}


@dataclass(frozen=True, eq=False)
class Sequences(Inputs):
    """``items``: every position of every sequence, tokens or ``AttributeRows``; sequence k is
    ``items[offsets[k]:offsets[k + 1]]``. ``columns``: further values, one per sequence. ``origin``: the name that
    messages have for the sequences. ``vectors``: of the positions, if they came with X; conditions do not see them.
    """

    items: Sequence[Any]
    offsets: IntArray
    columns: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    origin: str = "X"
    vectors: FloatArray | None = None
    evidence: TableInputs | None = None
    votes: Votes | None = None

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
        return _where(self.offsets, i, name or self.origin)

    def refused(self, i: int, why: str, name: str | None = None, others: Iterable[int] = ()) -> DataError:
        """Return an error about position i of X, or of ``name``; ``others`` are positions with the same fault."""
        return _refused(self.offsets, i, why, name or self.origin, others)

    def place(self, i: int) -> str:
        return _lower(self.where(i))

    def sequence_of(self, i: int) -> int:
        """The number of the sequence that position i is in."""
        return _sequence(self.offsets, i)

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
    def evidence_columns(self) -> Mapping[str, npt.NDArray[Any]]:
        """Evidence by name, one value per token."""
        return {} if self.evidence is None else {n: self.evidence.own_column(n) for n in self.evidence.column_names}

    @property
    def column_names(self) -> Collection[str]:
        own = {TOKENS, *self.columns}
        return own if self.evidence is None else own | set(self.evidence.column_names)

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

    def own_index(self, column: str | None) -> WordIndex:
        if column is None:
            return self._index
        texts = self._table(column).texts(column)
        words = (itertools.repeat(tokenise(t), k) for t, k in zip(texts, self.lengths, strict=True))
        return WordIndex(itertools.chain.from_iterable(words))

    def own_texts(self, column: str | None) -> Sequence[str]:
        if column is None:
            return self._tokens("A word, pattern or punctuation")
        texts = self._table(column).texts(column)
        return [t for t, k in zip(texts, self.lengths, strict=True) for _ in range(k)]

    def runs(self, column: str | None = None) -> IntArray | None:
        return self.offsets if column is None or self._holder(column) is not self else None

    def own_column(self, name: str) -> npt.NDArray[Any]:
        return np.repeat(self._table(name).column(name), self.lengths)

    def own_feature(self, name: str) -> FloatArray:
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
    def _normal(self) -> list[str]:
        return list(map(normal, self.items))

    @cached_property
    def _index(self) -> TokenIndex:
        return TokenIndex(self._tokens("word(...)"))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {} if self._attributes is None else {name: j for j, name in enumerate(self._attributes.names)}

    def _tokens(self, what: str) -> Sequence[str]:
        if self.kind == "tokens":
            return self._normal
        raise ConstraintError(
            f"{what} looks at tokens, but X holds attributes. Use feature('name'), or pass token lists and features=."
        )

    def _table(self, name: str) -> TableInputs:
        if name not in self.columns:
            if not self.columns:
                raise ConstraintError(
                    f"column({name!r}) needs a value for each sequence, but X is a list of sequences. Pass a mapping "
                    f'or a data frame with the columns "{TOKENS}" and {name!r}, or the column as evidence=.'
                )
            raise ConstraintError(f"X has no column {name!r}.{did_you_mean(name, self.columns)}")
        return TableInputs(self.columns)


class TokenIndex(WordIndex):
    """A word index whose words are whole tokens, whatever they contain, one per position."""

    def __init__(self, tokens: Sequence[str]) -> None:
        numbers: dict[str, int] = {}
        codes = np.fromiter((numbers.setdefault(t, len(numbers)) for t in tokens), dtype=np.int64, count=len(tokens))
        self._numbers = numbers
        self._order = np.argsort(codes, kind="stable")
        self._ends = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=len(numbers)))])
        self._spell(numbers)

    def positions(self, word: str, *, case: bool) -> IntArray:
        """Sorted positions of the token ``word``."""
        numbers = [self._numbers[form] for form in self._forms(word, case)]
        found = [self._order[self._ends[k] : self._ends[k + 1]] for k in numbers]
        return np.sort(np.concatenate(found)) if found else np.empty(0, dtype=np.intp)


@runtime_checkable
class HoldsSequences(Protocol):
    """X with something beside it."""

    def sequences(self) -> Sequences: ...


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
    elif isinstance(X, Mapping) or hasattr(X, "collect") or hasattr(X, "columns"):
        found = _from_table(X)
    elif isinstance(X, HoldsSequences):
        found = X.sequences()
    else:
        found = Sequences(*_flatten(X, "X"), evidence=_found_in(X))
    if not allow_empty:
        _refuse_empty(found)
    return found


def _found_in(X: Any) -> TableInputs | None:
    """What documents of spaCy bring along for conditions."""
    if not is_document(next(iter(X), None)) or not all(map(is_document, X)):
        return None
    columns = found_in(X)
    return TableInputs({name: np.array(values, dtype=object) for name, values in columns.items()}) if columns else None


def _refuse_empty(sequences: Sequences) -> None:
    empty = np.flatnonzero(sequences.lengths == 0)
    if not sequences.n_sequences:
        raise DataError("X has no sequences: at least one is needed.", parameter="X")
    if len(empty):
        more = f" (and {len(empty) - 1} more)" if len(empty) > 1 else ""
        raise DataError(
            f"Sequence {empty[0]}{more} is empty. Leave it out: there is nothing to learn from it.",
            parameter="X",
            instances=empty.tolist(),
        )


def _from_table(X: Any) -> Sequences:
    refuse_lazy(X)
    names = [str(name) for name in (X if isinstance(X, Mapping) else X.columns)]
    if TOKENS not in names:
        raise DataError(f"X is a table without a column {TOKENS!r} of token lists.{did_you_mean(TOKENS, names)}")
    refuse_repeated(names)
    origin = f'X["{TOKENS}"]'
    items, offsets = _flatten(X[TOKENS], origin)
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


# From nested lists to flat positions: what is refused is named by sequence and position


def _sequence(offsets: IntArray, i: int) -> int:
    return int(np.searchsorted(offsets, i, side="right")) - 1


def _where(offsets: IntArray, i: int, origin: str) -> str:
    k = _sequence(offsets, i)
    t = i - int(offsets[k])
    return f"Position {t} of sequence {k} ({origin}[{k}][{t}])"


def _lower(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


def _refused(offsets: IntArray, i: int, why: str, origin: str, others: Iterable[int] = ()) -> DataError:
    instances = dict.fromkeys(_sequence(offsets, j) for j in (i, *others))
    return DataError(f"{_where(offsets, i, origin)} {why}", instances=instances)


def _flatten(X: Any, origin: str) -> tuple[Sequence[Any], IntArray]:
    """Tokens (a list) or ``AttributeRows``, and where each sequence starts."""
    if isinstance(X, str | bytes):
        raise DataError(
            f"{origin} is a single text. Pass a list of token lists, even for one: [text.split()].", parameter="X"
        )
    if not isinstance(X, Sequence | np.ndarray) and not hasattr(X, "to_numpy"):
        raise DataError(f"{origin} must be a list of token lists, but is of type {type(X).__name__}.")
    rows = [_row(row, k, origin) for k, row in enumerate(X)]
    offsets = np.zeros(len(rows) + 1, dtype=np.intp)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    flat = list(itertools.chain.from_iterable(rows))
    samples = {type(item): item for item in flat}
    if samples.keys() - {str}:
        kinds = {kind: _kind(item) for kind, item in samples.items()}
        _refuse_strangers(flat, kinds, offsets, origin)
        if kinds[type(flat[0])] == "attributes":
            return AttributeRows.of(flat, lambda i, why: _refused(offsets, i, why, origin)), offsets
        flat = [str(token) for token in flat]  # NumPy's strings become plain ones
    bad = {token: why for token in dict.fromkeys(flat) if (why := unfit(token)) is not None}
    if bad:
        first, *others = (i for i, token in enumerate(flat) if token in bad)
        raise _refused(offsets, first, bad[flat[first]], origin, others)
    return flat, offsets


def _row(row: Any, k: int, origin: str) -> Sequence[Any]:
    match row:
        case list() | tuple():
            return row
        case _ if is_document(row):
            return tokens_of(row)
        case str() | bytes():
            why = f"is a text, {row!r:.60}, where a list of tokens is expected. Did you mean text.split()?"
        case np.ndarray() if row.ndim == 1:
            return list(row.tolist())
        case Mapping() | set():
            hint = "Is this one position? Then a list around it is missing."
            why = f"must be a list of tokens or of attributes, but is of type {type(row).__name__}. {hint}"
        case _ if hasattr(row, "to_list") or isinstance(row, Sequence):
            return list(row)
        case _ if not hasattr(row, "__len__") and is_missing(row):
            why = f"is missing ({row!r}). Leave it out of X."
        case _:
            why = f"must be a list of tokens or of attributes, but is of type {type(row).__name__}."
    raise DataError(f"Sequence {k} ({origin}[{k}]) {why}", instance=k)


def _kind(item: object) -> Kind | None:
    match item:
        case str():
            return "tokens"
        case Mapping() | list() | tuple() | set() | frozenset():
            return "attributes"
    return None


def _refuse_strangers(flat: Sequence[Any], kinds: Mapping[type, Kind | None], offsets: IntArray, origin: str) -> None:
    """Every position is a token, or every one has attributes."""
    first = kinds[type(flat[0])]
    if first is not None and set(kinds.values()) == {first}:
        return
    i = 0 if first is None else next(i for i, item in enumerate(flat) if kinds[type(item)] != first)
    item, start = flat[i], _lower(_where(offsets, 0, origin))
    everywhere = "Pass tokens everywhere, or attributes everywhere."
    match kinds[type(item)]:
        case "attributes":
            why = f"holds attributes, but {start} is the token {flat[0]!r:.60}. {everywhere}"
        case "tokens":
            why = f"is the token {item!r:.60}, but {start} holds attributes. {everywhere}"
        case _:
            advice = "Decode it: token.decode()." if isinstance(item, bytes) else "Turn it into text: str(token)."
            if not hasattr(item, "__len__") and is_missing(item):
                advice = "Leave it out, or write what stands there."
            why = f"is {item!r:.60} ({type(item).__name__}), but a token is a string. {advice}"
    raise _refused(offsets, i, why, origin)


def unfit(token: str) -> str | None:
    """The reason why a string cannot be a token, as the end of a sentence; None if it can.

    >>> unfit("a"), unfit(" ")
    (None, "is the empty token ' '. Leave it out, or write what stands there.")
    """
    if not token or token.isspace():
        return f"is the empty token {token!r}. Leave it out, or write what stands there."
    if token.isprintable():
        return None
    for c in token:
        if unicodedata.category(c) in _UNFIT:
            return f"is the token {token!r:.60}, which holds {_UNFIT[unicodedata.category(c)]} {c!r}. Clean the text."
    return None
