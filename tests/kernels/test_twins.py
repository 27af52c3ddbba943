"""Every inner loop in LLVM's terms and its plain twin: the same results, up to the rounding of sums.

Both add the same terms, which are all ≥ 0 where they are probabilities, in another order: relative errors of at most
about L·2⁻⁵² for sums of L terms. ``TOLERANCE`` is that for a hundred terms, and some for the exponential's last digit.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltfit.kernels.constants import ABREAST, LANES, WIDEST, WIDEST_BLOCK
from tiltfit.kernels.llvm import blocks as fast_blocks
from tiltfit.kernels.llvm import sparse as fast_sparse
from tiltfit.kernels.llvm import tiles as fast_tiles
from tiltfit.kernels.plain import blocks, sparse, tiles

TOLERANCE = 1e-13
EXAMPLES = settings(max_examples=30, deadline=None)
MODULES = ("blocks", "sparse", "tiles")


def compiled(primitive: Any) -> Callable[..., Any]:
    """A primitive in LLVM's terms, as a function that Python can call."""

    @numba.njit
    def call(*arguments):  # type: ignore[no-untyped-def]
        return primitive(*arguments)

    return call


FAST = {
    name: compiled(getattr(module, name))
    for module, names in (
        (fast_tiles, ("backward_tile", "forward_tile", "outer_tile", "product_tile", "scatter_tile", "step_tile")),
        (fast_tiles, ("factors_tile", "greatest_tile")),
        (fast_sparse, ("ask_for",)),
        (
            fast_blocks,
            (
                "backward_block",
                "forward_block",
                "load_step",
                "multiply_step",
                "outer_block",
                "scale_step",
                "scatter_step",
            ),
        ),
    )
    for name in names
}


def assert_same(twin: Callable[..., Any], *arguments: Any) -> None:
    """Both leave the same in all arrays, and return the same."""
    ours, theirs = ([np.array(a) if isinstance(a, np.ndarray) else a for a in arguments] for _ in range(2))
    got, expected = twin(*ours), FAST[twin.__name__](*theirs)
    for one, other in zip((*ours, got), (*theirs, expected), strict=True):
        if isinstance(other, np.ndarray | float):
            np.testing.assert_allclose(one, other, rtol=TOLERANCE, atol=1e-300)
        else:
            assert one == other


@st.composite
def cases(draw: st.DrawFn) -> tuple[np.random.Generator, int, int, int, int]:
    """A source of numbers, labels, their padded number, the first column and the registers of a tile."""
    n_labels = draw(st.sampled_from([1, 2, 3, 4, 5, 7, 8, 13, 20, 31, 32, 33, 45, 70]))
    width = -(-n_labels // LANES) * LANES
    column = draw(st.sampled_from(range(0, width, LANES)))
    count = draw(st.integers(1, min(WIDEST, (width - column) // LANES)))
    return np.random.default_rng(draw(st.integers(0, 2**32))), n_labels, width, column, count


def probabilities(rng: np.random.Generator, *shape: int, labels: int) -> np.ndarray:
    """Numbers ≥ 0 over many orders of magnitude, some 0, and 0 beyond the labels of the last axis."""
    values = 10.0 ** rng.uniform(-60, 0, size=shape) * (rng.random(shape) < 0.8)
    values[..., labels:] = 0.0
    return values


def scores(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Scores of any size, some forbidden."""
    values = rng.normal(size=shape) * 10.0 ** rng.integers(-3, 4)
    return np.where(rng.random(shape) < 0.2, -np.inf, values)


@pytest.mark.parametrize("module", MODULES)
def test_every_primitive_has_a_twin(module: str) -> None:
    def names(of: str) -> set[str]:
        found = importlib.import_module(f"tiltfit.kernels.{of}.{module}")
        public = {name for name, value in vars(found).items() if getattr(value, "__module__", "") == found.__name__}
        return {name for name in public if not name.startswith("_")}

    assert names("plain") == names("llvm")


@EXAMPLES
@given(cases())
def test_products(case: tuple[np.random.Generator, int, int, int, int]) -> None:
    rng, n_labels, width, column, count = case
    rows, table = (
        probabilities(rng, 3, width, labels=n_labels),
        probabilities(rng, 2, width, width, labels=n_labels),
    )
    table[:, n_labels:] = 0.0
    assert_same(tiles.product_tile, count, rows, 1, table, 1, n_labels, np.ones((4, width)), 2, column)
    extra, scale = probabilities(rng, 3, width, labels=n_labels), probabilities(rng, 2, width, labels=n_labels)
    raw, out = np.ones((4, width)), np.ones((4, width))
    assert_same(
        tiles.step_tile, count, rows, 1, table, 0, n_labels, extra, 2, scale, 1, raw, 3, out, column
    )  # fmt: skip


@EXAMPLES
@given(cases())
def test_forward_and_backward(case: tuple[np.random.Generator, int, int, int, int]) -> None:
    rng, n_labels, width, column, count = case
    ahead, back, local = (probabilities(rng, 3, width, labels=n_labels) for _ in range(3))
    table, least = probabilities(rng, 2, width, width, labels=n_labels), np.full(LANES, 1e-30)
    table[:, n_labels:] = 0.0
    assert_same(tiles.forward_tile, count, ahead, 2, table, 1, n_labels, local, column, 1e3, least)
    assert_same(tiles.backward_tile, count, back, 2, table, 1, n_labels, local, ahead, column, 1e-2)


@EXAMPLES
@given(cases(), st.integers(1, 200))
def test_sums_over_edges_of_long_sequences(case: tuple[np.random.Generator, int, int, int, int], n: int) -> None:
    rng, n_labels, width, column, count = case
    ahead, back = (probabilities(rng, n + 1, width, labels=n_labels) for _ in range(2))
    order, out = rng.permutation(np.arange(1, n + 1)).astype(np.int32), np.zeros((2, width, width))
    assert_same(tiles.outer_tile, count, ahead, back, order, n // 3, n, out, 1, n_labels, column, 0.7)
    indices, data = rng.integers(0, 5, size=n), rng.random(n)
    row, table = probabilities(rng, width, labels=n_labels), np.ones((5, width))
    assert_same(tiles.scatter_tile, count, indices, data, 0, n, row, table, column)


@EXAMPLES
@given(cases())
def test_factors(case: tuple[np.random.Generator, int, int, int, int]) -> None:
    rng, n_labels, width, column, count = case
    node = scores(rng, 2, n_labels)
    # Beyond a float's range of factors, both are 0.
    node[0] *= rng.choice([1.0, 1e3])
    assert_same(tiles.greatest_tile, count, node, 1, column)
    top, least = float(np.max(node[0])), np.zeros(LANES)
    if top > -np.inf:
        assert_same(tiles.factors_tile, count, node, 0, column, top, np.ones((2, width)), 1, least)


def test_scores_that_are_not_numbers() -> None:
    node = np.array([[np.nan, 1.0, np.nan, -2.0, np.nan], [np.nan] * 5])
    assert_same(tiles.greatest_tile, 2, node, 0, 0)
    assert_same(tiles.greatest_tile, 2, node, 1, 0)
    assert_same(tiles.factors_tile, 2, node, 0, 0, 1.0, np.ones((1, 8)), 0, np.zeros(LANES))


@EXAMPLES
@given(st.integers(0, 2**32), st.sampled_from([4, 5, 6, 9, 13, 24, 40]), st.integers(2, 30))
def test_eight_sequences_side_by_side(seed: int, n_labels: int, steps: int) -> None:
    rng = np.random.default_rng(seed)
    length = rng.integers(1, steps + 1, size=ABREAST)
    length[0] = steps
    first = np.concatenate([[0], np.cumsum(length)[:-1]])
    node, t = rng.normal(size=(int(length.sum()), n_labels)) * 10.0 ** rng.integers(-2, 2), int(rng.integers(1, steps))
    # Labels are padded to as many as the longest step over rows of ``outer_block`` may reach.
    shape = (steps + 1, n_labels + 4, ABREAST)
    local, ahead, back = (probabilities(rng, *shape, labels=ABREAST) for _ in range(3))
    for array in (local, ahead, back):
        array[:, n_labels:] = 0.0
    scale, total, end = (rng.uniform(0.5, 2, size=(steps + 1, ABREAST)) for _ in range(3))
    assert_same(blocks.load_step, node, first, local, t, length, np.ones(ABREAST), np.zeros(ABREAST))
    assert_same(blocks.scatter_step, local, t, node, first, length)
    assert_same(blocks.scale_step, total, t, length, scale)
    product = 10.0 ** rng.choice([-120.0, -99.9, 0.0, 99.9, 120.0], size=ABREAST)
    assert_same(blocks.multiply_step, total, t, length, product)
    assert_same(blocks.multiply_step, total, t, length, np.ones(ABREAST))
    column = int(rng.integers(n_labels))
    count = int(rng.integers(1, min(WIDEST_BLOCK, n_labels - column) + 1))
    table = rng.random((n_labels + 3, n_labels + 3))
    assert_same(blocks.forward_block, count, ahead, t, table, n_labels, local, scale, total, column)
    assert_same(blocks.backward_block, count, back, t, table, n_labels, local, ahead, scale, end, column)
    lanes = fast_blocks.EDGE_LANES
    out = np.zeros((n_labels + 4, n_labels + 4, lanes))
    lane = int(rng.choice(range(0, ABREAST, lanes)))
    assert_same(blocks.outer_block, count, ahead, back, steps, out, n_labels, column, lane, rng.random(ABREAST))


@pytest.mark.parametrize(("lanes", "count"), [(1, 1), (2, 1), (2, 2), (4, 1), (4, 3), (4, 8)])
@pytest.mark.parametrize("given_factors", [(False, False, False), (True, True, True), (True, False, True)])
def test_sparse_products(lanes: int, count: int, given_factors: tuple[bool, bool, bool]) -> None:
    fast = compiled(fast_sparse.sparse_tile(lanes, count))
    for seed in range(5):
        rng = np.random.default_rng(seed)
        width, n_rows, n_dense, n_more = lanes * count - (seed % 2 if count > 1 else 0), 6, 7, 3
        counts = rng.integers(0, 9, size=n_rows)
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        indices = rng.integers(0, n_dense + n_more, size=indptr[-1]).astype(np.int32)
        with_data, with_inner, with_outer = given_factors
        data = rng.normal(size=indptr[-1]) if with_data else None
        inner = rng.random(n_dense + n_more) if with_inner else None
        outer = rng.random(n_rows) if with_outer else None
        dense, more = rng.normal(size=(n_dense, width + 2)), rng.normal(size=(n_more, width + 2))
        base, rows = rng.normal(size=width + 2), rng.permutation(n_rows)
        got, expected = np.zeros((2, n_rows, width + 2))
        given_arrays = (indptr, indices, data, rows, 1, n_rows, dense, more, inner, outer, 2, width, base)
        sparse.sparse_tile(lanes, count)(*given_arrays, got)
        fast(*given_arrays, expected)
        np.testing.assert_allclose(got, expected, rtol=TOLERANCE, atol=TOLERANCE)


def test_asking_for_a_number_changes_nothing() -> None:
    assert_same(sparse.ask_for, np.arange(5.0), 3)


@pytest.mark.parametrize("module", MODULES)
def test_twins_are_free_of_internals(module: str) -> None:
    source = inspect.getsource(importlib.import_module(f"tiltfit.kernels.plain.{module}"))
    assert "numba.core" not in source
    assert "llvmlite" not in source
