"""The worth of a series of a Markov chain: effective sample size and split-R̂.

Series are arrays [m] or [m, S], one column per quantity; answers are numbers or arrays [S].
"""

from __future__ import annotations

import numpy as np

from tiltfit.arrays import FloatArray

_LEAST = 4  # values in a series: below, neither is known


def effective_sample_size(series: FloatArray) -> FloatArray:
    """m / (1 + 2·Σ_t ρ_t): as many independent values would give the mean as well. NaN for fewer than 4 values.

    ρ_t is the autocorrelation, summed in pairs ρ_2t + ρ_2t+1 as long as they are above zero, none counted above the one
    before (Geyer 1992). A series that is always the same is worth its length. At most m·log10 m: negative correlations
    are not trusted to be as strong as they look.

    >>> float(effective_sample_size(np.random.default_rng(0).normal(size=1000)).round())
    986.0
    """
    values = _columns(series)
    m = len(values)
    if m < _LEAST:
        return _like(series, np.full(values.shape[1], np.nan))
    centred = values - values.mean(axis=0)
    spectrum = np.fft.rfft(centred, 2 * m, axis=0)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2, 2 * m, axis=0)[:m] / m
    still = np.ptp(values, axis=0) <= _rounding(values)
    sizes = [float(m) if still[k] else _size_of(covariance[:, k], m) for k in range(values.shape[1])]
    return _like(series, np.array(sizes))


def _size_of(covariance: FloatArray, m: int) -> float:
    rho = covariance / covariance[0]
    pairs = rho[: m // 2 * 2].reshape(-1, 2).sum(axis=1)
    ends = np.flatnonzero(pairs <= 0.0)
    pairs = np.minimum.accumulate(pairs[: ends[0]] if len(ends) else pairs)
    return float(min(m / max(2.0 * pairs.sum() - 1.0, 1e-12), m * np.log10(m)))


def split_r_hat(series: FloatArray) -> FloatArray:
    """√((W·(h − 1)/h + B/h)/W): how much wider the two halves of a series lie together than each alone. NaN for fewer
    than 4 values; 1 for a series that is always the same.

    W is the mean of the variances within the halves of length h, B/h the variance of their means. Near 1 where the
    series has forgotten its start; above 1.1 it has not.

    >>> float(split_r_hat(np.arange(100.0)).round(2))
    2.62
    """
    values = _columns(series)
    half = len(values) // 2
    if len(values) < _LEAST:
        return _like(series, np.full(values.shape[1], np.nan))
    halves = np.stack([values[:half], values[len(values) - half :]])
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    between = halves.mean(axis=1).var(axis=0, ddof=1)
    still = np.ptp(halves, axis=1).max(axis=0) <= _rounding(values)
    apart = np.where(np.ptp(values, axis=0) <= _rounding(values), 1.0, np.inf)  # of halves that never move
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.sqrt((half - 1) / half + between / within)
    return _like(series, np.where(still, apart, ratio))


def _rounding(values: FloatArray) -> FloatArray:
    """[S]: differences up to here are of rounding; a variance of equal numbers need not be quite 0."""
    return np.asarray(1e-12 * np.max(np.abs(values), axis=0))


def _columns(series: FloatArray) -> FloatArray:
    values = np.asarray(series, dtype=np.float64)
    return values[:, None] if values.ndim == 1 else values


def _like(series: FloatArray, answer: FloatArray) -> FloatArray:
    return answer[0] if np.ndim(series) == 1 else answer
