"""Conformance check of a method: does it keep the promises that estimators and reports rely on?"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.errors import TiltfitError, TiltfitWarning
from tiltfit.estimators.classifier import TiltClassifier
from tiltfit.language.conditions import word
from tiltfit.language.constraint import Constraint
from tiltfit.language.expect import expect
from tiltfit.methods.catalogue import METHODS
from tiltfit.methods.history import Fit, Round
from tiltfit.methods.method import Method, Run, Training, fault_of

_TEXTS = [
    "the puck is black", "a puck and ice", "ice and the goalie", "the bat is long", "a bat and a ball",
    "the ball", "ice", "a pitcher with a bat", "the goalie lost the puck", "a long ball",
]  # fmt: skip
_LABELS = ["hockey", None, None, "baseball", None, None, None, None, "hockey", "baseball"]
_CLOSE = 1e-3  # of expectations under two projections of one model


def check_method(
    method: Method, *, options: Mapping[str, Any] | None = None, constraints: list[Constraint] | None = None
) -> None:
    """Raise ``AssertionError`` at the first promise that ``method`` breaks on tiny data.

    - the objective and the weights are finite, and two fits are alike to the last bit;
    - the history is numbered, one entry per round, and either falls or ends with the objective that is reported;
    - ``converged`` is what ``stop`` says, and a callback that asks to stop is obeyed;
    - the projection is that of the weights, as ``problem.evaluate`` finds it;
    - unknown solvers and options are refused before any work starts;
    - a report can be made of it.

    ``options``: its ``method_options``. ``constraints``: on words of its choice and the labels "hockey" and "baseball",
    if it cannot take two ``about``. Write ``check_method(MY_METHOD)`` in the tests of a new method; it need not be
    registered.
    """
    if constraints is None:
        constraints = [
            expect("hockey", given=word("puck")).about(0.9),
            expect("baseball", given=word("bat")).about(0.8),
        ]
    watched = _Watched(method, list(constraints) if method.takes else [], dict(options or {}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TiltfitWarning)
        _check_refusals(watched)
        fitted = watched.fit()
        training, fit = watched.last
        _check_result(method, fit, fitted)
        _check_history(method, fit)
        _check_projection(method, training, fit)
        _check_callback(watched)
        again = watched.last[1] if watched.fit() is not None else fit
        _require(np.array_equal(again.weights, fit.weights), method, "two fits of the same data differ")


class _Watched:
    """The method as estimators see it, and what it was given and returned."""

    def __init__(self, method: Method, constraints: list[Constraint], options: dict[str, Any]) -> None:
        self.method, self._constraints, self._options = method, constraints, options
        self.seen: list[tuple[Training, Fit]] = []
        self.started = 0

    @property
    def last(self) -> tuple[Training, Fit]:
        return self.seen[-1]

    def fit(self, **parameters: Any) -> TiltClassifier:
        def spy(training: Training, start: FloatArray, run: Run) -> Fit:
            self.started += 1
            found = self.method.fit(training, start, run)
            fault = fault_of(found, training.problem.model.n_weights)
            _require(fault is None, self.method, f"fit {str(fault).rstrip('.')}")
            self.seen.append((training, found))
            return found

        word_of_user = f"checked_{self.method.name}"
        METHODS.register(word_of_user, replace(self.method, name=word_of_user, fit=spy), origin=spy)
        model = "maxent" if "conditional" in self.method.trains else "naive_bayes"
        # With a softness q depends on the weights; a bounded pull would be met whatever they are.
        given = {"method": word_of_user, "model": model, "method_options": self._options, "beta": 0.05, **parameters}
        labels = None if self.method.constraints == "followed" and not self._constraints else _LABELS
        try:
            return TiltClassifier(self._constraints, classes=["baseball", "hockey"], random_state=0, **given).fit(
                _TEXTS, labels
            )
        finally:
            METHODS.remove(word_of_user)


def _check_refusals(watched: _Watched) -> None:
    refused: dict[str, dict[str, Any]] = {"an unknown option": {"method_options": {"no such option": 1}}}
    unknown = [solver for solver in METHODS["ap"].solvers if solver not in watched.method.solvers]
    if unknown:
        refused["an unknown solver"] = {"solver": unknown[-1]}
    for what, parameters in refused.items():
        try:
            watched.fit(**parameters)
        except TiltfitError as error:
            _require(bool(str(error)), watched.method, f"the refusal of {what} says nothing")
            _require(not watched.started, watched.method, f"{what} is refused after work has started")
        else:
            _require(False, watched.method, f"{what} is not refused")


def _check_result(method: Method, fit: Fit, fitted: TiltClassifier) -> None:
    _require(bool(np.all(np.isfinite(fit.weights))), method, "weights are not finite")
    _require(bool(np.isfinite(fit.objective)), method, "the objective is not finite", fit.objective)
    _require(fit.converged is fit.stop.converged, method, "converged is not what stop says", fit.stop)
    _require(bool(fit.message), method, "there is no message")
    shares = fitted.predict_proba(_TEXTS)
    _require(bool(np.allclose(shares.sum(axis=1), 1.0)), method, "probabilities do not sum to one")
    _require(bool(str(fitted.constraint_report_)) or not method.takes, method, "there is no report")


def _check_history(method: Method, fit: Fit) -> None:
    rounds = [one.round for one in fit.history]
    _require(rounds == list(range(1, len(rounds) + 1)), method, "rounds are not numbered from 1", rounds)
    if not rounds:
        return
    values = [one.objective for one in fit.history]
    _require(bool(np.all(np.isfinite(values))), method, "an objective in the history is not finite", values)
    slack = 1e-6 * max(1.0, abs(values[0]))
    honest = abs(values[-1] - fit.objective) <= 1e-4 * max(1.0, abs(fit.objective))
    _require(values[-1] <= values[0] + slack or honest, method, "the history rises, and does not end at the objective")


def _check_projection(method: Method, training: Training, fit: Fit) -> None:
    if training.problem.tilt is None:
        _require(fit.projection is None, method, "there is a projection without constraints")
        return
    _require(fit.projection is not None, method, "there is no projection, but there are constraints")
    assert fit.projection is not None
    right = training.problem.evaluate(fit.weights, None, 1e-8).projection
    assert right is not None
    far = float(np.max(np.abs(fit.projection.expectation - right.expectation), initial=0.0))
    _require(far <= _CLOSE, method, "the projection is not that of the weights; an expectation is off by", far)


def _check_callback(watched: _Watched) -> None:
    seen: list[Round] = []

    def stop(one: Round) -> bool:
        seen.append(one)
        return True

    watched.fit(callback=stop)
    fit = watched.last[1]
    _require(len(seen) <= 1, watched.method, "it goes on although the callback asks to stop")
    if seen and len(watched.seen[-2][1].history) > 1:
        _require(not fit.converged, watched.method, "it claims to have converged although the callback stopped it")


def _require(holds: bool, method: Method, what: str, *values: object) -> None:
    if not holds:
        shown = f": {', '.join(map(str, values))}" if values else ""
        raise AssertionError(f"method={method.name!r} breaks a promise: {what}{shown}.")
