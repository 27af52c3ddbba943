"""Encoders turn the X that a user passes into what the model and the conditions see.

An encoder is fitted once and then turns any X of the same kind into a matrix (for the model) and ``Inputs`` (for the
conditions). Three kinds: raw texts, a table with text in it, numbers.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeGuard, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tiltfit.data.documents import as_table, as_texts
from tiltfit.data.inputs import Inputs, MatrixInputs, TableInputs, TextInputs
from tiltfit.data.matrices import refuse_broken
from tiltfit.errors import DataError, UnsupportedError
from tiltfit.features.hashing import Buckets, joined
from tiltfit.features.meaning import MEANINGS, WordsAndMeaning, fit_vectors, fit_words_and_meaning
from tiltfit.features.text import NO_WORDS, UNITS, BagOfWords, HashedWords, Views, fit_bag_of_words, fit_views

B = TypeVar("B")
Bag = BagOfWords | HashedWords | Views | WordsAndMeaning
Matrix = sparse.csr_array | npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TextEncoder:
    """Raw texts; ``bag`` is our own vocabulary or hash, or ``foreign`` a scikit-learn vectorizer fitted by us, or the
    ``Vectors`` of an encoder. ``length``: that of the rows, if vectors of an encoder were scaled to it."""

    bag: Bag | None = None
    foreign: Any = None
    length: float | None = None
    columns = None  # of a table

    @property
    def is_lost(self) -> bool:
        """True if the vectorizer could not be saved with the model."""
        return self.bag is None and self.foreign is None

    @property
    def has_meaning(self) -> bool:
        """True if words stand beside vectors of their meaning."""
        return isinstance(self.bag, WordsAndMeaning)

    @property
    def apart(self) -> npt.NDArray[np.bool_]:
        """Which columns are vectors that are fitted apart from words."""
        return _apart(self.bag)

    @staticmethod
    def fit(texts: list[str], vectorizer: Any, *, part: bool = False) -> tuple[TextEncoder, Matrix]:
        """``part``: more texts will come, so that these need not have words if words are hashed."""
        if isinstance(vectorizer, str):
            bag, matrix = _fit_bag(texts, vectorizer, part=part)
            return TextEncoder(bag=bag), matrix
        if isinstance(vectorizer, type):
            raise DataError(
                f"vectorizer={vectorizer.__name__} is a class: pass an object, {vectorizer.__name__}(...).",
                parameter="vectorizer",
            )
        if not hasattr(vectorizer, "fit_transform") and hasattr(vectorizer, "encode"):
            vectors, dense = fit_vectors(texts, vectorizer)
            return TextEncoder(foreign=vectors, length=vectors.length), dense
        if not hasattr(vectorizer, "fit_transform"):
            raise DataError(
                f"vectorizer={vectorizer!r} has no fit_transform and no encode: pass a name, a scikit-learn vectorizer "
                "or an encoder.",
                parameter="vectorizer",
            )
        fitted = _copied(vectorizer)
        return TextEncoder(foreign=fitted), _made(fitted, fitted.fit_transform(texts), len(texts))

    @property
    def names(self) -> Sequence[str]:
        if self.bag is not None:
            return joined(self.bag.names)
        try:
            return [str(name) for name in self.foreign.get_feature_names_out()]
        except Exception:  # a pipeline has the method whether or not its steps do, and each fails in its own way
            return []

    def matrix(self, X: object) -> Matrix:
        texts = _texts(X)
        if self.bag is not None:
            return self.bag.transform(texts)
        if self.is_lost:
            raise UnsupportedError(
                "This model was loaded from a file, which cannot hold its foreign vectorizer. Transform the texts with "
                "that vectorizer and pass the matrix, as X or as features=, or fit with vectorizer='auto'.",
                parameter="vectorizer",
            )
        return _made(self.foreign, self.foreign.transform(texts), len(texts))

    def found(self, matrix: Matrix) -> Matrix:
        """The matrix that the vectorizer, which is lost, has made, scaled as it was in the fit."""
        if self.length is None:
            return matrix
        dense = matrix.toarray() if sparse.issparse(matrix) else matrix
        lengths = np.linalg.norm(dense, axis=1, keepdims=True)
        return np.asarray(self.length * np.divide(dense, lengths, out=np.zeros_like(dense), where=lengths > 0))

    def learn(self, X: object) -> tuple[TextEncoder, Matrix]:
        """The next texts of a stream, and the encoder after them: hashed words are weighted by what came before."""
        if self.bag is None:
            return self, self.matrix(X)
        bag, matrix = _learn_bag(self.bag, _texts(X))
        return TextEncoder(bag=bag), matrix

    def wider(self, X: object) -> tuple[TextEncoder, sparse.csr_array] | None:
        """The encoder with more views of the texts it was fitted on; None if its features were chosen by the user."""
        if not _can_widen(self.bag):
            return None
        bag, matrix = fit_views(_texts(X), self.bag)
        return TextEncoder(bag=bag), matrix

    @property
    def views(self) -> tuple[str, ...]:
        """What is counted in texts."""
        return self.bag.units if isinstance(self.bag, Views) else ()

    def anew(self) -> TextEncoder:
        """The encoder as it was before its first text."""
        return replace(self, bag=_anew(self.bag))

    def inputs(self, X: object) -> Inputs:
        return TextInputs(_texts(X))


@dataclass(frozen=True, eq=False)
class TableEncoder:
    """A table: numbers as they are, each text column as its own bag of words (``column:word``)."""

    numeric: tuple[str, ...] = ()
    bags: Mapping[str, Bag] = field(default_factory=dict)
    is_lost = False

    @staticmethod
    def fit(
        table: Mapping[str, npt.NDArray[Any]], vectorizer: Any, *, part: bool = False
    ) -> tuple[TableEncoder, sparse.csr_array]:
        """``part``: as for texts."""
        if not isinstance(vectorizer, str):
            raise DataError(
                f"vectorizer={type(vectorizer).__name__} applies to a list of texts, but X is a table. Use a name such "
                "as 'auto', transform the table first, or pass vectors of its rows as features= beside it.",
                parameter="vectorizer",
            )
        inputs = TableInputs(table)
        if inputs.n == 0:
            raise DataError("X has no rows: at least one is needed.", parameter="X")
        texts = inputs.text_columns
        bags = {name: _fit_bag(inputs.texts(name), vectorizer, part=part)[0] for name in texts}
        encoder = TableEncoder(tuple(name for name in table if name not in texts), bags)
        return encoder, encoder._encode(inputs)

    @property
    def has_meaning(self) -> bool:
        """As of texts, of any column."""
        return any(isinstance(bag, WordsAndMeaning) for bag in self.bags.values())

    @property
    def apart(self) -> npt.NDArray[np.bool_]:
        """As of texts, of all columns."""
        return np.concatenate([np.zeros(len(self.numeric), dtype=np.bool_), *map(_apart, self.bags.values())])

    @property
    def columns(self) -> list[str]:
        """The columns of the table that the model looks at."""
        return [*self.numeric, *self.bags]

    @property
    def names(self) -> Sequence[str]:
        return joined(self.numeric, *(_prefixed(f"{name}:", bag.names) for name, bag in self.bags.items()))

    def matrix(self, X: object) -> sparse.csr_array:
        return self._encode(self.inputs(X))

    def inputs(self, X: object) -> TableInputs:
        table = as_table(X)
        if table is None:
            raise DataError("This model was fitted on a table: pass a data frame with the same columns.", parameter="X")
        missing = [name for name in self.columns if name not in table]
        if missing:
            raise DataError(f"X lacks the columns {missing} that the model was fitted on.", parameter="X")
        return TableInputs(table)

    def learn(self, X: object) -> tuple[TableEncoder, sparse.csr_array]:
        """The next rows of a stream, and the encoder after them: hashed words are weighted by what came before."""
        inputs = self.inputs(X)
        found = {name: _learn_bag(bag, inputs.texts(name)) for name, bag in self.bags.items()}
        after = replace(self, bags={name: bag for name, (bag, _) in found.items()})
        return after, self._joined(inputs, [matrix for _, matrix in found.values()])

    def wider(self, X: object) -> tuple[TableEncoder, sparse.csr_array] | None:
        """As of texts, column by column."""
        inputs = self.inputs(X)
        found = {name: fit_views(inputs.texts(name), bag) for name, bag in self.bags.items() if _can_widen(bag)}
        if len(found) < len(self.bags) or not found:
            return None
        after = replace(self, bags={name: bag for name, (bag, _) in found.items()})
        return after, self._joined(inputs, [matrix for _, matrix in found.values()])

    @property
    def views(self) -> tuple[str, ...]:
        """What is counted in some column of texts."""
        units = {unit for bag in self.bags.values() if isinstance(bag, Views) for unit in bag.units}
        return tuple(unit for unit in UNITS if unit in units)

    def anew(self) -> TableEncoder:
        """The encoder as it was before its first row."""
        return replace(self, bags={name: _anew(bag) for name, bag in self.bags.items()})

    def _encode(self, inputs: TableInputs) -> sparse.csr_array:
        return self._joined(inputs, [bag.transform(inputs.texts(name)) for name, bag in self.bags.items()])

    def _joined(self, inputs: TableInputs, matrices: list[sparse.csr_array]) -> sparse.csr_array:
        blocks = [sparse.csr_array(matrix) for matrix in matrices]
        if self.numeric:
            numbers = np.column_stack([self._numbers(inputs, name) for name in self.numeric])
            blocks.insert(0, sparse.csr_array(numbers))
        return sparse.csr_array(sparse.hstack(blocks, format="csr"))

    @staticmethod
    def _numbers(inputs: TableInputs, name: str) -> npt.NDArray[np.float64]:
        kind = inputs.column(name).dtype.kind
        if kind not in "biuf":
            raise DataError(
                f"Column {name!r} of X holds {'dates' if kind in 'mM' else 'neither numbers nor texts'}: "
                "turn it into numbers, or drop it.",
                parameter="X",
            )
        values = inputs.feature(name)
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            raise DataError(
                f"Column {name!r} of X is NaN or infinite in {len(bad)} rows (row {bad[0]} first). "
                "Fill it in or drop it.",
                parameter="X",
                instances=bad,
            )
        return values


def _apart(bag: Bag | None) -> npt.NDArray[np.bool_]:
    """Of each column, whether it is one of the vectors that are fitted apart; empty if none are."""
    if not isinstance(bag, WordsAndMeaning) or not bag.apart:
        return np.zeros(0, dtype=np.bool_)
    return np.arange(len(bag.words.names) + bag.dimensions) >= len(bag.words.names)


def _fit_bag(texts: Sequence[str], vectorizer: str, *, part: bool) -> tuple[Bag, sparse.csr_array]:
    """The bag of words, and the texts encoded by it."""
    if vectorizer in MEANINGS:
        return fit_words_and_meaning(texts, vectorizer)
    if vectorizer != HashedWords.weighting:
        return fit_bag_of_words(texts, "tfidf" if vectorizer == "auto" else vectorizer)
    bag, matrix = HashedWords().fit(texts)
    if not matrix.nnz and not part:
        raise DataError(NO_WORDS, parameter="X")
    return bag, matrix


def _copied(vectorizer: Any) -> Any:
    """A copy to fit: what the user gave stays as it is, whether or not scikit-learn can clone it."""
    from sklearn.base import clone

    try:
        return clone(vectorizer)
    except (TypeError, RuntimeError, AttributeError):  # no get_params, or a constructor that changes its parameters
        return copy.deepcopy(vectorizer)


def _made(vectorizer: Any, matrix: Any, n: int) -> Matrix:
    """What a foreign vectorizer made of ``n`` texts, checked."""
    title = type(vectorizer).__name__
    refuse_broken(matrix, f"The matrix that {title} returned", parameter="vectorizer")
    try:
        found = as_matrix(matrix)
    except (TypeError, ValueError) as error:
        raise DataError(f"{title} returned something else than numbers.", parameter="vectorizer") from error
    if found.ndim != 2 or found.shape[0] != n:
        raise DataError(
            f"{title} returned a matrix of shape {found.shape} for {n} texts: it must have one row per text.",
            parameter="vectorizer",
        )
    refuse_not_finite(found, f"The matrix that {title} returned", parameter="vectorizer")
    return found


def refuse_not_finite(matrix: Matrix, what: str, *, parameter: str) -> None:
    """Refuse NaN and infinities, by their rows."""
    if sparse.issparse(matrix):
        row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        bad = np.unique(row[~np.isfinite(matrix.data)])
    else:
        bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if len(bad):
        raise DataError(
            f"{what} is NaN or infinite in {len(bad)} rows (row {bad[0]} first). Fill it in or drop these rows.",
            parameter=parameter,
            instances=bad,
        )


def _can_widen(bag: Bag | None) -> TypeGuard[BagOfWords]:
    """Return whether it is tf-idf of words: counts and hashes are what a user asked for."""
    return isinstance(bag, BagOfWords) and bag.weighting == "tfidf"


def _learn_bag(bag: Bag, texts: Sequence[str]) -> tuple[Bag, sparse.csr_array]:
    return bag.learn(texts) if isinstance(bag, HashedWords) else (bag, bag.transform(texts))


def _anew(bag: B) -> B | HashedWords:
    """The bag as it was before its first text: a vocabulary does not learn from streams."""
    return HashedWords(bag.size) if isinstance(bag, HashedWords) else bag


def _texts(X: object) -> list[str]:
    texts = as_texts(X)
    if texts is None:
        raise DataError("This model was fitted on raw texts: pass a list of texts.", parameter="X")
    return texts


def _prefixed(prefix: str, names: Buckets | tuple[str, ...]) -> Buckets | tuple[str, ...]:
    if isinstance(names, Buckets):
        return Buckets(names.size, prefix)
    return tuple(f"{prefix}{name}" for name in names)


def matrix_inputs(X: object, matrix: Matrix, names: Sequence[str] | None) -> Inputs:
    """The frame that numbers came in, or the matrix with its names, as conditions see it."""
    table = as_table(X)
    return TableInputs(table) if table is not None else MatrixInputs(matrix, names)


def as_matrix(checked: Any) -> Matrix:
    """The result of scikit-learn's validation, sparse or dense, as the model takes it."""
    if sparse.issparse(checked):
        return _csr(checked)
    return np.asarray(checked, dtype=np.float64)


def has_text(table: Mapping[str, npt.NDArray[Any]]) -> bool:
    """Return whether a table needs the table encoder: some column is not numeric."""
    return any(values.dtype.kind not in "biuf" for values in table.values())


def _csr(matrix: Any) -> sparse.csr_array:
    return sparse.csr_array(matrix, dtype=np.float64)
