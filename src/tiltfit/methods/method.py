"""What a method is: a way to find the weights of a model from data and constraints.

Alternating projections are one; the others are what it is compared with. A method is one file: its docstring states
its objective, how it differs from alternating projections and where it comes from; ``METHODS`` (``methods.catalogue``)
lists them by the word that users type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tiltfit.arrays import FloatArray
from tiltfit.data.inputs import Unit
from tiltfit.errors import UnsupportedError
from tiltfit.language.constraint import ConstraintSet
from tiltfit.methods.history import Callback, Development, Fit
from tiltfit.methods.majority_vote import Votes
from tiltfit.methods.problem import Evaluation, Problem
from tiltfit.models.generative import GENERATIVE
from tiltfit.projections.grounding import Grounded


@dataclass(frozen=True, eq=False)
class Task:
    """What there is to learn from: ``problem`` holds data, labels and constraints as rows, ``grounded`` what the rows
    mean, ``votes`` what constraints say of single positions (for methods that ask for them)."""

    problem: Problem
    grounded: Grounded
    votes: Votes | None = None


@dataclass(frozen=True, eq=False)
class Run:
    """How to learn, and whom to tell. ``options``: the method's own (``Method.options``)."""

    solver: str = "auto"
    max_iter: int = 500
    tol: float = 1e-3
    seed: int = 0
    callback: Callback | None = None
    development: Development | None = None
    options: Any = None


@dataclass(frozen=True, eq=False)
class Case:
    """What a fit is about to be tried on, as far as it decides whether it can be."""

    model: str
    solver: str
    constraints: ConstraintSet
    unit: Unit


@dataclass(frozen=True)
class NoOptions:
    """A method without options of its own."""


def _anything(_: Case) -> None:
    """Nothing is refused."""


def _nothing(_: ConstraintSet, __: Votes | None, ___: Any) -> Mapping[int, str]:
    """No constraint has a say."""
    return {}


@dataclass(frozen=True)
class Method:
    """``fit(task, start, run)`` gives the weights. ``why_not``: models that it cannot train, with the reason and the
    nearest that works. ``refuse``: raises for constraints that it cannot take. ``options``: a frozen dataclass whose
    constructor raises for what it cannot be. ``solvers``: those it knows. ``separate``: whether constraints on single
    instances have prices of their own, found inside projections, or are rows like any other. ``votes``: whether the
    task needs them. ``violations``: whether it needs those of single instances (``Grounded.violations``). ``start``:
    where it starts if nothing is said. ``generative``: whether it can train generative models. ``unaided``: whether
    unlabelled data without constraints are enough. ``takes``: whether there may be constraints. ``follows``: whether it
    learns from all of them, so that one that is missed says something of the data. ``roles(constraints, votes,
    options)``: if not, what it does with some of them all the same, by their numbers; a word or two for the report,
    which judges the model then."""

    name: str
    title: str
    fit: Callable[[Task, FloatArray, Run], Fit]
    why_not: dict[str, str] = field(default_factory=dict)
    refuse: Callable[[Case], None] = _anything
    options: type = NoOptions
    solvers: tuple[str, ...] = ("auto",)
    separate: bool = True
    votes: bool = False
    violations: bool = False
    start: str = "zeros"
    generative: bool = False
    unaided: bool = False
    takes: bool = True
    follows: bool = True
    roles: Callable[[ConstraintSet, Votes | None, Any], Mapping[int, str]] = _nothing

    def check(self, case: Case) -> None:
        """Refuse what the method cannot do, before any work starts."""
        if case.model in self.why_not:
            raise UnsupportedError(
                f"method={self.name!r} cannot train model={case.model!r}: {self.why_not[case.model]}"
            )
        if case.model in GENERATIVE and not self.generative:
            raise UnsupportedError(
                f"method={self.name!r} cannot train model={case.model!r}: it fits weights of p(y|x) that are free, but "
                "those of a generative model are log-probabilities. Use method='ap', 'codl', 'em' or 'supervised', or "
                f"model={'crf' if case.unit == 'tokens' else 'maxent'!r}."
            )
        if case.solver == "online" and "online" not in self.solvers:
            raise UnsupportedError(
                f"method={self.name!r} cannot learn online: its objective does not decompose over instances, or it "
                "looks at them again and again. Use fit with another solver, or method='ap'."
            )
        if case.solver not in self.solvers:
            raise UnsupportedError(
                f"method={self.name!r} has no solver={case.solver!r}: use {' or '.join(map(repr, self.solvers))}."
            )
        self.refuse(case)


def final_evaluation(problem: Problem, weights: FloatArray, value: float, gradient: FloatArray) -> Evaluation:
    """The end of a method that does not project: its own objective, and q as the projection of its model, so that
    reports and ``project`` mean the same whatever the method."""
    projection = None
    if problem.tilt is not None:
        projection = problem.evaluate(weights, None, 1e-6, told=True).projection
    return Evaluation(value, gradient, projection)
