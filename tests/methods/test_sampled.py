"""Alternation with samples against alternation with exact projections, where both apply."""

from __future__ import annotations

import numpy as np
import pytest

from tiltfit import TiltTagger, expect, word
from tiltfit.errors import UnsupportedError
from tiltfit.methods import alternating_projections as module
from tiltfit.methods.alternating_projections import alternate_sampled
from tiltfit.methods.history import WINDOW, settled
from tiltfit.methods.method import Run
from tiltfit.methods.problem import Evaluation
from tiltfit.optimize.result import Minimum, Stop
from tiltfit.projections import stochastic
from tiltfit.projections.information import Start

rng = np.random.default_rng(0)
X = [[str(v) for v in rng.choice(["big", "room", "call", "Ann", ","], size=n)] for n in (5, 4, 6, 3, 5, 4, 6, 4, 5, 3)]
SAID = [
    expect("contact", given=word("call") | word("Ann")).about(0.9, beta=0.01),
    expect("size", given=word("big") | word("room")).about(0.9, beta=0.01),
    expect.repeats().at_most(0.3),
    expect.distinct(per="dataset").about(1.6, beta=0.01),
]


def fit(inference, **options):
    given = {"max_iter": 25, "random_state": 1, "transitions": {}, "features": {"min_count": 2}} | options
    return TiltTagger(SAID, inference=inference, **given)


@pytest.fixture(scope="module", autouse=True)
def short_walks():
    """Less precise projections: what is tested here is what is made of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stochastic, "_LONG", 64)
        yield


@pytest.fixture(scope="module")
def exact():
    return fit("exact", solver="alternating", max_iter=200).fit(X)


@pytest.fixture(scope="module")
def sampled():
    return fit("sampled", solver="alternating").fit(X)


def test_it_comes_where_alternation_comes(exact, sampled):
    assert sampled.converged_
    assert np.isnan(sampled.objective_)
    size = np.linalg.norm(exact.coef_)
    assert size > 0.5
    assert np.linalg.norm(sampled.coef_ - exact.coef_) < 0.25 * size
    assert np.linalg.norm(sampled.transitions_ - exact.transitions_) < 0.25 * size
    for one, two in zip(exact.constraint_report_, sampled.constraint_report_, strict=True):
        assert two.projected == pytest.approx(one.projected, abs=0.08)
        assert two.model == pytest.approx(one.model, abs=0.15)
        assert two.status == one.status or one.status != "violated"


def test_what_rounds_tell(sampled):
    assert [r.round for r in sampled.history_] == list(range(1, len(sampled.history_) + 1))
    assert all(np.isnan(r.objective) and np.isfinite(r.gradient) and r.evaluations > 0 for r in sampled.history_)
    assert sampled.history_[-1].gradient < sampled.history_[0].gradient


def test_the_same_seed_gives_the_same_weights():
    short = {"solver": "alternating", "callback": lambda r: True}
    once, again, other = (fit("sampled", random_state=seed, **short).fit(X).coef_ for seed in (1, 1, 2))
    np.testing.assert_array_equal(again, once)
    assert not np.array_equal(other, once)


def test_the_callback_stops_it():
    seen = []
    tagger = fit("sampled", solver="alternating", callback=lambda r: seen.append(r) or len(seen) == 2).fit(X)
    assert len(seen) == len(tagger.history_) == 2
    assert not tagger.converged_


def test_joint_needs_the_objective():
    with pytest.raises(UnsupportedError, match=r"solver='joint'.*not known where q is sampled.*inference='exact'"):
        fit("sampled", solver="joint").fit(X)
    with pytest.raises(UnsupportedError, match=r"n_init=2 .*not known where q is sampled"):
        fit("sampled", n_init=2).fit(X)
    assert fit("sampled", solver="alternating", callback=lambda r: True).fit(X).n_iter_ == 1


def test_when_a_gradient_no_longer_falls():
    falling = [0.5**k for k in range(20)]
    assert not any(settled(falling[:n]) for n in range(20))
    noise = ([1.0, 0.9, 1.1, 0.95, 1.05, 1.0] * 4)[: 2 * WINDOW]
    assert not settled(noise[:-1])
    assert settled(noise)
    assert settled([*falling[:6], *[0.03] * (2 * WINDOW)])


def test_only_weights_of_the_noise_are_averaged(monkeypatch):
    """Once the gradient no longer falls, the last window is averaged, without the way there."""

    class Problem:
        @property
        def active(self):
            return self

        def evaluate(self, weights, last, tol, told=False):
            gradient = np.array([10.0 if weights[0] < 3 else 0.1])
            return Evaluation(np.nan, gradient, None)

    def step(problem, now, target, weights, tol):
        return Minimum(weights + 1.0, 0.0, np.zeros(1), 1, 1, Stop.CONVERGED)

    monkeypatch.setattr(module, "moment_target", lambda *args: (None, 0.0))
    monkeypatch.setattr(module, "moment_step", step)
    found = alternate_sampled(Problem(), np.zeros(1), Run(max_iter=40, tol=0.1))
    assert found.stop is Stop.NOISE
    last = len(found.history)
    assert found.weights.tolist() == [np.mean(np.arange(last - WINDOW, last) + 1.0)]


def test_projections_begin_where_the_last_one_ended(monkeypatch):
    starts = []
    plain = stochastic.stochastic_projection

    def spy(tilt, base, *, start=None, **options):
        starts.append(start)
        return plain(tilt, base, start=start, **options)

    monkeypatch.setattr(stochastic, "stochastic_projection", spy)
    fit("sampled", callback=lambda r: r.round == 3).fit(X)
    assert starts[0] is None
    assert all(isinstance(start, Start) and start.chains is not None for start in starts[1:])
    rounds = [start.chains.round for start in starts[1:]]
    assert rounds == sorted(set(rounds))
