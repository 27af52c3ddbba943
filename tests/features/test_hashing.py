"""Hashed attributes against a plain reading of the formula; rows that do not depend on what is beside them."""

from __future__ import annotations

import math
import pickle
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.utils import murmurhash3_32
from tests.features.test_tokens import ALL, SEQUENCES, oracle

from tiltfit.data.sequences import as_sequences
from tiltfit.errors import DataError
from tiltfit.execution.workers import Workers
from tiltfit.features.attributes import AttributeFeatures, OccupiedFeatures
from tiltfit.features.hashing import MAX_SIZE, Buckets, JoinedNames, buckets, hashed, joined
from tiltfit.features.tokens import AttributeEncoder, AttributeTemplates, TokenEncoder, TokenTemplates

SIZES = st.sampled_from([1, 2, 5, 64, 2**18, MAX_SIZE])
VALUES = st.dictionaries(st.text("abc", max_size=3), st.floats(-1e3, 1e3), max_size=8)
ITEMS = st.lists(st.lists(VALUES, max_size=4), min_size=1, max_size=4)
FULL = {f.name: getattr(ALL, f.name) for f in ALL.__dataclass_fields__.values()}


def column(name: str, size: int) -> int:
    return int(murmurhash3_32(name.encode(), 0, positive=True)) * size >> 32


def entries(matrix: sparse.csr_array, i: int) -> dict[int, float]:
    a, b = matrix.indptr[i : i + 2]
    assert np.all(np.diff(matrix.indices[a:b]) > 0), "sorted, each column once"
    return dict(zip(matrix.indices[a:b].tolist(), matrix.data[a:b].tolist(), strict=True))


def test_the_hash_is_murmurhash_and_the_same_everywhere() -> None:
    """Published values of MurmurHash3_32 with seed 0: a model file means the same on every machine."""
    names = ["", "hello", "hello, world", "The quick brown fox jumps over the lazy dog"]
    values = [0x00000000, 0x248BFA47, 0x149BBB7F, 0x2E4FF723]
    found = hashed(sparse.csr_array(np.eye(4)), names, 2**18)
    assert found.shape == (4, 2**18)
    assert found.indices.tolist() == [value >> 14 for value in values]


@settings(deadline=None, max_examples=60)
@given(SEQUENCES, SIZES)
def test_token_attributes_are_counted_by_their_hash(sequences: list[list[str]], size: int) -> None:
    templates = TokenTemplates(**(FULL | {"hashing": size}))
    flat = as_sequences(sequences)
    encoder, matrix = templates.fit(flat.items, flat.offsets)
    assert matrix.shape == (flat.n, size)
    wanted = [Counter(column(n, size) for n in oracle(s, i, ALL)) for s in sequences for i in range(len(s))]
    assert [entries(matrix, i) for i in range(flat.n)] == wanted
    again = TokenEncoder.from_document(encoder.to_document()).transform(flat.items, flat.offsets)
    assert [entries(again, i) for i in range(flat.n)] == wanted


@settings(deadline=None, max_examples=60)
@given(SEQUENCES, SEQUENCES, SIZES)
def test_tokens_have_the_same_row_whatever_else_is_there(
    some: list[list[str]], others: list[list[str]], size: int
) -> None:
    fitted, flat = as_sequences(others), as_sequences([*others, *some])
    encoder, _ = TokenTemplates(hashing=size).fit(fitted.items, fitted.offsets)
    alone = as_sequences(some)
    wanted = encoder.transform(alone.items, alone.offsets)
    found = encoder.transform(flat.items, flat.offsets)[fitted.n :]
    assert [entries(found, i) for i in range(alone.n)] == [entries(wanted, i) for i in range(alone.n)]


@settings(deadline=None, max_examples=100)
@given(ITEMS, ITEMS, SIZES)
def test_attributes_have_the_same_row_whatever_else_is_there(
    some: list[list[dict[str, float]]], others: list[list[dict[str, float]]], size: int
) -> None:
    """To the last bit, though floating-point sums depend on their order."""
    encoder, _ = AttributeTemplates(hashing=size).fit([], np.array([0]))
    positions, before = [p for s in some for p in s], [p for s in others for p in s]
    wanted = encoder.transform(positions, np.array([0, len(positions)]))
    flat = [*before, *positions]
    found = encoder.transform(flat, np.array([0, len(flat)]))[len(before) :]
    assert [entries(found, i) for i in range(len(positions))] == [entries(wanted, i) for i in range(len(positions))]
    for i, item in enumerate(positions):
        sums: dict[int, list[float]] = {}
        for name, value in item.items():
            sums.setdefault(column(name, size), []).append(value)
        row = entries(wanted, i)
        for at, values in sums.items():
            assert row.get(at, 0.0) == pytest.approx(math.fsum(values), abs=1e-9)
        assert set(row) <= set(sums)


def test_attribute_lists_of_any_kind_and_half_characters() -> None:
    items = [["a", "b"], {"a": 2.5, "w": "x", "up": {"b": True}}, [], ["\ud800"]]
    encoder, matrix = AttributeTemplates(hashing=2**18).fit(items, np.array([0, 4]))
    names = [{"a": 1, "b": 1}, {"a": 2.5, "w=x": 1, "up:b": 1}, {}]
    assert [entries(matrix, i) for i in range(3)] == [{column(n, 2**18): v for n, v in row.items()} for row in names]
    assert matrix[[3]].nnz == 1
    again = AttributeEncoder.from_document(encoder.to_document())
    assert again.hashing == 2**18
    assert (again.transform(items, np.array([0, 4])) != matrix).nnz == 0


@pytest.mark.parametrize("templates", [TokenTemplates, AttributeTemplates])
@pytest.mark.parametrize("size", [0, -1, "x", 2.0, True, MAX_SIZE + 1, 10**30, [16]])
def test_bad_sizes_are_refused(templates: Any, size: object) -> None:
    with pytest.raises(DataError, match=r"hashing=.* must be an integer from 1 to 16777216"):
        templates(hashing=size)


@pytest.mark.parametrize("templates", [TokenTemplates, AttributeTemplates])
def test_hashed_attributes_are_not_counted(templates: Any) -> None:
    with pytest.raises(DataError, match="min_count=2 with hashing=64: .* Leave out one"):
        templates(hashing=64, min_count=2)


def test_names_of_hashed_attributes_in_a_document_are_refused() -> None:
    with pytest.raises(DataError, match="hashed have no names"):
        TokenEncoder.from_document({"templates": {"hashing": 8}, "names": ["a"]})
    with pytest.raises(DataError, match="hashed have no names"):
        AttributeEncoder.from_document({"names": ["a"], "hashing": 8})


# Names that are made when asked for -------------------------------------------------------------------------------


def test_names_are_sequences() -> None:
    names = joined(("age", "size"), Buckets(3, "title:"), (), ("<end>",))
    wanted = ["age", "size", "title:hash 0", "title:hash 1", "title:hash 2", "<end>"]
    assert list(names) == [names[j] for j in range(6)] == names[:] == wanted
    assert (names[-1], names[1:4], len(names)) == ("<end>", wanted[1:4], 6)
    assert np.array(names, dtype=object).tolist() == wanted
    assert Buckets(3)[-2:] == ["hash 1", "hash 2"]
    with pytest.raises(IndexError):
        names[6]
    with pytest.raises(IndexError):
        Buckets(3)[3]
    assert names == joined(("age", "size"), Buckets(3, "title:"), ("<end>",)) != joined(Buckets(3, "title:"))
    assert buckets(names) == (Buckets(3, "title:"),)


def test_without_hashing_names_are_a_list() -> None:
    assert joined(("a",), ("b",)) == ["a", "b"]
    assert buckets(["a", "b"]) == ()


def test_names_are_not_made_before_they_are_asked_for() -> None:
    names = joined(Buckets(MAX_SIZE), ("<start>",))
    assert isinstance(names, JoinedNames)
    assert len(pickle.dumps(names)) < 500
    assert names[MAX_SIZE] == "<start>"


# Columns that are not empty ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
def test_empty_columns_have_no_weights(intercept: bool) -> None:
    rng = np.random.default_rng(0)
    X = sparse.csr_array(sparse.random_array((20, 50), density=0.03, rng=rng))
    full = AttributeFeatures(X, 3, Workers(), intercept)
    few = OccupiedFeatures.of(X, 3, Workers(), intercept)
    n = len(np.unique(X.indices))
    assert few.n_weights == 3 * (n + intercept) < full.n_weights
    weights, node = rng.normal(size=few.n_weights), rng.normal(size=(20, 3))
    whole = few.whole(weights)
    assert np.count_nonzero(whole) == len(weights)
    assert np.array_equal(few.own(whole), weights)
    np.testing.assert_allclose(few.score(weights).node, full.score(whole).node, rtol=1e-13)
    np.testing.assert_allclose(few.whole(few.expect(node).copy()), full.expect(node), rtol=1e-13)
    assert np.array_equal(few.table(weights), full.table(whole))
    if not intercept:
        assert np.array_equal(few.flat(few.table(weights)), weights)
    rows = np.array([3, 1])
    assert np.array_equal(few.take(rows).score(weights).node, few.score(weights).node[rows])
    assert np.array_equal(few.take(rows).whole(weights), whole)
