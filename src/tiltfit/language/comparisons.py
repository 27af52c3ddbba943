"""Conditions on a column of a table or a feature of a matrix.

Where the value is missing, neither a comparison nor its negation holds.
"""

from __future__ import annotations

import numbers
import os
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import BoolArray
from tiltfit.data.inputs import is_missing
from tiltfit.errors import ConstraintError, nearest
from tiltfit.features.vectors import STATIC
from tiltfit.language.condition import Condition
from tiltfit.language.lexicon import lexicon_of
from tiltfit.language.meaning import Near
from tiltfit.language.prose import join, show
from tiltfit.language.texts import Phrase, Regex, word_or_words
from tiltfit.language.values import Exact, Label, is_collection, is_number, labels, text, threshold
from tiltfit.language.written import LABEL, LABELS, NUMBER, TEXT, Document, Table

if TYPE_CHECKING:
    from tiltfit.data.inputs import Inputs, Unit

Known = tuple[npt.NDArray[Any], "BoolArray"]  # values, and where there is one


class _Source(Exact):
    """The source of the numbers of a comparison."""

    name: str
    kind: ClassVar[str]

    @abstractmethod
    def numbers(self, inputs: Inputs, what: str) -> Known:
        """One number per position, and where it is known."""

    def above(self, value: float) -> Condition:
        """Fires where the value is greater."""
        return Above(self, value)

    def below(self, value: float) -> Condition:
        """Fires where the value is less."""
        return Below(self, value)

    def between(self, low: float, high: float) -> Condition:
        """Fires where low ≤ value ≤ high."""
        return Within(self, low, high)


@dataclass(frozen=True, eq=False, repr=False)
class Column(_Source):
    """A column of a table: compare it to get a condition, or group by it with ``per=``."""

    name: str
    kind = "column"

    def __post_init__(self) -> None:
        self._set(name=text(self.name, "The name of a column"))

    def isin(self, *values: Label) -> Condition:
        """Fires where the value is one of these."""
        several = len(values) == 1 and is_collection(values[0])
        return IsIn(self, tuple(cast(Any, values[0])) if several else values)

    def equals(self, value: Label) -> Condition:
        """Fires where the value is this one."""
        return IsIn(self, (value,))

    def word(
        self, text: str | None = None, case: bool | None = None, *, words: Iterable[str] | None = None
    ) -> Condition:
        """Fires where the column's text contains the word, or one of ``words``."""
        return word_or_words(text, case, words, self.name)

    def lexicon(
        self, words: str | os.PathLike[str] | Iterable[str], name: str | None = None, case: bool = False
    ) -> Condition:
        """Fires where the column's text contains one of many phrases."""
        return lexicon_of(words, name, case, self.name)

    def phrase(self, text: str, case: bool | None = None) -> Condition:
        """Fires where the column's text contains the words in a row."""
        return Phrase(text, case, self.name)

    def regex(self, pattern: str) -> Condition:
        """Fires where the pattern occurs in the column's text."""
        return Regex(pattern, self.name)

    def near(self, *phrases: str, above: float, encoder: str = STATIC) -> Condition:
        """Fires where the column's text is close in meaning to one of the phrases."""
        return Near(phrases, above, encoder, self.name)

    def numbers(self, inputs: Inputs, what: str) -> Known:
        values = inputs.column(self.name)
        known = present(values)
        if values.dtype.kind in "biuf":
            return values, known
        found = np.zeros(len(values))
        for i in np.flatnonzero(known):
            if not isinstance(values[i], numbers.Real):
                raise ConstraintError(f"{what} needs numbers, but column {self.name!r} holds {values[i]!r}.")
            found[i] = float(values[i])
        return found, known

    def __repr__(self) -> str:
        return f"column({self.name!r})"


@dataclass(frozen=True, eq=False, repr=False)
class Feature(_Source, Condition):
    """A named feature is not zero."""

    name: str
    keys = {"feature": TEXT}
    kind = "feature"

    def __post_init__(self) -> None:
        self._set(name=text(self.name, "The name of a feature"))

    def numbers(self, inputs: Inputs, what: str) -> Known:
        values = inputs.feature(self.name)
        return values, ~np.isnan(values)

    def decide(self, inputs: Inputs) -> tuple[BoolArray, BoolArray]:
        values, known = self.numbers(inputs, repr(self))
        return known & (values != 0), known & (values == 0)

    def __repr__(self) -> str:
        return f"feature({self.name!r})"

    def clause(self, unit: Unit, negated: bool = False) -> str:
        return f"{'without' if negated else 'with'} the feature {show(self.name)}"


class _Comparison(Condition):
    """A test of the numbers of a source."""

    source: _Source
    modifiers = {"column": TEXT, "feature": TEXT}
    needs = ("column", "feature")

    @property
    @abstractmethod
    def _words(self) -> str:
        """``above 30``."""

    @abstractmethod
    def _test(self, values: npt.NDArray[Any]) -> BoolArray:
        """The positions that pass the test."""

    def decide(self, inputs: Inputs) -> tuple[BoolArray, BoolArray]:
        values, known = self.source.numbers(inputs, repr(self))
        passed = self._test(values)
        return known & passed, known & ~passed

    def clause(self, unit: Unit, negated: bool = False) -> str:
        return f"whose {show(self.source.name)} is {'not ' if negated else ''}{self._words}"


@dataclass(frozen=True, eq=False, repr=False)
class _OneSided(_Comparison):
    source: _Source
    value: int | float
    compare: ClassVar[np.ufunc]

    def __post_init__(self) -> None:
        _check_source(self.source)
        self._set(value=threshold(self.value, f"The number in {self.source!r}.{self.key}(...)"))

    def _test(self, values: npt.NDArray[Any]) -> BoolArray:
        return np.asarray(self.compare(values, self.value))

    @property
    def _words(self) -> str:
        return f"{self.key} {self.value}"

    def __repr__(self) -> str:
        return f"{self.source!r}.{self.key}({self.value!r})"

    def to_document(self) -> Document:
        return {self.source.kind: self.source.name, self.key: self.value}

    @classmethod
    def from_table(cls, table: Table, key: str) -> Condition:
        return cls(_read_source(table), table.number(key))


@dataclass(frozen=True, eq=False, repr=False)
class Above(_OneSided):
    """The value is greater than a number."""

    keys = {"above": NUMBER}
    compare = np.greater


@dataclass(frozen=True, eq=False, repr=False)
class Below(_OneSided):
    """The value is less than a number."""

    keys = {"below": NUMBER}
    compare = np.less


@dataclass(frozen=True, eq=False, repr=False)
class Within(_Comparison):
    """The value lies between two numbers, both included."""

    source: _Source
    low: int | float
    high: int | float
    keys = {"between": {"type": "array", "items": NUMBER, "minItems": 2, "maxItems": 2}}

    def __post_init__(self) -> None:
        _check_source(self.source)
        what = f"A bound of {self.source!r}.between(...)"
        self._set(low=threshold(self.low, what), high=threshold(self.high, what))
        if self.low > self.high:
            raise ConstraintError(f"{self!r} can never fire: {self.low} is more than {self.high}.")

    def _test(self, values: npt.NDArray[Any]) -> BoolArray:
        return np.asarray((values >= self.low) & (values <= self.high))

    @property
    def _words(self) -> str:
        return f"between {self.low} and {self.high}"

    def __repr__(self) -> str:
        return f"{self.source!r}.between({self.low!r}, {self.high!r})"

    def to_document(self) -> Document:
        return {self.source.kind: self.source.name, "between": [self.low, self.high]}

    @classmethod
    def from_table(cls, table: Table, key: str) -> Condition:
        return cls(_read_source(table), *table.pair(key))


@dataclass(frozen=True, eq=False, repr=False)
class IsIn(Condition):
    """The value is one of these; strings, numbers and bools are different things."""

    column: Column
    values: tuple[Label, ...]
    keys = {"equals": LABEL, "isin": LABELS}
    modifiers = {"column": TEXT}
    needs = ("column",)
    unordered = ("values",)

    def __post_init__(self) -> None:
        _check_source(self.column, Column)
        self._set(values=labels(self.values, f"{self.column!r}.isin(...)"))
        if not self.values:
            raise ConstraintError(f"{self.column!r}.isin() can never fire: pass at least one value.")

    def decide(self, inputs: Inputs) -> tuple[BoolArray, BoolArray]:
        values = inputs.column(self.column.name)
        known = present(values)
        if values.dtype.kind in "iuf":
            wanted = [values == v for v in self.values if is_number(v)]
            passed = np.logical_or.reduce(wanted, initial=False) & known
        elif values.dtype.kind in "bOUT":
            kinds = {(_kind(v), v) for v in self.values}
            found = (k and (_kind(v), v) in kinds for v, k in zip(values, known, strict=True))
            passed = np.fromiter(found, dtype=np.bool_, count=len(values))
        else:
            raise ConstraintError(f"{self!r} compares strings, numbers or bools, but the column holds {values.dtype}.")
        return passed, known & ~passed

    def suggest(self, inputs: Inputs) -> str | None:
        values = inputs.column(self.column.name)
        if values.dtype.kind not in "OUT":
            return None
        texts = dict.fromkeys(v for v in values if _kind(v) is str)
        return next((s for v in self.values if (s := nearest(v, texts)) is not None), None)

    def __repr__(self) -> str:
        if len(self.values) == 1:
            return f"{self.column!r}.equals({self.values[0]!r})"
        return f"{self.column!r}.isin({', '.join(map(repr, self.values))})"

    def to_document(self) -> Document:
        one = len(self.values) == 1
        value = {"equals": self.values[0]} if one else {"isin": list(self.values)}
        return {"column": self.column.name, **value}

    @classmethod
    def from_table(cls, table: Table, key: str) -> Condition:
        values = [table.label(key)] if key == "equals" else table.labels(key)
        return cls(Column(table.text("column")), tuple(values))

    def clause(self, unit: Unit, negated: bool = False) -> str:
        values = [show(v) for v in self.values]
        if not negated:
            verb = join(values, "or")
        elif len(values) == 1:
            verb = f"not {values[0]}"
        elif len(values) == 2:
            verb = f"neither {values[0]} nor {values[1]}"
        else:
            verb = f"none of {join(values, 'and')}"
        return f"whose {show(self.column.name)} is {verb}"


def present(values: npt.NDArray[Any]) -> BoolArray:
    """The positions whose value is not missing (None, NaN, NaT, pd.NA)."""
    if values.dtype.kind in "biu":
        return np.ones(len(values), dtype=np.bool_)
    if values.dtype.kind in "fcmM":
        return np.asarray(values == values)
    return np.fromiter((not is_missing(v) for v in values), dtype=np.bool_, count=len(values))


_KINDS: tuple[tuple[Any, type], ...] = ((bool | np.bool_, bool), (numbers.Real, float), (str, str))


def _kind(value: object) -> type | None:
    return next((kind for types, kind in _KINDS if isinstance(value, types)), None)


def _check_source(source: object, kind: type[_Source] = _Source) -> None:
    """Refuse what is compared unless it is of this kind."""
    if not isinstance(source, kind):
        what = "not column(...)" if kind is Column else "neither column(...) nor feature(...)"
        raise ConstraintError(f"{source!r} is {what}.")


def _read_source(table: Table) -> _Source:
    if ("column" in table) == ("feature" in table):
        raise table.error("compares a number, so it needs either `column` or `feature`")
    return Column(table.text("column")) if "column" in table else Feature(table.text("feature"))
