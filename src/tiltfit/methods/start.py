"""Starting points: the objective is not convex in λ, so the start decides which stationary point is found.

``zeros``        p is q₀ (uniform) everywhere
``supervised``   the fit to the labelled rows alone
``constraints``  one moment projection onto q at λ = 0: what the constraints say, before the model says anything
``squares``      the fit with a square in place of every bounded pull: it pulls the harder the further a statement is
                 from its target, so that no class is given up at the start, where all statements are far from theirs
``random``       normal weights of standard deviation 0.1

A generative model starts from posteriors: uniform ones (``zeros``), those of the labelled rows or of all that labels
and constraints say, or those of random weights. Weights of 0.1 would be next to the saddle where all classes are alike,
so that these are large enough to tell rows apart: scores of mean 0 and standard deviation 1 over all rows.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.errors import DataError
from tiltfit.methods.alternating_projections import moment_target
from tiltfit.methods.expectation_maximization import Halves
from tiltfit.methods.joint import solve_jointly
from tiltfit.methods.method import Run
from tiltfit.methods.problem import Problem
from tiltfit.models.model import linear
from tiltfit.projections.moment import moment_projection

STARTS = ("zeros", "supervised", "constraints", "squares", "random")
_SPREAD = 0.1


def default_start(kind: str, problem: Problem) -> str:
    """The start by default: ``kind``, the method's own, where it is possible and suits the model."""
    if problem.model.closed_form is not None:
        return "constraints" if _is_told(problem) else "random"
    if problem.model.linear is None:  # weights of zero may be a saddle
        return "random"
    if (
        kind == "auto"
        and not problem.model.structure.has_edges
        and problem.tilt is not None
        and problem.tilt.is_bounded
    ):
        # With 294 words of 20 newsgroups "zeros" ends at a higher objective, and eight of the twenty classes have no
        # document left. Sequences do no better with squares (docs/defaults.md).
        return "squares"
    if kind == "auto":
        # Chosen on development citations, where it matters with statements about changes of label alone; documents do
        # no better from their labels (docs/semi-supervised.md, which also has a case against it).
        kind = "supervised" if problem.model.structure.has_edges and problem.tilt is not None else "zeros"
    return "zeros" if kind == "supervised" and not len(problem.labelled) else kind


def starting_point(kind: str, problem: Problem, rng: np.random.Generator, tol: float) -> FloatArray:
    """The weights to start from."""
    if problem.model.closed_form is not None:
        return _posteriors(kind, problem, rng)
    zeros = np.zeros(problem.model.n_weights)
    if kind == "zeros":
        return zeros
    if kind == "squares":
        return _squared(problem, tol)
    if kind == "random":
        return _SPREAD * rng.normal(size=len(zeros))
    linear(problem.model, f"init={kind!r}")
    problem = _labelled(problem) if kind == "supervised" else problem.active
    now = problem.evaluate(zeros, None, 1e-6)
    moments = partial(problem.model.moments, weight=problem.omega)
    target, _ = moment_target(problem, zeros, now)
    arrived = problem.plateau(tol).reached
    return moment_projection(
        moments, target, problem.alpha, zeros, arrived=arrived, units=problem.units, max_iter=200
    ).x


def _squared(problem: Problem, tol: float) -> FloatArray:
    """The fit with squares, and with all weights penalised alike: a free intercept gives up classes that few rows have
    before their words have been learned."""
    tilt = None if problem.tilt is None else problem.tilt.squared()
    alpha = np.full_like(problem.alpha, np.max(problem.alpha, initial=0.0))
    problem = replace(problem, tilt=tilt, alpha=alpha)
    return solve_jointly(problem, np.zeros(problem.model.n_weights), Run(tol=tol)).weights


def _posteriors(kind: str, problem: Problem, rng: np.random.Generator) -> FloatArray:
    """Weights of a generative model, or any others whose p(y|x) are the posteriors to start from."""
    zeros = np.zeros(problem.model.n_weights)
    if kind == "random":
        return _telling_apart(problem, rng)
    if kind == "supervised":
        return Halves(_labelled(problem)).fit(problem.known_moments())
    if not _is_told(problem):
        raise DataError(
            f"init={kind!r} gives all classes the same parameters, since there is neither a label nor a constraint to "
            "tell them apart, and EM cannot leave that point. Use init='random'."
        )
    if kind == "zeros":
        return zeros
    halves = Halves(problem.active)
    return halves.fit(halves.expect(zeros).counts)


def _telling_apart(problem: Problem, rng: np.random.Generator) -> FloatArray:
    """Normal weights of attributes, so moved and scaled that the scores of every label have mean 0 (an attribute that
    is everywhere would give all rows to one class) and those of all labels a standard deviation of 1; transitions of
    0."""
    features, structure = linear(problem.model, "init='random'").features, problem.model.structure
    n_labels, n_positions = features.n_labels, int(structure.last[-1]) + 1
    mean = features.expect(np.full((n_positions, n_labels), 1 / n_positions), structure.edge_zeros(n_labels))
    n = features.nodes.n_weights
    table, occurring = rng.normal(size=(n // n_labels, n_labels)), mean[:n].reshape(-1, n_labels)[:, 0]
    table -= np.outer(occurring, occurring @ table) / (occurring @ occurring)
    weights = np.zeros(len(mean))
    weights[:n] = table.ravel()
    spread = float(np.std(features.score(weights).node))
    return weights / spread if spread > 0 else weights


def _is_told(problem: Problem) -> bool:
    """True if labels or constraints tell classes apart."""
    return problem.tilt is not None or bool(len(problem.labelled))


def _labelled(problem: Problem) -> Problem:
    if not len(problem.labelled):
        raise DataError("init='supervised' needs labelled rows, but y has none. Use init='constraints'.")
    return problem.take(problem.labelled)
