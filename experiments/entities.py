"""Entities that sources mark in sentences: ``laptop`` (aspects of products) and ``ncbi`` (diseases), as BIO tags.

A token knows how the sources tag it, so "this source says B-Disease" is a condition on the token; the model sees its
text alone.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.corpora import data_root

from tiltfit import Constraint, expect, when
from tiltfit.data.sequences import Sequences
from tiltfit.errors import DataFileError

FOLDER = "entities"
OUTSIDE = "O"
SAYS, SILENT = 0.9, 0.97
"""What is stated of the tags of sources, and of O where no source says anything."""


class Marked(str):
    """A token; ``marks``: the tag of every source that does not say O."""

    __slots__ = ("marks",)
    marks: Mapping[str, str]

    def __new__(cls, text: str, marks: Mapping[str, str]) -> Marked:
        token = super().__new__(cls, text)
        token.marks = marks
        return token


@dataclass(frozen=True, eq=False)
class Entities:
    """Sentences with their true tags."""

    sentences: tuple[tuple[Marked, ...], ...]
    tags: tuple[tuple[str, ...], ...]

    def take(self, rows: Iterable[int]) -> Entities:
        rows = list(rows)
        return Entities(tuple(self.sentences[i] for i in rows), tuple(self.tags[i] for i in rows))

    @property
    def X(self) -> Sequences:
        """The sentences as a tagger takes them. Lists of tokens would become plain strings, without marks."""
        lengths = [len(sentence) for sentence in self.sentences]
        return Sequences([token for s in self.sentences for token in s], np.cumsum([0, *lengths]).astype(np.intp))

    @property
    def classes(self) -> list[str]:
        return sorted({tag for tags in self.tags for tag in tags} | {OUTSIDE})

    def constraints(self) -> list[Constraint]:
        """About 90 % of the tokens that a source tags have its tag; 97 % of those that no source tags are outside."""
        said = sorted({mark for sentence in self.sentences for token in sentence for mark in token.marks.items()})
        stated = [expect(tag, given=when(_Says(source, tag), f"{source}: {tag}")).about(SAYS) for source, tag in said]
        return [*stated, expect(OUTSIDE, given=when(_silent, "no source")).about(SILENT)]


@dataclass(frozen=True)
class _Says:
    source: str
    tag: str

    def __call__(self, token: Marked) -> bool:
        return token.marks.get(self.source) == self.tag


def _silent(token: Marked) -> bool:
    return not token.marks


def entities(name: str, part: str) -> Entities:
    """One part (``train``, ``valid``, ``test``), marked by the sources that published comparisons use."""
    folder = _folder()
    sources = json.loads((folder / f"{name}-sources.json").read_text(encoding="utf-8"))["recommended"]
    with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row["split"] == part]
    return Entities(
        tuple(_marked(row, sources) for row in rows),
        tuple(tuple(tagged(len(row["tokens"]), row["entities"])) for row in rows),
    )


def tagged(n: int, spans: Iterable[Sequence[Any]]) -> list[str]:
    """BIO tags of ``n`` tokens with entities (first token, the one behind the last, type).

    >>> tagged(4, [(1, 3, "Disease")])
    ['O', 'B-Disease', 'I-Disease', 'O']
    """
    tags = [OUTSIDE] * n
    for first, behind, kind in spans:
        tags[first:behind] = [f"B-{kind}", *[f"I-{kind}"] * (behind - first - 1)]
    return tags


def _marked(row: Mapping[str, Any], sources: Sequence[str]) -> tuple[Marked, ...]:
    tokens = row["tokens"]
    by_source = {source: tagged(len(tokens), row["votes"].get(source, [])) for source in sources}
    return tuple(
        Marked(text, {source: tags[t] for source, tags in by_source.items() if tags[t] != OUTSIDE})
        for t, text in enumerate(tokens)
    )


def _folder() -> Path:
    root = data_root()
    if root is None or not (root / FOLDER).is_dir():
        raise DataFileError(f"The entities are not here. Set TILTFIT_DATA to the folder that holds {FOLDER}/.")
    return root / FOLDER
