"""Alternating projections (Bellare, Druck & McCallum 2009): ``method="ap"``.

    min_λ  Σ_labelled −log p_λ(y|x) + ½·α‖λ‖² + γ·min_q [Σ_unlabelled D(q‖p_λ) + U(m(q))]                     (Eq. 6)

``solver``: ``alternating`` is the paper's algorithm, ``joint`` eliminates q, ``sgd`` takes one stochastic pass per
round, ``auto`` is the fastest one that can solve the problem. Where q can only be sampled, it alternates. With a
generative model this is posterior regularization (``posterior_regularization``), which alternates in closed form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tiltfit.arrays import FloatArray
from tiltfit.errors import UnsupportedError
from tiltfit.methods.alternating import alternate, alternate_sampled
from tiltfit.methods.descent import alternate_descending
from tiltfit.methods.history import Fit
from tiltfit.methods.joint import solve_jointly
from tiltfit.methods.method import Case, Method, Run, Training
from tiltfit.methods.posterior_regularization import regularize
from tiltfit.methods.problem import Problem
from tiltfit.models.registry import MODELS
from tiltfit.optimize.result import Stop

SOLVERS: dict[str, Callable[[Problem, FloatArray, Run], Fit]] = {
    "alternating": alternate,
    "joint": solve_jointly,
    "sgd": alternate_descending,
}

MISS = 0.01
"""Where hard constraints contradict each other, one that is missed by so much pulls with one log-odds per event."""


def fit(training: Training, start: FloatArray, run: Run) -> Fit:
    """Minimise Eq. 6 from ``start``.

    Where hard constraints contradict each other Eq. 6 has no minimum, and its solvers may stop anywhere. It is then
    solved once more with enough slack for them to be missed by little, which has a minimum. (For a sampled q, a
    contradiction cannot be told from noise.)
    """
    problem, tilt = training.problem, training.problem.tilt
    solve = SOLVERS["joint" if run.solver == "auto" else run.solver]
    if problem.model.closed_form is not None:
        solve = regularize
    elif problem.is_sampled and run.solver != "sgd":
        solve = alternate_sampled
        if run.solver == "joint":
            raise UnsupportedError(
                "solver='joint' needs the value of the objective, which is not known where q is sampled. Use "
                "solver='auto' (it alternates), or inference='exact'."
            )
    found = solve(problem, start, run)
    if found.converged or found.projection is None or tilt is None or problem.is_sampled:
        return found
    if found.stop is Stop.CALLBACK or not tilt.misses_hard(found.projection.violation, by=MISS / 2):
        return found
    return replace(solve(replace(problem, tilt=tilt.softened(MISS)), start, run), softened=True)


def _refuse_free_weights(case: Case) -> None:
    kind = MODELS[case.model]
    if not kind.linear and case.solver in ("alternating", "online"):
        raise UnsupportedError(
            f"solver={case.solver!r} needs scores that are linear in the weights, which those of model={case.model!r} "
            "are not. Use solver='joint'."
        )
    if kind.generative and case.solver == "online":
        raise UnsupportedError(
            f"model={case.model!r} cannot learn online: its weights follow from counts of all data. Use fit with "
            f"another solver, or model={'crf' if case.unit == 'tokens' else 'maxent'!r}."
        )
    if kind.generative and case.solver not in ("auto", "alternating"):
        raise UnsupportedError(
            f"solver={case.solver!r} moves weights freely, but those of model={case.model!r} are log-probabilities, "
            "which expected counts give in closed form. Use solver='alternating'."
        )


METHOD = Method(
    "ap", "alternating projections", fit, refuse=_refuse_free_weights, solvers=("auto", *SOLVERS, "online"),
    trains=("conditional", "generative"),
)  # fmt: skip
