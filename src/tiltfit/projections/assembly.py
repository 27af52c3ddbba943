"""From the components of all constraints to one ``Tilt`` over the instances that they touch.

Rows are numbered component by component: the shared ones first, then those of single instances.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from tiltfit.arrays import BoolArray, FloatArray, IntArray
from tiltfit.execution.workers import Workers
from tiltfit.features.constraints import ConstraintFeatures, Parts
from tiltfit.inference.chain import Chains
from tiltfit.inference.potentials import Marginals, Potentials
from tiltfit.inference.priced import PricedChains
from tiltfit.inference.statistic import Statistic
from tiltfit.inference.structure import Structure
from tiltfit.language.event import Term
from tiltfit.penalties.interval import box
from tiltfit.penalties.penalty import Penalty
from tiltfit.penalties.stacked import stack
from tiltfit.projections.components import Component
from tiltfit.projections.information import Tilt
from tiltfit.projections.instances import InstanceRows, SequenceRows, sequence_rows
from tiltfit.projections.kinds import refine
from tiltfit.projections.rules import Forbidden
from tiltfit.samples.sample import Sample

Priced = Callable[[Chains, tuple[Statistic, ...]], PricedChains]


@dataclass(frozen=True, eq=False)
class Shares:
    """Rows that are shares of other events: E[event − u·other]/c is projected, E[event]/E[other] is reported.

    ``other``: Σ E[other] of every row (0 parts for other rows), ``target``: u; ``offset``: what known labels add.
    """

    other: ConstraintFeatures
    target: FloatArray
    offset: FloatArray
    rows: IntArray

    def of(self, tilt: Tilt, marginals: Marginals) -> FloatArray:
        """E[other] of ``rows``."""
        sums = self.other.weighted(marginals, tilt.structure, tilt.weight) + self.offset
        return np.asarray(sums[self.rows])


def assemble(
    found: list[Component], forbidden: Forbidden, touched: IntArray, sample: Sample, workers: Workers, priced: Priced
) -> tuple[Tilt, Shares | None, FloatArray]:
    """The tilt, the shares among its rows, and what labelled instances add to the sum of every row, shared or not.

    ``found``: components with rows, those with shared rows first. ``priced``: chains with statistics.
    """
    positions = sample.structure.positions(touched)
    structure = sample.structure.take(touched)
    listed = [c for c in found if c.statistic is None and not (c.is_apart and structure.has_edges)]
    node, edge = (_parts(found, {id(c): c.terms for c in listed}, on_edges, sample) for on_edges in (False, True))
    nothing = np.zeros((len(positions), len(sample.classes)))
    rules = None
    if forbidden.node is not None and forbidden.node[positions].any():
        rules = Potentials(np.where(forbidden.node[positions], -np.inf, 0.0))
    parent, edge_here, whole = None, None, None
    if structure.chains is not None:
        chains, parent, edge_here, edge_rules = refine(
            structure.chains, _at(edge, positions), forbidden.edges, positions
        )
        structure = chains
        if rules is not None or edge_rules is not None:
            rules = Potentials(nothing if rules is None else rules.node, edge_rules)
        statistics, whole, whole_rules = _whole_sequences(found, forbidden, touched, sample)
        if statistics:
            structure = priced(chains, statistics)
        if whole_rules is not None:
            rules = replace(rules or Potentials(nothing), whole=whole_rules)
    shared, apart = ([c for c in found if c.is_apart == wanted] for wanted in (False, True))
    n_rows, n_shared = sum(map(len, found)), sum(map(len, shared))
    counts = [c.known_counts(sample.instance[c.terms[0].at], sample) for c in found]
    offset = _known_sums(node, edge, n_rows, sample) + np.concatenate([np.empty(0), *counts])
    tilt = Tilt(
        structure=structure,
        features=_first_rows(ConstraintFeatures(n_rows, _at(node, positions), edge_here, whole), n_shared),
        penalty=_stacked(shared),
        weight=sample.weight[touched],
        support=np.concatenate([np.empty(0), *(c.support for c in shared)]),
        offset=offset[:n_shared],
        workers=workers,
        instances=_local_rows(apart, structure, _only(node, node.row >= n_shared), touched, sample) if apart else None,
        parent=parent,
        rules=rules,
    )
    return tilt, _shares(found, structure, positions, sample), offset


def _parts(found: list[Component], terms_of: dict[int, list[Term]], on_edges: bool, sample: Sample) -> Parts:
    """One part for each term and group, over all positions; ``terms_of``: the terms to list, by component."""
    width = len(sample.classes) ** (2 if on_edges else 1)
    tables, rows = [np.empty((0, width))], [np.empty(0, dtype=np.intp)]
    where, part, n_parts, first = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)], 0, 0
    for component in found:
        n = len(component)
        for term in (t for t in terms_of.get(id(component), ()) if t.on_edges == on_edges):
            at, of_group = component.places(term, sample)
            where.append(at)
            part.append(n_parts + of_group)
            n_parts += n
            tables.append(np.tile(term.table.reshape(1, -1), (n, 1)))
            rows.append(first + np.arange(n))
        first += n
    positions, columns = np.concatenate(where), np.concatenate(part)
    fires = sparse.coo_array((np.ones(len(positions)), (positions, columns)), shape=(sample.inputs.n, n_parts))
    return Parts(sparse.csr_array(fires), np.concatenate(tables), np.concatenate(rows).astype(np.intp))


def _whole_sequences(
    found: list[Component], forbidden: Forbidden, touched: IntArray, sample: Sample
) -> tuple[tuple[Statistic, ...], Parts | None, FloatArray | None]:
    """The statistics of rows and rules; the rows' parts over the instances ``touched``; and what rules forbid there:
    −inf for a statistic that must be 0, otherwise 0."""
    first = np.cumsum([0, *map(len, found)])
    priced = [(start, c) for start, c in zip(first, found, strict=False) if c.statistic is not None]
    statistics = [c.statistic for _, c in priced if c.statistic is not None] + [s for s, _ in forbidden.whole]
    if not statistics:
        return (), None, None
    rules = np.zeros((len(touched), len(statistics)))
    for k, (_, here) in enumerate(forbidden.whole, start=len(priced)):
        rules[here[touched], k] = -np.inf
    place, part = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)]
    row, table, n_parts = [np.empty(0, dtype=np.intp)], [np.empty((0, len(statistics)))], 0
    for k, (start, component) in enumerate(priced):
        group = np.full(len(sample.structure), -1, dtype=np.intp)
        where = sample.instance[component.terms[0].at]
        group[where] = component.group_of[where]
        of_group = group[touched]
        place.append(np.flatnonzero(of_group >= 0))
        part.append(n_parts + of_group[of_group >= 0])
        row.append(start + np.arange(len(component)))
        table.append(np.tile(np.eye(len(statistics))[k], (len(component), 1)))
        n_parts += len(component)
    places, parts = np.concatenate(place), np.concatenate(part)
    fires = sparse.coo_array((np.ones(len(places)), (places, parts)), shape=(len(touched), n_parts))
    rows = Parts(sparse.csr_array(fires), np.concatenate(table), np.concatenate(row).astype(np.intp))
    return tuple(statistics), rows, rules if forbidden.whole else None


def _shares(found: list[Component], structure: Structure, positions: IntArray, sample: Sample) -> Shares | None:
    target = np.concatenate([np.empty(0), *(np.full(len(c), c.target.share) for c in found)])
    rows = np.flatnonzero(np.concatenate([np.empty(0), *(np.full(len(c), c.among is not None) for c in found)]))
    if not len(rows):
        return None
    among = {id(c): c.among for c in found if c.among is not None}
    node, edge = (_parts(found, among, on_edges, sample) for on_edges in (False, True))
    here = _at(edge, positions)
    # Every kind of edge here has one firing pattern of the rows, and of what they are shares of as well.
    inner = structure.second
    example = np.zeros(structure.n_kinds, dtype=np.intp)
    example[structure.kind[inner]] = inner
    on_edges = Parts(sparse.csr_array(here.fires[example]), here.table, here.row)
    other = ConstraintFeatures(len(target), _at(node, positions), on_edges)
    return Shares(other, target, _known_sums(node, edge, len(target), sample), rows)


def _local_rows(
    found: list[Component], structure: Structure, node: Parts, touched: IntArray, sample: Sample
) -> InstanceRows | SequenceRows:
    """Rows of single instances, apart from the shared ones. ``node``: their parts."""
    if structure.chains is not None:
        return sequence_rows(found, structure.chains, touched, sample)
    # Rows of single positions: each has one part, which fires at one position.
    position = np.asarray(sparse.csc_array(node.fires).indices, dtype=np.intp)
    events, event = np.unique(node.table, axis=0, return_inverse=True)
    blocks = [np.full(len(c), c.number if c.constraint.relation.shares else -1) for c in found]
    return InstanceRows(
        n=len(touched),
        position=np.searchsorted(touched, position).astype(np.intp),
        event=event.ravel().astype(np.intp),
        events=np.ascontiguousarray(events),
        block=np.concatenate(blocks).astype(np.intp),
        penalty=_stacked(found),
        support=sample.weight[position],
    )


def _known_sums(node: Parts, edge: Parts, n_rows: int, sample: Sample) -> FloatArray:
    """The amount that labelled instances add to the sum of every row: only rows with ``on="all"`` fire there."""
    known = ~sample.structure.spread(sample.unlabelled)
    sums = np.zeros(n_rows)
    before = np.concatenate([[0], sample.labels[:-1]])
    for parts, value in ((node, sample.labels), (edge, before * len(sample.classes) + sample.labels)):
        position, part = parts.fires.nonzero()
        inside = known[position]
        position, part = position[inside], part[inside]
        terms = parts.table[part, value[position]] * sample.position_weight[position]
        sums += np.bincount(parts.row[part], weights=terms, minlength=n_rows)
    return sums


def _at(parts: Parts, positions: IntArray) -> Parts:
    return Parts(sparse.csr_array(parts.fires[positions]), parts.table, parts.row)


def _first_rows(found: ConstraintFeatures, n: int) -> ConstraintFeatures:
    if found.n_rows == n:
        return found
    return ConstraintFeatures(n, _only(found.node, found.node.row < n), found.edge, found.whole)


def _only(parts: Parts, wanted: BoolArray) -> Parts:
    keep = np.flatnonzero(wanted)
    return Parts(sparse.csr_array(parts.fires[:, keep]), parts.table[keep], parts.row[keep])


def _stacked(found: list[Component]) -> Penalty:
    return stack([c.penalty for c in found]) if found else box(np.empty(0), np.empty(0))
