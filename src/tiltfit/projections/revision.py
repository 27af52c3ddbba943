"""Labels revise statements: the Beta posterior of a stated share.

A share u that is stated with the confidence of n₀ observations is the prior Beta(n₀·u, n₀·(1 − u)). If the condition
fires at n places whose labels are known, and the event happens at h of them, then the posterior is
Beta(n₀·u + h, n₀·(1 − u) + n − h), and the target becomes its mean

    u′ = (n₀·u + h) / (n₀ + n)

n and h are weighted like the data. Without labels u′ = u. ``about(u, within=d)`` states the standard deviation d of the
prior, whose variance is u(1 − u)/(n₀ + 1), hence

    n₀ = max(u(1 − u)/d² − 1, 1),      u taken no nearer to 0 or 1 than d, where the variance of a Beta vanishes

and a plain ``about(u)`` has n₀ = 20.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from tiltfit.language.constraint import Constraint
from tiltfit.language.relations import About
from tiltfit.samples.sample import Sample

CONFIDENCE = 20.0
"""n₀ of a plain ``about(u)``: the statement is worth as much as twenty labels where it applies. Of 10, 20 and 40 it
was the best on average over development parts of documents, with 20 to 200 labels."""
_LEAST = 1.0


@dataclass(frozen=True)
class Revision:
    """The share ``stated`` with ``confidence`` n₀, and what labels say: the event happens at ``hits`` of ``places``."""

    stated: float
    confidence: float
    places: float
    hits: float

    @property
    def target(self) -> float:
        """u′, the mean of the posterior."""
        return (self.confidence * self.stated + self.hits) / (self.confidence + self.places)

    @staticmethod
    def of(constraint: Constraint, places: float, hits: float) -> Revision:
        """What these labels make of a statement."""
        assert isinstance(constraint.relation, About)
        return Revision(constraint.relation.target, confidence(constraint.relation), places, hits)


Revisions = Mapping[Constraint, Revision]


def aimed(constraint: Constraint, revisions: Revisions) -> Constraint:
    """The statement that is fitted: with its revised target, or as it was stated."""
    revision = revisions.get(constraint)
    if revision is None:
        return constraint
    assert isinstance(constraint.relation, About)
    return replace(constraint, relation=replace(constraint.relation, target=revision.target))


def confidence(relation: About) -> float:
    """n₀ of a statement."""
    if relation.within is None:
        return CONFIDENCE
    d = min(relation.within, 0.5)
    u = min(max(relation.target, d), 1 - d)
    return max(u * (1 - u) / d**2 - 1, _LEAST)


def is_revised(constraint: Constraint) -> bool:
    """True for ``about`` of the share of an event in the unlabelled data.

    Bounds are what a person insists on. A statement about all data (``on="all"``) counts the labels itself. One per
    group or instance has labels in few groups, a share of another event (``of=``) and a mean number have no Beta.
    """
    return (
        isinstance(constraint.relation, About)
        and constraint.per == "dataset"
        and constraint.on != "all"
        and constraint.of is None
        and not constraint.is_count
        and not constraint.event.whole
    )


def revise(constraints: Iterable[Constraint], sample: Sample) -> dict[Constraint, Revision]:
    """The statements that labels of the sample speak of, with what they say."""
    if np.all(sample.open_positions):
        return {}
    found: dict[Constraint, Revision] = {}
    for constraint in filter(is_revised, constraints):
        places, hits = _counts(constraint, sample)
        if places > 0:
            found[constraint] = Revision.of(constraint, places, hits)
    return found


def _counts(constraint: Constraint, sample: Sample) -> tuple[float, float]:
    """n and h: the weight of the places with known labels where the event could happen, and where it does."""
    fires = sample.fires(constraint.where, constraint)
    looked_at, hits = np.zeros(sample.n, dtype=np.bool_), 0.0
    for term in constraint.event.terms(sample.classes, sample.structure):
        known = term.at & fires & ~sample.is_open(term.on_edges)
        at = np.flatnonzero(known)
        hits += float(sample.position_weight[at] @ term.values(sample.labels, at))
        looked_at |= known
    return float(sample.position_weight[looked_at].sum()), hits
