"""Learning online: ``partial_fit``, which takes a stream part by part, and ``solver="online"``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.data.beside import apart
from tiltfit.errors import DataError, UnsupportedError
from tiltfit.estimators.options import Options, check_classes, generator
from tiltfit.execution.workers import one_blas_thread
from tiltfit.language.constraint import ConstraintSet
from tiltfit.language.values import exact
from tiltfit.language.values import label as as_label
from tiltfit.methods.history import CLOSE, Development, Fit, Journal, Round
from tiltfit.methods.online import Learner
from tiltfit.methods.problem import Problem
from tiltfit.methods.sharpness import Sharpness
from tiltfit.methods.start import starting_point
from tiltfit.models.model import linear
from tiltfit.optimize.lazy import LazyTable
from tiltfit.optimize.result import Stop
from tiltfit.projections.components import PRIOR_RATE, Strength, penalty_of
from tiltfit.projections.grounding import Grounded, Key
from tiltfit.projections.ledger import Described, Ledger
from tiltfit.report.outcome import report_stream

if TYPE_CHECKING:
    from tiltfit.estimators.estimator import TiltEstimator


class Settled:
    """An attribute of a fitted estimator. A stream makes it when it is asked for, since that takes a sweep over all
    weights; ``partial_fit`` does not."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        if estimator is None:
            return self
        if estimator.stream_ is None:
            raise AttributeError(f"{type(estimator).__name__!r} object has no attribute {self._name!r}")
        weights = estimator.stream_.learner.flat_weights()
        estimator._set_weights(weights)
        return vars(estimator)[self._name]


@dataclass(eq=False)
class Stream:
    """A learner with the strength of constraints, and ``apart``, the supports of those that have no price here, since
    they forbid labels or are about single instances. ``place``: the place in the data, as the reader describes it;
    plain values that a model file keeps."""

    learner: Learner
    strength: Strength
    apart: dict[int, float] = field(default_factory=dict)
    place: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def begin(options: Options, estimator: TiltEstimator) -> Stream:
        """A stream that has seen nothing."""
        n_rows, n_edges = estimator._sizes
        n_labels, squares = len(estimator.classes_), options.online.rule.squares
        options.check(ConstraintSet(), "rows" if n_edges is None else "tokens", solver="online")
        of_nodes, of_edges = estimator._free_rows
        learner = Learner(
            online=options.online,
            alpha=float(estimator.alpha),
            gamma=float(estimator.gamma),
            nodes=LazyTable.zeros(n_rows, n_labels, squares=squares, free=of_nodes),
            edges=None if n_edges is None else LazyTable.zeros(n_edges, n_labels**2, squares=squares, free=of_edges),
            ledger=Ledger(),
            seed=int(generator(estimator.random_state).integers(2**31)),
        )
        return Stream(learner, estimator.strength_)

    def learn(self, problem: Problem, grounded: Grounded, estimator: TiltEstimator) -> None:
        """Take the instances in their order; then update what the estimator reports."""
        rows = self.enter(grounded, estimator.classes_.tolist())
        for name in ("coef_", "intercept_", "transitions_"):
            estimator.__dict__.pop(name, None)  # made anew when they are asked for
        self.place = {}  # whoever reads the data says anew where they are
        with one_blas_thread():
            self.learner.learn(problem, grounded, np.arange(len(problem.weight)), rows)
        local = np.bincount(grounded.owner[grounded.local], weights=grounded.support[grounded.local])
        for number, support in [*grounded.ruled_support.items(), *enumerate(local.tolist())]:
            if support > 0:
                self.apart[number] = self.apart.get(number, 0.0) + support
        self.report_to(estimator)

    def report_to(self, estimator: TiltEstimator) -> None:
        """Set what the estimator reports after a call."""
        estimator.stream_, estimator.prices_, estimator.n_iter_, estimator.history_ = self, self.prices(), 1, ()
        estimator.objective_, estimator.converged_, estimator.message_ = float("nan"), False, "a stream"
        estimator.constraint_report_ = report_stream(
            self.learner.ledger, self.learner.prices(), self.learner.pulls(), estimator.constraints_,
            estimator.classes_.tolist(), estimator.unit_, self.apart,
        )  # fmt: skip

    def enter(self, grounded: Grounded, classes: list[Any]) -> IntArray:
        """The numbers of the shared rows of ``grounded`` in the ledger; −1 for those of single instances."""
        n = 0 if grounded.by_instance is None else grounded.by_instance.shape[1]
        shared = np.flatnonzero(~grounded.local[:n])
        keys = grounded.keys
        rows = np.full(n, -1, dtype=np.intp)
        rows[shared] = self.learner.ledger.enter(
            [keys[r] for r in shared], lambda key: self.describe(key, grounded.constraints, classes)
        )
        return rows

    def repeat(self) -> None:
        """Count as many instances as were seen, since the same will be seen again, unless a number was declared."""
        if self.learner.online.horizon is None:
            self.learner.online = replace(self.learner.online, horizon=self.learner.seen)

    def describe(self, key: Key, constraints: ConstraintSet, classes: list[Any]) -> Described:
        """A row as the ledger enters it."""
        number, component, _ = key
        constraint, rate = constraints[number], self.strength.rates.get(number, 1.0)
        target = next((target for target in constraint.targets(classes) if target.number == component), None)
        if target is None:  # a damaged model file
            raise LookupError(f"constraint {number} has no part {component}")
        share = float("nan") if constraint.of is None else target.share
        penalty = penalty_of(constraint, target, np.ones(1), self.strength, rate)
        return Described(penalty, share, self.strength.per_firing(constraint))

    def prices(self) -> dict[Key, float]:
        """θ of every row, by its key."""
        return dict(zip(self.learner.ledger.keys, self.learner.prices().tolist(), strict=True))


def learn_more(estimator: TiltEstimator, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
    """``partial_fit``: the next part of a stream. A call that is refused leaves the estimator as it was; so does one
    whose instances have no weight, but for a stream that it begins."""
    check_classes(classes)
    before = dict(estimator.__dict__)
    weightless = _is_weightless(sample_weight)
    fitted = estimator.__sklearn_is_fitted__()
    try:
        if estimator.stream_ is None:
            options = Options.of(estimator)
            estimator._check_stream()
            _refuse_sharpness(options, estimator.sharpen)
            if fitted:  # goes on from the weights and features of a batch fit
                estimator.stream_ = Stream.begin(options, estimator)
                estimator.stream_.learner.start_from(estimator.unsharpened_weights())
                estimator.sharpening_ = Sharpness()
            else:
                _begin(estimator, options, X, y, classes)
        assert estimator.stream_ is not None
        begun = dict(estimator.__dict__)
        problem, grounded = _chunk(estimator, X, y, classes, None if weightless else sample_weight)
        if weightless and len(sample_weight) != len(problem.weight):
            raise DataError(
                f"sample_weight has {len(sample_weight)} entries, but X has {len(problem.weight)}.",
                parameter="sample_weight",
            )
    except BaseException:
        estimator.__dict__ = before
        raise
    if not weightless:
        estimator.stream_.learn(problem, grounded, estimator)
    elif fitted:
        estimator.__dict__ = before
    else:
        estimator.__dict__ = begun
        estimator.stream_.report_to(estimator)


def _refuse_sharpness(options: Options, given: Any) -> None:
    if isinstance(options.sharpen, Sharpness) and not options.sharpen.is_plain:
        raise UnsupportedError(
            f"sharpen={given!r} multiplies the fitted weights, but partial_fit goes on learning from them. Use "
            "sharpen='auto' or None.",
            parameter="sharpen",
        )


def _begin(estimator: TiltEstimator, options: Options, X: Any, y: Any, classes: Any) -> None:
    """Fix parameters, classes and features by the first part of a stream."""
    task, constraints = estimator.task, ConstraintSet.of(estimator.constraints, estimator.task.unit)
    if options.start not in (None, "zeros"):  # computed from all data, which a stream does not have
        raise UnsupportedError(
            f"init={options.start!r} is a start of fit; partial_fit begins with weights of zero, or with those of a "
            "fitted estimator given as init=.",
            parameter="init",
        )
    encoder, inputs, matrix = estimator._learn_encoder(apart(X).X, options, part=True)
    declared = next((c for c in (classes, estimator.classes, constraints.classes) if c is not None), None)
    if declared is None:  # those that constraints and first labels show
        named = [name for constraint in constraints for name in constraint.names]
        declared = list({exact(name): name for name in [*named, *task.shown(y, inputs)]}.values())
    found = task.targets(y, inputs, list(declared)).classes
    given = estimator._given_start(options, found.tolist(), encoder, matrix.shape[1])
    estimator.classes_, estimator.constraints_ = found, constraints.with_classes(found.tolist(), task.unit)
    estimator._keep_encoder(encoder if encoder is None else encoder.anew(), matrix.shape[1])
    estimator.base_, estimator.model_, estimator.unit_ = estimator.base, options.model, inputs.unit
    estimator.inference_ = estimator._inference_settings()
    # How often the events happen that shares are of is not known beforehand, so it stays at its prior.
    shares = {k: PRIOR_RATE for k, constraint in enumerate(constraints) if constraint.of is not None}
    estimator.strength_, estimator.revisions_ = replace(options.strength, rates=shares, smooth=True), {}
    estimator.stream_ = Stream.begin(options, estimator)
    if given is not None:
        estimator.stream_.learner.start_from(given)


def _chunk(estimator: TiltEstimator, X: Any, y: Any, classes: Any, sample_weight: Any) -> tuple[Problem, Grounded]:
    """X and y, checked against the stream that has begun, as a problem."""
    known = estimator.classes_.tolist()
    if classes is not None and _exact(classes) != _exact(known):
        raise DataError(
            f"classes={list(classes)!r} differs from the first call of partial_fit, which had {known!r}: a stream "
            "cannot change its classes.",
            parameter="classes",
        )
    beliefs = estimator.infer(X, y, sample_weight, part=True)
    grounded = estimator.ground(beliefs, part=True)
    assert estimator.stream_ is not None
    gamma = estimator.stream_.learner.gamma
    return Problem.of(beliefs.model, beliefs.sample, grounded, np.empty(0), gamma), grounded


def _is_weightless(sample_weight: Any) -> bool:
    """Return whether all weights are zero. Other faults are found elsewhere."""
    if sample_weight is None:
        return False
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return weight.ndim == 1 and len(weight) > 0 and not weight.any()


def _exact(classes: Iterable[Any]) -> set[Any]:
    """To compare: 1 and "1" are two classes, 1 and NumPy's 1 are one."""
    return {exact(as_label(c, "A class")) for c in classes}


def fit_online(
    problem: Problem,
    grounded: Grounded,
    options: Options,
    estimator: TiltEstimator,
    *,
    given: FloatArray | None,
    development: Development | None,
) -> tuple[Fit, Stream]:
    """Make the passes over all instances, each in a different order; then compute the objective of Eq. 6 and its q."""
    linear(problem.model, "solver='online'")
    n, classes = len(problem.weight), list(grounded.constraints.classes or ())
    estimator.strength_, estimator.revisions_ = replace(options.strength, rates=grounded.rates, smooth=True), {}
    stream = Stream.begin(options, estimator)
    learner, rows = stream.learner, stream.enter(grounded, classes)
    learner.online, learner.unlabelled_in_all = replace(learner.online, horizon=n), n - len(problem.labelled)
    if learner.online.is_printed:  # knows all sums beforehand
        learner.ledger.declared[rows[rows >= 0]] = grounded.support[: len(rows)][rows >= 0]
    rng, journal = generator(estimator.random_state), Journal(estimator.callback, development)
    if given is None and options.start is not None:
        given = starting_point(options.start, problem, rng, options.tol)
    if given is not None:
        learner.start_from(given)
    journal.begin(learner.flat_weights())
    with one_blas_thread():
        for number in range(1, learner.online.passes + 1):
            learner.loss = 0.0
            learner.learn(problem, grounded, rng.permutation(n), rows)
            if journal.add(_round(number, learner), learner.flat_weights()):
                break
        weights = journal.settle(learner.flat_weights())
        learner.start_from(weights)  # a development set may have preferred an earlier pass
        learner.settle_passes(n, options.online)
        last = problem.evaluate(weights, None, CLOSE, told=True)
    return journal.finished(weights, last, journal.stop or Stop.PASSES), stream


def _round(number: int, learner: Learner) -> Round:
    """The figures of a pass: its objective takes every instance as it was before it was learned from."""
    ledger = learner.ledger
    value = learner.loss + learner.ridge() + learner.gamma * ledger.cost(learner.growth)
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
