"""From constraints as data to an information projection: rows, rules, and the instances on which they act.

Constraints are looked up one by one (``rows``); hard statements of 0 or 1 have no finite price and become forbidden
labels instead (``rules``). What is left is one ``Tilt`` over the instances that something touches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tiltfit.arrays import BoolArray, FloatArray, IntArray
from tiltfit.data.inputs import Unit
from tiltfit.errors import ConstraintError, UnsupportedError
from tiltfit.execution.workers import Workers
from tiltfit.features.constraints import ConstraintFeatures, Parts
from tiltfit.inference.chain import Chains
from tiltfit.inference.independent import Independent
from tiltfit.inference.potentials import Marginals, Potentials
from tiltfit.inference.priced import PricedChains
from tiltfit.inference.statistic import Statistic
from tiltfit.language.constraint import Constraint, ConstraintSet
from tiltfit.language.relations import DistributedAs
from tiltfit.penalties.interval import box
from tiltfit.penalties.penalty import Penalty
from tiltfit.penalties.stacked import stack
from tiltfit.projections.expected import Feature, features, is_local
from tiltfit.projections.information import Tilt
from tiltfit.projections.instances import InstanceRows
from tiltfit.projections.kinds import refine
from tiltfit.projections.resting import warn_idle_words, warn_resting
from tiltfit.projections.rows import Rows, make_rows
from tiltfit.projections.rules import Ban, Room
from tiltfit.projections.sequences import SequenceRows, sequence_rows
from tiltfit.projections.settled import refuse_settled
from tiltfit.projections.shares import Shares
from tiltfit.projections.strength import Strength, with_rates
from tiltfit.projections.violations import Violations, measure_violations
from tiltfit.projections.whole_rows import known_counts, whole_sequences
from tiltfit.samples.sample import Sample

__all__ = ["Grounded", "Strength", "ground", "refuse_for_documents"]

Key = tuple[int, int, object]


@dataclass(frozen=True, eq=False)
class Grounded:
    """Constraints on data. ``tilt`` is None if none of them acts; its instances are ``touched``.

    ``owner[r]`` is the number of row r's constraint, ``component[r]`` the class of a ``distributed_as`` row (else −1,
    and −2 for the upper bound of a share of another event between two),
    ``group[r]`` the value of the column or the number of the instance it speaks of (else None). ``resting`` numbers the
    constraints that never fire; ``ruled_support`` those that act by forbidding labels, with their supports; ``rates``
    are those of the events that shares are of (``Strength``). ``local`` tells rows that speak of one instance each.
    ``by_instance``: what instances add to the supports of the shared rows (instances × rows), if it was asked for.
    ``wakes``: in a part of the data, where rows that are shares of other events might happen (instances × rows).
    ``by_labels``: what y rules out in instances that are not labelled completely (positions × classes; None: nothing).
    ``violations``: what single instances do about the constraints, if it was asked for.
    """

    constraints: ConstraintSet
    tilt: Tilt | None
    touched: IntArray
    owner: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    component: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    group: tuple[object, ...] = ()
    support: FloatArray = field(default_factory=lambda: np.empty(0))
    resting: tuple[int, ...] = ()
    ruled_support: Mapping[int, float] = field(default_factory=dict)
    shares: Shares | None = None
    noun: str = "row"
    unit: Unit = "rows"
    rates: Mapping[int, float] = field(default_factory=dict)
    by_instance: sparse.csr_array | None = None
    wakes: sparse.csr_array | None = None
    local: BoolArray = field(default_factory=lambda: np.empty(0, dtype=np.bool_))
    by_labels: BoolArray | None = None
    violations: Violations | None = None

    @property
    def ruled(self) -> tuple[int, ...]:
        return tuple(self.ruled_support)

    @property
    def keys(self) -> list[Key]:
        """What each row speaks of: (constraint, component, group)."""
        return list(zip(self.owner.tolist(), self.component.tolist(), self.group, strict=True))

    def told(self, m: FloatArray, marginals: Marginals) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Expectations as people speak of them, their supports, and units of m in units of what is told."""
        support, unit = self.support.copy(), np.ones(len(m))
        if self.shares is None or self.tilt is None:
            return m, support, unit
        rows = self.shares.rows
        other = self.shares.of(self.tilt, marginals)
        told = m.copy()
        unit[rows] = np.divide(support[rows], other, out=np.zeros(len(rows)), where=other > 0)
        told[rows] = self.shares.target[rows] + m[rows] * unit[rows]
        support[rows] = other
        return told, support, unit


def ground(
    constraints: ConstraintSet,
    sample: Sample,
    strength: Strength,
    workers: Workers,
    *,
    inference: str = "auto",
    seed: int = 0,
    online: bool = False,
    part: bool = False,
    separate: bool = True,
    violations: bool = False,
    base: Potentials | None = None,
) -> Grounded:
    """Look up every constraint on a sample.

    ``inference``: how statistics of whole sequences are inferred, "exact", "sampled" (by Markov chains from ``seed``)
    or "auto". ``online``: with supports by instance. ``part``: the sample is a part of the data, so that nothing is
    said of constraints that do not fire or cannot hold here. ``separate``: whether constraints on single instances have
    prices that are found inside the projection, or rows like any other. ``violations``: measure what labels of single
    instances violate, too. ``base``: log q₀ of the model, if it has one: what it forbids cannot be asked for.
    """
    together = not separate or any(c.event.whole for c in constraints)
    if isinstance(sample.structure, Independent):
        for constraint in constraints:
            refuse_for_documents(constraint)
    if online or part:
        _refuse_known(constraints, sample)
    strength = with_rates(strength, constraints, sample)
    ban = Ban(sample)
    blocks: list[Rows] = []
    resting: list[int] = []
    for number, constraint in enumerate(constraints):
        refuse_settled(constraint, sample, strength)
        found = features(constraint, sample)
        # In a part of the data, instances where a count finds nothing are still instances of its mean.
        idle = not _acts(found, sample, anywhere=part and not is_local(constraint))
        if idle and not (part and _is_mean(constraint, sample)):
            resting.append(number)
            if not part:
                warn_resting(constraint, sample)
            continue
        if not part:
            warn_idle_words(constraint, sample)
        _refuse_certain(constraint, found, sample)
        if idle or not ban.take(number, constraint, found):
            blocks.append(make_rows(number, constraint, found, sample, strength, together=together, idle_groups=part))
    # Shared rows first, then those of single instances: the order in which a projection lists them.
    blocks.sort(key=lambda block: block.is_apart)
    touched = _touched(blocks, ban, sample)
    grounded: dict[str, Any] = {
        "constraints": constraints, "tilt": None, "touched": touched, "noun": sample.noun, "unit": sample.inputs.unit,
        "by_labels": ban.by_labels,
    }  # fmt: skip
    if blocks or len(touched):
        grounded |= _listed(blocks)
    if len(touched):
        priced = partial(PricedChains.of, how=inference, seed=seed)
        grounded |= _assemble(blocks, ban, touched, sample, workers, priced, part=part, base=base)
    if online or part:
        shared = [block for block in blocks if not block.is_apart]
        grounded["by_instance"] = _side_by_side([block.supports(sample) for block in shared], sample)
        if part and any(constraint.of is not None for constraint in constraints):
            grounded["wakes"] = _side_by_side([block.wakes(sample) for block in shared], sample)
    grounded["violations"] = measure_violations(constraints, sample, ban) if violations else None
    return Grounded(**{**grounded, "resting": tuple(resting), "ruled_support": ban.supports, "rates": strength.rates})


def refuse_for_documents(constraint: Constraint) -> None:
    """A classifier has no sequences: name the constraint and what would train it."""
    if constraint.is_sequence:
        raise UnsupportedError(
            f"The constraint {constraint.title!r} speaks of sequences, but a classifier labels documents or rows. "
            "Leave it out here; it is meant for a tagger."
        )
    if constraint.of is not None:
        raise UnsupportedError(
            f"The constraint {constraint.title!r} is a share of another event (of=), which a classifier cannot train. "
            "State the share of all documents, or narrow given=."
        )


def _refuse_known(constraints: ConstraintSet, sample: Sample) -> None:
    """Before it is looked at where they fire: a stream should not end in the middle."""
    for constraint in constraints:
        if constraint.on == "all":
            raise UnsupportedError(
                f"The constraint {sample.title(constraint)!r} also counts known labels (on='all'), which online "
                "learning does not. Leave on= out, or use another solver."
            )


def _is_mean(constraint: Constraint, sample: Sample) -> bool:
    """Whether it speaks of a mean over instances, and there are such instances."""
    counts = constraint.event.counts and constraint.of is None and not is_local(constraint)
    return counts and bool(np.any(sample.weight[sample.unlabelled] > 0))


def _listed(blocks: list[Rows]) -> dict[str, Any]:
    """What rows there are."""
    return {
        "owner": _join([np.full(len(b), b.number) for b in blocks], np.intp),
        "component": _join([b.component for b in blocks], np.intp),
        "group": tuple(g for b in blocks for g in b.group),
        "support": _join([b.support for b in blocks], np.float64),
        "local": _join([np.full(len(b), b.is_local) for b in blocks], np.bool_),
    }


def _acts(found: list[Feature], sample: Sample, *, anywhere: bool) -> bool:
    """Whether some unknown label that counts is looked at, and a share of another event fires somewhere itself
    (``anywhere``: perhaps in other data)."""
    counts = sample.position_weight > 0
    fires = anywhere or any(f.event is None or any(np.any(p.at & counts) for p in f.event) for f in found)
    return fires and any(np.any(p.at & sample.is_open(p.on_edges) & counts) for f in found for p in f.pieces)


def _refuse_certain(constraint: Constraint, found: list[Feature], sample: Sample) -> None:
    tables = [p.table for feature in found for p in feature.pieces]
    if isinstance(constraint.relation, DistributedAs) or constraint.of is not None or not constraint.is_hard:
        return
    low, high = constraint.relation.interval
    if not constraint.event.counts and all(t.all() for t in tables) and not low <= 1.0 <= high:
        raise ConstraintError(
            f"The constraint {sample.title(constraint)!r} names every class, so its share is always 100%: it cannot "
            "hold."
        )


def _touched(blocks: list[Rows], ban: Ban, sample: Sample) -> IntArray:
    """The instances with something to decide that some row or rule speaks of."""
    at = ban.touched
    for piece in (p for block in blocks for feature in block.features for p in feature.pieces):
        at |= piece.at
    hit = np.zeros(len(sample.structure), dtype=np.bool_)
    hit[sample.instance[at]] = True
    return np.flatnonzero(hit & sample.unlabelled)


def _assemble(
    blocks: list[Rows],
    ban: Ban,
    touched: IntArray,
    sample: Sample,
    workers: Workers,
    priced: Callable[[Chains, tuple[Statistic, ...]], PricedChains],
    *,
    part: bool,
    base: Potentials | None,
) -> dict[str, Any]:
    positions = sample.structure.positions(touched)
    structure = sample.structure.take(touched)
    node, edge = (_concatenate(blocks, name, sample) for name in ("node", "edge"))
    rules = _node_rules(ban, positions)
    parent, edge_here, whole = None, None, None
    n_rows = sum(map(len, blocks))
    if isinstance(structure, Chains):
        structure, parent, edge_here, edge_rules = refine(structure, _at(edge, positions), ban.edges, positions)
        if rules is not None or edge_rules is not None:
            rules = Potentials(_zeros(positions, sample) if rules is None else rules.node, edge_rules)
        statistics, whole, whole_rules = whole_sequences(blocks, ban, touched, sample)
        if statistics:
            structure = priced(structure, statistics)
        if whole_rules is not None:
            rules = Potentials(
                _zeros(positions, sample) if rules is None else rules.node, rules.edge if rules else None, whole_rules
            )
    shared, apart = ([b for b in blocks if b.is_apart == wanted] for wanted in (False, True))
    n_shared = sum(map(len, shared))
    features_here = _first_rows(ConstraintFeatures(n_rows, _at(node, positions), edge_here, whole), n_shared)
    offset = _known_sums(node, edge, n_rows, sample) + known_counts(blocks, sample)
    support = _join([b.support for b in blocks], np.float64)
    tilt = Tilt(
        structure=structure,
        features=features_here,
        penalty=_stack_penalties(shared),
        weight=sample.weight[touched],
        support=support[:n_shared],
        offset=offset[:n_shared],
        workers=workers,
        instances=_local_rows(apart, structure, touched, sample) if apart else None,
        parent=parent,
        rules=rules,
    )
    ban.check(tilt, touched)
    room = Room(sample, ban, touched, workers, base)
    ends = np.cumsum([0, *map(len, blocks)])
    for k, block in enumerate(blocks):
        if part and not block.is_local:
            continue
        is_free = tilt.rules is None and base is None and block.constraint.on != "all"
        if not is_free or isinstance(structure, Chains):
            room.check(block, offset[ends[k] : ends[k + 1]])
    return {"tilt": tilt, "shares": _shares(blocks, structure, positions, parent, sample, n_rows)}


def _side_by_side(found: list[sparse.csr_array], sample: Sample) -> sparse.csr_array:
    empty = sparse.csr_array((len(sample.structure), 0))
    return sparse.csr_array(sparse.hstack([empty, *found], format="csr"))


def _shares(
    blocks: list[Rows],
    structure: Independent | Chains,
    positions: IntArray,
    parent: IntArray | None,
    sample: Sample,
    n_rows: int,
) -> Shares | None:
    rows = np.flatnonzero(_join([np.full(len(b), b.constraint.of is not None) for b in blocks], np.bool_))
    if not len(rows):
        return None
    node, edge = (_concatenate(blocks, name, sample) for name in ("among_node", "among_edge"))
    assert isinstance(structure, Chains)
    here = _at(edge, positions)
    # Every kind of edge here has one firing pattern of the rows, and of what they are shares of as well.
    inner = np.setdiff1d(np.arange(len(positions)), structure.first)
    example = np.zeros(structure.n_kinds, dtype=np.intp)
    example[structure.kind[inner]] = inner
    on_edges = Parts(sparse.csr_array(here.fires[example]), here.table, here.row)
    return Shares(
        ConstraintFeatures(n_rows, _at(node, positions), on_edges),
        _join([b.share for b in blocks], np.float64),
        _known_sums(node, edge, n_rows, sample),
        rows,
    )


def _zeros(positions: IntArray, sample: Sample) -> FloatArray:
    return np.zeros((len(positions), len(sample.classes)))


def _node_rules(ban: Ban, positions: IntArray) -> Potentials | None:
    if ban.node is None or not ban.node[positions].any():
        return None
    return Potentials(np.where(ban.node[positions], -np.inf, 0.0))


def _concatenate(blocks: list[Rows], name: str, sample: Sample) -> Parts:
    """The parts of all blocks, over all positions; rows of later blocks come after those of earlier ones."""
    width = len(sample.classes) ** (2 if name.endswith("edge") else 1)
    empty = sparse.csr_array((sample.inputs.n, 0))
    listed: list[Parts] = [getattr(block, name) for block in blocks]
    first = np.cumsum([0, *map(len, blocks)])
    return Parts(
        sparse.csr_array(sparse.hstack([empty, *(p.fires for p in listed)], format="csr")),
        np.concatenate([np.empty((0, width)), *(p.table for p in listed)]),
        _join([p.row + k for p, k in zip(listed, first, strict=False)], np.intp),
    )


def _at(parts: Parts, positions: IntArray) -> Parts:
    return Parts(sparse.csr_array(parts.fires[positions]), parts.table, parts.row)


def _first_rows(found: ConstraintFeatures, n: int) -> ConstraintFeatures:
    if found.n_rows == n:
        return found
    keep = np.flatnonzero(found.node.row < n)
    node = Parts(sparse.csr_array(found.node.fires[:, keep]), found.node.table[keep], found.node.row[keep])
    return ConstraintFeatures(n, node, found.edge, found.whole)


def _known_sums(node: Parts, edge: Parts, n_rows: int, sample: Sample) -> FloatArray:
    """What labelled instances add to each row's sum: only rows with ``on="all"`` fire there."""
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


def _local_rows(
    blocks: list[Rows], structure: Independent | Chains, touched: IntArray, sample: Sample
) -> InstanceRows | SequenceRows:
    """Rows of single instances, apart from the shared ones."""
    if isinstance(structure, Chains):
        return sequence_rows(blocks, structure, touched, sample)
    # Rows of single positions: each has one part, which fires at one position.
    position = np.concatenate([_only_place(b.node) for b in blocks])
    events, event = np.unique(np.concatenate([b.node.table for b in blocks]), axis=0, return_inverse=True)
    return InstanceRows(
        n=len(touched),
        position=np.searchsorted(touched, position).astype(np.intp),
        event=event.ravel().astype(np.intp),
        events=np.ascontiguousarray(events),
        block=np.concatenate([np.where(b.component >= 0, b.number, -1) for b in blocks]).astype(np.intp),
        penalty=_stack_penalties(blocks),
        support=sample.weight[position],
    )


def _only_place(parts: Parts) -> IntArray:
    return np.asarray(sparse.csc_array(parts.fires).indices, dtype=np.intp)


def _stack_penalties(blocks: list[Rows]) -> Penalty:
    return stack([b.penalty for b in blocks]) if blocks else box(np.empty(0), np.empty(0))


def _join(arrays: list[npt.NDArray[Any]], dtype: type[np.generic]) -> npt.NDArray[Any]:
    return np.concatenate([np.empty(0, dtype=dtype), *arrays]).astype(dtype)
