"""The information projection: tilt the model until the expectations hold (Eq. 8).

    min_q  Σ_j w_j D(q_j ‖ p_j) + U(m(q)),      m_r = (Σ_j w_j E_q[f′_r(x_j, y)] + o_r) / c_r
    max_θ  −Σ_j w_j log Σ_y p_j(y) exp(θ·f′(x_j, y)) − θ·o − U*(−c∘θ)            (its dual)

q_j ∝ p_j·exp(θ·f′), θ = ``prices`` in log-odds per event, c = ``support``, o the share of known labels (``on="all"``).
The gradient of the dual in θ_r is c_r·(∇U*(−c_r θ_r) − m_r): at the optimum the expectation is what the penalty wants.

A penalty whose conjugate has a kink is split into parts (``Penalty.parts``), each with its own variable; the price of a
row is the sum over its parts. Each variable is scaled by the root of its own curvature, about c/4 from log Z (a share's
variance is at most ¼) plus c²U*″ from the penalty, so that one L-BFGS-B run of some ten evaluations is enough.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tiltfit.execution.workers import Workers
from tiltfit.features.constraints import ConstraintFeatures
from tiltfit.inference.independent import infer
from tiltfit.inference.potentials import Marginals, Potentials
from tiltfit.optimize.bounded import minimise_bounded
from tiltfit.penalties.penalty import Penalty

FloatArray = npt.NDArray[np.float64]

MAX_PRICE = 50.0
"""Largest price of a hard constraint. Where hard constraints contradict each other the dual has no maximum; with this
cap it has one, and q misses them by as little as possible in total (the cap is an L1 penalty of slope c·50). A
constraint that can hold needs no such price: odds of e⁵⁰ are beyond any share that is not forbidden outright."""


@dataclass(frozen=True, eq=False)
class Projection:
    """q and what it took: prices (per row), dual variables (per part), D(q‖p) + U by its dual value, and how good it
    is.

    ``divergence`` is Σ w D(q‖p); ``expectation`` is m(q); ``violation`` how far m is from where U is least, per row;
    ``gap`` the duality gap, which is the Fenchel–Young gap of the penalty.
    """

    prices: FloatArray
    duals: FloatArray
    marginals: Marginals
    value: float
    divergence: float
    expectation: FloatArray
    violation: FloatArray
    gap: float
    n_eval: int
    converged: bool


@dataclass(frozen=True, eq=False)
class Tilt:
    """Everything about an information projection but the model: features, penalty, weights, supports, offsets.

    Rows of ``weight`` are the positions on which some constraint fires; elsewhere q = p.
    """

    features: ConstraintFeatures
    penalty: Penalty
    weight: FloatArray
    support: FloatArray
    offset: FloatArray
    workers: Workers

    def expectation(self, node: FloatArray) -> FloatArray:
        """m(q) of a distribution over labels at every position."""
        return (self.features.expect(node * self.weight[:, None]) + self.offset) / self.support

    def at(self, base: Potentials, prices: FloatArray) -> Marginals:
        """q ∝ p·exp(prices·f′); log Z is relative to ``base``."""
        return infer(base + self.features.score(prices), self.workers)


def information_projection(
    tilt: Tilt, base: Potentials, *, start: FloatArray | None = None, tol: float = 1e-6, max_iter: int = 500
) -> Projection:
    """Project ``base`` (log p, −inf where a label is forbidden). ``start``: duals of an earlier projection.

    ``tol`` bounds the projected gradient in scaled variables: about √c·|m − ∇U*| per row.
    """
    part, origin = tilt.penalty.parts()
    support = tilt.support[origin]
    eta_low, eta_high = part.dual_bounds()
    low, high = -eta_high / support, -eta_low / support
    bend = part.curvature_conjugate(np.clip(0.0, eta_low, eta_high))
    low = np.where(bend == 0, np.maximum(low, -MAX_PRICE), low)
    high = np.where(bend == 0, np.minimum(high, MAX_PRICE), high)
    scale = 1 / np.sqrt(support / 4 + support**2 * bend)
    n_rows = len(tilt.penalty)

    def prices_of(duals: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(origin, weights=duals, minlength=n_rows), dtype=np.float64)

    def negative_dual(scaled: FloatArray) -> tuple[float, FloatArray]:
        duals = scaled * scale
        prices = prices_of(duals)
        eta = -support * duals
        marginals = tilt.at(base, prices)
        m = tilt.expectation(marginals.node)
        value = float(tilt.weight @ marginals.log_z) + float(prices @ tilt.offset) + float(np.sum(part.conjugate(eta)))
        gradient = support * (m[origin] - part.grad_conjugate(eta))
        return value, gradient * scale

    first = np.zeros(len(part)) if start is None else start
    found = minimise_bounded(
        negative_dual, first / scale, low / scale, high / scale, gradient_tol=tol, max_iter=max_iter
    )
    duals = found.x * scale
    prices = prices_of(duals)
    marginals = tilt.at(base, prices)
    m = tilt.expectation(marginals.node)
    dual_value = -found.value
    penalty_gap = float(np.sum(part.fenchel_gap(m[origin], -support * duals)))
    divergence = float(prices @ (m * tilt.support - tilt.offset)) - float(tilt.weight @ marginals.log_z)
    return Projection(
        prices=prices,
        duals=duals,
        marginals=marginals,
        value=dual_value,
        divergence=divergence,
        expectation=m,
        violation=tilt.penalty.violation(m),
        gap=penalty_gap,
        n_eval=found.n_eval + 1,
        converged=found.converged,
    )
