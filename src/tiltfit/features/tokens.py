"""Attributes of the tokens of sequences, made by templates: what a tagger's model looks at.

    lower=the           the token itself, in lower case         lower[-1]=the     the token before
    prefix=th           suffix=he     shape=x     ngram=^th     is[+1]=year       a class of the token after
    in=person-names     the token stands in a word list         position=0        first fifth of the sequence
    begin[-1]           there is no token before                end[+1]           there is no token after
    lower[~3]=the       within three tokens, wherever           in[~3]=titles     a class within three tokens

Whatever depends on the spelling is computed once per distinct token; rows are then gathered for all positions.

Attributes that users made, as for CRFsuite (``data.attributes`` says how they are written), are taken as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from tiltfit.arguments import are_strings, integer, whole
from tiltfit.arrays import IntArray
from tiltfit.data.attributes import AttributeRows, Attributes
from tiltfit.errors import DataError, did_you_mean
from tiltfit.features.gathering import Block, Incidence, distinct, gather, shifted, within
from tiltfit.features.hashing import Buckets, buckets, checked_size, hashed
from tiltfit.features.lexicons import LexiconMatcher, check_lexicons
from tiltfit.features.spelling import (
    PATTERNS,
    check_patterns,
    classifier,
    ngrams,
    prefixes,
    shape,
    suffixes,
)
from tiltfit.features.vectors import ENCODERS, Encoder

Offsets = tuple[int, ...]
Names = tuple[str, ...] | Buckets

FARTHEST = 10
"""Farthest neighbour that a template may look at."""

_NEIGHBOURS = ("identity", "lower", "shape", "pieces_at", "classes_at")
_LENGTHS = ("prefixes", "suffixes", "ngrams", "nearby", "classes_nearby")


@dataclass(frozen=True)
class TokenTemplates:
    """The attributes that a token gets.

    Parameters
    ----------
    identity, lower, shape : tuple of int
        At which neighbours (0 is the token itself, −1 the one before; True means 0, False or () switches it off): the
        token as spelt, in lower case, and its shape (see ``spelling.shape``). By default lower at −1, 0 and 1, shape at
        0, and identity nowhere: shape and lower together nearly say it.
    prefixes, suffixes, ngrams : tuple of int
        Lengths of these pieces. By default 1, 2 and 3, and no n-grams: on citations set aside these added nothing to 5
        or 20 labelled ones, and took a point of accuracy from 300.
    pieces_at : tuple of int
        At which neighbours pieces are taken. By default 0.
    patterns, lexicons : dict
        Classes of tokens by pattern or word list. By default the patterns of ``spelling.PATTERNS``, and no lists.
    classes_at : tuple of int
        At which neighbours classes are looked at. By default from −2 to 2.
    nearby, classes_nearby : tuple of int
        Not by default. Distances: the tokens in lower case, or the classes, that occur within so many tokens on either
        side or here, wherever. Neighbours then share attributes, so that what is learned of one token applies to
        those around it: for long fields and few labels.
    buckets : int
        Into how many parts a sequence is cut to say where the token stands, by default 4; 0: not at all.
    min_count : int
        Attributes that occur less often in fitting are dropped. By default 1: none.
    hashing : int, optional
        None: every attribute that occurs in fitting has a column. A number such as 2**18: attributes are
        hashed into so many columns, new ones as well.
    vectors : str or encoder, optional
        A vector of every token beside its attributes: by an object with ``encode(tokens)``, which returns one vector
        per token, or by the name of a registered encoder, such as ``"static"``. Every distinct token is encoded once,
        and its vector is scaled to length two. ``TokenTemplates.only(vectors="static")`` has no other attributes.
    """

    identity: Offsets = ()
    lower: Offsets = (-1, 0, 1)
    shape: Offsets = (0,)
    prefixes: tuple[int, ...] = (1, 2, 3)
    suffixes: tuple[int, ...] = (1, 2, 3)
    ngrams: tuple[int, ...] = ()
    pieces_at: Offsets = (0,)
    patterns: Mapping[str, str] = field(default_factory=lambda: dict(PATTERNS))
    lexicons: Mapping[str, Sequence[str]] = field(default_factory=dict)
    classes_at: Offsets = (-2, -1, 0, 1, 2)
    nearby: tuple[int, ...] = ()
    classes_nearby: tuple[int, ...] = ()
    buckets: int = 4
    min_count: int = 1
    hashing: int | None = None
    vectors: str | Encoder | None = None

    def __post_init__(self) -> None:
        for names, least, most in ((_NEIGHBOURS, -FARTHEST, FARTHEST), (_LENGTHS, 1, 100)):
            for name in names:
                object.__setattr__(self, name, _whole_numbers(name, getattr(self, name), least, most))
        object.__setattr__(self, "patterns", check_patterns("patterns", self.patterns))
        object.__setattr__(self, "lexicons", check_lexicons(self.lexicons))
        for name, least, most in (("buckets", 0, 1000), ("min_count", 1, 2**31)):
            object.__setattr__(self, name, integer(name, getattr(self, name), least, most))
        object.__setattr__(self, "hashing", checked_hashing(self.hashing, self.min_count))
        _check_encoder(self.vectors)

    @staticmethod
    def only(**templates: Any) -> TokenTemplates:
        """These templates and no others.

        >>> TokenTemplates.only(lower=(0,)).suffixes
        ()
        """
        none: dict[str, Any] = {"patterns": {}, "buckets": 0, **dict.fromkeys((*_NEIGHBOURS, *_LENGTHS), ())}
        return TokenTemplates(**(none | {"pieces_at": (0,)} | templates))

    def fit(self, tokens: Sequence[str], offsets: IntArray) -> tuple[TokenEncoder, sparse.csr_array]:
        """Learn which attributes occur in flat tokens, whose sequences start at ``offsets``; encode them."""
        names, matrix = self._named(tokens, offsets)
        if self.hashing is not None:
            return TokenEncoder(self, Buckets(self.hashing)), hashed(matrix, names, self.hashing)
        return TokenEncoder(self, tuple(names)), matrix

    def _named(self, tokens: Sequence[str], offsets: IntArray) -> tuple[list[str], sparse.csr_array]:
        """The attributes that occur often enough, and where."""
        blocks = self._blocks(tokens, offsets)
        names: list[str] = []
        kept: list[Block] = []
        for block, local in blocks:
            frequent = block.counts() >= self.min_count
            columns = np.where(frequent, np.cumsum(frequent) - 1 + len(names), -1)
            names += [name for name, keep in zip(local, frequent.tolist(), strict=True) if keep]
            kept.append(block.restrict(columns))
        return names, gather(kept, len(tokens), len(names))

    def to_document(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        numbers = {name: list(getattr(self, name)) for name in (*_NEIGHBOURS, *_LENGTHS)}
        document = asdict(replace(self, vectors=None)) | numbers
        document["lexicons"] = {name: list(words) for name, words in self.lexicons.items()}
        # An encoder that has no name has no place in a file; files without one are those of earlier versions.
        named = {"vectors": self.vectors} if isinstance(self.vectors, str) else {}
        return {name: value for name, value in document.items() if name != "vectors"} | named

    @staticmethod
    def from_document(document: Mapping[str, Any]) -> TokenTemplates:
        """The inverse of ``to_document``."""
        known = [f.name for f in fields(TokenTemplates)]
        unknown = sorted(set(document) - set(known))
        if unknown:
            hint = did_you_mean(unknown[0], known)
            raise DataError(f"There are no token templates {unknown[0]!r}.{hint} There are {', '.join(known)}.")
        return TokenTemplates(**document)

    def _blocks(self, tokens: Sequence[str], offsets: IntArray) -> list[tuple[Block, list[str]]]:
        """Every family of attributes at every neighbour: where it occurs, and the names of its columns."""
        types, codes = distinct(tokens)
        families = self._families(types)
        found: list[tuple[Block, list[str]]] = []
        for d in sorted({d for *_, at in families for d in at}):
            moved = shifted(codes, offsets, d, len(types))
            found += [(Block(moved, kinds), _names(name, d, kinds.values)) for name, kinds, at in families if d in at]
        found += self._nearby_blocks(types, codes, offsets)
        if self.lexicons:
            found += self._lexicon_blocks(types, codes, offsets)
        if self.buckets:
            lengths = np.diff(offsets)
            ordinal = np.arange(len(tokens)) - np.repeat(offsets[:-1], lengths)
            parts = Incidence.of([[str(k)] for k in range(self.buckets)])
            bucket = Block(ordinal * self.buckets // np.repeat(lengths, lengths), parts)
            found.append((bucket, _names("position", 0, parts.values)))
        return found

    def _families(self, types: Sequence[str]) -> list[tuple[str, Incidence, Offsets]]:
        """The families of attributes by spelling; the two further types are the outside before and after a sequence."""
        classes = classifier(self.patterns)
        rows: list[tuple[str, Callable[[str], Sequence[str]], Offsets]] = [
            ("w", lambda t: (t,), self.identity),
            ("lower", lambda t: (t.lower(),), self.lower),
            ("shape", lambda t: (shape(t),), self.shape),
            ("prefix", lambda t: prefixes(t, self.prefixes), self.pieces_at if self.prefixes else ()),
            ("suffix", lambda t: suffixes(t, self.suffixes), self.pieces_at if self.suffixes else ()),
            ("ngram", lambda t: ngrams(t, self.ngrams), self.pieces_at if self.ngrams else ()),
            ("is", classes, self.classes_at if self.patterns else ()),
        ]
        found = [(name, Incidence.of([*map(row, types), (), ()]), at) for name, row, at in rows if at]
        beside = tuple(sorted({d for *_, at in found for d in at if d}))
        outside = Incidence.of([*((),) * len(types), ("begin",), ("end",)])
        return [*found, ("outside", outside, beside)]

    def _lexicon_blocks(
        self, types: Sequence[str], codes: IntArray, offsets: IntArray
    ) -> list[tuple[Block, list[str]]]:
        masks, kind = np.unique(LexiconMatcher(self.lexicons).masks(types, codes, offsets), return_inverse=True)
        names = list(self.lexicons)
        rows = [[name for bit, name in enumerate(names) if mask >> bit & 1] for mask in masks.tolist()]
        lists = Incidence.of([*rows, (), ()])
        moved = ((d, shifted(kind, offsets, d, len(masks))) for d in self.classes_at)
        found = [(Block(k, lists), _names("in", d, lists.values)) for d, k in moved]
        return found + _windows("in", Block(kind, lists), offsets, self.classes_nearby)

    def _nearby_blocks(self, types: Sequence[str], codes: IntArray, offsets: IntArray) -> list[tuple[Block, list[str]]]:
        """Attributes anywhere within a distance: tokens, and classes by pattern."""
        found: list[tuple[Block, list[str]]] = []
        if self.nearby:
            words = Block(codes, Incidence.of([(t.lower(),) for t in types]))
            found += _windows("lower", words, offsets, self.nearby)
        if self.classes_nearby and self.patterns:
            classes = Block(codes, Incidence.of(map(classifier(self.patterns), types)))
            found += _windows("is", classes, offsets, self.classes_nearby)
        return found


class _Encoder:
    """Columns by name: what the encoders of tokens and of attributes share."""

    names: Names

    @property
    def hashing(self) -> int | None:
        """The number of columns into which attributes are hashed; None: they are not."""
        return len(self.names) if buckets(self.names) else None

    @cached_property
    def _columns(self) -> dict[str, int]:
        return {name: j for j, name in enumerate(self.names)}


@dataclass(frozen=True, eq=False)
class TokenEncoder(_Encoder):
    """Fitted templates: ``names[j]`` is the attribute of column j, such as ``lower[-1]=the``; ``Buckets`` if hashed."""

    templates: TokenTemplates
    names: Names

    def transform(self, tokens: Sequence[str], offsets: IntArray) -> sparse.csr_array:
        """Positions × attributes; without hashing, attributes that did not occur in fitting are dropped."""
        if self.hashing is not None:
            return self.templates.fit(tokens, offsets)[1]
        known = self._columns
        blocks = [
            block.restrict(np.array([known.get(name, -1) for name in local], dtype=np.intp))
            for block, local in self.templates._blocks(tokens, offsets)
        ]
        return gather(blocks, len(tokens), len(self.names))

    def to_document(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {"templates": self.templates.to_document(), "names": written_names(self.names)}

    @staticmethod
    def from_document(document: Mapping[str, Any]) -> TokenEncoder:
        """The inverse of ``to_document``."""
        templates = TokenTemplates.from_document(document["templates"])
        return TokenEncoder(templates, read_names(document["names"], templates.hashing))


def _check_encoder(given: object) -> None:
    if isinstance(given, str):
        ENCODERS.find(given)
    elif isinstance(given, type) or not (given is None or callable(getattr(given, "encode", None))):
        what = f"{given.__name__} is a class: pass an object" if isinstance(given, type) else f"{given!r:.80}"
        raise DataError(
            f"vectors={what}. It must be an object with encode(tokens), or the name of an encoder: "
            f"{', '.join(map(repr, ENCODERS))}.",
            parameter="features",
        )


def checked_hashing(hashing: object, min_count: int) -> int | None:
    """The number of columns that attributes are hashed into (None: they are not); DataError if they cannot be."""
    if hashing is None:
        return None
    size = checked_size("hashing", hashing)
    if min_count != 1:
        raise DataError(
            f"min_count={min_count!r} with hashing={hashing!r}: attributes that are hashed are not counted, since a "
            "stream has no last one. Leave out one of them."
        )
    return size


def written_names(names: Names) -> list[str]:
    """Names as a file has them: none for hashed columns, whose number says it all."""
    return [] if buckets(names) else list(names)


def read_names(names: Any, hashing: int | None) -> Names:
    """The inverse of ``written_names``; each name must be there once."""
    if not isinstance(names, list | tuple) or not are_strings(names):
        raise DataError("The names of attributes must be a list of strings.")
    if len(set(names)) < len(names):
        raise DataError("An attribute has two columns.")
    if hashing is None:
        return tuple(names)
    if names:
        raise DataError("Attributes that are hashed have no names.")
    return Buckets(hashing)


def _names(family: str, distance: int, values: Sequence[str]) -> list[str]:
    """``lower=the``; at a neighbour ``lower[-1]=the``; outside ``begin[-1]``."""
    if family == "outside":
        return [f"{value}[{distance:+d}]" for value in values]
    return [f"{family}{f'[{distance:+d}]' if distance else ''}={value}" for value in values]


def _windows(family: str, block: Block, offsets: IntArray, distances: tuple[int, ...]) -> list[tuple[Block, list[str]]]:
    """``lower[~3]=the``: the values of a block anywhere within each distance."""
    names = block.types.values
    return [(within(block, offsets, d), [f"{family}[~{d}]={value}" for value in names]) for d in distances]


def _whole_numbers(name: str, value: object, least: int, most: int) -> tuple[int, ...]:
    if type(value) is bool and least < 0:
        value = (0,) if value else ()
    if isinstance(value, Iterable) and not isinstance(value, str):
        given = tuple(value)
        found = {number for number in map(whole, given) if number is not None and least <= number <= most}
        if len(found) == len(given):
            return tuple(sorted(found))
    raise DataError(f"{name}={value!r} must be different integers from {least} to {most}, such as (0,); () is off.")


@dataclass(frozen=True)
class AttributeTemplates:
    """Attributes as they are; ``min_count``: those at fewer positions are dropped; ``hashing``: into how many columns
    they are hashed (None: not at all)."""

    min_count: int = 1
    hashing: int | None = None
    vectors: ClassVar[None] = None  # words have them, attributes do not

    def __post_init__(self) -> None:
        object.__setattr__(self, "min_count", integer("min_count", self.min_count, 1))
        object.__setattr__(self, "hashing", checked_hashing(self.hashing, self.min_count))

    def fit(self, items: Sequence[Attributes], offsets: IntArray) -> tuple[AttributeEncoder, sparse.csr_array]:
        """Learn which attributes occur; encode them. The order of columns is that of appearance."""
        rows = AttributeRows.of(items)
        if self.hashing is not None:
            return AttributeEncoder(Buckets(self.hashing)), hashed(rows.matrix, rows.names, self.hashing)
        kept = np.flatnonzero(np.bincount(rows.matrix.indices, minlength=len(rows.names)) >= self.min_count)
        encoder = AttributeEncoder(tuple(rows.names[j] for j in kept))
        return encoder, rows.matrix if len(kept) == len(rows.names) else rows.matrix[:, kept]


@dataclass(frozen=True, eq=False)
class AttributeEncoder(_Encoder):
    """Fitted attributes: ``names[j]`` is that of column j; ``Buckets`` if hashed."""

    names: Names

    def transform(self, items: Sequence[Attributes], offsets: IntArray) -> sparse.csr_array:
        """Positions × attributes; without hashing, attributes that did not occur in fitting are dropped."""
        rows = AttributeRows.of(items)
        if self.hashing is not None:
            return hashed(rows.matrix, rows.names, self.hashing)
        columns = np.array([self._columns.get(name, -1) for name in rows.names], dtype=np.intp)
        known = np.flatnonzero(columns >= 0)
        place = (np.ones(len(known)), (known, columns[known]))
        return sparse.csr_array(rows.matrix @ sparse.csr_array(place, shape=(len(columns), len(self.names))))

    def to_document(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {"names": written_names(self.names), "hashing": self.hashing}

    @staticmethod
    def from_document(document: Mapping[str, Any]) -> AttributeEncoder:
        """The inverse of ``to_document``."""
        return AttributeEncoder(read_names(document["names"], document.get("hashing")))
