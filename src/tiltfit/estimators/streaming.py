"""What classifier and tagger have in common when they learn online: ``solver="online"`` and ``partial_fit``."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.data.inputs import is_missing
from tiltfit.errors import DataError, UnsupportedError, did_you_mean
from tiltfit.estimators.starts import generator
from tiltfit.execution.blas import one_blas_thread
from tiltfit.features.chains import ChainFeatures
from tiltfit.language.constraint import ConstraintSet
from tiltfit.language.values import exact
from tiltfit.language.values import label as as_label
from tiltfit.methods.history import Development, Fit, Journal, Round
from tiltfit.methods.online import Learner, Online
from tiltfit.methods.problem import Problem
from tiltfit.methods.start import starting_point
from tiltfit.models.model import linear
from tiltfit.optimize.lazy import LazyTable
from tiltfit.optimize.result import Stop
from tiltfit.penalties.penalty import Penalty
from tiltfit.projections.components import penalty_of
from tiltfit.projections.grounding import Grounded, Key
from tiltfit.projections.ledger import Ledger
from tiltfit.projections.strength import Strength
from tiltfit.report.outcome import report_stream

if TYPE_CHECKING:
    from tiltfit.estimators.options import Options


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
    plain: dict[str, Any] = {}  # not NumPy's numbers, which a file does not hold
    for name in ("passes", "batch_size", "horizon"):
        value = getattr(options, name)
        if value is None and name != "passes":
            continue
        if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < 1:
            raise DataError(f"online {name}={value!r} must be a whole number of at least 1.")
        plain[name] = int(value)
    eta0 = options.eta0
    if not isinstance(eta0, int | float | np.number) or isinstance(eta0, bool) or not 0 < eta0 < float("inf"):
        raise DataError(f"online eta0={eta0!r} must be a positive, finite number.")
    return replace(options, **plain, eta0=float(eta0))


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
    """A learner with what it needs to know of constraints: their strength, and ``apart``, supports of those that have
    no price here, since they forbid labels or speak of single instances. ``place``: where in the data it is, as those
    who read them say; plain values that a model file keeps."""

    learner: Learner
    strength: Strength
    apart: dict[int, float] = field(default_factory=dict)
    place: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def begin(
        n_rows: int, n_labels: int, n_edges: int | None, options: Options, estimator: Any, *, free: bool = False
    ) -> Stream:
        """A stream that has seen nothing. ``n_rows``: attributes (and intercepts) of positions, ``n_edges``: attributes
        of edges, ``free``: the last row has no ridge."""
        options.check_online("rows" if n_edges is None else "tokens")
        squares = options.online.rule.squares
        edges = None if n_edges is None else LazyTable.zeros(n_edges, n_labels**2, squares=squares)
        learner = Learner(
            online=options.online,
            alpha=float(estimator.alpha),
            gamma=float(estimator.gamma),
            nodes=LazyTable.zeros(n_rows, n_labels, squares=squares, free=n_rows - 1 if free else -1),
            edges=edges,
            ledger=Ledger(options.strength.scale == "support"),
            seed=int(generator(estimator.random_state).integers(2**31)),
        )
        return Stream(learner, options.strength)

    def learn(self, problem: Problem, grounded: Grounded, estimator: Any) -> None:
        """Take the instances in their order; then tell the estimator's report."""
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
        self.tell(grounded.constraints, estimator)

    def tell(self, constraints: ConstraintSet, estimator: Any) -> None:
        """What the estimator says of itself after a call."""
        keep_stream(estimator, self)
        estimator._prices, estimator.n_iter_, estimator.history_ = self.prices(), 1, ()
        estimator.objective_, estimator.converged_, estimator._message = float("nan"), False, "a stream"
        estimator.constraint_report_ = report_stream(
            self.learner.ledger, self.learner.prices(), constraints, estimator.classes_.tolist(), estimator._unit,
            self.apart,
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
        """What was seen is all there is and will be seen again: so many instances count, unless that was declared."""
        if self.learner.online.horizon is None:
            self.learner.online = replace(self.learner.online, horizon=self.learner.seen)

    def describe(self, key: Key, constraints: ConstraintSet, classes: list[Any]) -> tuple[Penalty, float]:
        """U of a row at a support of 1, and the share of another event that it is compared with."""
        number, component, _ = key
        constraint, rate = constraints[number], self.strength.rates.get(number, 1.0)
        target = next(target for target in constraint.targets(classes) if target.number == component)
        share = float("nan") if constraint.of is None else target.share
        return penalty_of(constraint, target, np.ones(1), self.strength, rate), share

    def prices(self) -> dict[Key, float]:
        """θ of every row, by what it speaks of."""
        return dict(zip(self.learner.ledger.keys, self.learner.prices().tolist(), strict=True))


def learn_more(estimator: Any, kind: ModuleType, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
    """``partial_fit``: the next part of a stream. ``kind`` (``classifier_stream``, ``tagger_stream``) says how a stream
    begins, goes on after a batch fit, and turns X into a problem. What is refused leaves the estimator as it was, and
    so does what has no weight, but for a stream that it begins."""
    before = dict(estimator.__dict__)
    weightless = _is_weightless(sample_weight)
    try:
        if "_stream" not in before and "coef_" in before:
            kind.go_on(estimator)
        elif "_stream" not in before:
            kind.begin(estimator, X, y, classes)
        begun = dict(estimator.__dict__)
        problem, grounded = kind.chunk(estimator, X, y, classes, None if weightless else sample_weight)
        if weightless and len(sample_weight) != len(problem.weight):
            raise DataError(f"sample_weight has {len(sample_weight)} entries, but X has {len(problem.weight)}.")
    except BaseException:
        estimator.__dict__ = before
        raise
    if not weightless:
        estimator._stream.learn(problem, grounded, estimator)
    elif "_stream" in before or "coef_" in before:
        estimator.__dict__ = before
    else:
        estimator.__dict__ = begun
        estimator._stream.tell(grounded.constraints, estimator)


def _is_weightless(sample_weight: Any) -> bool:
    """Whether all weights are zero. Whatever else is wrong with them is for others to say."""
    if sample_weight is None:
        return False
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return weight.ndim == 1 and len(weight) > 0 and not weight.any()


def keep_stream(estimator: Any, stream: Stream | None) -> None:
    """What ``partial_fit`` may go on with."""
    if stream is None:
        estimator.__dict__.pop("_stream", None)
    else:
        estimator._stream = stream


def declared_classes(
    classes: Any, parameter: Any, constraints: ConstraintSet, labels: Callable[[], list[Any]]
) -> list[Any]:
    """All classes of a stream: as the first call or the constructor names them, else the constraint file, else those
    that constraints and first labels name."""
    _refuse_no_list(classes)
    for given in (classes, parameter, constraints.classes):
        if given is not None:
            return list(given)
    named = [name for constraint in constraints for name in constraint.names]
    known = [as_label(label, "A label in y") for label in labels() if not is_missing(label)]
    return list({exact(name): name for name in [*named, *known]}.values())


def refuse_other_classes(classes: Any, known: list[Any]) -> None:
    """Later calls may repeat the classes, but not change them."""
    _refuse_no_list(classes)
    if classes is not None and _exact(classes) != _exact(known):
        raise DataError(
            f"classes={list(classes)!r} differs from the first call of partial_fit, which had {known!r}: a stream "
            "cannot change its classes."
        )


def _exact(classes: Iterable[Any]) -> set[Any]:
    """To compare: 1 and "1" are two classes, 1 and NumPy's 1 are one."""
    return {exact(as_label(c, "A class")) for c in classes}


def _refuse_no_list(classes: Any) -> None:
    if isinstance(classes, str | bytes) or not (classes is None or isinstance(classes, Iterable)):
        raise DataError(f"classes={classes!r} must be a list of all labels, such as ['a', 'b'].")


def refuse_start(init: Any) -> None:
    """Starts that are computed look at all data, which are not there before the end of a stream."""
    if isinstance(init, str) and init != "zeros":
        raise UnsupportedError(
            f"init={init!r} is a start of fit; partial_fit begins with weights of zero, or with those of a fitted "
            "estimator given as init=."
        )


def fit_online(
    problem: Problem,
    grounded: Grounded,
    options: Options,
    estimator: Any,
    *,
    given: FloatArray | None,
    development: Development | None,
) -> tuple[Fit, Stream]:
    """So many passes over all instances, each in another order; in the end the objective of Eq. 6 and its q."""
    features, n = linear(problem.model, "solver='online'").features, len(problem.weight)
    edges = features.kinds.shape[1] if isinstance(features, ChainFeatures) else None
    nodes = features.nodes if isinstance(features, ChainFeatures) else features
    free = not getattr(estimator, "penalize_intercept", True)
    n_labels, classes = features.n_labels, list(grounded.constraints.classes or ())
    stream = Stream.begin(nodes.n_weights // n_labels, n_labels, edges, options, estimator, free=free)
    stream.strength = replace(options.strength, rates=grounded.rates)
    learner, rows = stream.learner, stream.enter(grounded, classes)
    learner.online, learner.unlabelled_in_all = replace(learner.online, horizon=n), n - len(problem.labelled)
    if learner.online.is_printed:  # knows all sums beforehand
        learner.ledger.declared[rows[rows >= 0]] = grounded.support[: len(rows)][rows >= 0]
    rng, journal, passes = (
        generator(estimator.random_state),
        Journal(estimator.callback, development),
        learner.online.passes,
    )
    if given is None and isinstance(estimator.init, str):
        given = starting_point(estimator.init, problem, rng, options.tol)
    if given is not None:
        learner.start_from(given)
    journal.begin(learner.flat_weights())
    with one_blas_thread():
        for number in range(1, passes + 1):
            learner.loss = 0.0
            learner.learn(problem, grounded, rng.permutation(n), rows)
            if journal.add(_round(number, learner), learner.flat_weights()):
                break
        weights = journal.settle(learner.flat_weights())
        learner.start_from(weights)  # a development set may have preferred an earlier pass
        learner.settle_passes(n, options.online)
        last = problem.evaluate(weights, None, options.tol, told=True)
    return journal.finished(weights, last, journal.stop or Stop.PASSES), stream


def _round(number: int, learner: Learner) -> Round:
    """A pass as it met the data: its objective is that of every instance before it was learned from."""
    ledger, weights = learner.ledger, learner.flat_weights()
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
