"""What texts mean as model features: vectors of an encoder, alone or beside a bag of words.

    x = 10·v/‖v‖                       the vectors alone
    x = [10·w/‖w‖,  5·v/‖v‖]           tf-idf of words w, then vectors v of the static encoder (``words+meaning``)
    x = [10·w/‖w‖, 10·v/‖v‖]           the same of the sentence encoder, fitted apart (``words+sentences``)

A ridge of α = 1 is mild for rows of length ten, whatever the length of the encoder's vectors. In one fit with words,
vectors are shorter. Lengths, and which encoder is fitted apart (``estimators.pooling``), were chosen on development
parts (``docs/howto/embeddings.md``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tiltfit.features.text import LENGTH, WORDS_AND_MEANING, WORDS_AND_SENTENCES, BagOfWords, fit_bag_of_words
from tiltfit.features.vectors import SENTENCES, STATIC, Encoder, encode, named_encoder

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
    first needed: files hold its name. ``apart``: a fit learns from words and from vectors apart, and pools both."""

    words: BagOfWords
    dimensions: int
    encoder: str = STATIC
    length: float = BESIDE_WORDS
    apart: bool = False
    weighting: ClassVar[str] = WORDS_AND_MEANING  # as files call it, whichever encoder it is

    @property
    def names(self) -> tuple[str, ...]:
        """The words, then ``meaning 0`` and so on: no word has a space in it."""
        return (*self.words.names, *(f"meaning {j}" for j in range(self.dimensions)))

    def transform(self, texts: Sequence[str]) -> sparse.csr_array:
        """Documents × words and dimensions."""
        vectors = encode(named_encoder(self.encoder), texts, dimensions=self.dimensions)
        return beside(self.words.transform(texts), vectors, self.length)


MEANINGS = {WORDS_AND_MEANING: (STATIC, BESIDE_WORDS, False), WORDS_AND_SENTENCES: (SENTENCES, LENGTH, True)}
"""The encoder, the length of its vectors, and whether they are fitted apart, by the name of the vectorizer."""


def fit_words_and_meaning(texts: Sequence[str], vectorizer: str) -> tuple[WordsAndMeaning, sparse.csr_array]:
    """Learn the vocabulary of ``texts``; returns it, with the encoder, and the transformed texts."""
    encoder, length, apart = MEANINGS[vectorizer]
    vectors = encode(named_encoder(encoder), texts)  # first: it may not be installed
    bag, matrix = fit_bag_of_words(texts, "tfidf")
    return WordsAndMeaning(bag, vectors.shape[1], encoder, length, apart), beside(matrix, vectors, length)


def beside(words: sparse.csr_array, vectors: npt.NDArray[np.float64], length: float) -> sparse.csr_array:
    """[x, ``length``·v]"""
    return sparse.csr_array(sparse.hstack([words, sparse.csr_array(length * vectors)], format="csr"))
