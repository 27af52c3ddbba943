"""Texts as vectors of their meaning.

An *encoder* is any object with ``encode(texts) → array``, as sentence-transformers, model2vec and others have it.
``named_encoder`` loads one by name: ``static`` is a table of word vectors that a package holds complete, so that
nothing is downloaded; ``register_encoder`` adds others. What files hold of an encoder is its name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.errors import DataError, UnsupportedError
from tiltfit.registry import Registry

STATIC = "static"


class Encoder(Protocol):
    """One vector per text."""

    def encode(self, texts: Sequence[str]) -> Any: ...


ENCODERS: Registry[Callable[[], Encoder]] = Registry("encoder", DataError)


def register_encoder(name: str, load: Callable[[], Encoder]) -> None:
    """Let ``name`` mean the encoder that ``load()`` returns; it is called once per process, on first use."""
    ENCODERS.register(name, load)


@lru_cache(maxsize=8)
def named_encoder(name: str) -> Encoder:
    """The encoder of that name."""
    return ENCODERS.find(name)()


def encode(encoder: Encoder, texts: Sequence[str], *, dimensions: int | None = None) -> FloatArray:
    """v/‖v‖ of every text, 0 where v = 0 (an empty text). ``dimensions``: how many there must be."""
    title = type(encoder).__name__
    found = np.asarray(encoder.encode(list(texts)), dtype=np.float64)
    if found.ndim != 2 or len(found) != len(texts):
        raise DataError(
            f"{title}.encode returned an array of shape {found.shape} for {len(texts)} texts: it must have one row per "
            "text.",
            parameter="vectorizer",
        )
    if dimensions is not None and found.shape[1] != dimensions:
        raise DataError(
            f"{title}.encode returned vectors of {found.shape[1]} dimensions, but the model was fitted on "
            f"{dimensions}: use the same encoder.",
            parameter="vectorizer",
        )
    bad = np.flatnonzero(~np.isfinite(found).all(axis=1))
    if len(bad):
        raise DataError(
            f"{title}.encode returned NaN or infinite numbers for {len(bad)} texts (text {bad[0]} first).",
            parameter="vectorizer",
            instances=bad,
        )
    length = np.linalg.norm(found, axis=1, keepdims=True)
    return np.asarray(np.divide(found, length, out=np.zeros_like(found), where=length > 0))


class _WordLlama:
    """The mean of the vectors of a text's tokens, from the table that the package ``wordllama`` holds."""

    def __init__(self) -> None:
        try:
            import wordllama
        except ImportError as error:
            raise UnsupportedError(
                f"The encoder {STATIC!r} needs the package wordllama: pip install 'tiltfit[embeddings]'."
            ) from error
        from pathlib import Path

        # Its tokeniser lies where only a cache is looked for; with downloads it would ask the network for it.
        inside = Path(wordllama.__file__).parent
        self._inference = wordllama.WordLlama.load(cache_dir=inside, disable_download=True)

    def encode(self, texts: Sequence[str]) -> Any:
        # An empty text has no tokens, and its mean would be a division by zero.
        found = np.zeros((len(texts), self._inference.embedding.shape[1]))
        some = [i for i, text in enumerate(texts) if text.strip()]
        if some:
            found[some] = self._inference.embed([texts[i] for i in some], norm=False)
        return found


register_encoder(STATIC, _WordLlama)
