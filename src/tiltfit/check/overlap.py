"""Where constraints meet: documents or tokens on which several point to a label, and whether to the same one.

A constraint points where its condition fires, if it expects more than half there to have its labels (as it votes,
``methods.majority_vote``). Two dispute a position if they both point there and no label would please both:

    Jaccard(a, b) = |a fires and b fires| / |a fires or b fires|
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tiltfit.check.data import Data
from tiltfit.language.constraint import Constraint, ConstraintSet
from tiltfit.methods.majority_vote import majority_vote

_EXAMPLES = 3


@dataclass(frozen=True)
class Dispute:
    """Two constraints (by number) that point to different labels on ``overlap`` positions. ``examples``: the first few
    of these, as (position, text)."""

    first: int
    second: int
    overlap: int
    jaccard: float
    examples: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True)
class Overlap:
    """``pointed``: positions where some constraint points to a label; ``shared``: where two or more do; ``disputed``:
    where two of them dispute. ``disputes``: those that meet most often first."""

    pointed: int = 0
    shared: int = 0
    disputed: int = 0
    disputes: tuple[Dispute, ...] = ()


def find_disputes(constraints: ConstraintSet, data: Data, usable: tuple[int, ...]) -> Overlap:
    """Only of the usable constraints."""
    votes = majority_vote([constraints[k] for k in usable], data.sample.inputs, data.sample.classes)
    fires = votes.fires.tocsc()
    number = np.array(usable, dtype=np.intp)[votes.source] if len(usable) else votes.source
    together = (fires.T @ fires).toarray()
    size = together.diagonal()
    apart = (votes.elected.astype(np.intp) @ votes.elected.T) == 0
    disputed = np.zeros(data.n, dtype=np.bool_)
    found: list[Dispute] = []
    for a, b in np.argwhere(np.triu((together > 0) & apart, 1)):
        mine, other = (fires.indices[fires.indptr[k] : fires.indptr[k + 1]] for k in (a, b))
        both = np.intersect1d(mine, other)
        disputed[both] = True
        n = len(both)
        pair = int(number[a]), int(number[b])
        words = [w for k in pair for w in _words(constraints[k])]
        shown = tuple((int(i), data.sample.inputs.excerpt(int(i), words)) for i in both[:_EXAMPLES])
        found.append(Dispute(*pair, n, n / float(size[a] + size[b] - n), shown))
    voices = np.asarray(np.diff(votes.fires.indptr))
    ordered = sorted(found, key=lambda d: (-d.overlap, -d.jaccard, d.first, d.second))
    return Overlap(int(np.sum(voices > 0)), int(np.sum(voices > 1)), int(disputed.sum()), tuple(ordered))


def _words(constraint: Constraint) -> tuple[str, ...]:
    return () if constraint.given is None else constraint.given.words
