"""The labelled data alone: ``method="supervised"``.

    min_λ  Σ_labelled −log p_λ(y|x) + ½·α‖λ‖²

The first two terms of Eq. 6: what alternating projections add is the third. Constraints are not used; the report tells
how far the model is from them.
"""

from __future__ import annotations

from tiltfit.errors import DataError
from tiltfit.methods.history import Fit
from tiltfit.methods.joint import solve_jointly
from tiltfit.methods.journal import Journal
from tiltfit.methods.method import FloatArray, Method, Run, Task, final_evaluation
from tiltfit.methods.problem import Problem


def fit(task: Task, start: FloatArray, run: Run) -> Fit:
    """Fit the model to the labelled instances."""
    found = solve_jointly(
        labelled_part(task.problem, "supervised"), start, max_iter=run.max_iter, tol=run.tol, callback=run.callback,
        development=run.development,
    )  # fmt: skip
    final = final_evaluation(task.problem, found.weights, found.objective, start[:0])
    journal = Journal()
    journal.rounds.extend(found.history)
    return journal.finished(found.weights, final, found.converged, found.message)


def labelled_part(problem: Problem, method: str) -> Problem:
    """The problem on the labelled instances; raises if there are none."""
    if not len(problem.labelled):
        raise DataError(f"method={method!r} learns from labels, but no instance of y is labelled. Use method='ap'.")
    return problem.take(problem.labelled)


METHOD = Method("supervised", "the labelled data alone", fit)
