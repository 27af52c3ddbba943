import numpy as np
import pytest

from tiltfit.optimize.measure import Measure, steepest

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
