"""Eight sequences side by side against one after the other, and groups that must be left to the latter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltfit.execution.workers import Workers
from tiltfit.inference.chain import Chains
from tiltfit.inference.grouping import Plan, plan
from tiltfit.inference.potentials import Potentials


def chains_of(lengths):
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.intp)
    return Chains(offsets, np.zeros(offsets[-1], dtype=np.int32), 1)


def one_by_one(chains, potentials, weight):
    """With a second kind of edge that never occurs no sequences are put side by side."""
    alone = Chains(chains.offsets, chains.kind, 2)
    return alone.infer(Potentials(potentials.node, np.repeat(potentials.edge, 2, axis=0)), weight=weight)


def assert_same(chains, potentials, weight, **tolerance):
    got, expected = chains.infer(potentials, weight=weight), one_by_one(chains, potentials, weight)
    np.testing.assert_allclose(got.log_z, expected.log_z, rtol=1e-12)
    np.testing.assert_allclose(got.node, expected.node, atol=1e-12)
    np.testing.assert_allclose(got.edge[0], expected.edge[0], rtol=1e-10, atol=1e-10)
    return got


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    n_labels=st.integers(4, 40),
    longest=st.integers(1, 30),
    n_sequences=st.integers(8, 30),
    scale=st.sampled_from([0.0, 1.0, 20.0, 200.0, 5e4]),
)
def test_the_same_as_one_after_the_other(seed, n_labels, longest, n_sequences, scale):
    rng = np.random.default_rng(seed)
    chains = chains_of(rng.integers(max(1, longest - 3), longest + 1, size=n_sequences))
    node = scale * rng.normal(size=(chains.offsets[-1], n_labels))
    edge = min(scale, 50.0) * rng.normal(size=(1, n_labels, n_labels))
    assert_same(chains, Potentials(node, edge), rng.choice([0.0, 0.5, 1.0], size=n_sequences))


@pytest.mark.parametrize("n_labels", [4, 13, 22])
@pytest.mark.parametrize("what", ["forbidden label", "forbidden edge", "impossible", "fading", "one end forbidden"])
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
    elif what == "fading":
        node[chains.offsets[5], 1:] -= 400.0
    else:  # past the end of a shorter sequence a label is held that may not follow itself
        edge[0] = np.where(np.eye(n_labels), -np.inf, edge[0])
    got = assert_same(chains, Potentials(node, edge), None)
    assert (got.log_z == -np.inf).sum() == (what == "impossible")


def test_a_nan_stays_where_it_is():
    rng = np.random.default_rng(0)
    chains = chains_of(np.full(16, 6))
    node, edge = rng.normal(size=(96, 5)), rng.normal(size=(1, 5, 5))
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
    one, several = chains.infer(potentials), chains.infer(potentials, Workers(workers))
    for a, b in zip((one.log_z, one.node, one.edge), (several.log_z, several.node, several.edge), strict=True):
        np.testing.assert_array_equal(a, b)


def members_by_group(made: Plan):
    return [made.members[a:b].tolist() for a, b in zip(made.groups[:-1], made.groups[1:], strict=True)]


def test_groups_are_of_about_the_same_length():
    lengths = np.array([9, 50, 10, 9, 300, 11, 9, 1, 10, 9, 2, 3, 9, 9, 8, 10, 9, 9])
    found = members_by_group(plan(lengths, 1, 6))
    assert sorted(m for group in found for m in group) == list(range(18))
    assert {len(group) for group in found} == {1, 8}
    for group in found:
        assert lengths[group].sum() >= 0.75 * len(group) * lengths[group].max()


@pytest.mark.parametrize(("n_kinds", "n_labels", "length"), [(2, 6, 9), (1, 3, 9), (1, 6, 5000)])
def test_no_groups(n_kinds, n_labels, length):
    assert members_by_group(plan(np.full(20, length), n_kinds, n_labels)) == [[k] for k in range(20)]


def test_no_sequences():
    made = plan(np.empty(0, dtype=np.intp), 1, 6)
    assert (made.members.tolist(), made.groups.tolist(), made.work[-1]) == ([], [0], 0)
