"""The parameters of an estimator, checked before any work starts."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from tiltfit.data.inputs import Inputs, Unit
from tiltfit.errors import DataError, UnsupportedError, did_you_mean
from tiltfit.execution.workers import Workers
from tiltfit.inference.priced import HOW
from tiltfit.language.constraint import ConstraintSet
from tiltfit.methods.catalogue import METHODS
from tiltfit.methods.method import Case, Method
from tiltfit.methods.online import Online
from tiltfit.methods.start import STARTS
from tiltfit.methods.vote import Votes, majority_vote
from tiltfit.models.generative import GENERATIVE
from tiltfit.models.registry import MODELS, model_names
from tiltfit.projections.components import Strength
from tiltfit.samples.task import DOCUMENTS, SEQUENCES, Task

SCALES = ("unit", "support")
STEPS = ("adaptive", "printed")
_AUTO = {"naive_bayes": "counts", "bernoulli_naive_bayes": "binary"}


@dataclass(frozen=True)
class Options:
    """The parameters of a fit besides data and constraints."""

    method: Method
    method_options: Any
    model: str
    solver: str
    strength: Strength
    max_iter: int
    tol: float
    n_jobs: int
    online: Online

    @staticmethod
    def of(estimator: Any) -> Options:
        """Check the parameters of an estimator; errors name the parameter."""
        task: Task = estimator.task
        kind = MODELS.get(estimator.model)
        if kind is None or kind.sequences is not task.is_sequences:
            models = model_names(sequences=task.is_sequences)
            _one_of("model", estimator.model, models, _not_a_model(estimator.model, task))
        if estimator.method not in METHODS:
            _one_of("method", estimator.method, tuple(METHODS), _not_a_method(estimator.method, task))
        _one_of("scale", estimator.scale, SCALES)
        _one_of("solver", estimator.solver, METHODS["ap"].solvers)
        _one_of("inference", getattr(estimator, "inference", "auto"), HOW)
        if isinstance(estimator.init, str):
            _one_of("init", estimator.init, STARTS)
        _positive("alpha", estimator.alpha, zero=True)
        _refuse_generative(estimator)
        _positive("beta", estimator.beta)
        _positive("gamma", estimator.gamma)
        _positive("tol", estimator.tol)
        for name in ("valid_only", "boundaries", "warm_start", "penalize_intercept"):
            value = getattr(estimator, name, False)
            if not isinstance(value, bool | np.bool_):
                raise DataError(f"{name}={value!r} must be True or False.", parameter=name)
        for name in ("max_iter", "n_init"):
            check_whole(name, getattr(estimator, name))
        if estimator.callback is not None and not callable(estimator.callback):
            raise DataError(
                f"callback={estimator.callback!r} is not callable: pass a function of one argument.",
                parameter="callback",
            )
        for name in ("constraints", "classes", "feature_names"):
            if hasattr(getattr(estimator, name, None), "__next__"):
                raise DataError(f"{name}= is an iterator, which can be read only once: pass a list.", parameter=name)
        classes = estimator.classes
        if isinstance(classes, str | bytes) or not (classes is None or isinstance(classes, Iterable)):
            raise DataError(
                f"classes={classes!r} must be a list of all labels, such as ['a', 'b'].", parameter="classes"
            )
        method = METHODS[estimator.method]
        # Before data are looked at; the constraints come later.
        method.check(Case(estimator.model, estimator.solver, ConstraintSet(), task.unit or "rows"))
        return Options(
            method=method,
            method_options=_method_options(method, estimator.method_options),
            model=estimator.model,
            solver=estimator.solver,
            strength=Strength(float(estimator.beta), estimator.scale),
            max_iter=int(estimator.max_iter),
            tol=float(estimator.tol),
            n_jobs=threads(estimator.n_jobs),
            online=online_options(estimator.online),
        )

    def check(self, constraints: ConstraintSet, unit: Unit) -> None:
        """Refuse a model or constraints that the method cannot work with."""
        self.method.check(Case(self.model, self.solver, constraints, unit))

    def check_online(self, unit: Unit) -> None:
        """Refuse a method or model that cannot learn from a stream."""
        self.method.check(Case(self.model, "online", ConstraintSet(), unit))

    def votes(self, constraints: ConstraintSet, inputs: Inputs) -> Votes | None:
        """The votes of constraints on single rows or tokens, if the method learns from these."""
        return majority_vote(constraints, inputs, constraints.classes or ()) if "votes" in self.method.needs else None

    def roles(self, constraints: ConstraintSet, votes: Votes | None) -> Mapping[int, str] | None:
        """The roles of constraints, if the method does not follow them (``Method.roles``)."""
        return None if self.method.follows else self.method.roles(constraints, votes, self.method_options)

    def vectorizer(self, given: Any) -> Any:
        """``given``; ``"auto"`` with a generative model: the kind of features that it generates."""
        return _AUTO.get(self.model, given) if isinstance(given, str) and given == "auto" else given

    @property
    def alternates(self) -> bool:
        """True if the method is that of Eq. 8 and 9, not online."""
        return self.method.name == "ap" and self.solver != "online"

    def check_anything(self, any_source: bool, noun: str) -> None:
        """Refuse to learn from nothing: neither labels nor constraints that fire (``any_source``)."""
        if any_source or self.method.unaided:
            return
        em = " Use method='em' for clusters of what is there." if self.is_generative else ""
        raise DataError(
            f"There is nothing to learn from: no {noun} has a label, and no constraint fires on this data.{em}"
        )

    @property
    def is_generative(self) -> bool:
        """True if the model is one of p(x, y)."""
        return self.model in GENERATIVE

    def workers(self) -> Workers:
        """Threads to run kernels on."""
        return Workers(self.n_jobs)


def _refuse_generative(estimator: Any) -> None:
    """Refuse parameters that a model of p(x, y) cannot have."""
    if estimator.model not in GENERATIVE:
        return
    if estimator.alpha == 0:
        raise DataError(
            f"alpha=0 with model={estimator.model!r}, whose alpha is a pseudo-count: what a class has not shown would "
            "have probability 0. Use a small one, such as alpha=0.001.",
            parameter="alpha",
        )
    if getattr(estimator, "base", None) is not None:
        raise UnsupportedError(
            f"base= is a distribution of y given x, on which model={estimator.model!r} of x and y cannot be built. Use "
            "model='maxent'.",
            parameter="base",
        )


def threads(n_jobs: Any) -> int:
    """The number of threads that ``n_jobs`` asks for."""
    try:
        if n_jobs is not None and (isinstance(n_jobs, bool | np.bool_) or not isinstance(n_jobs, numbers.Integral)):
            raise TypeError
        return int(effective_n_jobs(n_jobs))
    except (TypeError, ValueError) as error:
        raise DataError(
            f"n_jobs={n_jobs!r} must be a whole number of threads (-1: one per core) or None.", parameter="n_jobs"
        ) from error


def online_options(given: Any) -> Online:
    """The options in ``online=``; errors name the option."""
    if given is None or isinstance(given, Online):
        options = given or Online()
    elif isinstance(given, Mapping):
        known = [field.name for field in fields(Online)]
        for name in given:
            if name not in known:
                raise DataError(
                    f"online={{{name!r}: ...}} is unknown.{did_you_mean(name, known)} Known: {known}.",
                    parameter="online",
                )
        options = Online(**given)
    else:
        raise DataError(f"online={given!r:.80} must be a dict of options, such as {{'passes': 3}}.", parameter="online")
    if options.steps not in STEPS:
        raise DataError(f"online steps={options.steps!r} is unknown: use 'adaptive' or 'printed'.", parameter="steps")
    plain: dict[str, Any] = {}  # not NumPy's numbers, which a file does not hold
    for name in ("passes", "batch_size", "horizon"):
        value = getattr(options, name)
        if value is None and name != "passes":
            continue
        plain[name] = check_whole(f"online {name}", value)
    _positive("online eta0", options.eta0)
    return replace(options, **plain, eta0=float(options.eta0))


def _method_options(method: Method, given: Any) -> Any:
    """``method_options=`` as the method takes it; errors name the option."""
    known = [field.name for field in fields(method.options)]
    if given is None:
        given = {}
    if not isinstance(given, Mapping):
        raise DataError(
            f"method_options={given!r:.80} must be a dict of options of method={method.name!r}: {known}.",
            parameter="method_options",
        )
    for name in given:
        if name not in known:
            raise DataError(
                f"method_options={{{name!r}: ...}} is unknown.{did_you_mean(name, known)} "
                f"method={method.name!r} knows {known or 'none'}.",
                parameter="method_options",
            )
    return method.options(**given)


def _one_of(name: str, value: object, known: tuple[str, ...], hint: str = "") -> None:
    if value not in known:
        raise UnsupportedError(
            f"{name}={value!r} is not supported: use {' or '.join(map(repr, known))}."
            f"{hint or did_you_mean(value, known)}",
            parameter=name,
        )


def _not_a_model(value: object, task: Task) -> str:
    """A hint about a word that names a method, or a model of the other task."""
    if value in METHODS:
        return f" {value!r} is a method: use method={value!r}."
    if any(value in other.models for other in (DOCUMENTS, SEQUENCES)):
        other = "TiltClassifier, for documents or rows" if task.is_sequences else "TiltTagger, for sequences"
        return f" {value!r} is a model of {other}."
    return ""


def _not_a_method(value: object, task: Task) -> str:
    """A hint about a word that names a model or a solver."""
    if value in (*DOCUMENTS.models, *SEQUENCES.models):
        return f" {value!r} is a model: use model={value!r}." if value in task.models else _not_a_model(value, task)
    if value in METHODS["ap"].solvers:
        return f" {value!r} is a solver: use solver={value!r}."
    return ""


def _positive(name: str, value: object, *, zero: bool = False) -> None:
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not (value > 0 or (zero and value == 0)) or value == float("inf"):  # type: ignore[operator]
        raise DataError(
            f"{name}={value!r} must be a {'non-negative' if zero else 'positive'}, finite number.",
            parameter=name.rpartition(" ")[2],
        )


def check_whole(name: str, value: Any, least: int = 1) -> int:
    """``value`` as an int; refused, by the name of the parameter, unless it is a whole number of at least ``least``."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < least:
        raise DataError(
            f"{name}={value!r} must be a whole number of at least {least}.", parameter=name.rpartition(" ")[2]
        )
    return int(value)


def check_share(name: str, value: Any) -> float:
    """``value`` as a float; refused, by the name of the parameter, unless it is a number between 0 and 1."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool) or not 0 < value < 1:  # type: ignore[operator]
        raise DataError(f"{name}={value!r} must be a number between 0 and 1, such as 0.95.", parameter=name)
    return float(value)
