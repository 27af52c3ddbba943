"""The estimator's parameters, checked before any work starts."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from tiltfit.data.inputs import Inputs, Unit
from tiltfit.errors import DataError, UnsupportedError, did_you_mean
from tiltfit.estimators.streaming import online_options
from tiltfit.execution.workers import Workers
from tiltfit.inference.priced import HOW
from tiltfit.language.constraint import ConstraintSet
from tiltfit.methods.catalogue import METHODS
from tiltfit.methods.majority_vote import Votes, majority_vote
from tiltfit.methods.method import Case, Method
from tiltfit.methods.online import Online
from tiltfit.methods.start import STARTS
from tiltfit.models.generative import GENERATIVE
from tiltfit.models.registry import MODELS, model_names
from tiltfit.projections.strength import Strength

SCALES = ("unit", "support")
CLASSIFIERS = ("maxent", "naive_bayes", "bernoulli_naive_bayes")
TAGGERS = ("crf", "hmm")
_AUTO = {"naive_bayes": "counts", "bernoulli_naive_bayes": "binary"}


@dataclass(frozen=True)
class Options:
    """What a fit needs to know besides data and constraints."""

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
    def of(estimator: Any, models: tuple[str, ...] = CLASSIFIERS) -> Options:
        """Check the parameters of an estimator; raises by name."""
        _ = MODELS.knows(estimator.model), METHODS.knows(estimator.method)  # an extension may
        known = model_names(sequences=models == TAGGERS)
        _one_of("model", estimator.model, known, _not_a_model(estimator.model, models))
        _one_of("method", estimator.method, tuple(METHODS), _not_a_method(estimator.method, models))
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
                raise DataError(f"{name}={value!r} must be True or False.")
        for name in ("max_iter", "n_init"):
            _positive(name, getattr(estimator, name))
            if not isinstance(getattr(estimator, name), numbers.Integral):
                raise DataError(f"{name}={getattr(estimator, name)!r} must be a whole number.")
        if estimator.callback is not None and not callable(estimator.callback):
            raise DataError(f"callback={estimator.callback!r} cannot be called: pass a function of one argument.")
        for name in ("constraints", "classes", "feature_names"):
            if hasattr(getattr(estimator, name, None), "__next__"):
                raise DataError(f"{name}= is an iterator, which can be read only once: pass a list.")
        classes = estimator.classes
        if isinstance(classes, str | bytes) or not (classes is None or isinstance(classes, Iterable)):
            raise DataError(f"classes={classes!r} must be a list of all labels, such as ['a', 'b'].")
        method = METHODS[estimator.method]
        # Before data are looked at; the constraints come later.
        method.check(Case(estimator.model, estimator.solver, ConstraintSet(), "tokens" if "crf" in models else "rows"))
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
        """Refuse what the method cannot do with this model and these constraints."""
        self.method.check(Case(self.model, self.solver, constraints, unit))

    def check_online(self, unit: Unit) -> None:
        """Refuse what cannot learn from a stream."""
        self.method.check(Case(self.model, "online", ConstraintSet(), unit))

    def votes(self, constraints: ConstraintSet, inputs: Inputs) -> Votes | None:
        """What the constraints say of single rows or tokens, if the method learns from that."""
        return majority_vote(constraints, inputs, constraints.classes or ()) if "votes" in self.method.needs else None

    def roles(self, constraints: ConstraintSet, votes: Votes | None) -> Mapping[int, str] | None:
        """What became of constraints if the method does not follow them (``Method.roles``)."""
        return None if self.method.follows else self.method.roles(constraints, votes, self.method_options)

    def vectorizer(self, given: Any) -> Any:
        """``given``, or what ``"auto"`` stands for: a generative model generates what it is given."""
        return _AUTO.get(self.model, given) if isinstance(given, str) and given == "auto" else given

    def check_anything(self, told: bool, noun: str) -> None:
        """Refuse to learn from nothing: neither labels nor constraints that fire (``told``)."""
        if told or self.method.unaided:
            return
        em = " Use method='em' for clusters of what is there." if self.is_generative else ""
        raise DataError(
            f"There is nothing to learn from: no {noun} has a label, and no constraint fires on this data.{em}"
        )

    @property
    def is_generative(self) -> bool:
        """Whether the model is one of p(x, y)."""
        return self.model in GENERATIVE

    def workers(self) -> Workers:
        """Threads to run kernels on."""
        return Workers(self.n_jobs)


def _refuse_generative(estimator: Any) -> None:
    """What a model of p(x, y) cannot be given."""
    if estimator.model not in GENERATIVE:
        return
    if estimator.alpha == 0:
        raise DataError(
            f"alpha=0 with model={estimator.model!r}, whose alpha is a pseudo-count: what a class has not shown would "
            "have probability 0. Use a small one, such as alpha=0.001."
        )
    if getattr(estimator, "base", None) is not None:
        raise UnsupportedError(
            f"base= is a distribution of y given x, on which model={estimator.model!r} of x and y cannot be built. Use "
            "model='maxent'."
        )


def threads(n_jobs: Any) -> int:
    """How many threads ``n_jobs`` asks for."""
    try:
        if n_jobs is not None and (isinstance(n_jobs, bool | np.bool_) or not isinstance(n_jobs, numbers.Integral)):
            raise TypeError
        return int(effective_n_jobs(n_jobs))
    except (TypeError, ValueError) as error:
        raise DataError(f"n_jobs={n_jobs!r} must be a whole number of threads (-1: one a core) or None.") from error


def _method_options(method: Method, given: Any) -> Any:
    """What ``method_options=`` says, as the method takes it; raises by name."""
    known = [field.name for field in fields(method.options)]
    if given is None:
        given = {}
    if not isinstance(given, Mapping):
        raise DataError(f"method_options={given!r:.80} must be a dict of options of method={method.name!r}: {known}.")
    for name in given:
        if name not in known:
            raise DataError(
                f"method_options={{{name!r}: ...}} is unknown.{did_you_mean(name, known)} "
                f"method={method.name!r} knows {known or 'none'}."
            )
    return method.options(**given)


def _one_of(name: str, value: object, known: tuple[str, ...], hint: str = "") -> None:
    if value not in known:
        raise UnsupportedError(
            f"{name}={value!r} is not supported: use {' or '.join(map(repr, known))}."
            f"{hint or did_you_mean(value, known)}"
        )


def _not_a_model(value: object, models: tuple[str, ...]) -> str:
    """What to say of a word that is none of these models, but something else."""
    if value in tuple(METHODS):
        return f" {value!r} is a method: say method={value!r}."
    if value in CLASSIFIERS or value in TAGGERS:
        other = "TiltClassifier, for documents or rows" if models == TAGGERS else "TiltTagger, for sequences"
        return f" {value!r} is a model of {other}."
    return ""


def _not_a_method(value: object, models: tuple[str, ...]) -> str:
    """What to say of a word that is no method, but a model or a solver."""
    if value in CLASSIFIERS or value in TAGGERS:
        return f" {value!r} is a model: say model={value!r}." if value in models else _not_a_model(value, models)
    if value in METHODS["ap"].solvers:
        return f" {value!r} is a solver: say solver={value!r}."
    return ""


def _positive(name: str, value: object, *, zero: bool = False) -> None:
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not (value > 0 or (zero and value == 0)) or value == float("inf"):  # type: ignore[operator]
        raise DataError(f"{name}={value!r} must be a {'non-negative' if zero else 'positive'}, finite number.")
