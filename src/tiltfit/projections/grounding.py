"""From constraints as data to rows of an information projection: where they fire, on which labels, which penalty.

A constraint becomes one row for its event; ``distributed_as`` one row a class; ``per=`` a row for each group or
instance. Hard statements of 0 or 1 have no finite price: they become forbidden labels instead of rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tiltfit.data.inputs import Inputs, is_missing
from tiltfit.errors import ConstraintError, RestingConstraintWarning, UnsupportedError
from tiltfit.execution.workers import Workers
from tiltfit.features.constraints import ConstraintFeatures
from tiltfit.language.conditions import Column
from tiltfit.language.constraint import Constraint, ConstraintSet
from tiltfit.language.events import Labels
from tiltfit.language.relations import About, DistributedAs
from tiltfit.language.values import Label, match
from tiltfit.penalties.interval import box
from tiltfit.penalties.kl import kl
from tiltfit.penalties.penalty import REGISTRY, Penalty
from tiltfit.penalties.stacked import stack
from tiltfit.projections.information import Tilt
from tiltfit.projections.instances import InstanceRows
from tiltfit.projections.rules import Ban, Room

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]
Key = tuple[int, int, object]


@dataclass(frozen=True)
class Strength:
    """The default β, and whether it is that of a constraint (``unit``) or of each firing (``support``: β/c)."""

    beta: float
    scale: str

    def of(self, softness: float | None, support: FloatArray) -> FloatArray:
        value = self.beta if softness is None else softness
        return value / support if self.scale == "support" else np.full(len(support), value)


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of one constraint, over positions of the whole input: one for each event and group, events outermost.

    ``fires`` (positions × rows); ``events``: a vector over labels for each row; ``component``: the class of a
    ``distributed_as`` row, else −1; ``group``: what it speaks of.
    """

    number: int
    fires: sparse.csc_array
    events: FloatArray
    component: IntArray
    group: tuple[object, ...]
    support: FloatArray
    penalty: Penalty


@dataclass(frozen=True, eq=False)
class Grounded:
    """Constraints on data. ``tilt`` is None if none of them acts; its positions are ``touched``.

    ``owner[r]`` is the number of row r's constraint, ``component[r]`` the class of a ``distributed_as`` row (else −1),
    ``group[r]`` the value of the column or the number of the position it speaks of (else None). ``resting`` numbers the
    constraints that never fire; ``ruled_support`` those that act by forbidding labels, with their supports.
    """

    constraints: ConstraintSet
    tilt: Tilt | None
    touched: IntArray
    forbidden: BoolArray | None
    owner: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    component: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    group: tuple[object, ...] = ()
    support: FloatArray = field(default_factory=lambda: np.empty(0))
    resting: tuple[int, ...] = ()
    ruled_support: Mapping[int, float] = field(default_factory=dict)

    @property
    def ruled(self) -> tuple[int, ...]:
        return tuple(self.ruled_support)

    @property
    def keys(self) -> list[Key]:
        """What each row speaks of: (constraint, class of a distribution or −1, group)."""
        return list(zip(self.owner.tolist(), self.component.tolist(), self.group, strict=True))


def ground(
    constraints: ConstraintSet,
    inputs: Inputs,
    classes: Sequence[object],
    labels: IntArray,
    weight: FloatArray,
    strength: Strength,
    workers: Workers,
) -> Grounded:
    """Look up every constraint on ``inputs``. ``labels``: class number or −1 (unlabelled), one a position."""
    for constraint in constraints:
        refuse_for_documents(constraint)
    free = labels < 0
    blocks: list[Rows] = []
    resting: list[int] = []
    ban = Ban(len(classes), inputs.n)
    for number, constraint in enumerate(constraints):
        seen = free if constraint.on == "unlabelled" or _is_local(constraint) else np.ones_like(free)
        if _is_local(constraint):
            seen = seen & (weight > 0)
        fires = _firing(constraint, inputs) & seen
        if not np.any(fires & free & (weight > 0)):
            _warn_resting(constraint, inputs, free)
            resting.append(number)
            continue
        _warn_idle_words(constraint, inputs)
        events = _event_vectors(constraint, classes)
        if not ban.take(number, constraint, fires, events, labels):
            blocks.append(_rows(number, constraint, fires, free, events, inputs, classes, weight, strength))
    # Shared rows first, then those of single positions: the order in which a projection lists them.
    blocks.sort(key=lambda block: _is_local(constraints[block.number]))
    forbidden = ban.mask(constraints, free)
    is_touched = np.zeros(inputs.n, dtype=np.bool_)
    if forbidden is not None:
        is_touched |= forbidden.any(axis=1)
    for block in blocks:
        is_touched[block.fires.indices] = True
    touched = np.flatnonzero(is_touched & free)
    for block in blocks:
        room = Room(block.fires, block.events, block.support, forbidden, labels, weight)
        room.check(constraints[block.number], block.penalty, block.group)
    if not len(touched):
        return Grounded(constraints, None, touched, None, resting=tuple(resting))
    return Grounded(
        constraints,
        _tilt(blocks, constraints, touched, labels, weight, len(classes), workers),
        touched,
        forbidden[touched] if forbidden is not None else None,
        owner=_join([np.full(len(b.group), b.number) for b in blocks], np.intp),
        component=_join([b.component for b in blocks], np.intp),
        group=tuple(g for b in blocks for g in b.group),
        support=_join([b.support for b in blocks], np.float64),
        resting=tuple(resting),
        ruled_support=ban.supports(weight),
    )


def _tilt(
    blocks: list[Rows],
    constraints: ConstraintSet,
    touched: IntArray,
    labels: IntArray,
    weight: FloatArray,
    n_labels: int,
    workers: Workers,
) -> Tilt:
    shared = [b for b in blocks if not _is_local(constraints[b.number])]
    local = [b for b in blocks if _is_local(constraints[b.number])]
    firings = _stack_columns([b.fires for b in shared], len(labels))
    events = np.concatenate([np.empty((0, n_labels)), *(b.events for b in shared)])
    return Tilt(
        features=ConstraintFeatures(firings[touched], events),
        penalty=_stack_penalties(shared),
        weight=weight[touched],
        support=_join([b.support for b in shared], np.float64),
        offset=_offset(firings, events, labels, weight),
        workers=workers,
        instances=_instance_rows(local, touched, weight) if local else None,
    )


def _instance_rows(blocks: list[Rows], touched: IntArray, weight: FloatArray) -> InstanceRows:
    # Each column of `fires` has exactly one entry, in the order of the rows.
    position = np.concatenate([b.fires.indices for b in blocks])
    events, event = np.unique(np.concatenate([b.events for b in blocks]), axis=0, return_inverse=True)
    return InstanceRows(
        n=len(touched),
        position=np.searchsorted(touched, position).astype(np.intp),
        event=event.ravel().astype(np.intp),
        events=np.ascontiguousarray(events),
        block=np.concatenate([np.where(b.component >= 0, b.number, -1) for b in blocks]).astype(np.intp),
        penalty=_stack_penalties(blocks),
        support=weight[position],
    )


def _is_local(constraint: Constraint) -> bool:
    return constraint.per == "instance"


def _stack_penalties(blocks: list[Rows]) -> Penalty:
    return stack([b.penalty for b in blocks]) if blocks else box(np.empty(0), np.empty(0))


def _join(arrays: list[npt.NDArray[Any]], dtype: type[np.generic]) -> npt.NDArray[Any]:
    return np.concatenate([np.empty(0, dtype=dtype), *arrays]).astype(dtype)


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


def _firing(constraint: Constraint, inputs: Inputs) -> BoolArray:
    if constraint.given is None:
        return np.ones(inputs.n, dtype=np.bool_)
    return np.asarray(constraint.given.fires(inputs), dtype=np.bool_)


def _event_vectors(constraint: Constraint, classes: Sequence[object]) -> FloatArray:
    """1 where a class belongs to the event; for a distribution, one vector a class."""
    if isinstance(constraint.relation, DistributedAs):
        return np.eye(len(classes))
    assert isinstance(constraint.event, Labels)  # refuse_for_documents has seen to it
    vector = np.zeros((1, len(classes)))
    for name in constraint.event.labels:
        vector[0, _number_of(name, classes)] = 1.0
    if vector.all() and constraint.is_hard and not _allows(constraint, 1.0):
        raise ConstraintError(
            f"The constraint {constraint.title!r} names every class, so its share is always 100%: it cannot hold."
        )
    return vector


def _number_of(name: Label, classes: Sequence[object]) -> int:
    found = match(name, classes)
    assert found is not None  # ConstraintSet.check_labels has seen to it
    return found


def _allows(constraint: Constraint, m: float) -> bool:
    low, high = constraint.relation.interval
    return low <= m <= high


def _rows(
    number: int,
    constraint: Constraint,
    fires: BoolArray,
    free: BoolArray,
    events: FloatArray,
    inputs: Inputs,
    classes: Sequence[object],
    weight: FloatArray,
    strength: Strength,
) -> Rows:
    where = np.flatnonzero(fires)
    groups, names = _groups(constraint, where, inputs)
    # A group in which every row is labelled (on="all") or weighs nothing has nothing to decide.
    alive = np.bincount(groups, weights=weight[where] * free[where], minlength=len(names)) > 0
    where, groups = where[alive[groups]], (np.cumsum(alive) - 1)[groups[alive[groups]]]
    names = [name for name, lives in zip(names, alive, strict=True) if lives]
    n_groups, n_events = len(names), len(events)
    column = np.concatenate([groups + e * n_groups for e in range(n_events)])
    shape = (inputs.n, n_groups * n_events)
    matrix = sparse.csc_array(sparse.coo_array((np.ones(len(column)), (np.tile(where, n_events), column)), shape=shape))
    component = np.arange(n_events) if isinstance(constraint.relation, DistributedAs) else np.array([-1])
    of_row, support = np.repeat(np.arange(n_events), n_groups), np.asarray(matrix.T @ weight)
    return Rows(
        number=number,
        fires=matrix,
        events=events[of_row],
        component=component[of_row],
        group=tuple(names) * n_events,
        support=support,
        penalty=_penalty(constraint, events[of_row], support, strength, classes),
    )


def _groups(constraint: Constraint, where: IntArray, inputs: Inputs) -> tuple[IntArray, list[object]]:
    """The group of every firing position, and the groups' names."""
    if constraint.per == "dataset":
        return np.zeros(len(where), dtype=np.intp), [None]
    if not isinstance(constraint.per, Column):
        return np.arange(len(where), dtype=np.intp), [int(i) for i in where]
    values = inputs.column(constraint.per.name)[where]
    missing = [int(i) for i, v in zip(where, values, strict=True) if is_missing(v)]
    if missing:
        raise ConstraintError(
            f"The constraint {constraint.title!r} is stated per {constraint.per.name!r}, but that column is missing in "
            f"{len(missing)} rows where it applies (row {missing[0]} first). Fill it in, or add a condition that "
            "leaves these rows out."
        )
    try:
        names, groups = np.unique(values, return_inverse=True)
    except TypeError as error:
        raise ConstraintError(
            f"The constraint {constraint.title!r} is stated per {constraint.per.name!r}, but that column mixes kinds "
            "of values that have no common order: make it all texts or all numbers."
        ) from error
    return groups.astype(np.intp), list(names.tolist())


def _penalty(
    constraint: Constraint, events: FloatArray, support: FloatArray, strength: Strength, classes: Sequence[object]
) -> Penalty:
    relation, n = constraint.relation, len(support)
    if isinstance(relation, About):
        return REGISTRY[relation.penalty](np.full(n, relation.target), strength.of(constraint.beta, support))
    if isinstance(relation, DistributedAs):
        shares = np.zeros(len(classes))
        for name, share in relation.shares:
            shares[_number_of(name, classes)] = share
        return kl(events @ shares, strength.of(constraint.beta, support))
    low, high = relation.interval
    slack = strength.of(constraint.slack, support) if constraint.slack else np.zeros(n)
    return box(np.full(n, low), np.full(n, high), slack)


def _offset(fires: sparse.csr_array, events: FloatArray, labels: IntArray, weight: FloatArray) -> FloatArray:
    """What known labels add to each row's sum: only rows with ``on="all"`` fire on labelled positions."""
    known = np.flatnonzero(labels >= 0)
    node = np.zeros((len(known), events.shape[1]))
    node[np.arange(len(known)), labels[known]] = weight[known]
    return ConstraintFeatures(fires[known], events).expect(node)


def _stack_columns(matrices: list[sparse.csc_array], n: int) -> sparse.csr_array:
    if not matrices:
        return sparse.csr_array((n, 0))
    return sparse.csr_array(sparse.hstack(matrices, format="csr"))


def _warn_idle_words(constraint: Constraint, inputs: Inputs) -> None:
    """A word that occurs nowhere, in a condition that fires thanks to others, is probably misspelt."""
    if constraint.given is None or not constraint.given.parts:
        return
    for leaf in constraint.given.leaves:
        if leaf.words and not leaf.fires(inputs).any():
            guess = leaf.suggest(inputs)
            warnings.warn(
                f"The constraint {constraint.title!r} also speaks of {leaf!r}, which occurs nowhere"
                + (f'; did you mean "{guess}"?' if guess else "."),
                RestingConstraintWarning,
                stacklevel=5,
            )


def _warn_resting(constraint: Constraint, inputs: Inputs, free: BoolArray) -> None:
    if not np.any(free):
        why = "every row has a label, so there is nothing left to decide"
    elif constraint.given is not None and constraint.given.fires(inputs).any():
        why = "its condition fires on labelled rows only"
    else:
        guess = constraint.given.suggest(inputs) if constraint.given is not None else None
        why = "its condition never fires on this data" + (f'; did you mean "{guess}"?' if guess else "")
    end = "" if why.endswith("?") else "."
    warnings.warn(f"The constraint {constraint.title!r} rests: {why}{end}", RestingConstraintWarning, stacklevel=5)
