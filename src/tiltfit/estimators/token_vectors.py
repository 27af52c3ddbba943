"""Vectors of tokens as a tagger sees them: those of an encoder of words, or those that come beside X.

    x = 2·v/‖v‖                                     v by an encoder, of every token; 0 where v = 0
    x = c·v,    c = 2/√(mean ‖v‖²) over the fit     v as given

A token has about twenty attributes of value 1, a row of length four to five, of which vectors have about half: of 1, 2,
4 and 8, that length was best on the validation parts of two collections of entities, without labels and with few
(``docs/howto/embeddings.md``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tiltfit.data.sequences import Sequences
from tiltfit.errors import DataError
from tiltfit.estimators.given_features import factor_to
from tiltfit.features.beside import Vectors
from tiltfit.features.gathering import distinct
from tiltfit.features.vectors import Encoder, encode, named_encoder

LENGTH = 2.0
"""The length of a token's vector beside its attributes."""


class TokenVectors(Protocol):
    """What turns sequences into vectors, once it has been fitted. ``takes_given``: those that come beside X."""

    @property
    def dimensions(self) -> int: ...
    @property
    def takes_given(self) -> bool: ...
    def transform(self, sequences: Sequences) -> Vectors: ...


@dataclass(frozen=True, eq=False)
class EncodedTokens:
    """``length``·v/‖v‖ of every token, v by ``encoder``: its registered name, or an object, which is never copied.
    None: a file could not hold the object, so that v has to come beside X."""

    encoder: str | Encoder | None
    dimensions: int
    length: float

    @property
    def takes_given(self) -> bool:
        return self.encoder is None

    def transform(self, sequences: Sequences) -> Vectors:
        """The vectors of all distinct tokens, and which of them each position has."""
        if self.encoder is None:
            given = _given(sequences, self.dimensions)
            lengths = np.linalg.norm(given, axis=1, keepdims=True)
            return Vectors(self.length * np.divide(given, lengths, out=np.zeros_like(given), where=lengths > 0))
        types, codes = distinct(sequences.items)
        if not types:  # nobody has to encode nothing
            return Vectors(np.empty((0, self.dimensions)), codes)
        return Vectors(self.length * _encoded(self.encoder, types, self.dimensions), codes)


@dataclass(frozen=True, eq=False)
class GivenTokens:
    """``factor``·v, v as the user gives it beside X."""

    dimensions: int
    factor: float
    takes_given = True

    def transform(self, sequences: Sequences) -> Vectors:
        given = _given(sequences, self.dimensions)
        return Vectors(given if self.factor == 1.0 else self.factor * given)


def fit_token_vectors(source: str | Encoder | None, sequences: Sequences) -> TokenVectors | None:
    """By the encoder ``source``, or those beside X; None if there are neither."""
    given = sequences.vectors
    if given is not None and source is not None:
        raise DataError(
            "Token vectors come from two places: features= beside X, and vectors= of TokenTemplates. Leave one of them "
            "out, or put both side by side in features=.",
            parameter="features",
        )
    if given is not None:
        return GivenTokens(given.shape[1], factor_to(LENGTH, given))
    if source is None:
        return None
    return EncodedTokens(source, _encoded(source, list(sequences.items[:1])).shape[1], LENGTH)


def vector_names(n: int) -> tuple[str, ...]:
    """The names of dimensions among those of attributes."""
    return tuple(f"vector {j}" for j in range(n))


def _encoded(source: str | Encoder, tokens: Sequence[str], dimensions: int | None = None) -> Any:
    try:
        found = encode(named_encoder(source) if isinstance(source, str) else source, tokens, dimensions=dimensions)
    except DataError as error:
        bad = f" The first of them is the token {tokens[error.instance]!r}." if error.instance is not None else ""
        raise error.with_message(f"vectors= of the tokens: {error}{bad}", parameter="features", instances=()) from error
    if not found.shape[1]:
        raise DataError("vectors= of the tokens: the encoder returned vectors of no dimensions.", parameter="features")
    return found


def _given(sequences: Sequences, dimensions: int) -> Any:
    found = sequences.vectors
    if found is None:
        raise DataError(
            "This tagger was fitted with vectors of tokens: pass those of X as well, as in predict(X, features=V), or "
            "WithFeatures(X, V) where there is no features=.",
            parameter="features",
        )
    if sequences.n and found.shape[1] != dimensions:
        raise DataError(
            f"features= has vectors of {found.shape[1]} dimensions, but the tagger was fitted on {dimensions}: use the "
            "same encoder.",
            parameter="features",
        )
    return found.reshape(-1, dimensions)
