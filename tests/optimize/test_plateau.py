"""A search ends where neither its objective nor its predictions change, wherever it began."""

from __future__ import annotations

import numpy as np
import pytest

from tiltfit.optimize.lbfgs import minimise
from tiltfit.optimize.plateau import PERIOD, Plateau

NOWHERE = np.empty(0)


def rounds(plateau: Plateau, values: list[float]) -> int | None:
    """The number of the round that reaches it."""
    return next((k for k, value in enumerate(values) if plateau.reached(value, NOWHERE)), None)


def test_it_is_reached_when_a_period_gains_less_than_tol() -> None:
    falling = [100.0 - k for k in range(3 * PERIOD)]
    flat = [falling[-1]] * (3 * PERIOD)
    found = rounds(Plateau(1e-3), [*falling, *flat])
    assert found is not None
    assert len(falling) + PERIOD - 1 <= found <= len(falling) + 2 * PERIOD


@pytest.mark.parametrize("start", [1e1, 1e6, 1e12])
def test_where_it_began_does_not_matter(start: float) -> None:
    """A rule that compares with the first value or gradient would end the longer fall earlier."""
    values = [start, *(2.0 - 0.01 * k for k in range(100)), *[1.0] * 40]
    found = rounds(Plateau(1e-3), values)
    assert found is not None
    assert found > 100


@pytest.mark.parametrize(("steady_from", "ends"), [(2, 2), (3, 3), (9, 4)])
def test_predictions_that_change_go_on_for_a_while(steady_from: int, ends: int) -> None:
    """From so many predictions on they stay the same; where only ties are left, the objective decides."""
    labels = [np.zeros(1000, dtype=np.intp)]

    def predict(_: object) -> np.ndarray:
        labels.append(labels[-1].copy())
        if len(labels) <= steady_from:
            labels[-1][:2] += 1  # two in a thousand
        return labels[-1]

    assert rounds(Plateau(1e-3, predict), [1.0] * 200) == ends * PERIOD
    assert len(labels) == ends + 1  # one prediction a period


def test_zero_never_ends() -> None:
    assert rounds(Plateau(0.0), [1.0] * 200) is None


def test_units_change_the_way_and_not_the_minimum() -> None:
    scale = np.array([1.0, 1e6])
    target = np.array([3.0, 2e-6])

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        residual = scale * (x - target)
        return 0.5 * float(residual @ residual) + 1.0, scale * residual

    seen: list[np.ndarray] = []
    found = minimise(
        objective, np.zeros(2), gradient_tol=1e-9, units=scale, progress=lambda n, v, g, x: seen.append(x.copy())
    )
    np.testing.assert_allclose(found.x, target, rtol=1e-6)
    np.testing.assert_allclose(found.gradient, objective(found.x)[1], atol=1e-6)
    np.testing.assert_allclose(seen[-1], found.x)
