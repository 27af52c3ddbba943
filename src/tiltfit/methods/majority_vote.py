"""Majority vote: read constraints as labelling rules, the simple method that projections are compared with.

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

A constraint without a condition (a class proportion) says nothing about a single row and never votes.
A row without votes abstains, and so does a row on which two labels share the lead. Targets decide only *whether* a
constraint votes: 0.6 and 0.95 count alike, which is what the projections do better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tiltfit.data.inputs import Inputs
from tiltfit.errors import DataError
from tiltfit.language.constraint import Constraint, ConstraintSet
from tiltfit.language.relations import AtMost, DistributedAs
from tiltfit.language.values import Label, match
from tiltfit.projections.grounding import refuse_for_documents

ABSTAIN = -1
_TIE = 1e-9  # votes are sums of 1/|event|: thirds that should be equal differ in the last bits


@dataclass(frozen=True, eq=False)
class Votes:
    """``counts``: rows × classes. ``winner``: the class number with most votes, or −1 where the row abstains."""

    counts: npt.NDArray[np.float64]
    winner: npt.NDArray[np.intp]

    @property
    def decided(self) -> npt.NDArray[np.bool_]:
        """The rows that have a winner."""
        return np.asarray(self.winner != ABSTAIN)


def majority_vote(
    constraints: ConstraintSet | Sequence[Constraint], inputs: Inputs, classes: Sequence[object]
) -> Votes:
    """Let every constraint vote on every row where it fires.

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
    counts = np.zeros((inputs.n, len(names)))
    for constraint in said:
        refuse_for_documents(constraint)
        elected = _elected(constraint)
        if constraint.given is None or not elected:
            continue
        columns = [match(label, names) for label in elected]
        counts[np.ix_(constraint.given.fires(inputs), columns)] += 1 / len(columns)  # type: ignore[arg-type]
    return Votes(counts, _winner(counts))


def _elected(constraint: Constraint) -> tuple[Label, ...]:
    """The labels that the constraint votes for where it fires; none if it does not vote."""
    relation = constraint.relation
    if isinstance(relation, DistributedAs):
        return tuple(label for label, share in relation.shares if share > 0.5)
    if isinstance(relation, AtMost):
        return ()
    stated = sum(relation.numbers) / len(relation.numbers)
    return constraint.event.names if stated > 0.5 else ()


def _winner(counts: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
    lead = counts.max(axis=1, initial=0.0)
    leaders = (counts >= lead[:, None] - _TIE).sum(axis=1)
    return np.where((lead > 0) & (leaders == 1), counts.argmax(axis=1), ABSTAIN)
