from __future__ import annotations

import math

import pytest

from tiltfit.errors import ConstraintError
from tiltfit.language.relations import About, AtLeast, AtMost, Between, DistributedAs, Exactly

NAN, INF = math.nan, math.inf


def test_intervals() -> None:
    assert AtLeast(0.4).interval == (0.4, INF)
    assert AtMost(0.4).interval == (-INF, 0.4)
    assert Between(0.1, 0.4).interval == (0.1, 0.4)
    assert Exactly(0.4).interval == (0.4, 0.4)
    assert all(r.hard for r in (AtLeast(0.4), AtMost(0.4), Between(0.1, 0.4), Exactly(0.4)))
    for soft in (About(0.4), DistributedAs((("a", 1.0),))):
        assert not soft.hard
        with pytest.raises(ConstraintError, match="no interval"):
            soft.interval  # noqa: B018


@pytest.mark.parametrize("kind", [About, AtLeast, AtMost, Exactly])
@pytest.mark.parametrize("target", [NAN, INF, -INF, "0.9", None, True])
def test_bad_targets(kind, target) -> None:
    with pytest.raises(ConstraintError, match="must be"):
        kind(target)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Between(0.9, 0.1), r"between\(0\.9, 0\.1\) is empty"),
        (lambda: Between(0.1, NAN), "must be finite"),
        (lambda: About(0.5, "L2"), 'Did you mean "l2"'),
        (lambda: About(0.5, ""), "There is no penalty ''; known are l1, l2"),
        (lambda: DistributedAs((("a", 0.5), ("b", 0.4))), r"sum to 0\.9, but must sum to 1"),
        (lambda: DistributedAs((("a", 1.5), ("b", -0.5))), "'b' in .* is negative"),
        (lambda: DistributedAs((("a", 0.5), ("a", 0.5))), "'a' twice"),
        (lambda: DistributedAs(()), "names no label"),
        (lambda: DistributedAs((("a", NAN),)), "must be finite"),
        (lambda: DistributedAs((("a", 1, 2),)), "needs {label: share"),
        (lambda: DistributedAs("ab"), "needs {label: share"),
        (lambda: DistributedAs(3), "needs {label: share"),
    ],
)
def test_bad_relations(make, message) -> None:
    with pytest.raises(ConstraintError, match=message):
        make()


def test_shares_sum_to_one_up_to_rounding() -> None:
    DistributedAs(tuple((str(i), 0.1) for i in range(10)))
    DistributedAs((("a", 1 / 3), ("b", 0.6666667)))


def test_shares_have_no_order() -> None:
    assert DistributedAs((("a", 0.5), (1, 0.5))) == DistributedAs(((1, 0.5), ("a", 0.5)))
    assert DistributedAs(((1, 1.0),)) != DistributedAs(((True, 1.0),))
