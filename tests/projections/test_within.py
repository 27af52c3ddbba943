"""``about(u, within=d)``: the deviation d costs half a nat, in units of the share, whatever ``scale`` is."""

import numpy as np
import pytest

from tiltfit import ConstraintSet, TiltClassifier, TiltTagger, expect, load, punctuation, register_penalty, word
from tiltfit.language.relations import About, Target
from tiltfit.penalties.interval import Interval
from tiltfit.penalties.penalty import PENALTIES
from tiltfit.projections.components import Strength, penalty_of

CLASSES = ["a", "b"]
TEXTS = ["x u", "x v", "x w w", "y u", "y v", "z", "x y"]  # x fires in four of them
FIRINGS = 4
TOKENS = [["p", ",", "q"], ["q", ".", "p", "p"], ["p", "q"], ["q", ",", "q", "p"]]
WITHIN = 0.07
BETA = {"l2": WITHIN**2, "l1": 2 * WITHIN}


@pytest.fixture
def linear():
    """A registered penalty that grows as its deviation, like L1."""
    register_penalty("mine", lambda u, beta: Interval(u, u, np.zeros(len(u)), 1 / beta), power=1)
    yield "mine"
    PENALTIES.remove("mine")


def fitted(scale="unit", *, given=None, penalty="l2", **strength):
    said = [expect("a", given=given or word("x")).about(0.9, penalty=penalty, **strength)]
    return TiltClassifier(said, classes=CLASSES, scale=scale, gamma=1.7, tol=1e-8).fit(TEXTS)


@pytest.mark.parametrize("scale", ["unit", "support"])
@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_a_deviation_of_within_costs_half_a_nat(penalty, scale):
    for support in (1.0, 30.0):
        u = penalty_of(
            expect("a").about(0.8, within=WITHIN, penalty=penalty),
            Target(-1, 0.8, 0.8),
            np.array([support]),
            Strength(123.0, scale),
        )
        assert u.value(np.array([0.8 + WITHIN])) == pytest.approx(0.5)
        assert u.value(np.array([0.8 - WITHIN])) == pytest.approx(0.5)
        assert u.value(np.array([0.8 + 2 * WITHIN])) == pytest.approx(2.0 if penalty == "l2" else 1.0)


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_it_is_that_beta_in_the_objective(penalty):
    within, beta = fitted(within=WITHIN, penalty=penalty), fitted(beta=BETA[penalty], penalty=penalty)
    assert within.objective_ == beta.objective_
    assert within.objective_ != fitted(penalty=penalty).objective_
    np.testing.assert_array_equal(within.coef_, beta.coef_)


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_with_scale_support_it_is_that_of_the_constraint_not_of_each_firing(penalty):
    within = fitted("support", within=WITHIN, penalty=penalty)
    assert within.objective_ == fitted("unit", beta=BETA[penalty], penalty=penalty).objective_
    # beta= is divided by the number of firings, so that it must be that many times as large to say the same
    each = fitted("support", beta=BETA[penalty] * FIRINGS, penalty=penalty)
    assert within.objective_ == pytest.approx(each.objective_, rel=1e-12)


def test_a_registered_penalty_says_by_its_power_what_it_means(linear):
    said = expect("a").about(0.8, within=WITHIN, penalty=linear)
    assert said.relation.own_beta == 2 * WITHIN
    assert ConstraintSet.from_toml(ConstraintSet((said,)).to_toml())[0] == said
    mine, l1 = (fitted(within=WITHIN, penalty=penalty) for penalty in (linear, "l1"))
    assert mine.objective_ == pytest.approx(l1.objective_, rel=1e-12)


@pytest.mark.parametrize("scale", ["unit", "support"])
def test_of_a_share_of_another_event_it_is_in_units_of_that_share(scale):
    rate, c = 0.3, 20.0
    said = expect.change(given=punctuation.before, of=expect.change()).about(0.6, within=WITHIN)
    u = penalty_of(said, Target(-1, 0.0, 0.0, share=0.6), np.array([c]), Strength(1.0, scale), rate)
    assert u.value(np.array([rate * WITHIN])) == pytest.approx(0.5)  # m = (E[event] − u·E[other])/c = ρ·deviation


def streamed(make, data, scale, **strength):
    said = [expect("a", given=word("x") | word("p")).about(0.9, **strength), expect("b").about(0.4)]
    model = make(said, classes=CLASSES, scale=scale, beta=0.05, random_state=0)
    for _ in range(3):
        model.partial_fit(data)
    return model


@pytest.mark.parametrize(("make", "data"), [(TiltClassifier, TEXTS), (TiltTagger, TOKENS)])
def test_a_stream_keeps_it_apart_from_what_grows_with_the_support(make, data, tmp_path):
    same = [streamed(make, data, "unit", **how) for how in ({"within": WITHIN}, {"beta": WITHIN**2})]
    np.testing.assert_array_equal(same[0].coef_, same[1].coef_)
    within = streamed(make, data, "support", within=WITHIN)
    assert within.stream_.learner.ledger.per_firing.tolist() == [False, True]  # the other constraint grows
    assert not np.array_equal(within.coef_, same[0].coef_)
    within.save(tmp_path / "m.tilt")
    again = load(tmp_path / "m.tilt")
    assert again.stream_.learner.ledger.per_firing.tolist() == [False, True]
    np.testing.assert_array_equal(again.partial_fit(data).coef_, within.partial_fit(data).coef_)


@pytest.mark.parametrize("scale", ["unit", "support"])
def test_a_stream_with_nothing_else_is_that_of_its_beta(scale):
    def learned(scale, **strength):
        said = [expect("a", given=word("x")).about(0.9, **strength)]
        return TiltClassifier(said, classes=CLASSES, scale=scale, random_state=0).partial_fit(TEXTS).partial_fit(TEXTS)

    np.testing.assert_array_equal(learned(scale, within=WITHIN).coef_, learned("unit", beta=WITHIN**2).coef_)


def test_a_moved_target_keeps_it():
    assert About(0.8, "l1", 0.05).moved(0.1, 1.0) == About(0.9, "l1", 0.05)


def test_a_model_file_keeps_it(tmp_path):
    model = fitted(within=WITHIN, penalty="l1")
    model.save(tmp_path / "m.tilt")
    assert load(tmp_path / "m.tilt").constraints_ == model.constraints_
