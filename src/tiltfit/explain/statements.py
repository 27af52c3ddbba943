"""The constraints at each place: f′(x, y) as tables of labels, and the price that multiplies it.

    q(y|x) ∝ p(y|x)·exp(Σ_k θ_k·f′_k(x, y))

So a statement adds θ_k·(f′_k(x, y) − f′_k(x, y′)) to the log-odds of y against y′: exactly, whatever the others do. A
rule has no finite price: θ = −∞ times what it forbids.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.language.constraint import Constraint, ConstraintSet
from tiltfit.language.event import Term
from tiltfit.language.sentences import titled
from tiltfit.projections.components import Component, components, groups, looked_at
from tiltfit.projections.grounding import Key
from tiltfit.projections.rules import ruled_out
from tiltfit.samples.sample import Sample


@dataclass(frozen=True, eq=False)
class Statement:
    """One expectation of constraint ``number``, called ``name``: its ``feature``, and its price in every instance (0
    where it has none).

    ``label``: the class of a distribution. ``forbidden``: what a rule forbids; then prices are −∞ there.
    """

    number: int
    constraint: Constraint
    name: str
    feature: Component
    price: FloatArray
    label: str | None = None
    forbidden: Component | None = None

    @property
    def title(self) -> str:
        """The title that the report has."""
        return self.name if self.label is None else f"{self.name} [{self.label}]"

    @property
    def counts(self) -> bool:
        """True if it is about a number in a whole instance, not about a share of places."""
        return self.constraint.event.counts and self.constraint.of is None

    @property
    def words(self) -> tuple[str, ...]:
        """The words its condition looks for."""
        return () if self.constraint.given is None else self.constraint.given.words

    def flips(self, labels: IntArray, sample: Sample) -> tuple[IntArray, FloatArray]:
        """Positions t, and f′(labels with y_t = y) − f′(labels) for every label y there; elsewhere it is all 0."""
        feature = self.feature if self.forbidden is None else self.forbidden
        if feature.statistic is not None:
            return _whole_flips(feature, labels, sample)
        found = _flips(feature.terms, labels, len(sample.classes))
        moves = np.any(found[1] != 0, axis=1)
        return found[0][moves], found[1][moves]


def state(
    constraints: ConstraintSet, sample: Sample, prices: Mapping[Key, float], *, local: bool = True
) -> list[Statement]:
    """Every expectation that the constraints state here. ``prices``: by key; one that is missing has
    the price 0. ``local``: with those that are stated for single instances."""
    found = []
    for number, constraint in enumerate(constraints):
        if constraint.is_local and not local:
            continue
        listed = components(number, constraint, sample)
        ruled = ruled_out(listed)
        of_instance, names = groups(constraint, looked_at(listed), sample)
        for feature in listed:
            label = None if feature.target.label is None else str(feature.target.label)
            if ruled is None:
                known = np.array([prices.get((number, feature.target.number, name), 0.0) for name in names])
                price = np.where(of_instance >= 0, np.append(known, 0.0)[of_instance], 0.0)
            else:
                price = np.full(len(sample.structure), -np.inf)
            name = titled(constraint, sample.inputs.unit)
            found.append(Statement(number, constraint, name, feature, price, label, ruled))
    return found


def unknown_only(feature: Component, sample: Sample) -> Component:
    """The feature without the places that y decides (``on="all"``)."""
    return replace(feature, terms=[t.within(sample.is_open(t.on_edges)) for t in feature.terms])


def _flips(found: list[Term], labels: IntArray, n_labels: int) -> tuple[IntArray, FloatArray]:
    places, terms = [np.empty(0, dtype=np.intp)], [np.empty((0, n_labels))]
    for term in found:
        at, table = np.flatnonzero(term.at), term.table
        if not term.on_edges:
            places.append(at)
            terms.append(table[None, :] - table[labels[at], None])
            continue
        before, here = labels[at - 1], labels[at]
        now = table[before, here][:, None]
        places += [at, at - 1]
        terms += [table[before] - now, table.T[here] - now]
    place, number = np.unique(np.concatenate(places), return_inverse=True)
    change = np.zeros((len(place), n_labels))
    np.add.at(change, number.ravel(), np.concatenate(terms))
    return place.astype(np.intp), change


def _whole_flips(feature: Component, labels: IntArray, sample: Sample) -> tuple[IntArray, FloatArray]:
    """A statistic of whole sequences, asked for every label of every token."""
    statistic, n_labels = feature.statistic, len(sample.classes)
    assert statistic is not None
    places, terms = [], []
    for s in np.unique(sample.instance[feature.terms[0].at]):
        positions = sample.structure.positions(np.array([s]))
        here = np.ascontiguousarray(labels[positions])
        for t, position in enumerate(positions):
            change = [statistic.change(here, t, label) for label in range(n_labels)]
            if any(change):
                places.append(position)
                terms.append(change)
    return np.array(places, dtype=np.intp), np.array(terms, dtype=np.float64).reshape(-1, n_labels)
