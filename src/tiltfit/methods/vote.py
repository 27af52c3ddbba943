"""Majority vote of the constraints, then the model fitted to what was voted: ``method="vote"``.

    min_λ  Σ_labelled −log p_λ(y|x) + γ·Σ_voted −log p_λ(v|x) + ½·α‖λ‖²

v is the label with most votes; rows without votes, and rows where two labels share the lead, are not used. On sequences
tokens are voted on: v is what is voted in a sequence, and p_λ(v|x) sums over all labels of its other tokens. What y
says wins: a label that is known stays, and labels outside of a set in y get no votes.

Which constraints vote, and for what: ``methods.votes``.

Alternating projections keep the targets: "90 %" is met on average and the model decides which rows are the other 10 %.
Here every vote counts as the label of its row, 0.6 and 0.95 alike. It is common practice for labelling rules, and what
label models (``method="label_model"``; Ratner, De Sa, Wu, Selsam & Ré 2016) are compared with.
"""

from __future__ import annotations

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.errors import DataError
from tiltfit.language.constraint import ConstraintSet
from tiltfit.methods.evidence import only, said_by_labels, with_report, with_rules
from tiltfit.methods.history import Fit
from tiltfit.methods.joint import solve_jointly
from tiltfit.methods.method import Method, Run, Training
from tiltfit.methods.votes import Votes, elect


def fit(training: Training, start: FloatArray, run: Run) -> Fit:
    """Fit the model to the votes and to what labels there are."""
    return with_report(training, follow(training, start, run))


def follow(training: Training, start: FloatArray, run: Run) -> Fit:
    """The same without a look at the constraints afterwards."""
    votes = votes_of(training, "vote")
    ruled_out = said_by_labels(training)
    winner = elect(np.where(ruled_out, 0.0, votes.counts))
    at = np.flatnonzero((winner >= 0) & (training.problem.labels < 0))
    if not len(at):
        raise nothing_voted(training, "vote")
    only(winner[at], at, ruled_out)
    said = with_rules(training.problem, ruled_out, "is voted", said_by_labels(training))
    return solve_jointly(said, start, run)


def votes_of(training: Training, method: str) -> Votes:
    """The votes to learn from; raises if nobody votes, or if there is nothing to vote on."""
    assert training.votes is not None
    if not len(training.votes.source) or np.all(training.problem.labels >= 0):
        raise nothing_voted(training, method)
    return training.votes


def nothing_voted(training: Training, method: str) -> DataError:
    """The error for data on which nothing is voted."""
    if np.all(training.problem.labels >= 0):
        return DataError(
            f"method={method!r} lets constraints vote on unlabelled data, but all of it is labelled. Use "
            "method='supervised'."
        )
    if not len(training.grounded.constraints):
        return DataError(f"method={method!r} learns from votes of constraints, but there are none. State some.")
    return DataError(
        f"method={method!r} learns from votes, but no constraint votes on an unlabelled instance: it votes where its "
        "condition (given=) fires, if it expects more than half there to have its labels. Use method='ap'."
    )


def roles(_: ConstraintSet, votes: Votes | None, __: object) -> dict[int, str]:
    """Constraints on single positions vote; the others have no say."""
    return {} if votes is None else dict.fromkeys(votes.source.tolist(), "votes")


METHOD = Method(
    "vote",
    "majority vote of the constraints",
    fit,
    needs=("votes",),
    constraints="reported",
    roles=roles,
    inference=("exact", "sampled"),
)
