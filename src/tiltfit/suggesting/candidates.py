"""Conditions that could be stated of documents, and where each of them fires: words, and words in a row."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from tiltfit.arrays import IntArray
from tiltfit.data.inputs import Inputs, tokenise
from tiltfit.language.conditions import Condition, Phrase, Word

Found = tuple[Condition, IntArray]

MOST = 0.5
"""A condition that holds on more than this share of all positions divides nothing."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """``conditions[j]`` fires where column j of ``fires`` (positions × conditions) is 1."""

    conditions: list[Condition]
    fires: sparse.csc_array

    @staticmethod
    def of(found: Iterable[Found], n: int) -> Candidates:
        """Pairs of a condition and its sorted positions; of equal conditions the first stays."""
        places: dict[Condition, IntArray] = {}
        for condition, positions in found:
            places.setdefault(condition, positions)
        ends = np.cumsum([0, *map(len, places.values())])
        rows = np.concatenate([np.empty(0, dtype=np.intp), *places.values()])
        fires = sparse.csc_array((np.ones(len(rows)), rows, ends), shape=(n, len(places)))
        return Candidates(list(places), fires)

    def __len__(self) -> int:
        return len(self.conditions)

    @property
    def counts(self) -> IntArray:
        """The number of places where each fires."""
        return np.diff(self.fires.indptr).astype(np.intp)

    def places(self, j: int) -> IntArray:
        """The places where condition j fires."""
        return np.asarray(self.fires.indices[self.fires.indptr[j] : self.fires.indptr[j + 1]], dtype=np.intp)

    def keep(self, columns: IntArray) -> Candidates:
        """Only these columns."""
        return Candidates([self.conditions[j] for j in columns], self.fires[:, columns])


def document_candidates(inputs: Inputs, min_support: int, longest: int) -> Candidates:
    """Words of at least two characters, and phrases of up to ``longest`` words, of at least ``min_support`` documents
    and at most half of them. A matrix has the names of its columns for words, and no phrases."""
    found: Iterator[Found]
    if inputs.has_texts:
        found = itertools.chain.from_iterable(
            _runs(inputs.texts(column), column, min_support, longest) for column in inputs.word_columns
        )
    else:
        found = _names(inputs)
    often = ((c, p) for c, p in found if min_support <= len(p) <= MOST * inputs.n)
    return Candidates.of(often, inputs.n)


def spelt(kind: type[Word | Phrase], text: str, column: str | None = None) -> Condition:
    """A condition that takes no account of case, whatever the text."""
    return kind(text, False if text != text.lower() else None, column)


def _names(inputs: Inputs) -> Iterator[Found]:
    index = inputs.index()
    for text in sorted(index.words):
        yield spelt(Word, text), index.positions(text, case=False)


def _runs(texts: Sequence[str], column: str | None, min_support: int, longest: int) -> Iterator[Found]:
    """Runs of 1 to ``longest`` words that are in ``min_support`` texts, with these texts. As in a priori mining, a run
    can be frequent only if it is without its last word, and without its first. O(tokens · log tokens) per length."""
    numbers: dict[str, int] = {}
    tokens = [[numbers.setdefault(w, len(numbers)) for w in map(str.casefold, tokenise(text))] for text in texts]
    text_of = np.repeat(np.arange(len(tokens)), [len(row) for row in tokens])
    code = np.fromiter(itertools.chain.from_iterable(tokens), dtype=np.int64, count=len(text_of))
    names: list[tuple[str, ...]] = [(word,) for word in numbers]
    at = np.arange(len(code))
    for length in range(1, longest + 1):
        names, code, found = _frequent(names, code, text_of[at], min_support)
        for run, places in zip(names, found, strict=True):
            text = " ".join(run)
            # Folding makes signs of a few letters: then these would be other words than those of the texts.
            if tuple(tokenise(text)) == run and len(text) > 1:
                yield spelt(Word if length == 1 else Phrase, text, column), places
        begins = np.flatnonzero((code[:-1] >= 0) & (code[1:] >= 0) & (np.diff(at) == 1))
        begins = begins[text_of[at[begins]] == text_of[np.minimum(at[begins] + length, len(text_of) - 1)]]
        begins = begins[at[begins] + length < len(text_of)]
        pair = code[begins] * len(names) + code[begins + 1]
        distinct, code = np.unique(pair, return_inverse=True)
        names = [(*names[k // len(names)], names[k % len(names)][-1]) for k in distinct.tolist()]
        at = at[begins]


def _frequent(
    names: list[tuple[str, ...]], code: IntArray, text_of: IntArray, min_support: int
) -> tuple[list[tuple[str, ...]], IntArray, list[IntArray]]:
    """Only those of ``names`` that are in ``min_support`` texts: their names, the codes anew (−1: not frequent), and
    the texts of each."""
    n_texts = int(text_of.max(initial=0)) + 1
    pairs = np.unique(code * n_texts + text_of)
    which, texts = pairs // n_texts, pairs % n_texts
    count = np.bincount(which, minlength=len(names))
    kept = np.flatnonzero(count >= min_support)
    anew = np.full(len(names) + 1, -1, dtype=np.int64)
    anew[kept] = np.arange(len(kept))
    ends = np.concatenate([[0], np.cumsum(count)])
    found = [texts[ends[k] : ends[k + 1]].astype(np.intp) for k in kept]
    return [names[k] for k in kept], anew[code], found
