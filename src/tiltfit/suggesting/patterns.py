"""Conditions that could be stated of tokens: what the token is, what it looks like, what stands beside it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

import numpy as np

from tiltfit.data.attributes import AttributeRows
from tiltfit.data.inputs import Inputs
from tiltfit.language.condition import require_sequences
from tiltfit.language.conditions import Condition, Feature, Regex, Word, first, last, punctuation
from tiltfit.suggesting.candidates import MOST, Candidates, Found, spelt

_RUNS = 5  # of characters of one kind, in the longest shape
_LETTERS = {"0": "[0-9]+", "a": "[a-z]+"}
_ALIKE = ("^(19|20)[0-9]{2}$", "[0-9]", "^[A-Z]", "^[A-Z]{2,}$")
"""Besides the shapes that are seen: a year, a digit anywhere, a capital first, nothing but capitals."""


def token_candidates(inputs: Inputs, items: Sequence[object], min_support: int) -> Candidates:
    """Candidates for tokens: the token itself, its shape, the token before it, punctuation here and before, first and
    last. For attributes: each of them. At least ``min_support`` positions, and at most half of all."""
    found = _attributes(items) if isinstance(items, AttributeRows) else _tokens(inputs)
    often = ((c, p) for c, p in found if min_support <= len(p) <= MOST * inputs.n)
    return Candidates.of(often, inputs.n)


def change_candidates(inputs: Inputs, min_support: int) -> Candidates:
    """Places where a label might change: at a token, after a token, after punctuation. Edges are at second tokens."""
    found = itertools.chain(_plain(inputs, (punctuation, punctuation.before)), _words(inputs), _words_before(inputs))
    offsets = require_sequences(inputs, "change")
    edges = np.ones(inputs.n, dtype=np.bool_)
    edges[offsets[:-1][np.diff(offsets) > 0]] = False
    inner = ((c, p[edges[p]]) for c, p in found)
    return Candidates.of(((c, p) for c, p in inner if min_support <= len(p) <= MOST * inputs.n), inputs.n)


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
        yield spelt(Word, text), index.positions(text, case=False)


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
