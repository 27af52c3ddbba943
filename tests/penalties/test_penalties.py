"""Every registered penalty obeys the laws of convex duality, and has the values a reader can work out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltfit.errors import ConstraintError
from tiltfit.penalties import interval, kl
from tiltfit.penalties.interval import Interval
from tiltfit.penalties.penalty import register_penalty
from tiltfit.penalties.stacked import stack
from tiltfit.testing import check_penalty

FACTORIES = {
    "l2": interval.l2,
    "equality": interval.equality,
    "at_most": interval.at_most,
    "at_least": interval.at_least,
    "box": interval.box,
    "l1": interval.l1,
    "kl": kl.kl,
}
EXAMPLES = {
    "l2": [([0.3, 0.9, 0.0], [0.01, 1.0, 0.2])],
    "equality": [([0.4, 0.0],), ([0.4], [0.1])],
    "at_most": [([0.3],), ([0.3], [0.2])],
    "at_least": [([0.6],), ([0.6], [0.2])],
    "box": [([0.2, 0.0], [0.5, 1.0]), ([0.2], [0.5], [0.3]), ([0.4], [0.4])],
    "l1": [([0.2, 0.7], [0.5, 2.0])],
    "kl": [([0.0, 0.2, 0.8, 1.0], [1.0, 2.0, 0.1, 1.0])],
}


@pytest.mark.parametrize("name", sorted(FACTORIES))
def test_every_registered_penalty_conforms(name):
    for arguments in EXAMPLES[name]:
        check_penalty(FACTORIES[name](*arguments))


def test_rows_of_different_kinds_conform_side_by_side():
    check_penalty(stack([FACTORIES[name](*arguments) for name in EXAMPLES for arguments in EXAMPLES[name]]))


@settings(deadline=None, max_examples=60)
@given(
    low=st.floats(0, 1),
    width=st.floats(0, 1),
    slack=st.one_of(st.just(0.0), st.floats(0.01, 5)),
    slope=st.one_of(st.just(np.inf), st.floats(0.1, 20)),
)
def test_any_interval_conforms(low, width, slack, slope):
    check_penalty(Interval(*(np.array([v]) for v in (low, low + width, slack, slope))))


@settings(deadline=None, max_examples=40)
@given(target=st.one_of(st.just(0.0), st.floats(0.01, 1)), beta=st.floats(0.05, 10))
def test_any_kl_conforms(target, beta):
    check_penalty(kl.kl([target], [beta]))


def test_values_by_hand():
    m = np.array([0.5])
    assert interval.l2([0.3], [0.01]).value(m) == pytest.approx(0.2**2 / 0.02)
    assert interval.l1([0.3], [0.5]).value(m) == pytest.approx(0.4)
    assert interval.at_most([0.4]).value(m) == np.inf
    assert interval.at_most([0.6]).value(m) == 0
    assert interval.box([0.1], [0.3], [0.5]).value(m) == pytest.approx(0.2**2 / 1.0)
    assert kl.kl([1.0], [1.0]).value(m) == pytest.approx(np.log(2) - 0.5)
    assert interval.box([0.1], [0.3]).conjugate(np.array([-2.0])) == pytest.approx(-0.2)
    assert interval.at_least([0.1]).conjugate(np.array([2.0])) == np.inf


def test_a_bounded_pull_squared_pulls_as_hard_half_a_unit_away():
    both = stack([interval.l1([0.2, 0.7], [0.5, 0.1]), interval.l2([0.3], [0.04]), kl.kl([0.4], [1.0])])
    squared, m = both.squared(), np.array([0.7, 0.2, 0.5, 0.5])
    check_penalty(squared)
    np.testing.assert_allclose(squared.value(m)[:2], 0.5**2 * np.array([2.0, 10.0]))
    np.testing.assert_allclose(squared.take(np.array([0, 1])).grad(m[:2]), [2.0, -10.0])
    np.testing.assert_array_equal(squared.value(m)[2:], both.value(m)[2:])
    assert squared.squared() is squared


def test_box_splits_into_two_one_sided_bounds():
    part, origin = interval.box([0.2, 0.4], [0.5, 0.4]).parts()
    assert origin.tolist() == [0, 1, 0]
    assert part.dual_bounds()[0].tolist() == [0, -np.inf, -np.inf]
    assert part.dual_bounds()[1].tolist() == [np.inf, np.inf, 0]


def test_check_penalty_finds_a_wrong_conjugate():
    class Wrong(Interval):
        def take(self, rows):
            return Wrong(self.low[rows], self.high[rows], self.slack[rows], self.slope[rows])

        def conjugate(self, eta):
            return super().conjugate(eta) + 0.01 * eta**2

    right = interval.l2([0.3], [0.5])
    with pytest.raises(AssertionError):
        check_penalty(Wrong(right.low, right.high, right.slack, right.slope))


@pytest.mark.parametrize("method", ["grad_conjugate", "curvature_conjugate", "grad", "value"])
def test_check_penalty_finds_each_wrong_method(method):
    class Wrong(Interval):
        def take(self, rows):
            return Wrong(self.low[rows], self.high[rows], self.slack[rows], self.slope[rows])

    def off(self, *arguments):
        return getattr(Interval, method)(self, *arguments) + 0.01

    setattr(Wrong, method, off)
    right = interval.l2([0.3], [0.5])
    with pytest.raises(AssertionError):
        check_penalty(Wrong(right.low, right.high, right.slack, right.slope))


def test_a_name_is_registered_once():
    with pytest.raises(ConstraintError, match="There is a penalty 'l2' already"):
        register_penalty("l2", interval.l1)
