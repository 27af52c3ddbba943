"""Problems that several tests of whole-sequence inference share."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from tiltfit.inference import statistics as known
from tiltfit.inference.chain import Chains
from tiltfit.inference.fields import Fields
from tiltfit.inference.potentials import Potentials

PLAIN = Fields.plain("abc")
# B-X I-X B-Y I-Y O
BIO = Fields.of(
    ["X", "X", "Y", "Y", None],
    np.array([[0, 1, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1]], dtype=bool),
)


def every_statistic(fields):
    """Each built-in one, with options that matter, for fields of at least two names."""
    a, b = fields.names[:2]
    return [
        known.segments(fields),
        known.segments(fields, [a, b]),
        known.repeats(fields),
        known.repeats(fields, [b]),
        known.repeats(fields, beyond=2),
        known.appears(fields, [a]),
        known.appears(fields, [a, b]),
        known.missing(fields),
        known.distinct(fields),
        known.capped(fields, [a], cap=2),
        known.capped(fields, [a, b], cap=3),
        known.before(fields, a, b),
        known.before(fields, b, a),
        known.short(fields),
        known.short(fields, [a], below=3),
    ]


def make_chains(lengths, rng, n_kinds=1):
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.intp)
    return Chains(offsets, rng.integers(0, n_kinds, offsets[-1]).astype(np.int32), n_kinds)


def make_potentials(chains, n_labels, rng, scale=1.0, forbid=0.0):
    node = scale * rng.normal(size=(chains.offsets[-1], n_labels))
    edge = scale * rng.normal(size=(chains.n_kinds, n_labels, n_labels))
    node[rng.random(node.shape) < forbid] = -np.inf
    edge[rng.random(edge.shape) < forbid] = -np.inf
    return Potentials(node, edge)


def parts(chains, potentials):
    """Each sequence alone, as the oracle takes it."""
    for a, b in zip(chains.offsets, chains.offsets[1:], strict=False):
        yield slice(a, b), (potentials.node[a:b], potentials.edge, chains.kind[a:b])


tiny = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10_000),
        "fields": st.sampled_from([PLAIN, BIO]),
        "chosen": st.lists(st.integers(0, 14), min_size=1, max_size=3, unique=True),
        "lengths": st.lists(st.integers(1, 5), min_size=1, max_size=3),
        "n_kinds": st.integers(1, 2),
        "scale": st.sampled_from([0.0, 1.0, 30.0]),
        "price": st.sampled_from([0.0, 1.0, 5.0, 30.0]),
        "forbid": st.sampled_from([0.0, 0.3]),
        "hard": st.booleans(),
        "shared": st.booleans(),
    }
)


def tiny_problem(case):
    """Chains, potentials, statistics and prices; one row of prices a sequence unless they are shared."""
    rng = np.random.default_rng(case["seed"])
    chains = make_chains(case["lengths"], rng, case["n_kinds"])
    potentials = make_potentials(chains, case["fields"].n_labels, rng, case["scale"], case["forbid"])
    statistics = tuple(every_statistic(case["fields"])[k] for k in case["chosen"])
    prices = case["price"] * rng.normal(size=(1 if case["shared"] else len(chains), len(statistics)))
    if case["hard"]:
        prices[:, 0] = -np.inf
    return chains, potentials, statistics, prices, rng
