"""The interface of a method: a way to find the weights of a model from data and constraints.

Alternating projections are one; the others are what it is compared with. A method is one file: its docstring states
its objective, how it differs from alternating projections and where it comes from; ``METHODS`` (``methods.catalogue``)
lists them by the word that users type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.data.inputs import Unit
from tiltfit.errors import DataError, UnsupportedError, check_arguments, did_you_mean
from tiltfit.language.constraint import ConstraintSet
from tiltfit.methods.history import Callback, Development, Fit, Round
from tiltfit.methods.problem import Evaluation, Problem
from tiltfit.methods.votes import Votes
from tiltfit.models.registry import ModelKind
from tiltfit.optimize.result import Stop
from tiltfit.projections.grounding import Grounded


@dataclass(frozen=True, eq=False)
class Training:
    """What a method is given to learn from: ``problem`` holds data, labels and constraints as rows, ``grounded`` what
    the rows mean, ``votes`` what constraints say of single positions (for methods that need them, and
    where ``grounded.voted``), ``first`` the fit without the constraints that come last (None: they come at once)."""

    problem: Problem
    grounded: Grounded
    votes: Votes | None = None
    first: Fit | None = None


@dataclass(frozen=True, eq=False)
class Run:
    """The settings of a run and its callbacks. ``options``: the method's own (``Method.options``)."""

    solver: str = "auto"
    max_iter: int = 500
    tol: float = 1e-3
    seed: int = 0
    callback: Callback | None = None
    development: Development | None = None
    options: Any = None


@dataclass(frozen=True, eq=False)
class Case:
    """The part of a fit that decides whether a method can do it."""

    kind: ModelKind
    solver: str
    constraints: ConstraintSet
    unit: Unit

    @property
    def model(self) -> str:
        """What messages call it."""
        return self.kind.name


@dataclass(frozen=True)
class NoOptions:
    """No options."""


def _anything(_: Case) -> None:
    """Refuse nothing."""


def _nothing(_: ConstraintSet, __: Votes | None, ___: Any) -> Mapping[int, str]:
    """No constraint plays a part."""
    return {}


_WORDS = {
    "needs": ("votes", "violations", "rows", "linear", "smooth"),
    "trains": ("conditional", "generative", "scores"),
    "constraints": ("followed", "reported", "refused"),
    "inference": ("exact", "sampled"),
    "solvers": ("auto", "alternating", "joint", "sgd", "online"),
    "start": ("zeros", "supervised", "constraints", "squares", "random", "auto"),
}
"""What the fields of a method may say."""


@dataclass(frozen=True)
class Method:
    """A method under the word ``name``; ``fit(training, start, run)`` returns its weights.

    Attributes
    ----------
    needs : tuple of str
        What it must be given: ``"votes"`` (``Training.votes``), ``"violations"`` of single instances
        (``Grounded.violations``), ``"rows"`` (constraints on single instances are rows like any other; otherwise their
        prices are found inside projections), ``"linear"`` (a model whose scores are linear in its weights),
        ``"smooth"`` (penalties that have a slope everywhere, so that ``about`` is a square by default).
    trains : tuple of str
        The kinds of models: ``"conditional"``, models of p(y|x) whose weights are free, ``"generative"``, and
        ``"scores"``: models of the user's that train themselves, for which ``fit`` is not called
        (``methods.scored``).
    constraints : str
        ``"followed"``: it learns from all of them, so one that is missed says something about the data. ``"reported"``:
        it may use some of them (``roles``), and the report judges the model. ``"refused"``: there may be none.
    inference : tuple of str
        The kinds of q that it can work with: ``"exact"``, and ``"sampled"`` where q comes from Markov chains
        (``problem.is_sampled``): the objective is NaN then, and its gradient has noise, so that it needs another rule
        to stop. A sampled problem is refused before the method is called, unless it says so.
    why_not : dict
        Models that it cannot train, with the reason and the nearest that works.
    refuse : callable
        Raises for constraints that it cannot take.
    options : type
        A frozen dataclass whose constructor raises for values that it cannot take.
    solvers : tuple of str
        The solvers that it knows.
    start : str
        Where it starts by default (``methods.start``). ``"auto"``: sequences of which some are labelled from the fit to
        these, everything else from zeros.
    unaided : bool
        True if unlabelled data without constraints are enough.
    roles : callable
        ``roles(constraints, votes, options)``: the part that some constraints play in a method that does not follow
        them, by their numbers; a word or two for the report.
    """

    name: str
    title: str
    fit: Callable[[Training, FloatArray, Run], Fit]
    needs: tuple[str, ...] = ()
    trains: tuple[str, ...] = ("conditional",)
    constraints: str = "followed"
    inference: tuple[str, ...] = ("exact",)
    why_not: Mapping[str, str] = field(default_factory=dict)
    refuse: Callable[[Case], None] = _anything
    options: type = NoOptions
    solvers: tuple[str, ...] = ("auto",)
    start: str = "zeros"
    unaided: bool = False
    roles: Callable[[ConstraintSet, Votes | None, Any], Mapping[int, str]] = _nothing

    def __post_init__(self) -> None:
        for field_name, known in _WORDS.items():
            said = getattr(self, field_name)
            several = field_name not in ("constraints", "start")
            if several and (isinstance(said, str) or not isinstance(said, Sequence)):
                raise DataError(
                    f"{field_name}={said!r} of method={self.name!r} must be a tuple of words, such as {known[:1]!r}.",
                    parameter=field_name,
                )
            for word in said if several else [said]:
                if word not in known:
                    raise DataError(
                        f"{field_name}={said!r} of method={self.name!r}: {word!r} is not known; known are "
                        f"{', '.join(known)}.{did_you_mean(word, known)}",
                        parameter=field_name,
                    )
        if callable(self.fit):
            check_arguments(self.fit, f"fit of method={self.name!r}", "training", "start", "run")

    def run(self, training: Training, start: FloatArray, run: Run) -> Fit:
        """``fit``, and a DataError that names the method if its result is not one."""
        found = self.fit(training, start, run)
        fault = fault_of(found, training.problem.model.n_weights)
        if fault is not None:
            raise DataError(f"fit of method={self.name!r} {fault}", parameter="method")
        return found

    def check_sampled(self) -> None:
        """Refuse a problem whose q can only be sampled, unless the method can work with it."""
        if "sampled" not in self.inference:
            raise UnsupportedError(
                f"method={self.name!r} cannot work where q is sampled, as constraints on whole sequences need it here. "
                "Use inference='exact' where that is possible, or method='ap'. (A method that can says so: "
                "Method(..., inference=('exact', 'sampled')).)",
                parameter="method",
            )

    @property
    def follows(self) -> bool:
        """True if it learns from all constraints."""
        return self.constraints == "followed"

    @property
    def takes(self) -> bool:
        """True if there may be constraints."""
        return self.constraints != "refused"

    def check(self, case: Case) -> None:
        """Refuse what the method cannot do, before any work starts."""
        why_not = self._why_not(case)
        if why_not is not None:
            raise UnsupportedError(
                f"method={self.name!r} cannot train model={case.model!r}: {why_not}", parameter="method"
            )
        if case.solver == "online" and "online" not in self.solvers:
            raise UnsupportedError(
                f"method={self.name!r} cannot learn online: its objective does not decompose over instances, or it "
                "looks at them again and again. Use fit with another solver, or method='ap'.",
                parameter="solver",
            )
        if case.solver not in self.solvers:
            raise UnsupportedError(
                f"method={self.name!r} has no solver={case.solver!r}: use {' or '.join(map(repr, self.solvers))}.",
                parameter="solver",
            )
        self.refuse(case)

    def _why_not(self, case: Case) -> str | None:
        """Why it cannot train a model, and the nearest that works; None if it can."""
        kind = case.kind
        if kind.learner is not None and "scores" not in self.trains:
            return "it sets weights, but this model trains itself. Use method='ap' or 'supervised'."
        if case.model in self.why_not:
            return self.why_not[case.model]
        if not kind.linear and "linear" in self.needs:
            return "it needs scores that are linear in the weights. Use method='ap'."
        if kind.generative and "generative" not in self.trains:
            return (
                "it fits weights of p(y|x) that are free, but those of a generative model are log-probabilities. Use "
                f"method='ap', 'codl', 'em' or 'supervised', or model={'crf' if case.unit == 'tokens' else 'maxent'!r}."
            )
        if not kind.generative and "conditional" not in self.trains:
            return "it trains generative models only. Use method='ap'."
        return None


def fault_of(found: Any, n_weights: int) -> str | None:
    """What is wrong with the result of a method; None if nothing is."""
    if not isinstance(found, Fit):
        return f"must return a tiltfit.Fit, such as Journal.finished makes, but returned {found!r:.80}."
    if np.shape(found.weights) != (n_weights,) or np.asarray(found.weights).dtype.kind != "f":
        return (
            f"must return weights as an array of {n_weights} floats, but they have the shape "
            f"{np.shape(found.weights)} and the type {np.asarray(found.weights).dtype}."
        )
    if not isinstance(found.stop, Stop):
        return f"must say why it stopped by a tiltfit.Stop, such as Stop.CONVERGED, but says {found.stop!r:.80}."
    if not isinstance(found.history, tuple) or not all(isinstance(one, Round) for one in found.history):
        return f"must return a history that is a tuple of tiltfit.Round, but it is {found.history!r:.80}."
    return None


def final_evaluation(problem: Problem, weights: FloatArray, value: float, gradient: FloatArray) -> Evaluation:
    """The end of a method that does not project: its own objective, and q as the projection of its model, so that
    reports and ``project`` mean the same whatever the method."""
    projection = None
    if problem.tilt is not None:
        projection = problem.evaluate(weights, None, 1e-6, told=True).projection
    return Evaluation(value, gradient, projection)
