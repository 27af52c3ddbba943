"""Learning from evidence about single positions: labels that are known in part, guessed, or voted for.

    min_λ  Σ_labelled −w log p_λ(y|x) + γ·Σ_others −w log Σ_y p_λ(y|x)·Π_t e_t(y_t) + ½·α‖λ‖²

e_t(y) ≥ 0 is how well label y agrees with the evidence at position t. Evidence of 0 and 1 says which labels are left,
and the sum is then the probability of what is left: the marginal likelihood of a partly labelled sequence. It is Eq. 6
with rules and without constraints, so the solver is that of alternating projections. Instances without any evidence add
nothing.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
from scipy import sparse

from tiltfit.arrays import BoolArray, FloatArray, IntArray
from tiltfit.errors import TiltfitWarning
from tiltfit.features.constraints import ConstraintFeatures, Parts
from tiltfit.inference.potentials import Potentials
from tiltfit.methods.history import Fit
from tiltfit.methods.method import Training, final_evaluation
from tiltfit.methods.problem import Problem
from tiltfit.penalties.interval import box
from tiltfit.projections.information import Tilt


def said_by_labels(training: Training) -> BoolArray:
    """The labels that y rules out where instances are not labelled completely (positions × classes)."""
    problem, known = training.problem, training.grounded.by_labels
    return np.zeros((len(problem.labels), problem.model.n_labels), dtype=np.bool_) if known is None else known.copy()


def only(labels: IntArray, at: IntArray, ruled_out: BoolArray) -> None:
    """Rule out all but ``labels`` at the positions ``at``."""
    ruled_out[at] = True
    ruled_out[at, labels] = False


def with_rules(problem: Problem, ruled_out: BoolArray, what: str, known: BoolArray | None = None) -> Problem:
    """The problem without its constraints, with these labels ruled out. ``what``: who does so. ``known``: what y rules
    out."""
    return with_evidence(problem, np.where(ruled_out, -np.inf, 0.0), what, known)


def with_evidence(problem: Problem, log_evidence: FloatArray, what: str, known: BoolArray | None = None) -> Problem:
    """The problem without its constraints, with evidence (log e, positions × labels; 0 everywhere: none).

    Of an instance that its evidence and the model together leave no labelling, only what y says (``known``) counts, and
    a warning names ``what``.
    """
    structure = problem.model.structure
    instance = np.asarray(structure.spread(np.arange(len(structure))), dtype=np.intp)
    some = np.unique(instance[np.any(log_evidence != 0, axis=1)])
    touched = some[~problem.is_labelled[some]]
    hopeless = _hopeless(problem, touched, log_evidence, what)
    if len(hopeless):
        at = structure.positions(hopeless)
        log_evidence = log_evidence.copy()
        log_evidence[at] = 0.0 if known is None else np.where(known[at], -np.inf, 0.0)
        told = np.unique(instance[at[np.any(log_evidence[at] != 0, axis=1)]])
        touched = np.setdiff1d(touched, np.setdiff1d(hopeless, told))
    tilt = _tilt(problem, touched, log_evidence) if len(touched) else None
    return replace(problem, tilt=tilt, touched=touched)


def with_report(training: Training, found: Fit) -> Fit:
    """The same fit with q as the projection of its model onto the constraints of ``training``."""
    final = final_evaluation(training.problem, found.weights, found.objective, found.weights[:0])
    return replace(found, projection=final.projection)


def _tilt(problem: Problem, touched: IntArray, log_evidence: FloatArray) -> Tilt:
    """A projection onto nothing but rules."""
    structure, none = problem.model.structure.take(touched), np.empty(0)
    here = log_evidence[problem.model.structure.positions(touched)]
    nothing = Parts(sparse.csr_array((len(here), 0)), np.empty((0, here.shape[1])), np.empty(0, dtype=np.intp))
    return Tilt(
        structure=structure,
        features=ConstraintFeatures(0, nothing),
        penalty=box(none, none),
        weight=problem.weight[touched],
        support=none,
        offset=none,
        workers=problem.model.workers,
        parent=np.arange(structure.n_kinds) if structure.has_edges else None,
        rules=Potentials(here),
    )


def _hopeless(problem: Problem, touched: IntArray, log_evidence: FloatArray, what: str) -> IntArray:
    """Instances whose evidence the model cannot follow: ``base`` or ``valid_only`` forbid it."""
    base = problem.model.base
    if base is None or not len(touched):
        return touched[:0]
    structure = problem.model.structure
    positions = structure.positions(touched)
    here = Potentials(base.node[positions] + log_evidence[positions], base.edge)
    empty = touched[structure.take(touched).impossible(here, problem.model.workers)]
    if len(empty):
        noun, why = ("sequence", "valid_only=True or base=") if structure.has_edges else ("row", "base=")
        warnings.warn(
            f"What {what} on {noun} {empty[0]} (in all: {len(empty)}) cannot be under {why}: not used there.",
            TiltfitWarning,
            stacklevel=2,
        )
    return empty
