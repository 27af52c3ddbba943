"""Numbers in sixteen bits."""

import numba
import numpy as np
import pytest
from numba import TypingError

from tiltfit.kernels.halves import number, stored

ALL = np.arange(1 << 16, dtype=np.uint16)


@numba.njit
def read(array, out):
    for i in range(len(array)):
        out[i] = number(array[i])


@numba.njit
def write(values, out):
    for i in range(len(values)):
        out[i] = stored(out[i], values[i])


def as_halves(values):
    out = np.empty(len(values), np.uint16)
    write(values, out)
    return out


def as_numbers(halves):
    out = np.empty(len(halves), np.float32)
    read(halves, out)
    return out


def test_they_are_the_upper_half_of_single_precision():
    expected = (ALL.astype(np.uint32) << 16).view(np.float32)
    np.testing.assert_array_equal(as_numbers(ALL), expected)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_what_is_read_is_written_back(kind):
    defined = ALL[~np.isnan(as_numbers(ALL))]
    np.testing.assert_array_equal(as_halves(as_numbers(defined).astype(kind)), defined)


def test_the_nearest_is_taken_and_of_two_the_even_one():
    finite = np.sort(as_numbers(ALL)[np.isfinite(as_numbers(ALL))]).astype(np.float64)
    rng = np.random.default_rng(0)
    values = (rng.normal(size=2000) * 10.0 ** rng.uniform(-30, 30, size=2000)).astype(np.float32)
    got = as_numbers(as_halves(values)).astype(np.float64)
    place = np.searchsorted(finite, values)
    near = np.minimum(np.abs(finite[place - 1] - values), np.abs(finite[place] - values))
    np.testing.assert_array_equal(np.abs(got - values), near)
    assert np.max(np.abs(got / values - 1)) <= 1 / 256
    middle = ((ALL[:0x7F00].astype(np.uint32) << 16) + 0x8000).view(np.float32)
    assert np.all(as_halves(middle) % 2 == 0)


def test_what_is_not_finite_stays_so():
    values = np.array([np.inf, -np.inf, np.nan, 3.4e38, -0.0])
    got = as_numbers(as_halves(values))
    np.testing.assert_array_equal(got, [np.inf, -np.inf, np.nan, np.inf, 0.0])
    assert np.signbit(got[4])
    odd = np.array([0x7FFFFFFF, 0xFFFFFFFF, 0x7F800001], dtype=np.uint32).view(np.float32)
    assert np.isnan(as_numbers(as_halves(odd))).all()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_other_numbers_are_kept_as_they_are(kind):
    values, out = np.random.default_rng(0).normal(size=9).astype(kind), np.empty(9, kind)
    write(values, out)
    np.testing.assert_array_equal(out, values)
    read(values, out[::-1])
    np.testing.assert_array_equal(out[::-1], values)


def test_whole_numbers_of_other_sizes_are_refused():
    with pytest.raises(TypingError, match="16, 32 or 64 bits"):
        read(np.zeros(3, np.int64), np.zeros(3))
