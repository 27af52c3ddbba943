"""The input as the user gave it, which conditions look at (not the model's features).

An ``Inputs`` answers four questions about its positions (documents, rows or tokens): where a word occurs, what the text
is, what a column holds, and what a feature's value is. A kind of input that has no answer raises an error that names
what would work.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tiltfit.data.words import normal, places_of_words, tokenise
from tiltfit.errors import ConstraintError, DataError, did_you_mean

if TYPE_CHECKING:
    from tiltfit.data.votes import Votes

LENGTH = 60  # characters
_BEFORE = 20  # characters before the first word


def cut(text: str, words: Sequence[str] = ()) -> str:
    """Return one short line that begins shortly before the first of the words.

    >>> cut("We are sorry to write again, but the parcel that was sent to us last week has lost its puck.", ["parcel"])
    '… again, but the parcel that was sent to us last week has…'
    """
    line = " ".join(text.split())
    if len(line) <= LENGTH:
        return line
    wanted = {normal(word).casefold() for word in words}
    found = next((a for a, b in places_of_words(line) if normal(line[a:b]).casefold() in wanted), 0) if wanted else 0
    start = max(0, found - _BEFORE)
    start = line.find(" ", start) if start else 0
    rest = line[start:]
    shown = rest if len(rest) <= LENGTH else f"{rest[: LENGTH - 2].rsplit(' ', 1)[0]}…"
    return f"…{shown}" if start else shown


Unit = Literal["documents", "rows", "tokens"]
T = TypeVar("T")


class WordIndex:
    """The positions that contain each word, in the normal form; built in one pass, then each look-up is O(answer).

    ``guesses``: the nearest words that were searched so far for words that do not occur."""

    def __init__(self, tokens: Iterable[Iterable[str]]) -> None:
        self._postings: dict[str, list[int]] = {}
        for i, words in enumerate(tokens):
            for word in set(words):
                self._postings.setdefault(word, []).append(i)
        self._spell(self._postings)

    def positions(self, word: str, *, case: bool) -> npt.NDArray[np.intp]:
        """Sorted positions that contain ``word`` as a whole token."""
        if tokenise(word) != [word]:
            raise ConstraintError(
                f"word({word!r}) is not a single word, so it can never match a document. "
                f"Use phrase({word!r}) for several words in a row, or regex(...)."
            )
        found = [np.asarray(self._postings[form], dtype=np.intp) for form in self._forms(word, case)]
        return np.unique(np.concatenate(found)) if found else np.empty(0, dtype=np.intp)

    def _spell(self, words: Iterable[str]) -> None:
        """Learn all words, in their spellings."""
        self.guesses: dict[str, str | None] = {}
        self._spellings: dict[str, list[str]] = {}
        for word in words:
            self._spellings.setdefault(word.casefold(), []).append(word)

    def _forms(self, word: str, case: bool) -> list[str]:
        """The spellings of a word that occur: its own alone if ``case`` matters."""
        return [form for form in self._spellings.get(word.casefold(), []) if form == word or not case]

    def __contains__(self, word: str) -> bool:
        return word.casefold() in self._spellings

    @property
    def words(self) -> list[str]:
        """All words, case folded."""
        return list(self._spellings)


class NameIndex(WordIndex):
    """A word index over the named columns of a matrix: a word occurs where a column of its name is not zero."""

    def __init__(self, matrix: npt.NDArray[Any] | sparse.csc_array, names: Sequence[str]) -> None:
        self._matrix = matrix
        self._columns: dict[str, list[int]] = {}
        for j, name in enumerate(names):
            self._columns.setdefault(normal(name), []).append(j)
        self._spell(self._columns)

    def positions(self, word: str, *, case: bool) -> npt.NDArray[np.intp]:
        """Sorted positions where a column called ``word`` is not zero."""
        columns = [j for form in self._forms(word, case) for j in self._columns[form]]
        if not columns:
            return np.empty(0, dtype=np.intp)
        return np.unique(self._matrix[:, columns].nonzero()[0]).astype(np.intp)


class Inputs(ABC):
    """The raw input of a fit, addressed by position.

    ``evidence`` (columns beside X, one value per position) and ``votes`` may come with it, see ``data.beside``. Columns
    are looked up there first: no name is in both.
    """

    unit: Unit
    evidence: TableInputs | None = None
    votes: Votes | None = None

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of positions."""

    def index(self, column: str | None = None) -> WordIndex:
        """The index of words (in one column of a table, or in the only text there is)."""
        self._refuse_unknown(column)
        return self._holder(column).own_index(column)

    def texts(self, column: str | None = None) -> Sequence[str]:
        """The text at each position, in the normal form NFC."""
        self._refuse_unknown(column)
        return self._holder(column).own_texts(column)

    def column(self, name: str) -> npt.NDArray[Any]:
        """One value per position, from a table."""
        self._refuse_unknown(name)
        return self._holder(name).own_column(name)

    def feature(self, name: str) -> npt.NDArray[np.float64]:
        """One number per position: a named column of a matrix or a numeric column of a table."""
        return self._holder(name).own_feature(name)

    def _holder(self, column: str | None) -> Inputs:
        """What has the column: the evidence, or X itself."""
        return self if self.evidence is None or column not in self.evidence.column_names else self.evidence

    def _refuse_unknown(self, column: str | None) -> None:
        """Refuse a column that neither X nor the evidence has; without evidence X says so itself."""
        if self.evidence is None or column is None:
            return
        beside = self.evidence.column_names
        if column not in beside and column not in self.column_names:
            raise ConstraintError(
                f"Neither X nor evidence= has a column {column!r}. evidence= has {', '.join(map(repr, beside))}."
                f"{did_you_mean(column, [*beside, *self.column_names])}"
            )

    def having(self, **beside: Any) -> Self:
        """The same with ``evidence``, with ``votes``, or with both."""
        found = copy.copy(self)
        found.__dict__.pop("_kept", None)
        for name, value in beside.items():
            object.__setattr__(found, name, value)
        return found

    @property
    def column_names(self) -> Collection[str]:
        """The names of the columns of X."""
        return ()

    # The same of X itself

    @abstractmethod
    def own_index(self, column: str | None) -> WordIndex: ...

    @abstractmethod
    def own_texts(self, column: str | None) -> Sequence[str]: ...

    @abstractmethod
    def own_column(self, name: str) -> npt.NDArray[Any]: ...

    @abstractmethod
    def own_feature(self, name: str) -> npt.NDArray[np.float64]: ...

    @abstractmethod
    def row(self, i: int) -> Any:
        """Position i as the user gave it: what ``when(callable)`` is called with."""

    def place(self, i: int) -> str:
        """A name of position i for messages."""
        return f"{self.unit.removesuffix('s')} {i} of X"

    def excerpt(self, i: int, words: Sequence[str] = ()) -> str:
        """Position i in one short line, as people would recognise it: a document around the first of ``words``."""
        return cut(str(self.row(i)), words)

    def runs(self, column: str | None = None) -> npt.NDArray[np.intp] | None:
        """The first position of every run of texts that follow one another, as tokens do, and the number of positions;
        None if each text stands by itself."""
        return None

    @property
    def has_texts(self) -> bool:
        """True if positions are or hold raw text."""
        return True

    @property
    def word_columns(self) -> list[str | None]:
        """The columns that words are looked up in; None stands for the only text there is."""
        return [None]

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """``make()`` of the first call with this key, kept for the others."""
        if key not in self._kept:
            self._kept[key] = make()
        found: T = self._kept[key]
        return found

    @cached_property
    def _kept(self) -> dict[Hashable, Any]:
        return {}

    # Instances: each position is one, except in sequences.

    @property
    def n_instances(self) -> int:
        """Number of documents, rows or sequences."""
        return self.n

    @property
    def lengths(self) -> npt.NDArray[np.intp]:
        """The number of positions of every instance."""
        return np.ones(self.n, dtype=np.intp)

    def without_empty(self) -> Self:
        """The same positions; instances that have none are left out."""
        return self

    def instance_excerpt(self, instance: int) -> str:
        """A whole instance in one short line."""
        return self.excerpt(instance)


class TextInputs(Inputs):
    """A list of raw texts."""

    unit: Unit = "documents"

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = list(texts)

    @property
    def n(self) -> int:
        return len(self._texts)

    @cached_property
    def _index(self) -> WordIndex:
        return WordIndex(tokenise(text) for text in self._normal)

    @cached_property
    def _normal(self) -> list[str]:
        return list(map(normal, self._texts))

    def own_index(self, column: str | None) -> WordIndex:
        self._refuse_column(column)
        return self._index

    def own_texts(self, column: str | None) -> Sequence[str]:
        self._refuse_column(column)
        return self._normal

    def own_column(self, name: str) -> npt.NDArray[Any]:
        self._refuse_column(name)
        raise AssertionError  # pragma: no cover

    def own_feature(self, name: str) -> npt.NDArray[np.float64]:
        raise ConstraintError(
            f"feature({name!r}) needs a matrix with feature_names= or a data frame, "
            f"but X is a list of texts. Use word({name!r})."
        )

    def row(self, i: int) -> str:
        return self._texts[i]

    @staticmethod
    def _refuse_column(column: str | None) -> None:
        if column is not None:
            raise ConstraintError(
                f"column({column!r}) needs a data frame, but X is a list of texts. Pass a frame that has this column "
                "(on the command line: --column), or the column as evidence=."
            )


class MatrixInputs(Inputs):
    """A dense or sparse matrix, whose columns may have names."""

    unit: Unit = "rows"
    has_texts = False

    def __init__(self, X: npt.NDArray[Any] | sparse.csr_array, names: Sequence[str] | None) -> None:
        self._X = X
        self._names = list(names) if names is not None else None

    @property
    def n(self) -> int:
        return int(self._X.shape[0])

    @property
    def column_names(self) -> Collection[str]:
        return self._names or ()

    @cached_property
    def _index(self) -> WordIndex:
        return NameIndex(self._columns, self._require_names("word(...)"))

    @cached_property
    def _columns(self) -> npt.NDArray[Any] | sparse.csc_array:
        return sparse.csc_array(self._X) if sparse.issparse(self._X) else np.asarray(self._X)

    def own_index(self, column: str | None) -> WordIndex:
        if column is not None:
            raise ConstraintError(f"column({column!r}).word(...) needs a data frame of texts, but X is a matrix.")
        return self._index

    def own_texts(self, column: str | None) -> Sequence[str]:
        raise ConstraintError(
            "phrase(...), lexicon(...), regex(...) and near(...) look at raw text, but X is a matrix. "
            "Pass the texts themselves (and the matrix's vectorizer as vectorizer=)."
        )

    def own_column(self, name: str) -> npt.NDArray[Any]:
        return self.own_feature(name)

    def own_feature(self, name: str) -> npt.NDArray[np.float64]:
        names = self._require_names(f"feature({name!r})")
        if name not in names:
            raise ConstraintError(f"X has no feature named {name!r}.{did_you_mean(name, names)}")
        values = self._columns[:, [names.index(name)]]
        dense = values.toarray() if sparse.issparse(values) else values
        return np.asarray(dense, dtype=np.float64).ravel()

    def row(self, i: int) -> Any:
        return self._X[i]

    def excerpt(self, i: int, words: Sequence[str] = ()) -> str:
        return f"row {i}"

    def _require_names(self, what: str) -> list[str]:
        if self._names is None:
            raise ConstraintError(
                f"{what} needs to know what the columns of X mean, but X is a matrix without names. "
                "Pass feature_names= to the estimator, a data frame, or the texts themselves with vectorizer=."
            )
        return self._names


class NoInputs(MatrixInputs):
    """``n`` rows of which nothing is known but the features beside them: no condition can look at them."""

    def __init__(self, n: int) -> None:
        super().__init__(np.empty((n, 0)), [])

    def own_index(self, column: str | None) -> WordIndex:
        raise self._refused("A condition")

    def own_texts(self, column: str | None) -> Sequence[str]:
        raise self._refused("A condition")

    def own_feature(self, name: str) -> npt.NDArray[np.float64]:
        raise self._refused(f"The condition on {name!r}")

    def row(self, i: int) -> Any:
        raise self._refused("A condition")

    @staticmethod
    def _refused(what: str) -> DataError:
        return DataError(f"{what} looks at X, but X is None: pass X beside features=.", parameter="X")


class TableInputs(Inputs):
    """Named columns of equal length: numbers, categories or texts."""

    unit: Unit = "rows"

    def __init__(self, columns: Mapping[str, npt.NDArray[Any]]) -> None:
        self._columns = dict(columns)
        lengths = {len(values) for values in self._columns.values()}
        if len(lengths) > 1:
            raise DataError(f"The columns of a table must be equally long, but have lengths {sorted(lengths)}.")
        self._n = lengths.pop() if lengths else 0
        self._indexes: dict[str, WordIndex] = {}
        self._texts: dict[str, list[str]] = {}

    @property
    def n(self) -> int:
        return self._n

    @property
    def column_names(self) -> Collection[str]:
        return self._columns.keys()

    @property
    def text_columns(self) -> list[str]:
        """Names of the columns that hold text."""
        return [name for name, values in self._columns.items() if values.dtype.kind in "OUT"]

    @property
    def word_columns(self) -> list[str | None]:
        return [None] if len(self.text_columns) == 1 else list(self.text_columns)

    def own_index(self, column: str | None) -> WordIndex:
        name = self._text_column(column)
        if name not in self._indexes:
            self._indexes[name] = WordIndex(tokenise(text) for text in self.own_texts(name))
        return self._indexes[name]

    def own_texts(self, column: str | None) -> Sequence[str]:
        name = self._text_column(column)
        if name not in self._texts:
            self._texts[name] = ["" if is_missing(v) else normal(str(v)) for v in self._columns[name]]
        return self._texts[name]

    def own_column(self, name: str) -> npt.NDArray[Any]:
        if name not in self._columns:
            raise ConstraintError(f"X has no column {name!r}.{did_you_mean(name, self._columns)}")
        return self._columns[name]

    def own_feature(self, name: str) -> npt.NDArray[np.float64]:
        values = self.own_column(name)
        if values.dtype.kind not in "biuf":
            raise ConstraintError(f"feature({name!r}) needs numbers, but column {name!r} holds text.")
        return values.astype(np.float64)

    def row(self, i: int) -> dict[str, Any]:
        return {name: values[i] for name, values in self._columns.items()}

    def excerpt(self, i: int, words: Sequence[str] = ()) -> str:
        return cut(" | ".join(f"{name}: {value}" for name, value in self.row(i).items()), words)

    def _text_column(self, column: str | None) -> str:
        if column is not None:
            self.own_column(column)
            return column
        texts = self.text_columns
        if len(texts) == 1 or "text" in texts:
            return texts[0] if len(texts) == 1 else "text"
        # No other name shows which of several is *the* text.
        which = ", ".join(repr(t) for t in texts) or "none"
        raise ConstraintError(
            f"X is a table with {len(texts)} text columns ({which}), so a word or pattern must say which: "
            'column("title").word("x").'
        )


def is_missing(value: object) -> bool:
    """Return whether a value is None, NaN, NaT or pd.NA."""
    # pd.NA and pd.NaT are recognised by name: comparing pd.NA gives neither true nor false.
    return value is None or type(value).__name__ in {"NAType", "NaTType"} or value != value
