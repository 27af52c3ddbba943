"""The conformance check of methods: every built-in passes, and every promise that is broken is found."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

import tiltfit
from tiltfit import Event, Statistic, TiltClassifier, TiltTagger, expect, register_event, register_method, word
from tiltfit.errors import DataError, TiltfitWarning, UnsupportedError
from tiltfit.methods import method as method_module
from tiltfit.methods.catalogue import METHODS
from tiltfit.methods.joint import solve_jointly
from tiltfit.methods.method import Method
from tiltfit.methods.start import STARTS
from tiltfit.optimize.result import Stop
from tiltfit.testing import check_method
from tiltfit.testing.methods import _Watched


def patient(training, start, run):
    """Alternating projections by another name."""
    return solve_jointly(training.problem, start, run)


PATIENT = Method("patient", "patient projections", patient)


@pytest.mark.parametrize("name", list(METHODS))
def test_every_method_here_keeps_its_promises(name):
    check_method(METHODS[name])


def test_a_method_of_a_package():
    check_method(PATIENT)


def spoilt(change):
    return replace(PATIENT, fit=lambda training, start, run: change(training, patient(training, start, run)))


def twice(fit):
    return replace(fit, history=(fit.history[0], *fit.history))


BROKEN = {
    "weights are not finite": lambda training, fit: replace(fit, weights=fit.weights * np.nan),
    "the objective is not finite": lambda training, fit: replace(fit, objective=np.nan),
    "rounds are not numbered": lambda training, fit: twice(fit),
    "the projection is not that of the weights": lambda training, fit: replace(
        fit, projection=training.problem.evaluate(fit.weights + 1.5, None, 1e-6).projection, weights=fit.weights * 0.1
    ),
    "there is no projection": lambda training, fit: replace(fit, projection=None),
    "the history rises": lambda training, fit: replace(
        fit, history=(*fit.history[:-1], replace(fit.history[-1], objective=1e9))
    ),
    "claims to have converged": lambda training, fit: replace(fit, stop=Stop.CONVERGED),
}


@pytest.mark.parametrize("what", list(BROKEN))
def test_a_broken_promise_is_found(what):
    with pytest.raises(AssertionError, match=what):
        check_method(spoilt(BROKEN[what]))


def test_it_must_stop_when_it_is_told_to():
    def deaf(training, start, run):
        found = solve_jointly(training.problem, start, replace(run, callback=None))
        for one in found.history:
            if run.callback is not None:
                run.callback(one)
        return found

    with pytest.raises(AssertionError, match="goes on although"):
        check_method(replace(PATIENT, fit=deaf))


def test_work_that_ends_in_an_error_is_seen():
    def late(training, start, run):
        raise UnsupportedError("too late")

    watched = _Watched(replace(PATIENT, fit=late), [expect("hockey", given=word("puck")).about(0.9)], {})
    with pytest.raises(UnsupportedError, match="too late"):
        watched.fit()
    assert watched.started == 1


def test_noise_is_no_result():
    def noisy(training, start, run):
        found = patient(training, start, run)
        return replace(found, weights=found.weights + 1e-9 * np.random.default_rng().normal(size=len(found.weights)))

    with pytest.raises(AssertionError, match="two fits of the same data differ"):
        check_method(replace(PATIENT, fit=noisy))


@dataclass(frozen=True)
class Options:
    pace: float = 1.0


def test_a_registered_method_is_a_word_like_any_other():
    texts = ["the puck", "a puck", "the bat", "a bat"]
    said = [expect("hockey", given=word("puck")).about(0.9), expect("baseball", given=word("bat")).about(0.9)]
    mine = replace(PATIENT, options=Options)
    with pytest.raises(UnsupportedError, match="'patient' is not supported"):
        TiltClassifier(said, method="patient").fit(texts)
    try:
        assert register_method(mine) is mine
        register_method(mine)  # again, as a module that is reloaded does
        found = TiltClassifier(said, method="patient", beta=0.05, method_options={"pace": 2.0}).fit(texts)
        assert found.predict(["puck", "bat"]).tolist() == ["hockey", "baseball"]
        np.testing.assert_array_equal(found.coef_, TiltClassifier(said, beta=0.05, init="zeros").fit(texts).coef_)
        with pytest.raises(DataError, match="is unknown"):
            TiltClassifier(said, method="patient", method_options={"pase": 2.0}).fit(texts)
        with pytest.raises(DataError, match=r"There is a method 'patient' already, .*\.patient: register .*\.spoilt"):
            register_method(spoilt(lambda training, fit: fit))
        assert METHODS["patient"] is mine
    finally:
        METHODS.remove("patient")


@pytest.mark.parametrize(
    ("method", "why"),
    [
        (replace(PATIENT, name="ap"), "There is a method 'ap' already"),
        (replace(PATIENT, name="two words"), "named by a word"),
        (replace(PATIENT, options=dict), "must be a dataclass"),
        (replace(PATIENT, fit=None), r"method='patient' needs a function fit\(training, start, run\), but got None"),
        (replace(PATIENT, name=3), "named by a word"),
        (None, "takes a tiltfit.Method, but got None"),
    ],
)
def test_what_cannot_be_registered(method, why):
    with pytest.raises(DataError, match=why):
        tiltfit.register_method(method)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ({"constraints": "follow"}, "'follow' is not known; known are followed, .*Did you mean \"followed\""),
        ({"needs": ("vote",)}, r"needs=\('vote',\) of method='f': 'vote' is not known.*Did you mean \"votes\""),
        ({"needs": "votes"}, "needs='votes' of method='f' must be a tuple of words"),
        ({"trains": ("generativ",)}, 'Did you mean "generative"'),
        ({"inference": ("sample",)}, 'Did you mean "sampled"'),
        ({"solvers": ("auto", "jont")}, 'Did you mean "joint"'),
        ({"start": "zero"}, 'Did you mean "zeros"'),
    ],
)
def test_misspelt_words_of_a_method_are_refused(words, why):
    with pytest.raises(DataError, match=why):
        Method("f", "F", patient, **words)


def test_words_of_a_method_are_those_that_estimators_know():
    assert method_module._WORDS["start"] == (*STARTS, "auto")
    assert method_module._WORDS["solvers"] == METHODS["ap"].solvers


def test_fit_takes_three_arguments():
    with pytest.raises(
        DataError, match=r"fit of method='f' must take the arguments \(training, start, run\), but takes \(t"
    ):
        Method("f", "F", lambda training, start: None)


RESULTS = {
    "nothing": (lambda fit: None, "must return a tiltfit.Fit, such as Journal.finished makes, but returned None"),
    "weights": (lambda fit: fit.weights, "must return a tiltfit.Fit"),
    "too few": (lambda fit: replace(fit, weights=fit.weights[1:]), r"array of \d+ floats, but they have the shape"),
    "whole numbers": (lambda fit: replace(fit, weights=fit.weights.astype(int)), "and the type int64"),
    "words": (lambda fit: replace(fit, stop="done"), "by a tiltfit.Stop, such as Stop.CONVERGED, but says 'done'"),
    "list": (lambda fit: replace(fit, history=list(fit.history)), "a tuple of tiltfit.Round, but it is"),
    "other": (lambda fit: replace(fit, history=(1, 2)), "a tuple of tiltfit.Round, but it is"),
}


@pytest.mark.parametrize("result", list(RESULTS))
def test_a_result_that_is_none_is_named(result):
    change, why = RESULTS[result]
    wrong = replace(spoilt(lambda training, fit: change(fit)), name="f")
    with pytest.raises(AssertionError, match=f"method='f' breaks a promise: fit .*{why}"):
        check_method(wrong)
    register_method(wrong)
    try:
        with pytest.raises(DataError, match=f"fit of method='f' .*{why}"):
            TiltClassifier([expect("a", given=word("puck")).about(0.9)], method="f", classes=["a", "b"]).fit(
                ["puck", "b"]
            )
    finally:
        METHODS.remove("f")


class Mixed(Statistic):
    """The product of the first and the last label: only sampling can do it."""

    name = "mixed"

    def count(self, labels):
        return float(labels[0] * labels[-1])


def test_a_method_meets_a_sampled_q_only_if_it_says_that_it_can():
    @register_event
    @dataclass(frozen=True)
    class IsMixed(Event):
        key = "is_mixed"

        def statistic(self, classes):
            return Mixed()

    met = []

    def meet(training, start, run):
        met.append(training.problem.is_sampled)
        return METHODS["ap"].fit(training, start, replace(run, max_iter=2))

    X = [["a", "b", "c"], ["b", "c"]]
    said = [expect.event(IsMixed()).at_most(0.5), expect("x", given=word("a")).about(0.9)]
    try:
        for can in (("exact",), ("exact", "sampled")):
            register_method(Method("meets", "M", meet, inference=can))
            tagger = TiltTagger(said, classes=["x", "y"], method="meets", random_state=0)
            if "sampled" in can:
                with pytest.warns(TiltfitWarning):
                    tagger.fit(X)
            else:
                with pytest.raises(
                    UnsupportedError, match="method='meets' cannot work where q is sampled.*method='ap'"
                ):
                    tagger.fit(X)
            METHODS.remove("meets")
    finally:
        METHODS.remove("meets")
        Event.registry.remove("is_mixed")
    assert met == [True]
