"""Hashed words against the same weighting of an open vocabulary."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils import murmurhash3_32

from tiltfit.errors import DataError
from tiltfit.features.hashing import MAX_SIZE, SIZE
from tiltfit.features.text import LENGTH, HashedWords

TEXTS = st.lists(st.text("aAbcé 中.-\n1", max_size=30), min_size=1, max_size=6)
SIZES = st.sampled_from([1, 2, 7, 64, SIZE])


@settings(deadline=None, max_examples=100)
@given(TEXTS, SIZES)
def test_rows_are_log_counts_of_length_ten(texts: list[str], size: int) -> None:
    found = HashedWords(size).transform(texts)
    assert found.shape == (len(texts), size)
    words = CountVectorizer(token_pattern=r"(?u)\b\w+\b").build_analyzer()  # the words of the other vectorizers
    for i, text in enumerate(texts):
        count: dict[int, float] = {}
        for token in words(text):
            at = abs(murmurhash3_32(token)) % size
            count[at] = count.get(at, 0) + 1
        length = np.sqrt(sum((1 + np.log(c)) ** 2 for c in count.values()))
        row = found[[i]]
        assert set(row.indices.tolist()) == set(count)
        for at, c in count.items():
            assert found[i, at] == pytest.approx(LENGTH * (1 + np.log(c)) / length)


@settings(deadline=None, max_examples=60)
@given(TEXTS, TEXTS, SIZES)
def test_a_text_has_the_same_row_whatever_else_is_there(texts: list[str], others: list[str], size: int) -> None:
    bag = HashedWords(size)
    alone, beside = bag.transform(texts), bag.transform([*others, *texts])[len(others) :]
    assert np.array_equal(alone.indptr, beside.indptr)
    assert np.array_equal(alone.indices, beside.indices)
    assert np.array_equal(alone.data, beside.data)


@pytest.mark.parametrize("texts", [[""], ["", " .,- \n"], []])
def test_a_text_without_words_is_an_empty_row(texts: list[str]) -> None:
    found = HashedWords().transform(texts)
    assert (found.shape, found.nnz) == ((len(texts), SIZE), 0)


def test_it_is_the_same_in_another_process() -> None:
    """Python's own hash of strings differs from run to run."""
    code = "from tiltfit.features.text import HashedWords as H; print(*H().transform(['a puck on ice']).indices)"
    here = HashedWords().transform(["a puck on ice"]).indices.tolist()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert [int(j) for j in done.stdout.split()] == here


@pytest.mark.parametrize("size", [0, "x", 2.0, True, MAX_SIZE + 1])
def test_bad_sizes_are_refused(size: int) -> None:
    with pytest.raises(DataError, match="size=.* must be an integer from 1 to"):
        HashedWords(size)


@given(st.lists(st.text(alphabet="abc ", max_size=12), max_size=12), st.integers(0, 12))
def test_in_a_stream_each_document_is_weighted_by_those_up_to_itself(texts: list[str], cut: int) -> None:
    bag, rows = HashedWords(64).learn(texts)
    for i in range(len(texts)):
        alone, _ = HashedWords(64).fit(texts[: i + 1])
        np.testing.assert_allclose(rows[[i]].toarray(), alone.transform([texts[i]]).toarray(), rtol=1e-12)
    first, head = HashedWords(64).learn(texts[:cut])
    second, tail = first.learn(texts[cut:])
    assert second.n == bag.n == len(texts)
    assert np.array_equal(second.frequency, bag.frequency)
    assert np.array_equal(np.concatenate([head.toarray(), tail.toarray()]), rows.toarray()), "to the last bit"
