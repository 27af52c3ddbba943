"""Effective sample size and split-R̂ against series whose worth is known."""

from __future__ import annotations

import numpy as np
import pytest

from tiltfit.inference.diagnostics import effective_sample_size, split_r_hat


def autoregressive(rho, m, rng):
    x = np.empty(m)
    x[0] = rng.normal()
    for t in range(1, m):
        x[t] = rho * x[t - 1] + np.sqrt(1 - rho**2) * rng.normal()
    return x


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9, -0.5])
def test_size_of_an_autoregressive_series(rho):
    m = 20_000
    size = effective_sample_size(autoregressive(rho, m, np.random.default_rng(0)))
    assert size == pytest.approx(m * (1 - rho) / (1 + rho), rel=0.15)


def test_columns_are_taken_one_by_one():
    rng = np.random.default_rng(1)
    series = np.stack([autoregressive(0.5, 500, rng), np.full(500, 3.7), np.arange(500.0)], axis=1)
    sizes, ratios = effective_sample_size(series), split_r_hat(series)
    assert sizes.shape == ratios.shape == (3,)
    assert sizes[0] == pytest.approx(effective_sample_size(series[:, 0]))
    assert sizes[1] == 500  # always the same: nothing is uncertain
    assert sizes[2] < 10
    assert ratios[0] < 1.05
    assert ratios[1] == 1.0
    assert ratios[2] > 2.0


def test_halves_that_stand_still_apart():
    assert split_r_hat(np.repeat([0.0, 1.0], 50)) == np.inf


def test_too_short_to_tell():
    assert np.isnan(effective_sample_size(np.arange(3.0)))
    assert np.all(np.isnan(split_r_hat(np.zeros((3, 2)))))
