"""Conditions that could be stated, and where each of them fires.

Of documents: words, and words in a row. Of tokens: what the token is, what it looks like, what stands beside it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from tiltfit.arrays import IntArray
from tiltfit.data.attributes import AttributeRows
from tiltfit.data.inputs import Inputs
from tiltfit.data.words import tokenise
from tiltfit.language.condition import require_sequences
from tiltfit.language.conditions import Condition, Feature, Phrase, Regex, Word, first, last, punctuation

Found = tuple[Condition, IntArray]

MOST = 0.5
"""A condition that holds on more than this share of all positions divides nothing."""

_RUNS = 5  # of characters of one kind, in the longest shape
_LETTERS = {"0": "[0-9]+", "a": "[a-z]+"}
_ALIKE = ("^(19|20)[0-9]{2}$", "[0-9]", "^[A-Z]", "^[A-Z]{2,}$")
"""Besides the shapes that are seen: a year, a digit anywhere, a capital first, nothing but capitals."""


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
    found = _words(inputs)
    if inputs.has_texts:
        found = itertools.chain.from_iterable(
            _runs(inputs.texts(column), column, min_support, longest) for column in inputs.word_columns
        )
    return _often(found, inputs, min_support)


def _often(found: Iterable[Found], inputs: Inputs, min_support: int) -> Candidates:
    """Those that fire often enough, and not on too many."""
    return Candidates.of(((c, p) for c, p in found if min_support <= len(p) <= MOST * inputs.n), inputs.n)


def _spelt(kind: type[Word | Phrase], text: str, column: str | None = None) -> Condition:
    """A condition that takes no account of case, whatever the text."""
    return kind(text, False if text != text.lower() else None, column)


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
                yield _spelt(Word if length == 1 else Phrase, text, column), places
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


def token_candidates(inputs: Inputs, items: Sequence[object], min_support: int) -> Candidates:
    """Candidates for tokens: the token itself, its shape, the token before it, punctuation here and before, first and
    last. For attributes: each of them. At least ``min_support`` positions, and at most half of all."""
    found = _attributes(items) if isinstance(items, AttributeRows) else _tokens(inputs)
    return _often(found, inputs, min_support)


def change_candidates(inputs: Inputs, min_support: int) -> Candidates:
    """Places where a label might change: at a token, after a token, after punctuation. Edges are at second tokens."""
    found = itertools.chain(_plain(inputs, (punctuation, punctuation.before)), _words(inputs), _words_before(inputs))
    offsets = require_sequences(inputs, "change")
    edges = np.ones(inputs.n, dtype=np.bool_)
    edges[offsets[:-1][np.diff(offsets) > 0]] = False
    return _often(((c, p[edges[p]]) for c, p in found), inputs, min_support)


def _tokens(inputs: Inputs) -> Iterator[Found]:
    yield from _plain(inputs, (punctuation, punctuation.before, first, last))
    yield from _words(inputs)
    yield from _shapes(inputs.texts())
    yield from _words_before(inputs)


def _plain(inputs: Inputs, conditions: Sequence[Condition]) -> Iterator[Found]:
    for condition in conditions:
        yield condition, np.flatnonzero(condition.fires(inputs))


def _words(inputs: Inputs) -> Iterator[Found]:
    index = inputs.index()
    for text in sorted(index.words):
        yield _spelt(Word, text), index.positions(text, case=False)


def _words_before(inputs: Inputs) -> Iterator[Found]:
    starts = np.zeros(inputs.n + 1, dtype=np.bool_)
    starts[require_sequences(inputs, "before")] = True
    for condition, positions in _words(inputs):
        following = positions + 1
        yield condition.before, following[~starts[following]]


def _shapes(tokens: Sequence[str]) -> Iterator[Found]:
    places: dict[str, list[int]] = {}
    known: dict[str, list[str]] = {}
    alike = [(pattern, re.compile(pattern)) for pattern in _ALIKE]
    for i, token in enumerate(tokens):
        if token not in known:
            own = shape(token)
            found = [pattern for pattern, compiled in alike if compiled.search(token)]
            known[token] = found if own is None else [own, *found]
        for pattern in dict.fromkeys(known[token]):
            places.setdefault(pattern, []).append(i)
    for pattern in sorted(places):
        yield Regex(pattern), np.array(places[pattern], dtype=np.intp)


def shape(token: str) -> str | None:
    """A pattern of what the token looks like; None if it has no digit and no capital, or is too involved.

    Small letters and digits in a row may be any number; one capital is one, several are two or more. So no token fits
    the shape of another unless it has the same.

    >>> shape("1994"), shape("12-17"), shape("McCallum"), shape("J."), shape("the")
    ('^[0-9]+$', '^[0-9]+\\\\-[0-9]+$', '^[A-Z][a-z]+[A-Z][a-z]+$', '^[A-Z]\\\\.$', None)
    """
    if not token.isascii() or not any(c.isdigit() or c.isupper() for c in token):
        return None
    runs = [(kind, len(list(run))) for kind, run in itertools.groupby(token, _kind)]
    if len(runs) > _RUNS:
        return None
    return "^" + "".join(_run(kind, length) for kind, length in runs) + "$"


def _kind(c: str) -> str:
    return "0" if c.isdigit() else "A" if c.isupper() else "a" if c.islower() else c


def _run(kind: str, length: int) -> str:
    if kind == "A":
        return "[A-Z]" if length == 1 else "[A-Z]{2,}"
    return _LETTERS.get(kind) or re.escape(kind) * length


def _attributes(rows: AttributeRows) -> Iterator[Found]:
    columns = rows.matrix.tocsc()
    columns.eliminate_zeros()
    columns.sort_indices()
    for j, name in enumerate(rows.names):
        yield Feature(name), np.asarray(columns.indices[columns.indptr[j] : columns.indptr[j + 1]], dtype=np.intp)
