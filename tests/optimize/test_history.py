import numpy as np
import pytest

from tiltfit.execution.workers import Workers
from tiltfit.optimize import history as history_module
from tiltfit.optimize.history import History


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
    monkeypatch.setattr(history_module, "_LONG", long)
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
