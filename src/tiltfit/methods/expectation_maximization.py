"""Expectation maximisation: ``method="em"``, for generative models.

    min_λ  Σ_labelled w·(−log p_λ(x, y)) + γ·Σ_unlabelled w·(−log p_λ(x)) − log prior(λ)

What alternating projections on a generative model are without constraints (``posterior_regularization``): q = p, and
each round fits the model to its own posteriors (Dempster, Laird & Rubin 1977; of labelled and unlabelled documents:
Nigam, McCallum, Thrun & Mitchell 2000). Without labels the classes are clusters, in no particular order.
"""

from __future__ import annotations

from tiltfit.arrays import FloatArray
from tiltfit.errors import UnsupportedError, listed
from tiltfit.language.sentences import titled
from tiltfit.methods.history import Fit
from tiltfit.methods.method import Case, Method, Run, Training
from tiltfit.methods.posterior_regularization import regularize


def fit(training: Training, start: FloatArray, run: Run) -> Fit:
    """Minimise from ``start``."""
    return regularize(training.problem, start, run)


def _refuse_constraints(case: Case) -> None:
    if len(case.constraints):
        raise UnsupportedError(
            f"method='em' takes no constraints, but there are {len(case.constraints)}: "
            f"{listed(titled(c, case.unit) for c in case.constraints)}. Leave them out, or use method='ap', which is "
            "EM under constraints (posterior regularization)."
        )


def _conditional(generative: str) -> str:
    return (
        "it says nothing of x, so that without constraints it learns nothing from unlabelled data. Use "
        f"model={generative}, or method='entropy'."
    )


METHOD = Method(
    "em",
    "expectation maximisation",
    fit,
    why_not={"maxent": _conditional("'naive_bayes'"), "crf": _conditional("'hmm'")},
    refuse=_refuse_constraints,
    solvers=("auto", "alternating"),
    trains=("generative",),
    constraints="refused",
    unaided=True,
)
