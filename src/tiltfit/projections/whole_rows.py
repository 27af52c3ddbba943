"""Rows and rules about whole sequences: which statistics there are, who pays what for them, and what is forbidden."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.features.constraints import Parts
from tiltfit.inference.statistic import Statistic
from tiltfit.projections.rows import Rows
from tiltfit.projections.rules import Ban
from tiltfit.samples.sample import Sample


def whole_sequences(
    blocks: list[Rows], ban: Ban, touched: IntArray, sample: Sample
) -> tuple[tuple[Statistic, ...], Parts | None, FloatArray | None]:
    """The statistics that rows and rules speak of; the rows' parts over the instances ``touched``; and what rules
    forbid there, −inf for a statistic that must be 0, else 0."""
    first = np.cumsum([0, *map(len, blocks)])
    priced = [(start, block) for start, block in zip(first, blocks, strict=False) if block.statistic is not None]
    statistics = [block.statistic for _, block in priced if block.statistic is not None] + [s for s, _ in ban.whole]
    if not statistics:
        return (), None, None
    rules = np.zeros((len(touched), len(statistics)))
    for k, (_, here) in enumerate(ban.whole, start=len(priced)):
        rules[here[touched], k] = -np.inf
    place, part = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)]
    row, table, n_parts = [np.empty(0, dtype=np.intp)], [np.empty((0, len(statistics)))], 0
    for k, (start, block) in enumerate(priced):
        group = np.full(len(sample.structure), -1, dtype=np.intp)
        where = sample.instance[block.features[0].pieces[0].at]
        group[where] = block.group_of[where]
        of_group = group[touched]
        place.append(np.flatnonzero(of_group >= 0))
        part.append(n_parts + of_group[of_group >= 0])
        row.append(start + np.arange(len(block)))
        table.append(np.tile(np.eye(len(statistics))[k], (len(block), 1)))
        n_parts += len(block)
    places, parts = np.concatenate(place), np.concatenate(part)
    fires = sparse.coo_array((np.ones(len(places)), (places, parts)), shape=(len(touched), n_parts))
    rows = Parts(sparse.csr_array(fires), np.concatenate(table), np.concatenate(row).astype(np.intp))
    return tuple(statistics), rows, rules if ban.whole else None


def known_counts(blocks: list[Rows], sample: Sample) -> FloatArray:
    """What labelled sequences add to each row's sum: only rows with ``on="all"`` speak of them."""
    sums = [np.zeros(len(block)) for block in blocks]
    for block, total in zip(blocks, sums, strict=True):
        if block.statistic is None:
            continue
        where = sample.instance[block.features[0].pieces[0].at]
        for s in where[~sample.unlabelled[where] & (block.group_of[where] >= 0)]:
            labels = sample.labels[sample.structure.positions(np.array([s]))]
            total[block.group_of[s]] += sample.weight[s] * block.statistic.count(labels)
    return np.concatenate([np.empty(0), *sums])
