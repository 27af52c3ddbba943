"""Forward–backward over all sequences, chunk by chunk, each sequence in the way that is fastest for it.

    edges[c] = Σ_{s in c} w_s·Σ_t p_s(y_{t−1}, y_t) = Φ∘Σ_{s in c} w_s·Σ_t a_{t−1} ⊗ V_t + direct

over the edges of each kind, with a, V and Φ of ``chain``; ``direct`` is of the sequences that ``log_chain`` takes.
"""

from __future__ import annotations

import numpy as np

from tiltfit.arrays import FloatArray, IndexArray
from tiltfit.kernels.abreast import infer_abreast, new_group_scratch
from tiltfit.kernels.chain import Tables, edge_tables, infer_sequence, new_scratch
from tiltfit.kernels.compile import ZERO, kernel
from tiltfit.kernels.constants import ABREAST


@kernel
def _all_possible(tables: Tables, n_labels: int) -> bool:
    """Return whether no edge is forbidden."""
    for k in range(len(tables.log)):
        for i in range(n_labels):
            for j in range(n_labels):
                if not tables.log[k, i, j] > -np.inf:
                    return False
    return True


@kernel
def _put(outer: FloatArray, direct: FloatArray, factor: FloatArray, edges: FloatArray) -> None:
    """edges ← Φ∘outer + direct, without padding."""
    for k in range(edges.shape[0]):
        for i in range(edges.shape[1]):
            for j in range(edges.shape[2]):
                edges[k, i, j] = factor[k, i, j] * outer[k, i, j] + direct[k, i, j]


@kernel
def add_up(edges: FloatArray) -> FloatArray:
    """The sum over chunks, in their order."""
    total = np.zeros(edges.shape[1:])
    for c in range(len(edges)):
        for k in range(edges.shape[1]):
            for i in range(edges.shape[2]):
                for j in range(edges.shape[3]):
                    total[k, i, j] += edges[c, k, i, j]
    return total


@kernel
def infer_chunks(
    node: FloatArray,
    edge: FloatArray,
    log_z: FloatArray,
    weight: FloatArray,
    offsets: IndexArray,
    kind: IndexArray,
    order: IndexArray,
    cuts: IndexArray,
    edges: FloatArray,
    first: int,
    last: int,
) -> None:
    """``infer_sequence`` for the sequences of chunks first … last − 1; edges[c] ← its weighted edge marginals. Chunk c
    has the sequences cuts[c] … cuts[c + 1] − 1."""
    longest = ZERO
    for s in range(cuts[first], cuts[last]):
        longest = max(longest, offsets[s + 1] - offsets[s])
    tables, scratch = edge_tables(edge), new_scratch(longest, node.shape[1])
    outer, direct = np.empty_like(tables.factor), np.empty_like(tables.factor)
    for c in range(first, last):
        outer[:], direct[:] = 0.0, 0.0
        for s in range(cuts[c], cuts[c + 1]):
            log_z[s] = infer_sequence(
                node, kind, order, offsets[s], offsets[s + 1], tables, scratch, weight[s], outer, direct
            )
        _put(outer, direct, tables.factor, edges[c])


@kernel
def infer_groups(
    node: FloatArray,
    edge: FloatArray,
    log_z: FloatArray,
    weight: FloatArray,
    offsets: IndexArray,
    kind: IndexArray,
    order: IndexArray,
    cuts: IndexArray,
    edges: FloatArray,
    groups: IndexArray,
    members: IndexArray,
    first: int,
    last: int,
) -> None:
    """``infer_chunks`` where chunk c has the groups cuts[c] … cuts[c + 1] − 1, and group g the sequences
    members[groups[g] : groups[g + 1]]: one, or eight for ``infer_abreast``."""
    longest, longest_abreast = ZERO, ZERO
    for g in range(cuts[first], cuts[last]):
        for m in range(groups[g], groups[g + 1]):
            length = offsets[members[m] + 1] - offsets[members[m]]
            longest = max(longest, length)
            if groups[g + 1] - groups[g] == ABREAST:
                longest_abreast = max(longest_abreast, length)
    scratch, group_scratch = new_scratch(longest, node.shape[1]), new_group_scratch(longest_abreast, node.shape[1])
    tables = edge_tables(edge)
    all_possible = _all_possible(tables, node.shape[1])
    outer, direct = np.empty_like(tables.factor), np.empty_like(tables.factor)
    for c in range(first, last):
        outer[:], direct[:] = 0.0, 0.0
        for g in range(cuts[c], cuts[c + 1]):
            group = members[groups[g] : groups[g + 1]]
            abreast = all_possible and len(group) == ABREAST
            if abreast and infer_abreast(node, log_z, weight, offsets, group, tables, group_scratch, outer[0]):
                continue
            for s in group:
                log_z[s] = infer_sequence(
                    node, kind, order, offsets[s], offsets[s + 1], tables, scratch, weight[s], outer, direct
                )
        _put(outer, direct, tables.factor, edges[c])
