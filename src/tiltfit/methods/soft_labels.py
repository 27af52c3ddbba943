"""Fitting a classifier to soft labels: one moment projection with q given (Eq. 9).

min_λ  Σ_labelled −w log p_λ(y|x) + γ·Σ_soft −w Σ_y q(y) log p_λ(y|x) + ½·α‖λ‖²
"""

from __future__ import annotations

import numpy as np

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.methods.evidence import with_report
from tiltfit.methods.history import Fit, Round
from tiltfit.methods.journal import Journal
from tiltfit.methods.method import Run, Task
from tiltfit.methods.problem import Evaluation, Problem
from tiltfit.optimize.lbfgs import minimise
from tiltfit.optimize.measure import steepest
from tiltfit.projections.moment import moment_objective


def fit_soft_labels(task: Task, q: FloatArray, soft: IntArray, start: FloatArray, run: Run) -> Fit:
    """Fit to the labelled rows and to ``q`` (rows × classes) on the rows ``soft``.

    What the model cannot have (``base=`` of 0) is taken out of q; rows of which nothing is left are not used.
    """
    q = q.copy()
    q[task.problem.labelled] = np.eye(q.shape[1])[task.problem.labels[task.problem.labelled]]
    if task.problem.model.base is not None:
        q[np.isneginf(task.problem.model.base.node)] = 0.0
    mass = q.sum(axis=1, keepdims=True)
    keep = np.union1d(task.problem.labelled, soft)
    keep = keep[mass[keep, 0] > 0]
    return with_report(task, _solve(task.problem.take(keep), q[keep] / mass[keep], start, run))


def _solve(problem: Problem, q: FloatArray, start: FloatArray, run: Run) -> Fit:
    """L-BFGS over λ, until max|∇| ≤ tol·max|∇ at 0|."""
    weight, base = problem.omega, problem.model.base
    mass = weight[:, None] * q
    target = problem.model.features.expect(mass)
    constant = 0.0 if base is None else float(np.sum(mass * np.where(np.isneginf(base.node), 0.0, base.node)))
    journal = Journal(run.callback, run.development)
    journal.begin(start)
    evaluations = 0

    def objective(weights: FloatArray) -> tuple[float, FloatArray]:
        nonlocal evaluations
        evaluations += 1
        value, gradient = moment_objective(problem.model.moments(weights, weight), weights, target, problem.alpha)
        return value - constant, gradient

    def progress(number: int, value: float, largest: float, weights: FloatArray) -> bool:
        told = Round(number, run.max_iter, value, value, value, 0.0, 0.0, largest, evaluations)
        return journal.add(told, weights)

    limit = run.tol * steepest(objective(np.zeros(len(start)))[1])
    found = minimise(
        objective, start, gradient_tol=max(limit, 1e-12 * float(weight.sum())), max_iter=run.max_iter,
        progress=progress, workers=problem.model.workers,
    )  # fmt: skip
    kept = journal.settle(found.x)
    converged, message = found.converged, found.message
    if journal.reason is not None:
        converged, message = journal.is_enough, journal.reason
    value, gradient = objective(kept)
    return journal.finished(kept, Evaluation(value, gradient, None), converged, message)
