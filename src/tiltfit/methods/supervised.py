"""The labelled data alone: ``method="supervised"``.

    min_λ  Σ_labelled −log p_λ(y|x) + ½·α‖λ‖²

The first two terms of Eq. 6: what alternating projections add is the third. Constraints are not used; the report shows
how far the model is from them. A generative model has p(x, y) in the place of p(y|x) and its prior in the place of the
ridge: then the weights are shares of counts (``models.generative``).
"""

from __future__ import annotations

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.errors import DataError
from tiltfit.methods.evidence import with_report
from tiltfit.methods.expectation_maximization import Halves
from tiltfit.methods.history import Fit, Journal, Round
from tiltfit.methods.joint import solve_jointly
from tiltfit.methods.method import Method, Run, Training, final_evaluation
from tiltfit.methods.problem import Problem
from tiltfit.optimize.result import Stop


def fit(training: Training, start: FloatArray, run: Run) -> Fit:
    """Fit the model to the labelled instances."""
    if training.problem.model.closed_form is not None:
        return _closed_form(training, run)
    return with_report(training, solve_jointly(labelled_part(training.problem, "supervised"), start, run))


def _closed_form(training: Training, run: Run) -> Fit:
    halves = Halves(labelled_part(training.problem, "supervised"))
    counts = halves.expect(np.zeros(len(training.problem.alpha))).counts
    weights = halves.fit(counts)
    value = halves.cost(weights, counts)
    journal = Journal(run.callback, run.development)
    journal.add(Round.undivided(1, run.max_iter, value, gradient=0.0, evaluations=1), weights)
    final = final_evaluation(training.problem, weights, value, weights[:0])
    return journal.finished(journal.settle(weights), final, Stop.CLOSED_FORM, learned_from=False)


def labelled_part(problem: Problem, method: str) -> Problem:
    """The problem on the labelled instances; raises if none has weight."""
    if not np.any(problem.weight[problem.labelled] > 0):
        raise DataError(f"method={method!r} learns from labels, but no instance of y is labelled. Use method='ap'.")
    return problem.take(problem.labelled)


METHOD = Method(
    "supervised",
    "the labelled data alone",
    fit,
    trains=("conditional", "generative", "scores"),
    constraints="reported",
    inference=("exact", "sampled"),
)
