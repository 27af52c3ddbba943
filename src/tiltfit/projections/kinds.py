"""Kinds of edges: edges that have the same table of potentials, whatever the weights and prices.

A model's edges are of one kind if they have the same attributes; q's edges if, moreover, they have the
same rows and rules. So a chain needs one table per kind instead of one per edge.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from tiltfit.arrays import BoolArray, FloatArray, IntArray
from tiltfit.features.constraints import Parts
from tiltfit.inference.chain import Chains


def distinct(patterns: sparse.csr_array) -> tuple[IntArray, IntArray]:
    """Rows of a sparse matrix that are alike get one number: an example of each, and the number of every row.

    Rows are distinguished by random 64-bit sums of their entries: with a million different rows, the chance of a
    mistake is one in forty million.
    """
    rng = np.random.Generator(np.random.PCG64(20090618))
    values, which = np.unique(patterns.data, return_inverse=True)
    of_column, of_value = (rng.integers(0, 2**64, size=n, dtype=np.uint64) for n in (patterns.shape[1], len(values)))
    terms = of_column[patterns.indices] * (of_value[which] | np.uint64(1))  # an odd factor keeps all 64 bits
    ends = np.zeros(len(terms) + 1, dtype=np.uint64)
    np.cumsum(terms, out=ends[1:])
    sums = ends[patterns.indptr[1:]] - ends[patterns.indptr[:-1]]
    _, example, number = np.unique(sums, return_index=True, return_inverse=True)
    return example.astype(np.intp), number.ravel().astype(np.intp)


def refine(
    structure: Chains, edge: Parts, rules: list[tuple[BoolArray, BoolArray]], positions: IntArray
) -> tuple[Chains, IntArray, Parts, FloatArray | None]:
    """The chains with kinds so fine that rows and rules are the same on all edges of one; the old kind of each, the
    rows' parts by kind, and what rules forbid on each kind (−inf), if anything.

    ``edge.fires``: positions here × parts. ``rules``: where (over all positions; ``positions`` are those here), and
    which pairs.
    """
    inner = np.setdiff1d(np.arange(len(positions)), structure.first)
    ruled = [sparse.csr_array(at[positions][inner, None].astype(np.float64)) for at, _ in rules]
    old = sparse.csr_array(
        (np.ones(len(inner)), (np.arange(len(inner)), structure.kind[inner])), shape=(len(inner), structure.n_kinds)
    )
    example, number = distinct(sparse.csr_array(sparse.hstack([old, edge.fires[inner], *ruled], format="csr")))
    example = inner[example] if len(inner) else np.zeros(1, dtype=np.intp)  # without any edge, one kind that none has
    kind = np.zeros(len(positions), dtype=np.int32)
    kind[inner] = number
    forbidden = None
    if rules:
        n_labels = len(rules[0][1])
        mask = np.zeros((len(example), n_labels, n_labels), dtype=np.bool_)
        for at, pairs in rules:
            mask[at[positions][example]] |= pairs
        forbidden = np.where(mask, -np.inf, 0.0)
    fires = sparse.csr_array(edge.fires[example])
    return (
        Chains(structure.offsets, kind, len(example)),
        structure.kind[example].astype(np.intp),
        Parts(fires, edge.table, edge.row),
        forbidden,
    )
