"""What texts mean as model features: vectors of an encoder, alone or beside a bag of words.

    x = 10·v/‖v‖                       the vectors alone
    x = [10·w/‖w‖,  5·v/‖v‖]           tf-idf of words w, then the vectors v (``words+meaning``)

A ridge of α = 1 is mild for rows of length ten, whatever the length of the encoder's vectors. Beside words, meaning is
shorter: of 3, 5, 10 and 20, length five was best on the validation parts of two collections
(``docs/howto/embeddings.md``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tiltfit.features.text import LENGTH, WORDS_AND_MEANING, BagOfWords, fit_bag_of_words
from tiltfit.features.vectors import STATIC, Encoder, encode, named_encoder

BESIDE_WORDS = 5.0
"""The length of the vectors beside words of length ten."""


@dataclass(frozen=True, eq=False)
class Vectors:
    """``length``·v/‖v‖ of every text, v by ``encoder``: an object of the user's, never copied and never fitted."""

    encoder: Encoder
    dimensions: int
    length: float = LENGTH

    def transform(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Documents × dimensions."""
        return self.length * encode(self.encoder, texts, dimensions=self.dimensions)


def fit_vectors(texts: Sequence[str], encoder: Encoder) -> tuple[Vectors, npt.NDArray[np.float64]]:
    """How many dimensions the encoder has, and the texts encoded by it."""
    matrix = LENGTH * encode(encoder, texts)
    return Vectors(encoder, matrix.shape[1]), matrix


@dataclass(frozen=True, eq=False)
class WordsAndMeaning:
    """[x, ``length``·v/‖v‖]: x by a bag of words, v by the registered encoder ``encoder``, which is loaded when it is
    first needed: files hold its name."""

    words: BagOfWords
    dimensions: int
    encoder: str = STATIC
    length: float = BESIDE_WORDS
    weighting: ClassVar[str] = WORDS_AND_MEANING

    @property
    def names(self) -> tuple[str, ...]:
        """The words, then ``meaning 0`` and so on: no word has a space in it."""
        return (*self.words.names, *(f"meaning {j}" for j in range(self.dimensions)))

    def transform(self, texts: Sequence[str]) -> sparse.csr_array:
        """Documents × words and dimensions."""
        vectors = encode(named_encoder(self.encoder), texts, dimensions=self.dimensions)
        return _beside(self.words.transform(texts), vectors, self.length)


def fit_words_and_meaning(texts: Sequence[str]) -> tuple[WordsAndMeaning, sparse.csr_array]:
    """Learn the vocabulary of ``texts``; returns it, with the encoder, and the transformed texts."""
    vectors = encode(named_encoder(STATIC), texts)  # first: it may not be installed
    bag, matrix = fit_bag_of_words(texts, "tfidf")
    return WordsAndMeaning(bag, vectors.shape[1]), _beside(matrix, vectors, BESIDE_WORDS)


def _beside(words: sparse.csr_array, vectors: npt.NDArray[np.float64], length: float) -> sparse.csr_array:
    return sparse.csr_array(sparse.hstack([words, sparse.csr_array(length * vectors)], format="csr"))
