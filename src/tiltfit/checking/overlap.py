"""Where constraints meet: documents or tokens on which several point to a label, and whether to the same one.

A constraint points where its condition fires, if it expects more than half there to have its labels (as it votes,
``methods.majority_vote``). Two dispute a position if they both point there and no label would please both:

    Jaccard(a, b) = |a fires and b fires| / |a fires or b fires|
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tiltfit.checking.data import Data
from tiltfit.language.constraint import ConstraintSet
from tiltfit.methods.majority_vote import majority_vote

_EXAMPLES = 3
_LENGTH = 60  # characters of an example


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
    votes = majority_vote([constraints[k] for k in usable], data.scene.inputs, data.scene.classes)
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
        shown = tuple((int(i), _shown(data, int(i))) for i in both[:_EXAMPLES])
        found.append(Dispute(int(number[a]), int(number[b]), n, n / float(size[a] + size[b] - n), shown))
    voices = np.asarray(np.diff(votes.fires.indptr))
    ordered = sorted(found, key=lambda d: (-d.overlap, -d.jaccard, d.first, d.second))
    return Overlap(int(np.sum(voices > 0)), int(np.sum(voices > 1)), int(disputed.sum()), tuple(ordered))


def _shown(data: Data, i: int) -> str:
    """A position as people would recognise it: its text, or a token among its neighbours."""
    scene = data.scene
    if not data.is_sequences:
        return _cut(str(scene.inputs.row(i)))
    same = np.flatnonzero(scene.instance == scene.instance[i])
    near = [j for j in range(i - 2, i + 3) if same[0] <= j <= same[-1]]
    return _cut(" ".join(f"[{scene.inputs.row(j)}]" if j == i else str(scene.inputs.row(j)) for j in near))


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LENGTH else line[: _LENGTH - 1].rstrip() + "…"
