"""The optimiser against closed forms, SciPy, and functions that make a line search fail."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, rosen, rosen_der

from tiltfit.execution.workers import Workers
from tiltfit.optimize import lbfgs
from tiltfit.optimize.bounded import minimise_bounded, projected_gradient
from tiltfit.optimize.lbfgs import (
    CURVATURE,
    SUFFICIENT_DECREASE,
    History,
    Measure,
    Trial,
    minimise,
    steepest,
    strong_wolfe,
)
from tiltfit.optimize.result import Stop


def quadratic(seed, n):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n))
    hessian, centre = root @ root.T + np.eye(n), rng.normal(size=n)

    def objective(x):
        g = hessian @ (x - centre)
        return float(0.5 * (x - centre) @ g), g

    return objective, centre


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 12), memory=st.integers(1, 9))
def test_finds_the_minimum_of_any_quadratic(seed, n, memory):
    objective, centre = quadratic(seed, n)
    found = minimise(objective, np.zeros(n), gradient_tol=1e-8, memory=memory)
    assert found.converged
    np.testing.assert_allclose(found.x, centre, atol=1e-6)


def test_rosenbrock_in_twenty_dimensions_as_quickly_as_scipy():
    start = np.linspace(-1, 1, 20)
    found = minimise(lambda x: (float(rosen(x)), rosen_der(x)), start, gradient_tol=1e-8, memory=10)
    scipy = minimize(rosen, start, jac=rosen_der, method="L-BFGS-B", options={"gtol": 1e-8, "ftol": 0})
    assert found.converged
    np.testing.assert_allclose(found.x, np.ones(20), atol=1e-6)
    assert found.n_eval <= 1.5 * scipy.nfev


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 10_000), first=st.floats(1e-4, 1e4))
def test_line_search_meets_both_wolfe_conditions(seed, first):
    rng = np.random.default_rng(seed)
    coefficients = rng.normal(size=3)

    def objective(x):
        t = float(x[0])
        value = t**4 + coefficients[0] * t**3 - t + np.sin(3 * t) * coefficients[1]
        return value, np.array([4 * t**3 + 3 * coefficients[0] * t**2 - 1 + 3 * np.cos(3 * t) * coefficients[1]])

    value, gradient = objective(np.zeros(1))
    direction = -gradient
    slope = float(gradient @ direction)
    if slope == 0:
        return
    start, measure = Trial(0.0, value, slope, abs(gradient[0]), gradient), Measure.plain(1)
    found = strong_wolfe(objective, np.zeros(1), direction, start, first, first * direction, measure)
    assert found.trial is not None
    assert found.trial.value <= value + SUFFICIENT_DECREASE * found.trial.step * slope + 1e-12
    assert abs(found.trial.slope) <= CURVATURE * abs(slope) + 1e-12


def test_a_wrong_gradient_ends_with_the_best_point_and_says_so():
    found = minimise(lambda x: (float(x @ x), -2 * x), np.ones(3), gradient_tol=1e-8)
    assert not found.converged
    assert found.stop is Stop.LINE_SEARCH
    np.testing.assert_array_equal(found.x, np.ones(3))


def test_a_direction_that_leads_nowhere_is_forgotten(monkeypatch):
    """After a failed line search it goes on along the steepest descent instead of giving up."""
    calls = []

    def failing_once(objective, x, *rest):
        calls.append(x)
        found = strong_wolfe(objective, x, *rest)
        return found._replace(trial=None) if len(calls) == 3 else found

    monkeypatch.setattr(lbfgs, "strong_wolfe", failing_once)
    objective, centre = quadratic(0, 6)
    found = minimise(objective, np.zeros(6), gradient_tol=1e-8)
    assert found.converged
    np.testing.assert_array_equal(calls[3], calls[2])
    np.testing.assert_allclose(found.x, centre, atol=1e-6)


def test_an_infinite_start_is_said():
    found = minimise(lambda x: (np.inf, x), np.ones(2), gradient_tol=1e-8)
    assert not found.converged
    assert found.stop is Stop.NOT_FINITE


def test_steps_back_from_where_the_objective_is_not_finite():
    def objective(x):
        if x[0] <= 0:
            return np.inf, np.full(1, np.nan)
        return float(x[0] - np.log(x[0])), 1 - 1 / x

    found = minimise(objective, np.array([1e-3]), gradient_tol=1e-8)
    assert found.converged
    assert found.x[0] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("gradient", "expected"),
    [([], 0.0), ([-0.0], 0.0), ([1, -4, 3], 4.0), ([5e-324, 0], 5e-324), ([1, -np.inf], np.inf), ([np.nan, 1], np.nan)],
)
def test_the_steepest_entry(gradient, expected):
    np.testing.assert_equal(steepest(np.array(gradient, dtype=np.float64)), expected)


def test_max_iter_and_callback_stop_without_convergence():
    objective, _ = quadratic(0, 12)
    assert not minimise(objective, np.zeros(12), gradient_tol=1e-12, max_iter=2).converged
    stopped = minimise(objective, np.zeros(12), gradient_tol=1e-12, progress=lambda i, *_: i == 3)
    assert (stopped.n_iter, stopped.converged) == (3, False)


def test_bounded_minimum_of_a_separable_quadratic_is_the_clipped_centre():
    centre, low, high = np.array([2.0, -2.0, 0.5]), np.zeros(3), np.ones(3)
    found = minimise_bounded(
        lambda x: (float((x - centre) @ (x - centre)), 2 * (x - centre)), low, low, high, gradient_tol=1e-9
    )
    np.testing.assert_allclose(found.x, [1.0, 0.0, 0.5], atol=1e-8)
    assert found.converged
    assert np.abs(projected_gradient(found.x, found.gradient, low, high)).max() < 1e-8


def test_values_lost_in_rounding_do_not_keep_a_bounded_search_from_its_minimum():
    centre, calls = np.array([2.0, -2.0, 0.5]), []

    def noisy(x):
        calls.append(x)
        noise = 1e-9 * (-1) ** len(calls)  # as in a sum over thousands of sequences
        return 300 + noise + float(np.sum(np.cosh(x - centre))), np.sinh(x - centre)

    found = minimise_bounded(noisy, np.zeros(3), np.full(3, -np.inf), np.full(3, np.inf), gradient_tol=1e-6)
    assert found.converged
    assert np.abs(found.gradient).max() <= 1e-6
    assert len(calls) == found.n_eval <= 15


def test_a_bounded_search_that_starts_near_its_minimum_stays_there():
    calls = []

    def objective(x):
        calls.append(x)
        return 0.5 * float(x @ x), x

    found = minimise_bounded(objective, np.full(2, 1e-3), np.full(2, -np.inf), np.full(2, 5.0), gradient_tol=1e-8)
    assert found.converged
    assert len(calls) == 2  # where it starts, and a step of the gradient's length


def two_loops(pairs, g):
    r, alphas = g.copy(), []
    for s, y in reversed(pairs):
        alphas.append((s @ r) / (s @ y))
        r -= alphas[-1] * y
    s, y = pairs[-1]
    r *= (s @ y) / (y @ y)
    for (s, y), alpha in zip(pairs, reversed(alphas), strict=True):
        r += s * (alpha - (y @ r) / (s @ y))
    return -r


def numbers(row):
    """What a row of the history holds."""
    return (row.astype(np.uint32) << 16).view(np.float32).astype(np.float64) if row.dtype == np.uint16 else row


@pytest.mark.parametrize(("long", "rtol"), [(7, 1e-9), (1, 0.05)])  # a long history is kept in sixteen bits
def test_direction_is_that_of_the_textbook_two_loop_recursion(monkeypatch, long, rtol):
    monkeypatch.setattr(lbfgs, "_LONG", long)
    rng = np.random.default_rng(0)
    x, g = rng.normal(size=(2, 6))
    history, pairs = History(4, 6, Workers()), []
    direction = numbers(history.direction(g, x, 1.0)[0])
    np.testing.assert_allclose(direction, -g, rtol=rtol)
    for number in range(12):  # more than the memory holds
        s = 0.5 * direction
        y = s + 0.1 * rng.normal(size=6) * np.linalg.norm(s)
        if number in (2, 7):  # no positive curvature: forgotten, and with it the oldest pair if the memory was full
            y = -y
        history.move(0.5, g, g + y)
        g = g + y
        pairs = [*pairs, (s, y)][-4:]
        if s @ y <= 0:
            pairs.pop()
        row, point, slope = history.direction(g, x, 0.25)
        direction, expected = numbers(row), two_loops(pairs, g)
        np.testing.assert_allclose(direction, expected, rtol=rtol, atol=rtol * np.abs(expected).max())
        np.testing.assert_allclose(point, x + 0.25 * direction, rtol=1e-15)
        assert slope == pytest.approx(g @ direction)


def test_nothing_is_left_of_what_was_cleared():
    rng = np.random.default_rng(0)
    x, g = rng.normal(size=(2, 6))
    history, pairs = History(3, 6, Workers()), []
    for number in range(9):
        if number == 5:
            history.clear()
            pairs = []
        direction = history.direction(g, x, 1.0)[0]
        np.testing.assert_allclose(direction, two_loops(pairs, g) if pairs else -g, rtol=1e-9)
        s = 0.5 * direction
        y = s + 0.1 * rng.normal(size=6) * np.linalg.norm(s)
        history.move(0.5, g, g + y)
        g, pairs = g + y, [*pairs, (s, y)][-3:]


def test_after_a_direction_that_is_no_number_it_starts_afresh():
    g, x = np.ones(6), np.zeros(6)
    history = History(2, 6, Workers())
    history.direction(g, x, 1.0)
    history.move(1.0, g, np.full(6, np.nan))
    for _ in range(3):
        history.clear()
        np.testing.assert_array_equal(history.direction(g, x, 1.0)[0], -g)
        history.move(1.0, g, 0.5 * g)
        assert np.all(np.isfinite(history.direction(g, x, 1.0)[0]))


@pytest.mark.parametrize("workers", [2, 3])
def test_the_same_bits_at_any_number_of_threads(workers):
    n = 100_000
    rng = np.random.default_rng(1)
    changes, found = rng.normal(size=(5, n)), []
    for count in (1, workers):
        g = x = np.ones(n)
        history = History(3, n, Workers(count))
        for change in changes:
            direction, x, _ = history.direction(g, x, 0.5)
            y = numbers(direction) + 0.1 * change
            history.move(0.5, g, g + y)
            g = g + y
        found.append(history.direction(g, x, 0.5)[:2])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


BOUNDS, DIVISOR = np.array([0, 5, 5, 40]), np.array([2.0, 1.0, 0.5])


@pytest.mark.parametrize("kind", [np.uint16, np.float64])
def test_slope_and_measure_in_one_pass(kind):
    gradient, direction = np.random.default_rng(0).normal(size=(2, 40))
    row = (direction.astype(np.float32).view(np.uint32) >> 16).astype(kind) if kind is np.uint16 else direction
    if kind is np.uint16:
        direction = (row.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    measure = Measure(BOUNDS, DIVISOR)
    slope, size = measure.along(gradient, row)
    assert slope == pytest.approx(gradient @ direction, rel=1e-12)
    expected = max(np.abs(gradient[:5]).max() / 2.0, np.abs(gradient[5:]).max() / 0.5)
    assert size == measure.of(gradient) == expected
    assert Measure.plain(40).along(gradient, row)[1] == steepest(gradient) == np.abs(gradient).max()


@pytest.mark.parametrize("place", [0, 39])
def test_a_number_that_is_none_is_not_passed_over(place):
    gradient = np.ones(40)
    gradient[place] = np.nan
    measure = Measure(BOUNDS, DIVISOR)
    assert np.isnan(measure.of(gradient))
    assert np.isnan(measure.along(gradient, np.ones(40))).all()
