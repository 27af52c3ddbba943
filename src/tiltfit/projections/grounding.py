"""From constraints to an information projection on data: rows, rules, and the instances on which they act.

    constraint → components (``components``) → forbidden labels (``rules``) or rows → one ``Tilt`` (``assembly``)

Hard statements of 0 or 1 have no finite price and become forbidden labels. What is left is one tilt over the instances
that something touches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tiltfit.arrays import BoolArray, FloatArray, IntArray
from tiltfit.data.inputs import Unit
from tiltfit.errors import ConstraintError, InactiveConstraintWarning, UnsupportedError, listed, warn_user
from tiltfit.execution.workers import Workers
from tiltfit.inference.potentials import Marginals, Potentials
from tiltfit.inference.priced import PricedChains
from tiltfit.language.constraint import Constraint, ConstraintSet
from tiltfit.projections.assembly import Shares, assemble
from tiltfit.projections.components import Component, Strength, components, counted, on_sample, with_rows
from tiltfit.projections.information import Tilt
from tiltfit.projections.revision import Revisions, aimed
from tiltfit.projections.rules import Extremes, Forbidden, refuse_broken
from tiltfit.projections.violations import Violations, measure_violations
from tiltfit.samples.sample import Sample

Key = tuple[int, int, object]


@dataclass(frozen=True, eq=False)
class Grounded:
    """Constraints on data. ``tilt`` is None if none of them acts; its instances are ``touched``.

    ``owner[r]`` is the number of row r's constraint, ``component[r]`` that of its target (the class of a
    ``distributed_as`` row, otherwise −1, and −2 for the upper bound of a share of another event between two),
    ``group[r]`` the value of the column or the number of the instance it is about (otherwise None). ``inactive``: the
    numbers of the constraints that never fire; ``ruled_support``: those that act by forbidding labels, with their
    supports; ``rates``: those of the events that shares are of (``Strength``). ``local``: rows of one instance each.
    ``by_instance``: what instances add to the supports of the shared rows (instances × rows), if it was asked for.
    ``wakes``: in a part of the data, where rows that are shares of other events might happen (instances × rows).
    ``by_labels``: what y rules out in instances that are not labelled completely (positions × classes; None: nothing).
    ``violations``: what single instances do about the constraints, if it was asked for. ``revisions``: the statements
    whose rows have another target than the one stated. ``voted``,
    ``instance_weight``, ``sized``: those of ``Strength``.
    """

    constraints: ConstraintSet
    tilt: Tilt | None
    touched: IntArray
    owner: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    component: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    group: tuple[object, ...] = ()
    support: FloatArray = field(default_factory=lambda: np.empty(0))
    inactive: tuple[int, ...] = ()
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
    revisions: Revisions = field(default_factory=dict)
    voted: bool = False
    instance_weight: float = 1.0
    sized: bool = False

    @property
    def ruled(self) -> tuple[int, ...]:
        return tuple(self.ruled_support)

    @property
    def keys(self) -> list[Key]:
        """The key of each row: (constraint, component, group)."""
        return list(zip(self.owner.tolist(), self.component.tolist(), self.group, strict=True))

    def of_labels(self, labels: IntArray) -> FloatArray:
        """The expectations of all rows, as people state them, if the touched instances have these labels (one per
        position); NaN for statistics of whole sequences, and for a share of an event that does not happen."""
        assert self.tilt is not None
        certain, m = self.tilt.of_labels(labels)
        told, support, _ = self.told(m, certain)
        return np.where(support > 0, told, np.nan)

    def told(self, m: FloatArray, marginals: Marginals) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Expectations as people state them, their supports, and units of m in units of these."""
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


@dataclass(frozen=True, eq=False)
class Grounding:
    """The way constraints are looked up.

    ``inference``: how statistics of whole sequences are inferred, "exact", "sampled" (by Markov chains from ``seed``)
    or "auto". ``online``: with supports by instance. ``part``: the sample is a part of the data, so nothing is said
    about constraints that do not fire or cannot hold here. ``separate``: whether constraints on single instances have
    prices that are found inside the projection, or rows like any other. ``violations``: also measure what labels of
    single instances violate. ``base``: log q₀ of the model, if it has one: what it forbids cannot be asked for.
    ``revisions``: the statements that labels have revised, perhaps labels of other data.
    """

    workers: Workers = field(default_factory=Workers)
    inference: str = "auto"
    seed: int = 0
    online: bool = False
    part: bool = False
    separate: bool = True
    violations: bool = False
    base: Potentials | None = None
    revisions: Revisions = field(default_factory=dict)


def ground(constraints: ConstraintSet, sample: Sample, strength: Strength, how: Grounding | None = None) -> Grounded:
    """Look up every constraint on a sample."""
    how = how or Grounding()
    together = not how.separate or any(c.event.whole for c in constraints)
    if not sample.structure.has_edges:
        for constraint in constraints:
            refuse_for_documents(constraint)
    if how.online or how.part:
        _refuse_known(constraints, sample)
    strength = on_sample(strength, constraints, sample, part=how.part or how.online)
    forbidden = Forbidden(sample)
    acting: list[list[Component]] = []
    inactive: list[int] = []
    for number, constraint in enumerate(constraints):
        refuse_broken(constraint, sample, strength)
        mine = components(number, aimed(constraint, how.revisions), sample)
        # In a part of the data, instances where a count finds nothing are still instances of its mean.
        idle = not _acts(mine, sample, anywhere=how.part and not constraint.is_local)
        if idle and not (how.part and _is_mean(constraint, sample)):
            inactive.append(number)
            if not how.part:
                _warn_inactive(constraint, sample)
            continue
        if not how.part:
            _warn_idle_words(constraint, sample)
        _refuse_certain(mine, sample)
        if idle or not forbidden.take(mine):
            acting.append(mine)
    touched = _touched([component for mine in acting for component in mine], forbidden, sample)
    strength = counted(strength, touched, sample)
    rows = [with_rows(mine, sample, strength, together=together, idle_groups=how.part) for mine in acting]
    found = [component for of_one in rows for component in of_one]
    # Shared rows first, then those of single instances: the order in which a projection lists them.
    found.sort(key=lambda component: component.is_apart)
    grounded: dict[str, Any] = {"tilt": None}
    if found or len(touched):
        grounded |= _listed(found)
    if len(touched):
        grounded |= _tilted(found, forbidden, touched, sample, how)
    if how.online or how.part:
        shared = [component for component in found if not component.is_apart]
        grounded["by_instance"] = _side_by_side([component.supports(sample) for component in shared], sample)
        if how.part and any(constraint.of is not None for constraint in constraints):
            grounded["wakes"] = _side_by_side([component.wakes(sample) for component in shared], sample)
    return Grounded(
        constraints=constraints,
        touched=touched,
        inactive=tuple(inactive),
        ruled_support=forbidden.supports,
        noun=sample.noun,
        unit=sample.inputs.unit,
        rates=strength.rates,
        voted=strength.voted,
        instance_weight=strength.instance_weight,
        sized=strength.sized,
        by_labels=forbidden.by_labels,
        violations=_violations(constraints, sample, forbidden, how.revisions) if how.violations else None,
        revisions={c: how.revisions[c] for c in constraints if c in how.revisions},
        **grounded,
    )


def _violations(constraints: ConstraintSet, sample: Sample, forbidden: Forbidden, revisions: Revisions) -> Violations:
    meant = ConstraintSet(tuple(aimed(c, revisions) for c in constraints), constraints.classes)
    return measure_violations(meant, sample, forbidden)


def refuse_for_documents(constraint: Constraint) -> None:
    """A classifier has no sequences: name the constraint and what would train it."""
    if constraint.is_sequence:
        raise UnsupportedError(
            f"The constraint {constraint.title!r} is about sequences, but a classifier labels documents or rows. "
            "Leave it out here; it is meant for a tagger.",
            constraint=constraint.title,
        )
    if constraint.of is not None:
        raise UnsupportedError(
            f"The constraint {constraint.title!r} is a share of another event (of=), which a classifier cannot train. "
            "State the share of all documents, or narrow given=.",
            constraint=constraint.title,
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
    """True if it states a mean over instances, and there are such instances."""
    mean = constraint.is_count and not constraint.is_local
    return mean and bool(np.any(sample.weight[sample.unlabelled] > 0))


def _acts(found: list[Component], sample: Sample, *, anywhere: bool) -> bool:
    """True if some unknown label with weight is looked at, and a share of another event fires somewhere itself
    (``anywhere``: perhaps in other data)."""
    weighs = sample.position_weight > 0
    fires = anywhere or any(c.event is None or any(np.any(t.at & weighs) for t in c.event) for c in found)
    return fires and any(np.any(t.at & sample.is_open(t.on_edges) & weighs) for c in found for t in c.terms)


def _refuse_certain(found: list[Component], sample: Sample) -> None:
    constraint = found[0].constraint
    if constraint.of is not None or not constraint.is_hard or constraint.event.counts:
        return
    low, high = constraint.relation.interval
    if all(term.table.all() for component in found for term in component.terms) and not low <= 1.0 <= high:
        raise ConstraintError(
            f"The constraint {sample.title(constraint)!r} names every class, so its share is always 100%: it cannot "
            "hold.",
            constraint=sample.title(constraint),
        )


def _touched(found: list[Component], forbidden: Forbidden, sample: Sample) -> IntArray:
    """The instances with something to decide that some row or rule is about."""
    at = forbidden.touched
    for term in (term for component in found for term in component.terms):
        at |= term.at
    hit = np.zeros(len(sample.structure), dtype=np.bool_)
    hit[sample.instance[at]] = True
    return np.flatnonzero(hit & sample.unlabelled)


def _listed(found: list[Component]) -> dict[str, Any]:
    """The rows there are."""
    return {
        "owner": _each_row([c.number for c in found], found, np.intp),
        "component": _each_row([c.target.number for c in found], found, np.intp),
        "group": tuple(name for c in found for name in c.group),
        "support": np.concatenate([np.empty(0), *(c.support for c in found)]),
        "local": _each_row([c.constraint.is_local for c in found], found, np.bool_),
    }


def _each_row(values: list[Any], found: list[Component], dtype: type[np.generic]) -> npt.NDArray[Any]:
    return np.repeat(np.array(values, dtype=dtype), np.array([len(c) for c in found], dtype=np.intp))


def _tilted(
    found: list[Component], forbidden: Forbidden, touched: IntArray, sample: Sample, how: Grounding
) -> dict[str, Any]:
    priced = partial(PricedChains.of, how=how.inference, seed=how.seed)
    tilt, shares, offset = assemble(found, forbidden, touched, sample, how.workers, priced)
    forbidden.check(tilt, touched)
    extremes = Extremes(sample, forbidden, touched, how.workers, how.base)
    ends = np.cumsum([0, *map(len, found)])
    for k, component in enumerate(found):
        if how.part and not component.constraint.is_local:
            continue
        is_free = tilt.rules is None and how.base is None and component.constraint.on != "all"
        if not is_free or tilt.structure.has_edges:
            extremes.check(component, offset[ends[k] : ends[k + 1]])
    return {"tilt": tilt, "shares": shares}


def _side_by_side(found: list[sparse.csr_array], sample: Sample) -> sparse.csr_array:
    empty = sparse.csr_array((len(sample.structure), 0))
    return sparse.csr_array(sparse.hstack([empty, *found], format="csr"))


def _warn_idle_words(constraint: Constraint, sample: Sample) -> None:
    """Words that occur nowhere, in a condition that fires thanks to others, are probably misspelt: one warning."""
    if constraint.given is None or not constraint.given.parts:
        return
    absent = [leaf for leaf in constraint.given.leaves if leaf.words and not leaf.fires(sample.inputs).any()]
    if not absent:
        return
    title, several = sample.title(constraint), len(absent) > 1
    found = next(((leaf, hint) for leaf in absent if (hint := leaf.hint(sample.inputs))), None)
    verb = "occur" if several else "occurs"
    guess = "." if found is None else f"; for {found[0]!r} {found[1]}" if several else f"; {found[1]}"
    warn_user(
        f"The constraint {title!r} also names {listed(absent)}, which {verb} nowhere{guess}",
        InactiveConstraintWarning,
        constraint=title,
    )


def _warn_inactive(constraint: Constraint, sample: Sample) -> None:
    inputs, where = sample.inputs, constraint.where
    if not len(sample.structure):
        why = f"there is no {sample.noun}"
    elif not np.any(sample.unlabelled):
        why = f"every {sample.noun} has a label, so there is nothing left to decide"
    elif where is not None and where.fires(inputs).any():
        why = f"its condition fires on labelled {sample.noun}s only"
        if sample.structure.has_edges:
            why = "its condition fires on labelled tokens only, or where the event cannot happen"
    elif where is None:
        why = "its event cannot happen here"
    else:
        hint = where.hint(inputs)
        why = "its condition never fires on this data" + (f"; {hint}" if hint else "")
    end = "" if why.endswith("?") else "."
    title = sample.title(constraint)
    warn_user(f"The constraint {title!r} is inactive: {why}{end}", InactiveConstraintWarning, constraint=title)
