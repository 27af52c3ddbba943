"""The votes of constraints on the labels of single rows or tokens, for methods that learn from votes.

    votes[i, y] = Σ_k 1[given_k fires at i] · 1[u_k > ½] · 1[y ∈ event_k] / |event_k|

A constraint votes where its condition fires, with one vote shared equally by the labels of its event, if the share u it
states is above one half:

============================  ===========================================================================
``about(u)``, ``exactly(u)``  u
``at_least(u)``               u, the least that it promises
``between(low, high)``        (low + high)/2
``at_most(u)``                never votes: it says what a row is not
``distributed_as({y: u_y})``  votes for the one label whose u_y is above one half, if there is one
============================  ===========================================================================

A constraint without a condition (a class proportion) says nothing about a single row and never votes. On sequences,
rows are tokens: what is about transitions, segments, whole sequences or shares of other events says nothing of a
single token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tiltfit.arrays import BoolArray, FloatArray
from tiltfit.data.inputs import Inputs
from tiltfit.errors import DataError
from tiltfit.language.constraint import Constraint, ConstraintSet
from tiltfit.language.values import match
from tiltfit.projections.grounding import refuse_for_documents

ABSTAIN = -1
_TIE = 1e-9  # votes are sums of 1/|event|: thirds that should be equal differ in the last bits


@dataclass(frozen=True, eq=False)
class Votes:
    """``fires``: rows × sources, 1 where a source votes. ``elected``: sources × classes, the labels it votes for there.
    ``stated``: the share that each promises. ``source``: the numbers of these constraints in their set."""

    fires: sparse.csr_array
    elected: BoolArray
    stated: FloatArray
    source: npt.NDArray[np.intp]

    @cached_property
    def counts(self) -> FloatArray:
        """Rows × classes: the votes of each."""
        shares = self.elected / np.maximum(self.elected.sum(axis=1, keepdims=True), 1)
        return np.asarray(self.fires @ shares, dtype=np.float64)

    @cached_property
    def winner(self) -> npt.NDArray[np.intp]:
        """The class number with most votes, or −1 where the row abstains."""
        return elect(self.counts)

    @property
    def decided(self) -> BoolArray:
        """The rows that have a winner."""
        return np.asarray(self.winner != ABSTAIN)

    @property
    def voted(self) -> BoolArray:
        """The rows on which somebody votes."""
        return np.diff(self.fires.indptr) > 0


def majority_vote(
    constraints: ConstraintSet | Sequence[Constraint], inputs: Inputs, classes: Sequence[object]
) -> Votes:
    """Let every constraint vote on every row, or token, where it fires.

    >>> from tiltfit import expect, word
    >>> from tiltfit.data.inputs import TextInputs
    >>> said = [expect("hockey", given=word("puck")).about(0.9), expect("baseball", given=word("bat")).at_least(0.7)]
    >>> majority_vote(said, TextInputs(["a puck", "a bat", "bat and puck", "a ball"]), ["baseball", "hockey"]).winner
    array([ 1,  0, -1, -1])
    """
    names = list(classes)
    if not names:
        raise DataError("classes is empty: majority_vote needs the labels that can be voted for.")
    said = ConstraintSet.of(constraints)
    said.check_labels(names)
    fires: list[sparse.csc_array] = [sparse.csc_array((inputs.n, 0))]
    found: list[tuple[int, float]] = []
    elected: list[BoolArray] = []
    for number, constraint in enumerate(said):
        if inputs.unit != "tokens":
            refuse_for_documents(constraint)
        labels, share = constraint.promise
        if constraint.given is None or not labels:
            continue
        at = np.asarray(constraint.given.fires(inputs), dtype=np.float64)
        fires.append(sparse.csc_array(at[:, None]))
        elected.append(np.isin(np.arange(len(names)), np.array([match(label, names) for label in labels])))
        found.append((number, share))
    return Votes(
        fires=sparse.csr_array(sparse.hstack(fires, format="csr")),
        elected=np.array(elected, dtype=np.bool_).reshape(len(found), len(names)),
        stated=np.array([share for _, share in found]),
        source=np.array([number for number, _ in found], dtype=np.intp),
    )


def elect(counts: FloatArray) -> npt.NDArray[np.intp]:
    """The column with the highest count in every row; −1 where there is none, or two share the lead."""
    lead = counts.max(axis=1, initial=0.0)
    leaders = (counts >= lead[:, None] - _TIE).sum(axis=1)
    return np.where((lead > 0) & (leaders == 1), counts.argmax(axis=1), ABSTAIN)
