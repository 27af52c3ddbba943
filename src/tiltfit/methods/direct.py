"""Objectives that look at the model alone, without any q to be found:

    O(λ) = Σ_labelled w·(−log p_λ(y|x)) + ½‖λ‖²_α + γ·[Σ_partly w·(−log p_λ(what is known|x)) + R(p_λ)]

minimised by one L-BFGS over λ. R is what methods differ in: a penalty on the model's own expectations (generalized
expectation) or its entropy on unlabelled instances. Alternating projections have min_q [D(q‖p_λ) + U(m(q))] there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.errors import DataError
from tiltfit.methods.evidence import said_by_labels, with_rules
from tiltfit.methods.history import Fit, Journal, Round
from tiltfit.methods.method import Run, Training, final_evaluation
from tiltfit.methods.problem import Problem
from tiltfit.optimize.lbfgs import minimise
from tiltfit.projections.moment import add_ridge


@dataclass(frozen=True, eq=False)
class Term:
    """R(p_λ), its gradient, and how far expectations are from where constraints want them."""

    value: float
    gradient: FloatArray
    worst_violation: float = 0.0


def minimise_directly(training: Training, term: Callable[[FloatArray], Term], start: FloatArray, run: Run) -> Fit:
    """Minimise O from ``start``, with R = ``term``."""
    problem, known = training.problem, known_part(training)

    def objective(weights: FloatArray) -> Term:
        more = term(weights)
        gradient = more.gradient
        gradient *= problem.gamma
        value = problem.gamma * more.value
        if known is None:
            value += add_ridge(problem.alpha, weights, gradient)
        else:
            now = known.evaluate(weights, None, 1e-8)
            gradient += now.gradient
            value += now.value
        return Term(value, gradient, more.worst_violation)

    return minimise_objective(training, objective, start, run)


def minimise_objective(training: Training, objective: Callable[[FloatArray], Term], start: FloatArray, run: Run) -> Fit:
    """L-BFGS from ``start`` until O and the labels that the model gives no longer change (``optimize.plateau``). In the
    end q is the projection of the model found."""
    journal = Journal(run.callback, run.development)
    journal.begin(start)
    trials: list[tuple[float, float]] = []  # values and violations since the last accepted step
    evaluations = 0

    def evaluate(weights: FloatArray) -> tuple[float, FloatArray]:
        nonlocal evaluations
        evaluations += 1
        now = objective(weights)
        trials.append((now.value, now.worst_violation))
        return now.value, now.gradient

    def progress(number: int, value: float, slope: float, weights: FloatArray) -> bool:
        # A line search may accept an earlier trial than its last.
        accepted = next(trial for trial in reversed(trials) if trial[0] == value)
        trials[:] = [accepted]
        one = Round.undivided(number, run.max_iter, value, slope, evaluations, worst_violation=accepted[1])
        return journal.add(one, weights)

    problem = training.problem
    found = minimise(
        evaluate,
        start,
        gradient_tol=problem.rounding,
        arrived=problem.plateau(run.tol).reached,
        units=problem.units,
        max_iter=run.max_iter,
        progress=progress,
        workers=problem.model.workers,
    )
    weights = journal.settle(found.x)
    value = found.value if weights is found.x else evaluate(weights)[0]
    final = final_evaluation(problem, weights, value, found.gradient)
    return journal.finished(weights, final, journal.stop or found.stop, learned_from=False)


def unlabelled_part(problem: Problem, method: str) -> IntArray:
    """The instances that are not labelled; raises if none has weight."""
    unlabelled = np.flatnonzero(~problem.is_labelled)
    if not np.any(problem.weight[unlabelled] > 0):
        raise DataError(f"method={method!r} needs unlabelled data, but all of it is labelled. Use method='supervised'.")
    return unlabelled


def known_part(training: Training) -> Problem | None:
    """The problem of the labels alone: labelled instances, and what is known of partly labelled ones. Labels that hard
    constraints rule out are not known: methods that take no constraints would follow some of them."""
    known = with_rules(training.problem, said_by_labels(training), "y says")
    return known.active if len(known.labelled) or len(known.touched) else None
