"""Eight sequences side by side against one after the other, and groups that must be left to the latter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltfit.execution.workers import Workers
from tiltfit.inference.chain import Chains, Grouping, grouped
from tiltfit.inference.potentials import Potentials


def chains_of(lengths):
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.intp)
    return Chains(offsets, np.zeros(offsets[-1], dtype=np.int32), 1)


def one_by_one(chains, potentials, weight):
    """With a second kind of edge that never occurs no sequences are put side by side."""
    alone = Chains(chains.offsets, chains.kind, 2)
    assert not alone.grouping(potentials.node.shape[1]).is_grouped
    return alone.infer(Potentials(potentials.node, np.repeat(potentials.edge, 2, axis=0)), weight=weight)


def assert_same(chains, potentials, weight, *, can_be_grouped=True):
    assert chains.grouping(potentials.node.shape[1]).is_grouped or not can_be_grouped
    got, expected = chains.infer(potentials, weight=weight), one_by_one(chains, potentials, weight)
    np.testing.assert_allclose(got.log_z, expected.log_z, rtol=1e-12)
    np.testing.assert_allclose(got.node, expected.node, atol=1e-12)
    np.testing.assert_allclose(got.edge[0], expected.edge[0], rtol=1e-10, atol=1e-10)
    return got


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    n_labels=st.sampled_from([*range(4, 42), 64, 101]),
    longest=st.integers(1, 30),
    n_sequences=st.integers(8, 30),
    scale=st.sampled_from([0.0, 1.0, 20.0, 200.0, 5e4]),
)
def test_the_same_as_one_after_the_other(seed, n_labels, longest, n_sequences, scale):
    rng = np.random.default_rng(seed)
    chains = chains_of(rng.integers(max(1, longest - 3), longest + 1, size=n_sequences))
    node = scale * rng.normal(size=(chains.offsets[-1], n_labels))
    edge = min(scale, 50.0) * rng.normal(size=(1, n_labels, n_labels))
    weight = rng.choice([0.0, 0.5, 1.0], size=n_sequences)
    even = chains.lengths.min() >= 0.75 * chains.lengths.max()  # any eight of them are a group; else some may be
    assert_same(chains, Potentials(node, edge), weight, can_be_grouped=even)


@pytest.mark.parametrize("n_labels", [4, 13, 22])
@pytest.mark.parametrize("what", ["forbidden label", "forbidden edge", "impossible", "fading"])
def test_what_is_not_exact_side_by_side_is_left_to_the_other_way(what, n_labels):
    rng = np.random.default_rng(n_labels)
    chains = chains_of(rng.integers(8, 12, size=16))
    node, edge = rng.normal(size=(chains.offsets[-1], n_labels)), rng.normal(size=(1, n_labels, n_labels))
    if what == "forbidden label":
        node[rng.random(node.shape) < 0.1] = -np.inf
    elif what == "forbidden edge":
        edge[0, 1, 2] = -np.inf
    elif what == "impossible":
        node[chains.offsets[3] + 2] = -np.inf
    else:
        node[chains.offsets[5], 1:] -= 400.0
    got = assert_same(chains, Potentials(node, edge), None)
    assert (got.log_z == -np.inf).sum() == (what == "impossible")


def test_a_nan_stays_where_it_is():
    rng = np.random.default_rng(0)
    chains = chains_of(np.full(16, 6))
    node, edge = rng.normal(size=(96, 5)), rng.normal(size=(1, 5, 5))
    assert chains.grouping(5).is_grouped
    clean = chains.infer(Potentials(node, edge))
    node[20, 2] = np.nan  # in the fourth sequence
    got = chains.infer(Potentials(node, edge))
    assert np.isnan(got.log_z).nonzero()[0].tolist() == [3]
    others = np.r_[0:18, 24:96]
    np.testing.assert_allclose(got.node[others], clean.node[others], atol=1e-14)


@pytest.mark.parametrize("workers", [2, 3])
def test_the_same_bits_at_any_number_of_threads(workers):
    rng = np.random.default_rng(0)
    chains = chains_of(rng.integers(10, 40, size=500))
    potentials = Potentials(rng.normal(size=(chains.offsets[-1], 9)), rng.normal(size=(1, 9, 9)))
    assert chains.grouping(9).is_grouped
    one, several = chains.infer(potentials), chains.infer(potentials, Workers(workers))
    for a, b in zip((one.log_z, one.node, one.edge), (several.log_z, several.node, several.edge), strict=True):
        np.testing.assert_array_equal(a, b)


def side_by_side(lengths, n_labels, *, node=None, members=None, room=None):
    """What ``infer_abreast`` returns for the first group, and whether it changed anything."""
    from tiltfit.kernels.chain import edge_tables
    from tiltfit.kernels.chunks import infer_abreast, new_group_scratch

    rng = np.random.default_rng(0)
    chains = chains_of(lengths)
    node = rng.normal(size=(chains.offsets[-1], n_labels)) if node is None else node
    before, log_z, outer = node.copy(), np.full(len(chains), np.nan), np.zeros((128, 128))
    tables = edge_tables(rng.normal(size=(1, n_labels, n_labels)))
    members = np.arange(8) if members is None else members
    scratch = new_group_scratch(*(room or (int(max(lengths)), n_labels)))
    done = infer_abreast(node, log_z, np.ones(len(chains)), chains.offsets, members, tables, scratch, outer)
    changed = not (np.array_equal(node, before, equal_nan=True) and np.isnan(log_z).all() and not outer.any())
    return done, changed


def test_sums_too_small_for_one_logarithm():
    """Σa is about e^−300 at every other step: the product of three would be 0."""
    from tiltfit.kernels.chain import edge_tables
    from tiltfit.kernels.chunks import infer_abreast, new_group_scratch

    rng = np.random.default_rng(0)
    chains, edge = chains_of([20, 21, 22, 23, 24, 24, 24, 24]), np.full((1, 5, 5), -300.0)
    edge[0, 2, 3] = 0.0
    node, log_z = rng.normal(size=(chains.offsets[-1], 5)), np.empty(8)
    expected = []
    for a, b in zip(chains.offsets[:-1], chains.offsets[1:], strict=True):
        ahead = node[a]
        for t in range(a + 1, b):
            ahead = np.logaddexp.reduce(ahead[:, None] + edge[0], axis=0) + node[t]
        expected.append(np.logaddexp.reduce(ahead))
    scratch, outer = new_group_scratch(24, 5), np.zeros((8, 8))
    assert infer_abreast(node, log_z, np.ones(8), chains.offsets, np.arange(8), edge_tables(edge), scratch, outer)
    np.testing.assert_allclose(log_z, expected, rtol=1e-13)


@pytest.mark.parametrize("n_labels", [4, 5, 13, 100])
@pytest.mark.parametrize("lengths", [[1] * 8, [7] * 8, [5, 6, 7, 8, 8, 8, 8, 8]])
def test_ordinary_groups_are_worked_on_side_by_side(n_labels, lengths):
    assert side_by_side(lengths, n_labels) == (True, True)


@pytest.mark.parametrize(
    "what", ["five sequences", "too few labels", "too long", "too many labels", -np.inf, np.nan, 400.0]
)
def test_others_are_left_as_they_are(what):
    node = None
    if isinstance(what, float):
        node = np.random.default_rng(0).normal(size=(48, 5))
        node[30, 1] = what
    given = {
        "five sequences": {"members": np.arange(5)},
        "too few labels": {"n_labels": 3},
        "too long": {"room": (5, 5)},
        "too many labels": {"room": (6, 4)},
    }.get(what, {"node": node})
    assert side_by_side([6] * 8, **{"n_labels": 5, **given}) == (False, False)


def test_groups_are_as_large_as_kernels_take_them():
    from tiltfit.inference import chain
    from tiltfit.kernels import constants

    assert chain._ABREAST == constants.ABREAST
    assert chain._FEWEST_LABELS == constants.LANES


@pytest.mark.parametrize("extra", [-1e-3, 1e-3])
def test_the_widest_spread(extra):
    """Scores as far apart as may be, and a little farther: both right, in one way or the other."""
    rng = np.random.default_rng(3)
    chains, edge = chains_of(np.full(8, 20)), np.zeros((1, 5, 5))
    node = rng.choice([0.0, -330.0 - extra], size=(160, 5))
    node[:, 0] = 0.0
    assert_same(chains, Potentials(node, edge), None)


def members_by_group(made: Grouping):
    return [made.members[a:b].tolist() for a, b in zip(made.groups[:-1], made.groups[1:], strict=True)]


def test_groups_are_of_about_the_same_length():
    lengths = np.array([9, 50, 10, 9, 300, 11, 9, 1, 10, 9, 2, 3, 9, 9, 8, 10, 9, 9])
    found = members_by_group(grouped(lengths, 1, 6))
    assert sorted(m for group in found for m in group) == list(range(18))
    assert {len(group) for group in found} == {1, 8}
    for group in found:
        assert lengths[group].sum() >= 0.75 * len(group) * lengths[group].max()


@pytest.mark.parametrize(
    ("n_kinds", "n_labels", "length"), [(2, 6, 9), (1, 3, 9), (1, 6, 5000), (1, 193, 9), (1, 2048, 1)]
)
def test_no_groups(n_kinds, n_labels, length):
    assert members_by_group(grouped(np.full(20, length), n_kinds, n_labels)) == [[k] for k in range(20)]


@pytest.mark.parametrize("n_labels", [4, 192])
def test_groups_with_the_fewest_and_the_most_labels(n_labels):
    assert [len(group) for group in members_by_group(grouped(np.full(20, 9), 1, n_labels))] == [1, 1, 1, 1, 8, 8]


def test_one_that_is_too_long_leaves_the_others_together():
    found = members_by_group(grouped(np.array([9, 9, 9, 90, 9, 2, 9, 9, 9, 9]), 1, 6))
    assert found == [[5], [0, 1, 2, 4, 6, 7, 8, 9], [3]]


def test_no_sequences():
    made = grouped(np.empty(0, dtype=np.intp), 1, 6)
    assert (made.members.tolist(), made.groups.tolist(), made.work[-1]) == ([], [0], 0)
