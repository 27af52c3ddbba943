"""Conformance checks that every penalty must pass: convex duality, tested numerically."""

from __future__ import annotations

import numpy as np

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.penalties.penalty import Penalty

_GRID = np.concatenate([-np.geomspace(1e-6, 4, 800)[::-1], [0.0], np.geomspace(1e-6, 4, 800)])


def check_penalty(penalty: Penalty, *, seed: int = 0) -> None:
    """Raise ``AssertionError`` at the first law of convex duality that ``penalty`` breaks.

    - Fenchel–Young: U(m) + U*(η) ≥ η·m, with equality at m = ∇U*(η);
    - U* is the supremum of η·m − U(m) over a grid (never below it);
    - ∇U* and its curvature agree with finite differences;
    - the gradient of U, where it exists, agrees with finite differences;
    - U is the sum of its parts, and each part's conjugate is smooth inside its dual bounds;
    - U is convex, non-negative and zero somewhere;
    - ``times`` multiplies it.

    Write ``check_penalty(MyPenalty(...))`` in the tests of a new penalty.
    """
    rng = np.random.default_rng(seed)
    rows = np.arange(len(penalty), dtype=np.intp)
    for row in rows:
        single = penalty.take(np.array([row], dtype=np.intp))
        many = single.take(np.zeros(64, dtype=np.intp))
        eta = _dual_points(single, rng)
        m = rng.uniform(0.0, 1.0, 64)
        _check_fenchel_young(many, m, eta)
        _check_supremum(single, eta)
        _check_derivatives(many, eta)
        _check_primal_gradient(many, m)
        _check_convex(many, rng)
        _check_multiple(many, m)
    _check_parts(penalty, rng)


def _dual_points(single: Penalty, rng: np.random.Generator) -> FloatArray:
    """64 points inside the dual bounds, at least 1e-3 away from 0 and from the bounds."""
    low, high = (np.clip(b[0], -8.0, 8.0) for b in single.dual_bounds())
    _require(low <= high, "dual_bounds must be an interval", low, high)
    margin = 1e-3 * (high - low)
    eta = rng.uniform(low + margin, high - margin, 64)
    return np.where(np.abs(eta) < 1e-3, np.where(high > 2e-3, 2e-3, -2e-3), eta)


def _check_fenchel_young(many: Penalty, m: FloatArray, eta: FloatArray) -> None:
    slack = many.value(m) + many.conjugate(eta) - eta * m
    _require(np.all(slack >= -1e-9), "Fenchel–Young: U(m) + U*(η) ≥ η·m", slack.min())
    best = many.grad_conjugate(eta)
    gap = many.value(best) + many.conjugate(eta) - eta * best
    _require(np.all(np.abs(gap) <= 1e-9 * (1 + np.abs(eta * best))), "Fenchel–Young equality at ∇U*(η)", gap)
    _require(np.all(many.fenchel_gap(best, eta) <= 1e-8 * (1 + np.abs(eta * best))), "fenchel_gap is 0 there")


def _check_supremum(single: Penalty, eta: FloatArray) -> None:
    for e in eta[:16]:
        attained = single.grad_conjugate(np.array([e]))[0]
        grid = attained + _GRID
        on_grid = single.take(np.zeros(len(grid), dtype=np.intp))
        supremum = np.max(e * grid - on_grid.value(grid))
        exact = single.conjugate(np.array([e]))[0]
        _require(supremum <= exact + 1e-9 * (1 + abs(exact)), "U*(η) is an upper bound of η·m − U(m)", supremum, exact)
        _require(supremum >= exact - 1e-6 * (1 + abs(exact)), "U*(η) is attained", supremum, exact)


def _check_derivatives(many: Penalty, eta: FloatArray) -> None:
    h = 1e-6
    slope = (many.conjugate(eta + h) - many.conjugate(eta - h)) / (2 * h)
    inside = np.isfinite(slope)
    _require(np.allclose(slope[inside], many.grad_conjugate(eta)[inside], rtol=1e-5, atol=1e-6), "∇U* by differences")
    bend = (many.grad_conjugate(eta + h) - many.grad_conjugate(eta - h)) / (2 * h)
    _require(
        np.allclose(bend[inside], many.curvature_conjugate(eta)[inside], rtol=1e-4, atol=1e-5),
        "curvature of U* by differences",
    )


def _check_primal_gradient(many: Penalty, m: FloatArray) -> None:
    grad = many.grad(m)
    if grad is None:
        return
    h = 1e-6
    slope = (many.value(m + h) - many.value(m - h)) / (2 * h)
    _require(np.allclose(slope, grad, rtol=1e-4, atol=1e-4), "∇U by differences", slope, grad)


def _check_multiple(many: Penalty, m: FloatArray) -> None:
    factor = np.geomspace(0.1, 10.0, len(m))
    values = many.value(m)
    same = np.allclose(many.times(factor).value(m), np.where(np.isinf(values), np.inf, factor * values))
    _require(same, "times multiplies U")


def _check_convex(many: Penalty, rng: np.random.Generator) -> None:
    a, b = rng.uniform(-0.5, 1.5, 64), rng.uniform(-0.5, 1.5, 64)
    chord = (many.value(a) + many.value(b)) / 2
    inside = np.isfinite(chord)
    _require(np.all(many.value((a + b) / 2)[inside] <= chord[inside] + 1e-9), "U is convex")
    best = many.grad_conjugate(np.zeros(64))
    _require(np.allclose(many.value(best), 0.0, atol=1e-12), "U is zero at its least point")
    _require(np.all(many.violation(best) <= 1e-12), "no violation at the least point")


def _check_parts(penalty: Penalty, rng: np.random.Generator) -> None:
    part, origin = penalty.parts()
    _require(len(part) == len(origin), "parts: one origin per part")
    for _ in range(16):
        m = rng.uniform(0.0, 1.0, len(penalty))
        total = _sum_by(origin, part.value(m[origin]), len(penalty))
        _require(np.allclose(total, penalty.value(m)), "U is the sum of its parts", total)
    low, high = part.dual_bounds()
    _require(np.all(low <= high), "the dual bounds of every part are an interval")
    kink = (low < 0) & (high > 0)
    at = 1e-9 * np.ones(len(part))
    jump = np.abs(part.grad_conjugate(at) - part.grad_conjugate(-at))[kink]
    _require(np.all(jump <= 1e-6), "every part's conjugate is smooth inside its bounds", jump)


def _sum_by(origin: IntArray, values: FloatArray, n: int) -> FloatArray:
    total = np.zeros(n)
    np.add.at(total, origin, values)
    return total


def _require(law: bool | np.bool_, what: str, *seen: object) -> None:
    if not law:
        raise AssertionError(f"{what}: does not hold{f' (seen {seen})' if seen else ''}.")
