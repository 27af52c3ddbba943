"""Statements that leave no choice: labels that hard 0/1 statements rule out, and what room that leaves others."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from tiltfit.arrays import BoolArray, FloatArray, IntArray
from tiltfit.errors import ConflictError
from tiltfit.execution.workers import Workers
from tiltfit.features.constraints import Parts
from tiltfit.inference.bounds import below_most, excess
from tiltfit.inference.chain import Chains
from tiltfit.inference.independent import Independent
from tiltfit.inference.potentials import Potentials
from tiltfit.inference.statistic import Statistic
from tiltfit.inference.whole import WholeChains
from tiltfit.language.constraint import Constraint
from tiltfit.language.relations import DistributedAs
from tiltfit.projections.expected import Feature
from tiltfit.projections.information import Tilt
from tiltfit.projections.kinds import refine
from tiltfit.projections.occurrences import Piece
from tiltfit.projections.rows import Rows
from tiltfit.samples.sample import Sample

_ROUNDING = 1e-12


class Ban:
    """Collects what hard statements of 0 or 1 rule out: labels at positions, pairs of labels on edges, and label
    sequences that count beyond a bound (``whole``).

    Known labels rule out all others, where the sequence has unknown ones beside them; a set of labels rules out those
    that are not in it. ``by_labels``: what labels and sets rule out.
    """

    def __init__(self, sample: Sample) -> None:
        self._sample = sample
        self.node: BoolArray | None = None
        self.edges: list[tuple[BoolArray, BoolArray]] = []
        """Positions that edges lead to, and the pairs of labels ruled out there."""
        self.whole: list[tuple[Statistic, BoolArray]] = []
        """Statistics that must be 0, and the instances where."""
        self.supports: dict[int, float] = {}
        self._takers: list[tuple[Constraint, BoolArray]] = []
        partly = sample.structure.spread(sample.unlabelled) & ~sample.open_positions
        if partly.any():
            mask = self._mask()
            mask[partly] = True
            mask[partly, sample.labels[partly]] = False
        if sample.banned is not None:
            mask = self._mask()
            mask |= sample.banned
        self.by_labels = None if self.node is None else self.node.copy()

    def take(self, number: int, constraint: Constraint, found: list[Feature]) -> bool:
        """Whether the constraint is a hard 0 or 1; if so it is taken over as forbidden labels."""
        if constraint.is_hard and found[0].statistic is not None:
            self._refuse_beyond(constraint, found[0].statistic, found[0].pieces[0].at)
        ruled = forbidden(constraint, found)
        if ruled is None:
            return False
        if ruled.statistic is not None:
            self._take_whole(number, constraint, ruled.statistic, ruled.pieces[0].at)
            return True
        counts = constraint.event.counts and constraint.of is None
        at = np.zeros(self._sample.inputs.n, dtype=np.bool_)
        for piece in ruled.pieces:
            banned = piece.table > 0
            self._refuse_known(constraint, piece, banned)
            at |= piece.at
            if piece.on_edges:
                self.edges.append((piece.at & self._sample.open_edges, banned))
            else:
                self._mask()[piece.at & self._sample.open_positions] |= banned
        self._takers.append((constraint, at))
        self.supports[number] = float(self._sample.position_weight[at].sum())
        if counts:  # of a count, sequences are the places
            self.supports[number] = float(self._sample.weight[np.unique(self._sample.instance[at])].sum())
        return True

    def _refuse_beyond(self, constraint: Constraint, statistic: Statistic, at: BoolArray) -> None:
        (low, high), sample = constraint.relation.interval, self._sample
        if high < statistic.least or low > statistic.most:
            reach = f"never below {statistic.least:g}" if high < statistic.least else f"never above {statistic.most:g}"
            raise ConflictError(
                f"The constraint {sample.title(constraint)!r} cannot hold in {sample.noun} {sample.instance[at][0]}, "
                f"nor in any other: what it counts is {reach}. Change its target, or soften it with slack=."
            )

    def _take_whole(self, number: int, constraint: Constraint, beyond: Statistic, at: BoolArray) -> None:
        """``beyond``: what must be 0."""
        sample = self._sample
        here = np.zeros(len(sample.structure), dtype=np.bool_)
        here[sample.instance[at]] = True
        for s in np.flatnonzero(here & ~sample.unlabelled):
            if beyond.count(sample.labels[sample.structure.positions(np.array([s]))]) > 0:
                self._refuse(constraint, int(s))
        self.whole.append((beyond, here))
        self._takers.append((constraint, at))
        self.supports[number] = float(sample.weight[here].sum())

    def _refuse(self, constraint: Constraint, instance: int) -> None:
        raise ConflictError(
            f"The constraint {self._sample.title(constraint)!r} rules out the label that {self._sample.noun} "
            f"{instance} has. "
            'Correct the label, soften the constraint with slack=, or leave out on="all".'
        )

    def _mask(self) -> BoolArray:
        if self.node is None:
            self.node = np.zeros((self._sample.inputs.n, len(self._sample.classes)), dtype=np.bool_)
        return self.node

    def _refuse_known(self, constraint: Constraint, piece: Piece, banned: BoolArray) -> None:
        labels = self._sample.labels
        where = np.flatnonzero(piece.at & ~self._sample.is_open(piece.on_edges))
        hits = banned[labels[where - 1], labels[where]] if piece.on_edges else banned[labels[where]]
        if np.any(hits):
            self._refuse(constraint, int(self._sample.instance[where[np.argmax(hits)]]))

    @property
    def touched(self) -> BoolArray:
        """Positions where something is ruled out."""
        touched = np.zeros(self._sample.inputs.n, dtype=np.bool_)
        if self.node is not None:
            touched |= self.node.any(axis=1)
        for at, _ in self.edges:
            touched |= at
        for _, here in self.whole:
            touched |= self._sample.structure.spread(here)
        return touched

    def check(self, tilt: Tilt, touched: IntArray) -> None:
        """Refuse rules that leave an instance without any labelling; ``touched``: the instances of ``tilt``."""
        if tilt.rules is None:
            return
        empty = tilt.structure.impossible(tilt.rules, tilt.workers)
        if len(empty):
            instance = touched[empty[0]]
            here = self._sample.instance == instance
            names = [repr(self._sample.title(c)) for c, at in self._takers if at[here].any()]
            if self.by_labels is not None and self.by_labels[here].any():
                names.append("what y says")
            raise ConflictError(
                f"No label is left for {self._sample.noun} {instance}: {' and '.join(names)} together rule out all of "
                "them. Soften one with slack= or a target inside (0, 1)."
            )


def forbidden(constraint: Constraint, found: list[Feature]) -> Feature | None:
    """What a hard statement of 0 or 1 rules out, as a feature that must be 0; None if it leaves a choice.

    ``found``: its expectations. A mean that must be the least there is leaves no sequence any choice, and nor does the
    greatest.
    """
    if not constraint.is_hard or len(found) != 1:
        return None
    (low, high), statistic = constraint.relation.interval, found[0].statistic
    if statistic is not None:
        if high == statistic.least:
            return replace(found[0], statistic=excess(statistic, high))
        return replace(found[0], statistic=below_most(statistic)) if low == statistic.most else None
    if high > 0 and (low < 1 or (constraint.event.counts and constraint.of is None)):
        return None
    # A share of another event has the feature event − u·other, which must not exceed or go below 0 then.
    least = 1 if constraint.of is None else 0
    pieces = [Piece(p.at, (p.table > 0 if high <= 0 else p.table < least).astype(np.float64)) for p in found[0].pieces]
    return Feature(pieces)


@dataclass(frozen=True, eq=False)
class Room:
    """What known labels and rules leave of the expectations of rows: their extremes over all labellings of the
    instances that are ``touched``. ``base``: log q₀ of the model, whose −inf are rules as well."""

    sample: Sample
    ban: Ban
    touched: IntArray
    workers: Workers
    base: Potentials | None = None

    def check(self, block: Rows, offset: FloatArray) -> None:
        """Refuse a constraint whose penalty would be infinite whatever q. ``offset``: what labelled instances add."""
        constraint = block.constraint
        distribution = isinstance(constraint.relation, DistributedAs)
        if not (distribution or constraint.is_hard):
            return
        least, most = self._extremes(block, offset)
        low, high = block.penalty.domain()
        bad = np.flatnonzero((most < low - _ROUNDING) | (least > high + _ROUNDING))
        if distribution:
            shares = block.penalty.grad_conjugate(np.zeros(len(block)))
            bad = np.flatnonzero((shares > 0) & (most == 0))
        if len(bad):
            r = bad[0]
            group, noun = block.group[r], self.sample.noun
            where = f" in {noun} {group}" if block.is_local else "" if group is None else f" in {group!r}"
            also = "" if self.base is None else ", and what the model forbids (base=, valid_only=True),"
            raise ConflictError(
                f"The constraint {self.sample.title(constraint)!r} cannot hold{where}: known labels and rules{also} "
                f"leave its {_between(constraint, least[r], most[r])}. Change its target, soften it, or drop the rule."
            )

    def _extremes(self, block: Rows, offset: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The least and the greatest m of every row. Rows of one feature lie on different instances, so that one
        search for the best labelling a feature and direction is enough."""
        bounds = np.empty((2, len(block)))
        group, weight = block.group_of[self.touched], self.sample.weight[self.touched]
        inside = group >= 0
        for feature, rows in zip(block.features, np.split(np.arange(len(block)), len(block.features)), strict=True):
            for k, best in enumerate(self._best(feature)):
                with np.errstate(invalid="ignore"):  # an instance without weight adds no bound: 0·inf
                    terms = best[inside] * weight[inside]
                sums = np.bincount(group[inside], terms, minlength=len(rows))
                bounds[k, rows] = (sums + offset[rows]) / block.support[rows]
        return bounds[0], bounds[1]

    def _best(self, feature: Feature) -> tuple[FloatArray, FloatArray]:
        """The least and the greatest value of a feature on every touched instance."""
        positions, n_labels = self.sample.structure.positions(self.touched), len(self.sample.classes)
        structure = self.sample.structure.take(self.touched)
        if feature.statistic is not None:
            return self._best_whole(feature.statistic, structure, positions)
        node = np.zeros((len(positions), n_labels))
        for piece in (p for p in feature.pieces if not p.on_edges):
            node[piece.at[positions]] += piece.table
        forbidden = self._forbidden(positions)
        edge, pairs = None, self._forbidden_pairs
        if isinstance(structure, Chains):
            on_edges = [p for p in feature.pieces if p.on_edges]
            masks = np.stack([np.zeros(len(positions)), *(p.at[positions] for p in on_edges)], axis=1)
            tables = np.stack([np.zeros(n_labels**2), *(p.table.ravel() for p in on_edges)])
            parts = Parts(sparse.csr_array(masks), tables, np.zeros(len(tables), dtype=np.intp))
            plain = Chains(structure.offsets, np.zeros(len(positions), dtype=np.int32), 1)
            structure, _, parts, edge_rules = refine(plain, parts, self.ban.edges, positions)
            edge = parts.score(np.ones(1)).reshape(-1, n_labels, n_labels)
            pairs = pairs if edge_rules is None else pairs + edge_rules
        found = []
        for sign in (-1.0, 1.0):
            potentials = Potentials(sign * node + forbidden, None if edge is None else sign * edge + pairs)
            best = structure.best(potentials, self.workers)[1]
            # Where no labelling is possible, that is refused elsewhere, and not held against any constraint.
            found.append(sign * np.where(best == -np.inf, np.inf, best))
        return found[0], found[1]

    def _best_whole(
        self, statistic: Statistic, structure: Independent | Chains, positions: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """The least and the greatest count; what no search can prove is not held against anyone."""
        assert isinstance(structure, Chains)
        n_labels = len(self.sample.classes)
        none = Parts(sparse.csr_array((len(positions), 0)), np.empty((0, n_labels**2)), np.empty(0, dtype=np.intp))
        structure, _, _, edge = refine(structure, none, self.ban.edges, positions)
        if edge is None:
            edge = np.zeros((structure.n_kinds, n_labels, n_labels))
        rules = Potentials(self._forbidden(positions), edge + self._forbidden_pairs)
        chains, found = WholeChains(structure, (statistic,)), []
        for sign in (-1.0, 1.0):
            best = chains.best(rules, np.array([sign]), self.workers)
            found.append(np.where(best.proven, sign * best.scores, sign * np.inf))
        return found[0], found[1]

    def _forbidden(self, positions: IntArray) -> FloatArray:
        """−inf where a label is ruled out at a position, else 0."""
        banned = np.zeros((len(positions), len(self.sample.classes)), dtype=np.bool_)
        if self.ban.node is not None:
            banned |= self.ban.node[positions]
        if self.base is not None:
            banned |= self.base.node[positions] == -np.inf
        return np.where(banned, -np.inf, 0.0)

    @property
    def _forbidden_pairs(self) -> FloatArray:
        """−inf where the model forbids a pair of labels on edges of every kind, else 0."""
        n_labels = len(self.sample.classes)
        if self.base is None or self.base.edge is None:
            return np.zeros((n_labels, n_labels))
        return np.where(np.all(self.base.edge == -np.inf, axis=0), -np.inf, 0.0)


def _between(constraint: Constraint, least: float, most: float) -> str:
    if constraint.of is not None:
        return "difference to that share out of reach"
    if constraint.event.counts:
        return f"mean number between {least:g} and {most:g}"
    return f"share between {least:.0%} and {most:.0%}"
