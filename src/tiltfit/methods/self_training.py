"""Self-training: the model's own surest labels, taken for true: ``method="self_training"``.

    L ← ∅;  repeat:  λ ← argmin_λ Σ_labelled −log p_λ(y|x) + γ·Σ_{i ∈ L} −log p_λ(ŷ_i|x_i) + ½·α‖λ‖²
                     L ← {unlabelled i : s_i ≥ threshold},  ŷ_i = argmax_y p_λ(y|x_i)

until L and its labels no longer change, or ``max_rounds`` times. How sure: s_i = p_λ(ŷ_i|x_i), for sequences to the
power of one over their length, a geometric mean over tokens, so that long ones have a chance. Sequences are labelled
wholly or not at all; what y says of a part of one, and a set in y, hold throughout.

Alternating projections take the model's own opinion of unlabelled instances as far as the constraints leave it, with
its doubts. Here doubts below 1 − threshold are forgotten, mistakes among the surest are learned as if they were labels,
and constraints are not used: the report shows how far the model is from them. (Scudder 1965; Yarowsky 1995.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tiltfit.arrays import BoolArray, FloatArray, IntArray
from tiltfit.errors import DataError
from tiltfit.inference.potentials import Potentials
from tiltfit.methods.evidence import only, said_by_labels, with_report, with_rules
from tiltfit.methods.history import Fit, Round
from tiltfit.methods.joint import solve_jointly
from tiltfit.methods.method import Method, Run, Training
from tiltfit.methods.problem import Problem
from tiltfit.methods.refusals import check_number, check_whole, more_rounds
from tiltfit.optimize.result import Stop


@dataclass(frozen=True)
class Options:
    """``threshold``: how sure the model must be of a label. ``max_rounds``: it is refitted at most so often."""

    threshold: float = 0.9
    max_rounds: int = 20

    def __post_init__(self) -> None:
        check_number("threshold", self.threshold, "a probability above 0, at most 1", high=1.0, above=True)
        check_whole("max_rounds", self.max_rounds)


def fit(training: Training, start: FloatArray, run: Run) -> Fit:
    """Fit, label, refit."""
    problem, known, options = training.problem, said_by_labels(training), run.options
    if not len(problem.labelled) and not known.any():
        raise DataError("method='self_training' starts from labels, but no instance of y has one. Use method='ap'.")
    found, settled = _refit(problem, known, start, run, ()), False
    labels = np.full(len(problem.labels), -1, dtype=np.intp)
    for _ in range(options.max_rounds):
        if found.stop is Stop.CALLBACK:
            break
        last, labels = labels, surest(problem, known, found.weights, options.threshold)
        settled = np.array_equal(labels, last)
        if settled:
            break
        ruled_out, at = known.copy(), np.flatnonzero(labels >= 0)
        only(labels[at], at, ruled_out)
        found = _refit(problem, ruled_out, found.weights, run, found.history)
    if not settled and found.stop is not Stop.CALLBACK:
        details = {**found.details, "rounds": options.max_rounds}
        found = replace(found, stop=Stop.UNSTABLE, details=details, advice=more_rounds(options.max_rounds))
    return with_report(training, found)


def surest(problem: Problem, known: BoolArray, weights: FloatArray, threshold: float) -> IntArray:
    """ŷ at every position of the unlabelled instances whose s reaches the threshold, −1 elsewhere."""
    structure, model = problem.model.structure, problem.model
    potentials = model.potentials(weights)
    allowed = Potentials(np.where(known, -np.inf, potentials.node), potentials.edge)
    best, score = structure.best(allowed, model.workers)
    log_z = structure.infer(allowed, model.workers).log_z
    length = np.bincount(np.asarray(structure.spread(np.arange(len(structure))), dtype=np.intp))
    sure = score - log_z >= length * np.log(threshold)
    sure[problem.labelled] = False
    return np.where(structure.spread(sure), best, -1)


def _refit(problem: Problem, ruled_out: BoolArray, start: FloatArray, run: Run, before: tuple[Round, ...]) -> Fit:
    """Fit to labels and to what is left of the others; ``before``: the rounds so far, from which counting goes on."""
    callback = run.callback

    def numbered(one: Round) -> bool | None:
        return None if callback is None else callback(replace(one, round=len(before) + one.round))

    found = solve_jointly(with_rules(problem, ruled_out, "y says"), start, replace(run, callback=numbered))
    rounds = (replace(one, round=len(before) + one.round) for one in found.history)
    return replace(found, history=(*before, *rounds))


METHOD = Method(
    "self_training",
    "self-training on the surest labels",
    fit,
    options=Options,
    constraints="reported",
    inference=("exact", "sampled"),
)
