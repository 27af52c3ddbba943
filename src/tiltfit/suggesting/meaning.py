"""What is close in meaning to a word or phrase w that is stated or suggested (``suggest(..., encoder=)``).

    cos(v(w), v(w′)) ≥ 0.35            other words w′ of the texts, nearest first
    near(w, above=c)                   c: the n-th largest cosine of w with a text, n the number of texts with w

v is a registered encoder. The condition fires about as often as w itself; its examples are texts without w, nearest
first, for the user to judge.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.check.support import Data
from tiltfit.data.inputs import cut
from tiltfit.errors import UnsupportedError
from tiltfit.features.vectors import encode, named_encoder
from tiltfit.language.conditions import Condition, Phrase, Word
from tiltfit.language.meaning import Near
from tiltfit.language.prose import quote
from tiltfit.suggesting.candidates import Candidates
from tiltfit.suggesting.context import printable

LEAST = 0.35  # as of lexicons (``features.similarity``)
MOST = 5


@dataclass(frozen=True)
class Alike:
    """What is close in meaning to a condition: ``words`` with their cosines, and ``near``, which fires on ``count``
    texts; ``examples`` are some of the ``apart`` texts where the condition itself does not fire. None: no text is near.
    """

    words: tuple[tuple[Word, float], ...]
    near: Near | None = None
    count: int = 0
    apart: int = 0
    examples: tuple[str, ...] = ()

    @property
    def lines(self) -> Iterator[str]:
        """One question for the words, one for the condition, then its examples."""
        if self.words:
            named = ", ".join(f"{quote(word.text)} ({cosine:.2f})" for word, cosine in self.words)
            yield f"also {named}?"
        if self.near is not None and self.apart:
            without = f"{self.count:,}, {self.apart:,} of them without it"
            yield f"or what is close in meaning, {self.near!r}: {without}?"
            yield from (f"  {example}" for example in self.examples)

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "words": [{"given": word.to_document(), "cosine": cosine} for word, cosine in self.words],
            "near": None if self.near is None else self.near.to_document(),
            "count": self.count,
            "apart": self.apart,
            "examples": list(self.examples),
        }


def find_alike(
    conditions: Iterable[Condition], candidates: Candidates, data: Data, encoder: str, n_examples: int
) -> dict[Condition, Alike]:
    """What is alike to those of the conditions that are words or phrases."""
    if data.unit != "documents" or not data.sample.inputs.has_texts:
        raise UnsupportedError(
            f"encoder={encoder!r} compares texts, but X holds {data.unit}. Leave encoder= out; similar_words(...) "
            "finds words that are used alike in sequences.",
            parameter="encoder",
        )
    words = [c for c in candidates.conditions if isinstance(c, Word)]
    asked = [c for c in dict.fromkeys(conditions) if isinstance(c, Word | Phrase)]
    if not asked:
        return {}
    vectors = encode(named_encoder(encoder), [c.text for c in (*asked, *words)])
    of_words = vectors[len(asked) :]
    found: dict[Condition, Alike] = {}
    for condition, vector in zip(asked, vectors, strict=False):
        if vector.any():  # the encoder knows it
            near = _near(condition, data, encoder, n_examples)
            found[condition] = Alike(tuple(_nearest(condition, words, of_words @ vector)), *near)
    return found


def _nearest(condition: Word | Phrase, words: list[Word], cosines: FloatArray) -> Iterator[tuple[Word, float]]:
    """The nearest words of the same column that are not in the condition itself."""
    own = {word.casefold() for word in condition.words}
    left = MOST
    for j in np.argsort(-cosines, kind="stable"):
        if not left or cosines[j] < LEAST:
            return
        word = words[j]
        if word.text.casefold() not in own and word.column == condition.column:
            left -= 1
            yield word, float(cosines[j])


def _near(
    condition: Word | Phrase, data: Data, encoder: str, n_examples: int
) -> tuple[Near | None, int, int, tuple[str, ...]]:
    """The condition on meaning, the number of its texts, of those without the words, and some of the latter."""
    inputs = data.sample.inputs
    fires = condition.fires(inputs)
    cosines = Near((condition.text,), 1.0, encoder, condition.column).similarities(inputs)
    n = int(fires.sum())
    above = math.floor(100 * float(np.sort(cosines)[-n])) / 100 if n else 0.0
    if above <= 0:
        return None, 0, 0, ()
    near = Near((condition.text,), above, encoder, condition.column)
    where = near.fires(inputs)
    others = np.flatnonzero(where & ~fires)
    shown = others[np.argsort(-cosines[others], kind="stable")][:n_examples]
    texts = inputs.texts(condition.column)
    examples = tuple(dict.fromkeys(cut(printable(texts[i])) for i in shown))
    return near, int(where.sum()), len(others), examples
