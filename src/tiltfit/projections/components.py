"""A constraint on data, in one hop: the expectations it states, where they are taken, and the penalty of each.

A constraint has one *component* per target of its relation, and a component one *row* per group that the constraint is
stated for. Rows of one component lie on different instances. How strong they are, β in units of m, follows from
``Strength``.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tiltfit.arrays import BoolArray, FloatArray, IntArray
from tiltfit.data.inputs import is_missing
from tiltfit.errors import ConstraintError, UnsupportedError
from tiltfit.inference.statistic import Statistic
from tiltfit.language.conditions import Column
from tiltfit.language.constraint import Constraint
from tiltfit.language.event import Term
from tiltfit.language.relations import Target
from tiltfit.penalties.interval import box
from tiltfit.penalties.penalty import Penalty
from tiltfit.samples.sample import Sample

PULL = 10.0
"""The most that a statement pulls by default: as much as so many firings that miss it by one log-odds each."""
PULL_OF_TOKENS = 10_000.0
"""The same for a statement about every token; others have their share of it, beside ``PULL``."""
PULL_AMONG_VOTES = 1.0
"""The same where the weights are held near those that follow the votes of the statements (``Strength.voted``)."""
PULL_OF_FIRING = 5.0
"""The same per firing, where the number of tokens is not known (streams of sequences, whose β is 0.1/c then)."""


REFERENCE = 2_000.0
"""n₀: unlabelled documents, or tokens, count together as much as so many, however many they are."""
_FEWEST = 100.0
"""Fewer count as if they were so many, but one by one: p must follow q ever more closely then, and O has ever sharper
kinks where statements with a bounded pull are met, on which solvers stop short."""


@dataclass(frozen=True)
class Strength:
    """How strong constraints are that do not say so themselves.

    ``beta=None``: a *bounded pull*, U = w·|m − u|: a statement is met unless that takes a pull, −dU/dm = c·price, of
    more than w. Of documents w = 10, however many it speaks of: one that is wrong about most of the data must not
    drown the others; it is more for a class that few statements speak of than for one that many do (``balance``). Of
    sequences w = 10 + 10,000·c/n, n the tokens: what is said of nearly all of them ("no source
    speaks: O") has to move that many; but of few tokens, n < 1,000, w = 10 + 10·c, ten log-odds per firing
    (n < 100 where they are ``sized``, w = 10 + 100·c). (``unit``:
    10, ``support``: c.) Penalties that grow as a square have β = ½/w, with which they pull as hard when they are half a
    unit off.

    Where statements vote on most tokens (``voted``), the weights are held near those that follow the majority of the
    votes (``methods.alternating_projections``), which meet most of them; w = 1 then. A statement that others contradict
    has to be outvoted: met at any price, wrong ones cost 14 points of entity F1 on ncbi (docs/defaults.md).

    KL is a sum over instances, the ridge and w are constants. So that the fit does not depend on how often the data are
    counted, n unlabelled documents or tokens that statements touch count as n₀ together (``sized``) where some pull is
    bounded:

        γ·[n₀/n·Σ w·D(q‖p) + U(m(q))] = γ·n₀/n·[Σ w·D(q‖p) + n/n₀·U(m(q))]

    with n₀/n the ``instance_weight``, by which γ is multiplied and every U divided. Not where there are labels, which
    tell what an instance weighs: an unlabelled one is worth a labelled one then. Nor where statements are about
    single instances: their U are sums over instances as well.

    Otherwise β is that of a constraint (``auto``, ``unit``) or of each firing (``support``: β/c), with U = (m − u)²/2β.

    A share of another event has m = (E[event] − u·E[other])/c, c the places where the other might happen; but its
    deviation is (E[event] − u·E[other])/E[other] = m/ρ and its support ρ·c, with ρ = E[other]/c, the *rate* of the
    other event. Hence in units of m

        (m/ρ)²/(2β) = m²/(2βρ²)        |m/ρ|/β = |m|/(βρ)

    with β/(ρc) for β under ``support``: β is multiplied by ρ² (L1: ρ), and divided by ρ under ``support``. To keep the
    row linear, ρ is not that of q but a fixed estimate (``rate``): ``rates``, by the number of the constraint, 1 where
    there is none.

    A relation that states its own deviation (``within``) has β = within² (L1: 2·within), times ρ² (ρ), whatever
    ``scale`` is: people state it of the share, not of each firing.
    """

    beta: float | None
    scale: str
    rates: Mapping[int, float] = field(default_factory=dict)
    balance: Mapping[int, float] = field(default_factory=dict)
    """The factor of w, by the number of the constraint; 1 where there is none."""
    tokens: float | None = None
    """The tokens of the data; None: they are documents, or (of ``sequences``) a stream."""
    sequences: bool = False
    near_votes: bool = False
    """Whether the weights may be held near those that follow the votes of statements."""
    voted: bool = False
    """Whether they are, because statements vote on most tokens."""
    sized: bool = False
    """Whether unlabelled instances count as ``REFERENCE`` of them."""
    instance_weight: float = 1.0
    """n₀/n where they do, else 1."""
    smooth: bool = False
    """Whether U must be smooth: ``about`` is then a square by default. Streams have it, too, since the prices of a
    bounded pull are at their ends while p is on its way, and p would hardly follow."""

    def is_bounded(self, constraint: Constraint) -> bool:
        """Whether the constraint has a bounded pull: neither it nor the estimator states β."""
        return self.beta is None and self._stated(constraint) is None

    def per_firing(self, constraint: Constraint) -> bool:
        """Whether β of the constraint is that of each firing."""
        if self.is_bounded(constraint):
            return self.scale == "support" or (self.scale == "auto" and self.sequences and self.tokens is None)
        return self.scale == "support" and constraint.relation.within is None

    def of(
        self, constraint: Constraint, support: FloatArray, rate: float = 1.0, power: int = 2, balance: float = 1.0
    ) -> FloatArray:
        """β in units of m of rows with these supports, of a penalty that grows as its deviation to that power."""
        if self.is_bounded(constraint):
            most = balance * self._most(rate * support)
            return self.instance_weight * (1.0 if power == 1 else 0.5) / most * rate**power
        stated = self._stated(constraint)
        value = self.instance_weight * (self.beta if stated is None else stated) * rate**power  # type: ignore[operator]
        return value / (rate * support) if self.per_firing(constraint) else np.full(len(support), value)

    def _most(self, support: FloatArray) -> FloatArray:
        """w: the most that rows with these supports pull."""
        if self.scale == "support":
            return support
        if self.scale == "unit" or not self.sequences:
            return np.full(len(support), PULL)
        if self.tokens is None:
            return PULL_OF_FIRING * support
        if self.voted:
            return np.full(len(support), PULL_AMONG_VOTES)
        return PULL + support * (PULL_OF_TOKENS / max(self.tokens, _FEWEST if self.sized else PULL_OF_TOKENS / PULL))

    @staticmethod
    def _stated(constraint: Constraint) -> float | None:
        """The β or slack that a constraint states."""
        return constraint.slack if constraint.relation.hard else constraint.relation.own_beta or constraint.beta


_EVEN = 2**0.5
"""So many times the usual number of statements about a class, or one part in so many, needs no balance."""
_MOST = 0.5
"""The share of tokens that must be voted on."""
_PRIOR_PLACES, PRIOR_RATE = 10.0, 0.1
"""ρ where no label is known: events in outputs are rarer than the places where they might happen. It counts as much as
ten known places, so it fades as labels come."""


def on_sample(strength: Strength, constraints: Iterable[Constraint], sample: Sample, *, part: bool) -> Strength:
    """The same with the number of tokens, with the balance of classes, and with the rates of all events that shares
    are of; rates that are known already stay. ``part``: the sample is a part of a stream, so that nobody knows how many
    tokens there are."""
    constraints = list(constraints)
    found = {k: rate(c, sample) for k, c in enumerate(constraints) if c.of is not None}
    tokens = float(np.sum(sample.position_weight)) if sample.is_sequences and not part else None
    auto = strength.beta is None and strength.scale == "auto" and not part
    bounded = [c for c in constraints if strength.is_bounded(c) and not c.is_hard]
    voted = auto and strength.near_votes and _voted_share(bounded, sample) > _MOST
    sized = auto and strength.sized and bounded and not voted and not any(c.is_local for c in constraints)
    return replace(
        strength,
        rates={**found, **strength.rates},
        balance={} if sample.is_sequences else balanced(strength, constraints),
        tokens=tokens or None,
        sequences=sample.is_sequences,
        voted=voted,
        sized=bool(sized) and not _has_labels(sample),
    )


def counted(strength: Strength, touched: IntArray, sample: Sample) -> Strength:
    """The same with the weight of an instance. n: the weight of the unlabelled documents that statements touch, or of
    all tokens of such sequences. The others add nothing to Eq. 6, however many they are."""
    counts = np.zeros(len(sample.structure), dtype=np.bool_)
    counts[touched] = strength.sized
    size = float(np.sum(sample.position_weight[counts[sample.instance]]))
    return replace(strength, instance_weight=REFERENCE / max(size, _FEWEST)) if size > 0 else strength


def _has_labels(sample: Sample) -> bool:
    """Whether y says something, if only in sets or about single tokens. Labels are a measure of what an instance
    weighs: as much as a labelled one."""
    return bool(np.any(sample.labels >= 0)) or sample.banned is not None


def _voted_share(constraints: Iterable[Constraint], sample: Sample) -> float:
    """The share of the tokens without a label on which some statement votes for one label."""
    voted, unknown = np.zeros(sample.inputs.n, dtype=np.bool_), sample.is_open(False)
    for constraint in constraints:
        if constraint.where is not None and len(constraint.promise[0]) == 1:
            voted |= sample.fires(constraint.where, constraint)
    total = float(np.sum(sample.position_weight[unknown]))
    return float(np.sum(sample.position_weight[voted & unknown])) / total if total > 0 else 0.0


def balanced(strength: Strength, constraints: Sequence[Constraint]) -> dict[int, float]:
    """b_k ∝ mean over its labels l of 1/e(n_l), with mean 1,   n_l = Σ_k [l ∈ labels_k]/|labels_k|

        e(n) = max(n/ñ√2, 1) for n ≥ ñ,   min(n√2/ñ, 1) below,   ñ the median of the n_l

    Of statements that look at something and have a bounded pull. Two statements about a class must not be swallowed by
    forty about another; but ten against fourteen say nothing that has to be evened out.
    """
    known = {
        k: c.event.names
        for k, c in enumerate(constraints)
        if c.where is not None and c.event.names and strength.is_bounded(c) and not c.is_hard
    }
    count: defaultdict[object, float] = defaultdict(float)
    for labels in known.values():
        for label in labels:
            count[label] += 1 / len(labels)
    usual = float(np.median(list(count.values()))) if count else 1.0
    uneven = {
        label: max(n / usual / _EVEN, 1.0) if n >= usual else min(n / usual * _EVEN, 1.0) for label, n in count.items()
    }
    factors = {k: float(np.mean([1 / uneven[label] for label in labels])) for k, labels in known.items()}
    mean = sum(factors.values()) / max(1, len(factors))
    return {k: factor / mean for k, factor in factors.items()}


def rate(constraint: Constraint, sample: Sample) -> float:
    """ρ = (1 + Σ w·[other happens]) / (10 + Σ w) over the places of the other event whose labels are known.

    The constraint is a share of another event.
    """
    assert constraint.of is not None
    happened, places = _PRIOR_PLACES * PRIOR_RATE, _PRIOR_PLACES
    around = sample.fires(constraint.of.given, constraint)
    for term in constraint.of.event.terms(sample.classes, sample.structure):
        at = np.flatnonzero(term.at & around & ~sample.is_open(term.on_edges))
        happened += float(sample.position_weight[at] @ term.values(sample.labels, at))
        places += float(sample.position_weight[at].sum())
    return happened / places


@dataclass(frozen=True, eq=False)
class Component:
    """One expectation of constraint ``number``.

    ``terms``: f′, at the places it looks at. ``statistic``: what it counts in whole sequences; its term then only says
    in which. ``among``: the event that it is a share of, ``event``: the share itself; f′ is event − u·among.

    Its rows, one per group: ``group`` names them, ``group_of`` is the group of every instance (−1: none). ``is_apart``:
    prices are found instance by instance, inside the projection.
    """

    number: int
    constraint: Constraint
    target: Target
    terms: list[Term]
    statistic: Statistic | None = None
    among: list[Term] | None = None
    event: list[Term] | None = None
    group_of: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    group: tuple[object, ...] = ()
    support: FloatArray = field(default_factory=lambda: np.empty(0))
    penalty: Penalty = field(default_factory=lambda: box(np.empty(0), np.empty(0)))
    is_apart: bool = False

    def __len__(self) -> int:
        return len(self.group)

    def places(self, term: Term, sample: Sample) -> tuple[IntArray, IntArray]:
        """The positions of a term that are in some group, and the group of each."""
        at = np.flatnonzero(term.at)
        of_group = self.group_of[sample.instance[at]]
        return at[of_group >= 0], of_group[of_group >= 0]

    def firings(self, sample: Sample) -> tuple[IntArray, IntArray, FloatArray]:
        """Instance, group and weight of every place where the event could happen (of a count: of every instance)."""
        constraint = self.constraint
        if constraint.is_count:
            inside = self.group_of >= 0 if constraint.on == "all" else (self.group_of >= 0) & sample.unlabelled
            found = np.flatnonzero(inside)
            return found, self.group_of[found], sample.weight[found]
        terms = self.terms if self.among is None else self.among
        anywhere = Term(np.logical_or.reduce([term.at for term in terms]), np.empty(0))
        at, of_group = self.places(anywhere, sample)
        return sample.instance[at], of_group, sample.position_weight[at]

    def known_counts(self, instances: IntArray, sample: Sample) -> FloatArray:
        """Σ w·g(y) of every group over those of the instances whose labels are known, g the statistic."""
        sums = np.zeros(len(self))
        if self.statistic is not None:
            for s in instances[~sample.unlabelled[instances] & (self.group_of[instances] >= 0)]:
                labels = sample.labels[sample.structure.positions(np.array([s]))]
                sums[self.group_of[s]] += sample.weight[s] * self.statistic.count(labels)
        return sums

    def supports(self, sample: Sample) -> sparse.csr_array:
        """The amount that every instance adds to the support of every row: instances × rows."""
        instance, row, weight = self.firings(sample)
        shape = (len(sample.structure), len(self))
        return sparse.csr_array(sparse.coo_array((weight, (instance, row)), shape=shape))

    def wakes(self, sample: Sample) -> sparse.csr_array:
        """Instances × rows: where a share of another event might happen itself (nothing for other constraints)."""
        cells = [np.empty((0, 2), dtype=np.intp)]
        for term in self.event or []:
            instance = np.unique(sample.instance[term.at & (sample.position_weight > 0)])
            instance = instance[self.group_of[instance] >= 0]
            cells.append(np.column_stack([instance, self.group_of[instance]]))
        instance, row = np.concatenate(cells).T
        shape = (len(sample.structure), len(self))
        return sparse.csr_array(sparse.coo_array((np.ones(len(row)), (instance, row)), shape=shape))


def components(number: int, constraint: Constraint, sample: Sample) -> list[Component]:
    """The expectations of a constraint, at the places it looks at; still without rows."""
    classes, structure = sample.classes, sample.structure
    targets = constraint.targets(classes)
    statistic = whole_statistic(constraint, classes, sample.title(constraint))
    if statistic is not None:
        stand_in = _seen(_stand_in(sample), constraint, sample)
        return [Component(number, constraint, target, [stand_in], statistic) for target in targets]
    fires = sample.fires(constraint.where, constraint)
    if constraint.relation.shares:
        one = np.eye(len(classes))
        terms = [_seen(Term(fires, one[target.number]), constraint, sample) for target in targets]
        return [Component(number, constraint, target, [term]) for target, term in zip(targets, terms, strict=True)]
    event = [term.within(fires) for term in constraint.event.terms(classes, structure)]
    if constraint.of is None:
        seen = [_seen(term, constraint, sample) for term in event]
        return [Component(number, constraint, target, seen) for target in targets]
    around = sample.fires(constraint.of.given, constraint)
    others = constraint.of.event.terms(classes, structure)
    among = [_seen(term.within(around), constraint, sample) for term in others]
    both = list(_both(event, among))
    if both and not any(term.table.any() for term in both):
        title = sample.title(constraint)
        raise ConstraintError(
            f"The constraint {title!r} is not a share: its event never happens among the events that of= names.",
            constraint=title,
        )
    return [
        Component(number, constraint, target, list(_difference(both, among, target.share)), None, among, both)
        for target in targets
    ]


def whole_statistic(constraint: Constraint, classes: Sequence[object], title: str) -> Statistic | None:
    """The statistic of a constraint on whole sequences, None for other constraints; refuses what cannot be."""
    if constraint.of is not None and (constraint.event.whole or constraint.of.event.whole):
        raise UnsupportedError(
            f"The constraint {title!r} is a share (of=), but statistics of whole sequences have no shares: leave of= "
            "out.",
            constraint=title,
        )
    if not constraint.event.whole:
        return None
    if constraint.where is not None:
        raise UnsupportedError(
            f"The constraint {title!r} looks at whole sequences, so it takes no condition on tokens. "
            "State it for groups of sequences with per=column(...).",
            constraint=title,
        )
    statistic = constraint.event.statistic(classes)
    assert statistic is not None
    beyond = [u for u in constraint.relation.numbers if not statistic.least <= u <= statistic.most]
    if beyond and not constraint.relation.hard:
        raise ConstraintError(
            f"The constraint {title!r} asks for {beyond[0]:g}, but what it counts is always between "
            f"{statistic.least:g} and {statistic.most:g}.",
            constraint=title,
        )
    return statistic


def with_rows(
    found: list[Component], sample: Sample, strength: Strength, *, together: bool = False, idle_groups: bool = False
) -> list[Component]:
    """The components of one constraint, which fires somewhere, with their rows.

    ``together``: prices are not found instance by instance. ``idle_groups``: the mean number of something also has rows
    for groups where it is not found, in which it may be found in other parts of the data; and so have shares.
    """
    constraint = found[0].constraint
    group_of, names = groups(constraint, looked_at(found), sample)
    found = [replace(component, group_of=group_of, group=tuple(names)) for component in found]
    # A group in which everything is known (on="all") or weighs nothing has nothing to decide. Nor has a share in one
    # where it can never happen: it could only ask that what it is a share of does not happen either.
    open_terms = [term.within(sample.is_open(term.on_edges)) for component in found for term in component.terms]
    alive = _weights(open_terms, found[0], sample) > 0
    if idle_groups and constraint.is_count and not constraint.is_local:
        _, of_group, weight = found[0].firings(sample)
        alive |= np.bincount(of_group, weights=weight, minlength=len(names)) > 0
    if found[0].event is not None and (constraint.is_local or not idle_groups):
        alive &= _weights(found[0].event, found[0], sample) > 0
    renumbered = np.where(alive, np.cumsum(alive) - 1, -1)
    group_of = np.where(group_of >= 0, renumbered[group_of], -1)
    group = tuple(name for name, lives in zip(names, alive, strict=True) if lives)
    # A share of another event is left to the solver of shared rows, and so is everything where sequences cannot be
    # inferred one by one at little cost.
    apart = constraint.is_local and constraint.of is None and not together
    found = [replace(component, group_of=group_of, group=group, is_apart=apart) for component in found]
    return [_with_penalty(component, sample, strength) for component in found]


def _with_penalty(component: Component, sample: Sample, strength: Strength) -> Component:
    _, of_group, weight = component.firings(sample)
    support = np.bincount(of_group, weights=weight, minlength=len(component)).astype(np.float64)
    rate, balance = strength.rates.get(component.number, 1.0), strength.balance.get(component.number, 1.0)
    penalty = penalty_of(component.constraint, component.target, support, strength, rate, balance)
    return replace(component, support=support, penalty=penalty)


def penalty_of(
    constraint: Constraint,
    target: Target,
    support: FloatArray,
    strength: Strength,
    rate: float = 1.0,
    balance: float = 1.0,
) -> Penalty:
    """U of rows with this target that have these supports."""

    def beta(power: int) -> FloatArray:
        if constraint.is_hard:
            return np.zeros(len(support))
        return strength.of(constraint, support, rate, power, balance)

    bounded = strength.is_bounded(constraint) and not strength.smooth
    return constraint.relation.penalty_of(target, len(support), beta, bounded=bounded)


def looked_at(found: list[Component]) -> BoolArray:
    """The positions that a constraint looks at."""
    masks = [term.at for component in found for term in [*component.terms, *(component.among or [])]]
    return np.asarray(np.logical_or.reduce(masks), dtype=np.bool_)


def groups(constraint: Constraint, fires: BoolArray, sample: Sample) -> tuple[IntArray, list[object]]:
    """The group of every instance (−1: the constraint does not fire there), and the groups' names."""
    n = len(sample.structure)
    if constraint.per == "dataset":
        return np.zeros(n, dtype=np.intp), [None]
    involved = np.unique(sample.instance[fires])
    group = np.full(n, -1, dtype=np.intp)
    if not isinstance(constraint.per, Column):
        group[involved] = np.arange(len(involved))
        return group, [int(i) for i in involved]
    if constraint.is_count:  # a mean over all sequences, with or without a firing
        involved = np.arange(n) if constraint.on == "all" else np.flatnonzero(sample.unlabelled)
    values = sample.inputs.column(constraint.per.name)[sample.structure.first[involved]]
    group[involved], names = _by_value(
        sample.title(constraint), constraint.per, values, sample.number[involved], sample.noun
    )
    return group, names


def _by_value(
    title: str, per: Column, values: npt.NDArray[Any], involved: IntArray, noun: str
) -> tuple[IntArray, list[object]]:
    """The group of every instance, and the groups' names. ``involved``: the instances' numbers in X."""
    missing = [int(i) for i, v in zip(involved, values, strict=True) if is_missing(v)]
    if missing:
        raise ConstraintError(
            f"The constraint {title!r} is stated per {per.name!r}, but that column is missing in "
            f"{len(missing)} {noun}s where it applies ({noun} {missing[0]} first). Fill it in, or add a condition that "
            f"leaves these {noun}s out.",
            constraint=title,
            instances=missing,
        )
    try:
        names, groups = np.unique(values, return_inverse=True)
    except TypeError as error:
        raise ConstraintError(
            f"The constraint {title!r} is stated per {per.name!r}, but that column mixes kinds "
            "of values that have no common order: make it all texts or all numbers.",
            constraint=title,
        ) from error
    return groups.astype(np.intp), list(names.tolist())


def _weights(terms: list[Term], component: Component, sample: Sample) -> FloatArray:
    """The weight that the places of some terms have in every group."""
    sums = np.zeros(len(component))
    for term in terms:
        at, of_group = component.places(term, sample)
        np.add.at(sums, of_group, sample.position_weight[at])
    return sums


def _stand_in(sample: Sample) -> Term:
    """One position of every sequence, which stands for the whole of it: the first whose label is unknown."""
    at = np.zeros(sample.inputs.n, dtype=np.bool_)
    first = np.asarray(sample.structure.first)
    at[first] = True
    unknown = np.flatnonzero(sample.open_positions)
    sequence, where = np.unique(sample.instance[unknown], return_index=True)
    at[first[sequence]] = False
    at[unknown[where]] = True
    return Term(at, np.zeros(len(sample.classes)))


def _seen(term: Term, constraint: Constraint, sample: Sample) -> Term:
    """The part of the data that the constraint is about: unknown labels, or all."""
    if constraint.is_local:
        term = term.within(sample.structure.spread(sample.unlabelled & (sample.weight > 0)))
    if constraint.on == "all":
        return term
    if constraint.is_count:
        # A number in a sequence is that in the whole of it, known labels included.
        return term.within(sample.structure.spread(sample.unlabelled))
    return term.within(sample.is_open(term.on_edges))


def _both(event: list[Term], among: list[Term]) -> Iterator[Term]:
    """The positions where both happen, so that one is a share of the other. An edge is at the position it leads to,
    hence of a label and a pair the label is that of the second."""
    for a, b in itertools.product(event, among):
        at = a.at & b.at
        if at.any():
            yield Term(at, a.table * b.table)


def _difference(event: list[Term], among: list[Term], u: float) -> Iterator[Term]:
    """event − u·among, as terms on different places: the share of event in among is u where its expectation is 0."""
    for on_edges in (False, True):
        mine, others = ([term for term in terms if term.on_edges == on_edges] for terms in (event, among))
        for a, b in itertools.product(mine, others):
            yield Term(a.at & b.at, a.table - u * b.table)
        for a in mine:
            yield a.within(~_anywhere(others, a))
        for b in others:
            yield Term(b.at & ~_anywhere(mine, b), -u * b.table)


def _anywhere(terms: list[Term], like: Term) -> BoolArray:
    """The positions of any of the terms; there are as many positions as in ``like``."""
    return np.asarray(np.logical_or.reduce([np.zeros_like(like.at), *(term.at for term in terms)]))
