"""A class that few statements speak of is pulled harder by each of them."""

from __future__ import annotations

import numpy as np
import pytest

from tiltfit import TiltClassifier, expect, word
from tiltfit.projections.components import PULL, Strength, balanced

BOUNDED = Strength(None, "auto")


def said(*labels, given=True, **strength):
    return expect(*labels, given=word("w") if given else None).about(0.9, **strength)


def test_the_same_number_of_statements_of_every_class_changes_nothing():
    assert balanced(BOUNDED, [said("a"), said("b"), said("b"), said("a")]) == pytest.approx(dict.fromkeys(range(4), 1))
    assert balanced(BOUNDED, []) == {}


def test_every_class_is_pulled_alike_beyond_what_is_nearly_even():
    found = balanced(BOUNDED, [said("a"), *[said("b")] * 4, *[said("c")] * 5, *[said("d")] * 40])
    assert np.mean(list(found.values())) == pytest.approx(1)
    assert found[1] == pytest.approx(found[5])  # four and five are as good as even
    usual = 4.5 * 2**0.5
    assert found[0] / found[1] == pytest.approx(4.5 / 2**0.5)
    assert found[1] / found[10] == pytest.approx(40 / usual)


def test_a_set_of_labels_counts_for_each_by_its_share():
    found = balanced(BOUNDED, [said("a"), said("a", "b")])  # a: 1.5, b: 0.5, the median is 1
    low, high = 0.5 * 2**0.5, 1.5 / 2**0.5
    assert found[1] / found[0] == pytest.approx((1 / high + 1 / low) / 2 * high)


def test_what_states_its_own_strength_or_looks_at_nothing_takes_no_part():
    others = [said("b", beta=0.1), said("b", within=0.1), said("b", given=False), expect("b").at_least(0.1)]
    assert balanced(BOUNDED, [said("a"), *others]) == {0: 1.0}
    assert balanced(Strength(0.05, "auto"), [said("a")]) == {}


def test_prices_reach_their_balanced_bounds():
    """Statements that contradict each other pull as hard as they may."""
    texts = ["w x"] * 30
    against = [expect("b", given=word("x")).about(0.9), expect("b", given=word("x") & word("w")).about(0.8)]
    fitted = TiltClassifier([expect("a", given=word("w")).about(0.9), *against], classes=["a", "b"]).fit(texts)
    low = 2**0.5 / 1.5  # one and two statements, the median is 1.5: one is a little less than nearly even
    mean = (1 + 2 * low) / 3
    pulls = [entry.pull for entry in fitted.constraint_report_]
    assert pulls[0] == pytest.approx(PULL / mean, rel=1e-3)
    assert max(pulls[1:]) == pytest.approx(PULL * low / mean, rel=1e-3)
