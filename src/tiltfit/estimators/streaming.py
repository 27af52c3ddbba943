"""What classifier and tagger have in common when they learn online: ``solver="online"`` and ``partial_fit``."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tiltfit.errors import DataError, UnsupportedError, did_you_mean
from tiltfit.estimators.starts import generator
from tiltfit.execution.blas import one_blas_thread
from tiltfit.language.constraint import ConstraintSet
from tiltfit.methods.history import Callback, Fit, Round
from tiltfit.methods.journal import Development, Journal
from tiltfit.methods.online import Learner, Online, begin
from tiltfit.methods.problem import Problem
from tiltfit.penalties.penalty import Penalty
from tiltfit.projections.grounding import Grounded, Key
from tiltfit.projections.rows import penalty_of
from tiltfit.projections.strength import PRIOR_RATE, Strength

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

STEPS = ("adaptive", "printed")


def online_options(given: Any) -> Online:
    """What ``online=`` says; raises by name."""
    if given is None or isinstance(given, Online):
        options = given or Online()
    elif isinstance(given, Mapping):
        known = [field.name for field in fields(Online)]
        for name in given:
            if name not in known:
                raise DataError(f"online={{{name!r}: ...}} is unknown.{did_you_mean(name, known)} Known: {known}.")
        options = Online(**given)
    else:
        raise DataError(f"online={given!r:.80} must be a dict of options, such as {{'passes': 3}}.")
    if options.steps not in STEPS:
        raise DataError(f"online steps={options.steps!r} is unknown: use 'adaptive' or 'printed'.")
    for name in ("passes", "batch_size", "horizon"):
        value = getattr(options, name)
        if value is None and name != "passes":
            continue
        if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < 1:
            raise DataError(f"online {name}={value!r} must be a whole number of at least 1.")
    for name in ("eta0", "reach"):
        value = getattr(options, name)
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < float("inf"):
            raise DataError(f"online {name}={value!r} must be a positive, finite number.")
    return options


class Settled:
    """An attribute of a fitted estimator. A stream makes it when it is asked for, since that takes a sweep over all
    weights; ``partial_fit`` does not."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        if estimator is None:
            return self
        if vars(estimator).get("_stream") is None:
            raise AttributeError(f"{type(estimator).__name__!r} object has no attribute {self._name!r}")
        estimator._settle()
        return vars(estimator)[self._name]


@dataclass(eq=False)
class Stream:
    """A learner with what it needs to know of constraints: their strength, and how often the events happen that shares
    are of. ``place``: how much of which data it has seen, for those who read them."""

    learner: Learner
    strength: Strength
    place: dict[str, Any]

    @staticmethod
    def begin(
        problem: Problem, online: Online, strength: Strength, alpha: float, random_state: Any, *, free: bool = False
    ) -> Stream:
        seed = int(generator(random_state).integers(2**31))
        per_firing = strength.scale == "support"
        learner = begin(problem, online, per_firing=per_firing, alpha=alpha, free_intercept=free, seed=seed)
        return Stream(learner, strength, {})

    def learn(self, problem: Problem, grounded: Grounded, classes: list[Any], order: IntArray | None = None) -> None:
        """Take the instances in this order, or in theirs."""
        rows = self.enter(grounded, classes)
        with one_blas_thread():
            self.learner.learn(problem, grounded, np.arange(len(problem.weight)) if order is None else order, rows)

    def enter(self, grounded: Grounded, classes: list[Any]) -> IntArray:
        """The shared rows of ``grounded`` in the ledger; 0 for those that speak of one instance each."""
        n = 0 if grounded.by_instance is None else grounded.by_instance.shape[1]
        shared = np.flatnonzero(~grounded.local[:n])
        keys = grounded.keys
        rows = np.zeros(n, dtype=np.intp)
        rows[shared] = self.learner.ledger.enter(
            [keys[r] for r in shared], lambda key: self.describe(key, grounded.constraints, classes)
        )
        return rows

    def describe(self, key: Key, constraints: ConstraintSet, classes: list[Any]) -> tuple[Penalty, float]:
        """U of a row at a support of 1, and the share of another event that it is compared with."""
        number, component, _ = key
        constraint, rate = constraints[number], self.strength.rates.get(number, 1.0)
        share = float("nan") if constraint.of is None else sorted(set(constraint.relation.numbers))[-1 - component]
        return penalty_of(constraint, component, np.ones(1), self.strength, rate, classes), share

    def prices(self) -> dict[Key, float]:
        """θ of every row, by what it speaks of."""
        return dict(zip(self.learner.ledger.keys, self.learner.prices().tolist(), strict=True))


def rates_of_streams(constraints: ConstraintSet) -> dict[int, float]:
    """How often events happen that shares are of: nothing is known beforehand."""
    return {k: PRIOR_RATE for k, c in enumerate(constraints) if c.of is not None}


def fit_online(
    problem: Problem,
    grounded: Grounded,
    stream: Stream,
    classes: list[Any],
    random_state: Any,
    *,
    start: FloatArray | None = None,
    tol: float,
    callback: Callback | None = None,
    development: Development | None = None,
) -> Fit:
    """So many passes over all instances, each in another order; in the end the objective of Eq. 6 and its q."""
    learner, n = stream.learner, len(problem.weight)
    learner.online = replace(learner.online, horizon=n)
    rows = stream.enter(grounded, classes)
    if grounded.by_instance is not None:
        learner.ledger.declared[rows] = grounded.support[: len(rows)]
    if start is not None:
        learner.start_from(start)
    rng, journal, passes = generator(random_state), Journal(callback, development), learner.online.passes
    weights = learner.flat_weights()
    journal.begin(weights)
    message, converged = f"{passes} passes over {n} instances", True
    for number in range(1, passes + 1):
        learner.loss = 0.0
        with one_blas_thread():
            learner.learn(problem, grounded, rng.permutation(n), rows)
        weights = learner.flat_weights()
        if journal.add(_round(number, learner, weights), weights):
            converged, message = journal.is_enough, str(journal.reason)
            break
    weights = journal.settle(weights)
    with one_blas_thread():
        return journal.finished(weights, problem.evaluate(weights, None, tol, told=True), converged, message)


def _round(number: int, learner: Learner, weights: FloatArray) -> Round:
    """A pass as it met the data: its objective is that of every instance before it was learned from."""
    ledger = learner.ledger
    value = learner.loss + learner.alpha / 2 * float(weights @ weights) + learner.gamma * ledger.cost(learner.growth)
    return Round(
        round=number,
        max_iter=learner.online.passes,
        objective=value,
        information=value,
        moment=value,
        gap=0.0,
        worst_violation=ledger.worst_violation(),
        gradient=float("nan"),
        evaluations=learner.seen,
    )


def refuse_after_batch(estimator: Any) -> None:
    """A batch fit leaves nothing to go on with."""
    if "_stream" not in vars(estimator) and "coef_" in vars(estimator):
        raise UnsupportedError(
            f"This {type(estimator).__name__} was fitted by fit(solver={estimator.solver!r}), which partial_fit cannot "
            "go on with. Begin with partial_fit or fit(solver='online'), or give a new estimator init=this one."
        )
