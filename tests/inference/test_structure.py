"""Documents and sequences answer the same questions, so callers need not ask which they have."""

from __future__ import annotations

import numpy as np
import pytest

from tiltfit.inference.chain import Chains
from tiltfit.inference.fields import Fields
from tiltfit.inference.independent import Independent
from tiltfit.inference.potentials import Potentials
from tiltfit.inference.priced import PricedChains
from tiltfit.inference.statistics import build
from tiltfit.inference.structure import Structure

CHAINS = Chains(np.array([0, 3, 4, 6]), np.array([0, 1, 0, 0, 0, 1], dtype=np.int32), n_kinds=2)
STATISTICS = (build("repeats", Fields.plain("ab")),)
PRICED = PricedChains(CHAINS.offsets, CHAINS.kind, 2, STATISTICS, sampled=False)
LABELS = np.array([0, 1, 1, 0, 1, 0])


def test_documents_have_no_edges() -> None:
    documents: Structure = Independent(3)
    assert not documents.has_edges
    assert not documents.is_sampled
    assert documents.chains is None
    assert documents.unpriced is documents
    assert documents.n_kinds == 0
    assert documents.kind.tolist() == [0, 0, 0]
    assert documents.second.tolist() == []
    assert documents.edge_zeros(2) is None
    assert documents.count_pairs(LABELS[:3], np.ones(3), 2) is None
    assert documents.weigh_kinds(np.ones(3)).tolist() == []
    few, kinds = documents.narrow(np.array([2, 0]))
    assert (len(few), kinds.tolist()) == (2, [])


@pytest.mark.parametrize("sequences", [CHAINS, PRICED], ids=["chains", "priced"])
def test_sequences_count_their_edges(sequences: Structure) -> None:
    weight = np.array([1.0, 2.0, 3.0])
    assert sequences.has_edges
    assert not sequences.is_sampled
    assert sequences.chains is sequences
    assert type(sequences.unpriced) is Chains
    assert sequences.second.tolist() == [1, 2, 5]
    zeros = sequences.edge_zeros(2)
    assert zeros is not None
    assert zeros.shape == (2, 2, 2)
    counted = sequences.count_pairs(LABELS, sequences.spread(weight), 2)
    assert counted is not None
    assert {tuple(cell): float(counted[tuple(cell)]) for cell in np.argwhere(counted)} == {
        (1, 0, 1): 1.0,
        (0, 1, 1): 1.0,
        (1, 1, 0): 3.0,
    }
    assert sequences.weigh_kinds(weight).tolist() == counted.sum(axis=(1, 2)).tolist() == [1.0, 4.0]


def test_a_sampler_alone_looks_at_steps_and_seed() -> None:
    potentials = Potentials(np.log([[1.0, 3.0], [2.0, 1.0], [1.0, 1.0], [1.0, 1.0], [1.0, 2.0], [3.0, 1.0]]))
    structures: tuple[Structure, ...] = (CHAINS, PRICED, Independent(6))
    for structure in structures:
        np.testing.assert_array_equal(structure.estimate(potentials, 1, 5).node, structure.infer(potentials).node)
    sampled = PricedChains(CHAINS.offsets, CHAINS.kind, 2, STATISTICS, sampled=True)
    assert sampled.is_sampled
    one, same, other = (sampled.estimate(potentials, 20, seed) for seed in (1, 1, 2))
    assert np.all(np.isnan(one.log_z))
    np.testing.assert_array_equal(one.whole, same.whole)
    assert np.any(one.whole != other.whole)


def test_impossible_instances_are_named() -> None:
    node = np.zeros((6, 2))
    node[3] = -np.inf
    assert CHAINS.impossible(Potentials(node)).tolist() == [1]
    assert PRICED.impossible(Potentials(node)).tolist() == [1]
    assert Independent(6).impossible(Potentials(node)).tolist() == [3]
