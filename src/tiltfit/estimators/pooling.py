"""Two views of the same rows, fitted apart and pooled (``words+sentences``).

    λ = a_w·λ_w + a_v·λ_v,   p ∝ p_w^a_w · p_v^a_v,      a ∝ κ²,  a_w + a_v = 1,      κ = (g − 1/L)/(1 − 1/L)

λ_w minimises Eq. 6 with the columns of words alone, λ_v with those of vectors alone, each times its sharpness. With all
columns in one fit, the words that statements name explain them, and little is left for vectors to learn. Apart, each
view errs in its own way, and p is sure where both are: a logarithmic opinion pool (Heskes, 1998).

What a view is worth is seen without labels: g is the share of touched documents that keep their class under q without
what the view has learned from them (``methods.sharpness``), κ how far that is above chance. A view that cannot tell a
document by the others has nothing to say. Of κ⁰, κ, κ² and κ⁴, κ² was chosen on development parts
(``docs/howto/embeddings.md``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy import sparse

from tiltfit.arrays import BoolArray
from tiltfit.features.attributes import AttributeFeatures
from tiltfit.methods.history import CLOSE, Fit
from tiltfit.methods.method import Training
from tiltfit.methods.problem import Problem
from tiltfit.methods.sharpness import HeldOut, Sharpness
from tiltfit.models.log_linear import LogLinear
from tiltfit.models.model import linear

POWER = 2.0  # of κ


def fit_apart(
    training: Training,
    is_vector: BoolArray,
    solve: Callable[[Training], Fit],
    sharpness: Callable[[Problem, Fit, bool], Sharpness],
) -> Fit:
    """The pooled fit. ``is_vector``: of every column; ``sharpness(problem, fit, words)``: that of one view.

    The objective is the mean of both, and the rounds of one follow those of the other.
    """
    problem, fits, skills = training.problem, [], []
    model = linear(problem.model, "A fit of views apart")
    for is_words, columns in ((True, ~is_vector), (False, is_vector)):
        part = replace(problem, model=_only(model, columns))
        fit = solve(replace(training, problem=part))
        skills.append(_skill(part, fit))
        fits.append(replace(fit, weights=fit.weights * sharpness(part, fit, is_words).positions))
    words, vectors = fits
    share = _share(*skills)
    weights = (1 - share) * words.weights + share * vectors.weights
    projection = words.projection
    if projection is not None:
        projection = problem.evaluate(weights, projection.start, CLOSE, told=True).projection
    last = next((fit for fit in fits if not fit.converged), vectors)
    later = tuple(replace(done, round=done.round + len(words.history)) for done in vectors.history)
    return replace(
        last,
        weights=weights,
        projection=projection,
        objective=float(np.mean([fit.objective for fit in fits])),
        history=words.history + later,
        softened=any(fit.softened for fit in fits),
        note=f"words and vectors were fitted apart and pooled, with {1 - share:.0%} and {share:.0%} of the say",
    )


def _skill(problem: Problem, fit: Fit) -> float:
    """κ of a fit; 0 where it is not known."""
    held = HeldOut.of(problem, fit.weights, fit.projection)
    chance = 1 / problem.model.n_labels
    return 0.0 if held is None else max(0.0, (held.agreement - chance) / (1 - chance))


def _share(words: float, vectors: float) -> float:
    """a_v of two κ; one half where neither is above chance."""
    return vectors**POWER / (words**POWER + vectors**POWER) if words or vectors else 0.5


def _only(model: LogLinear, columns: BoolArray) -> LogLinear:
    """The model on these columns: the others are empty, so that weights keep their places."""
    nodes = model.features.nodes
    assert isinstance(nodes, AttributeFeatures)
    X = sparse.csr_array(nodes.X)
    kept = columns[X.indices]
    ends = np.concatenate([[0], np.cumsum(kept)])[X.indptr]
    return replace(model, features=replace(nodes, X=sparse.csr_array((X.data[kept], X.indices[kept], ends), X.shape)))
