"""``TiltEstimator``: what ``TiltClassifier`` and ``TiltTagger`` share.

A fit in eight steps (``_fit``): check the parameters; encode X; make the sample from X and y; build the model on it;
look up the constraints there (``projections.grounding``); state the problem (``methods.problem``); solve it by the
method (``methods``); keep the weights, the prices and the report.

Explanations, pages and commands use ``sample``, ``infer`` and ``ground``, and the attributes that a fit sets.
"""

from __future__ import annotations

import logging
import time
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tiltfit.arrays import FloatArray
from tiltfit.data.beside import apart
from tiltfit.data.inputs import Inputs, Unit
from tiltfit.errors import (
    ConflictError,
    InactiveConstraintWarning,
    NotConvergedWarning,
    NotSavedWarning,
    TiltfitWarning,
    UnmetConstraintWarning,
    UnsupportedError,
    warn_user,
)
from tiltfit.estimators.development import development_set, naming_dev, parts
from tiltfit.estimators.earlier_models import LostBase
from tiltfit.estimators.encoders import Matrix
from tiltfit.estimators.even_shares import evened, states_shares
from tiltfit.estimators.memory import Size, out_of_memory
from tiltfit.estimators.notebook import ShownWithReport
from tiltfit.estimators.options import Options, as_word, generator, threads
from tiltfit.estimators.projecting import Beliefs, projected
from tiltfit.estimators.refining import Refinement
from tiltfit.estimators.sequence_encoder import refuse_impossible
from tiltfit.estimators.stream import fit_online, learn_more
from tiltfit.execution.workers import Workers, one_blas_thread
from tiltfit.language.constraint import ConstraintSet
from tiltfit.methods.alternating_projections import late
from tiltfit.methods.catalogue import METHODS
from tiltfit.methods.history import CLOSE, Development, Fit, Round
from tiltfit.methods.method import Run, Training
from tiltfit.methods.problem import Problem
from tiltfit.methods.scored import learn, scores_of, softened
from tiltfit.methods.sharpness import Sharpness, sharpness_of
from tiltfit.methods.start import default_start, starting_point
from tiltfit.methods.supervised import labelled_part
from tiltfit.methods.votes import majority_vote
from tiltfit.models.generative import GENERATIVE, refuse_counts
from tiltfit.models.learner import Learned, Lesson, Settings
from tiltfit.models.log_linear import LogLinear
from tiltfit.models.model import Model
from tiltfit.models.registry import kind_of, make_model
from tiltfit.models.scores import Scores
from tiltfit.optimize.result import Stop
from tiltfit.projections.components import Strength
from tiltfit.projections.grounding import Grounded, Grounding, Key, ground
from tiltfit.projections.revision import Revisions, revise
from tiltfit.report.constraints import ConstraintReport
from tiltfit.report.outcome import report_constraints
from tiltfit.samples.labels import warn_unspoken_classes
from tiltfit.samples.sample import Sample, make_sample
from tiltfit.samples.task import Task

logger = logging.getLogger("tiltfit")


Rows = tuple[int, int]
"""The first of some rows that follow one another, and the one after the last."""


class TiltEstimator(ShownWithReport, BaseEstimator):  # type: ignore[misc]
    """Fitting, streams, projection and files, for documents and for sequences alike.

    Attributes that a fit sets besides those of scikit-learn: ``constraints_`` (with all classes), ``prices_`` (by
    constraint, component and group), ``message_`` (why it ended), ``unit_`` (what positions are called), ``encoder_``
    and ``names_`` (of features; None: they have none), ``strength_``, ``revisions_`` (statements that labels revised),
    ``inference_`` (how whole sequences are inferred, and the seed), ``model_``, ``base_``, ``weights_`` (of a model
    that is not linear), ``learned_`` (what an object as ``model=`` has learned), ``sharpening_`` (by what the weights
    were multiplied after the fit, and why), ``stream_`` (to go on with, or None), ``refinement_`` (what a second stage
    did, or None), ``fields_`` (names of fields in files, by the command line's options), ``fit_seconds_`` (not kept in
    files, which do not differ from run to run) and ``lost_`` (constraints that a model file could not hold).
    """

    task: ClassVar[Task]

    base: Any
    init: Any
    penalize_intercept: bool | str
    classes_: npt.NDArray[Any]
    coef_: Any
    constraints_: ConstraintSet
    constraint_report_: ConstraintReport
    prices_: dict[Key, float]
    history_: tuple[Round, ...]
    objective_: float
    converged_: bool
    n_iter_: int
    fit_seconds_: float
    message_: str
    unit_: Unit
    encoder_: Any
    names_: Any
    strength_: Strength
    inference_: tuple[str, int]
    model_: str
    base_: Any = None
    sharpening_: Sharpness = Sharpness()
    stream_: Any = None
    refinement_: Refinement | None = None
    weights_: Any = None
    learned_: Learned | None = None
    lost_: tuple[str, ...] = ()
    fields_: dict[str, Any] | None = None
    revisions_: Revisions = MappingProxyType({})

    # Learning

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, dev: Any = None, patience: int = 5) -> Self:
        before, started = dict(self.__dict__), time.perf_counter()
        try:
            fit = self._fit(X, y, sample_weight, dev, patience)
        except BaseException as error:
            self.__dict__ = before
            if isinstance(error, MemoryError):
                raise out_of_memory() from error
            raise
        self.fit_seconds_ = time.perf_counter() - started
        self._warn(fit, self.__dict__.pop("lost_", ()))
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, dev: Any, patience: int) -> Fit:
        options, kept_aside = _checked(self, dev, patience)
        constraints = ConstraintSet.of(self.constraints, self.task.unit)
        encoder, inputs, matrix = self._learned(X, options)
        sample = make_sample(self.task, inputs, y, sample_weight, classes=self.classes, constraints=constraints)
        _refuse_too_large(options, len(sample.classes), matrix, edges=self.task.is_sequences)
        constraints = constraints.with_classes(sample.classes, self.task.unit)
        options.check(constraints, inputs.unit)
        kind, method, stream = options.kind, options.method, None
        given = self._given_start(options, sample.classes, encoder, matrix.shape[1]) if kind.linear else None
        # Kept as it is now: parameters may be set to something else later.
        self.classes_, self.unit_, self.base_ = np.array(sample.classes), inputs.unit, self.base
        self.inference_, self.model_ = self._inference_settings(), kind.name
        self.weights_ = self.fields_ = self.learned_ = None
        self._keep_encoder(encoder, matrix.shape[1])
        occupied = options.solver != "online" and kind.linear
        plain = self._model(apart(X).X, matrix, sample, Workers(options.n_jobs), fitting=True, occupied=occupied)
        model = self._made(plain) if kind.learner is None else kind.make(plain, tuple(sample.classes))
        sample = replace(sample, structure=plain.structure)
        given = self._own_start(model) if given is None else plain.features.own(given)
        self._check_sample(sample, plain)
        refuse_counts(options.model, matrix, self.names_, inputs.lengths if self.task.is_sequences else None)
        # The labels of a stream come bit by bit, and a method that does not follow constraints has nothing to revise.
        revises = options.revise and method.follows and options.solver != "online"
        revisions = revise(constraints, sample) if revises else {}
        grounded = self._ground_to_fit(constraints, sample, plain, options, revisions)
        told = grounded.tilt is not None or bool(np.any(sample.labels >= 0))
        options.check_anything(told, self.task.position)
        if told and not self.task.is_sequences:
            warn_unspoken_classes(self.classes_, sample.labels, constraints, sample.banned)
        voting = "votes" in method.needs or grounded.voted
        votes = majority_vote(constraints, sample.inputs, constraints.classes or ()) if voting else None
        problem = Problem.of(model, sample, grounded, self.ridge(model), float(self.gamma))
        training = Training(problem, grounded, votes)
        development = self._development(kept_aside, patience, plain)
        if method.name == "ap" and (given is not None or self.init is None):
            given, training = self._fitted_first(training, sample, options, revisions, given, development)
        # Indexes are as large as X, and mostly nobody looks at them any more.
        again = partial(self._ground_again, sample, plain, options, revisions) if options.evens else None
        del inputs, sample, matrix
        self.sharpening_, self.refinement_ = Sharpness(), None
        if options.solver == "online":
            fit, stream = fit_online(problem, grounded, options, self, given=given, development=development)
        elif kind.learner is not None:
            fit = self._taught(training, Lesson(kind.learner, plain.features.nodes.X, self._settings()), options)
        else:
            solved = self._solved(apart(X).X, plain, training, options, given, development, again)
            plain, model, grounded, fit = solved
        del problem, training, again  # and their copy of the rows that matter
        logger.info("%s: %s, objective %.6g", options.solver, fit.message, fit.objective)
        self.constraints_, self.revisions_, self.stream_ = grounded.constraints, revisions, stream
        # On new data statements are as strong as they were here, where labels may have told what an instance weighs.
        self.strength_ = replace(options.strength, rates=grounded.rates, sized=grounded.sized)
        roles = None if method.follows else method.roles(constraints, votes, options.method_options)
        self._keep(fit, plain, self._report(grounded, model, fit, roles), grounded.keys)
        return fit

    def _learned(self, X: Any, options: Options) -> tuple[Any, Inputs, Matrix]:
        """The encoder, X as conditions see it with what is beside it, and X as a matrix."""
        given = apart(X)
        encoder, inputs, matrix = self._learn_encoder(given.X, options)
        return encoder, given.beside(inputs), matrix

    def _solved(
        self,
        X: Any,
        plain: LogLinear,
        training: Training,
        options: Options,
        given: FloatArray | None,
        development: Development | None,
        again: Callable[[ConstraintSet], Grounded] | None,
    ) -> tuple[LogLinear, Model, Grounded, Fit]:
        """The solution, with swallowed classes given back, after the second stage, and sharpened: the log-linear model,
        the model, its constraints and the fit."""
        fit, scored = self._solve(training, options, given, development), development is not None
        training, fit = self._evened(training, fit, again, options, scored=scored)
        plain, model, fit = self._refined(X, (plain, training.problem.model), training, fit, options, scored=scored)
        return plain, model, training.grounded, self._sharpen(training.problem, model, fit, options)

    def _settings(self) -> Settings:
        """What an object as ``model=`` is told besides data."""
        seed = int(generator(self.random_state).integers(2**31))
        return Settings(float(self.alpha), self._penalizes_intercept, seed, tuple(self.classes_.tolist()))

    def _taught(self, training: Training, lesson: Lesson, options: Options) -> Fit:
        """The fit of an object as ``model=``, whose weights are the scores of all rows; sets ``learned_``."""
        problem, method = training.problem, options.method
        run = Run(max_iter=options.max_iter, tol=options.tol, callback=self.callback)
        with one_blas_thread():
            problem = softened(problem) if method.follows else labelled_part(problem, method.name)
            fit, self.learned_ = learn(training, lesson, problem, run)
        return fit

    @property
    def estimator_(self) -> Any:
        """The fitted object, if ``model=`` was one: a copy of it, the trained module, or the booster."""
        if self.learned_ is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'estimator_': model= is no object.")
        return self.learned_.model

    @property
    def _is_linear(self) -> bool:
        """True if the fitted model has weights that its scores are linear in."""
        return self.learned_ is None and kind_of(self.model_).linear

    def _keep(self, fit: Fit, plain: LogLinear, report: ConstraintReport, keys: Sequence[Key]) -> None:
        """Set what a fit has found."""
        self._keep_weights(plain, fit.weights)
        self.objective_, self.converged_, self.history_ = fit.objective, fit.converged, fit.history
        self.n_iter_, self.message_ = len(fit.history), fit.message
        self.prices_ = dict(zip(keys, fit.projection.prices.tolist(), strict=True)) if fit.projection else {}
        self.constraint_report_ = replace(report, note=self.sharpening_.sentence)

    def _sharpen(self, problem: Problem, model: Model, fit: Fit, options: Options) -> Fit:
        """The fit of ``model`` with its weights times their sharpness, and q projected anew from there. Objective and
        history stay those of the fit. ``problem``: that of the first stage, which may have another model."""
        if model is not problem.model:
            problem = replace(problem, model=model, alpha=self.ridge(model))
        second = self.refinement_ is not None and self.refinement_.is_kept  # its objective is not that of Eq. 6
        if isinstance(options.sharpen, Sharpness):
            chosen = options.sharpen
        elif second or self._is_pooled:  # views are sharpened before they are pooled
            chosen = Sharpness()
        else:
            chosen = self._sharpness(problem, fit, options, words=self._sees_words_alone)
        self.sharpening_ = chosen
        if chosen.is_plain:
            return fit
        weights, projection = fit.weights * self.factors(problem.model, chosen), fit.projection
        if projection is not None:
            projection = problem.evaluate(weights, projection.start, CLOSE, told=True).projection
        return replace(fit, weights=weights, projection=projection)

    @staticmethod
    def _sharpness(problem: Problem, fit: Fit, options: Options, *, words: bool) -> Sharpness:
        """What ``sharpen="auto"`` chooses; 1 where it chooses nothing."""
        if options.sharpen != "auto" or options.method.name != "ap" or options.is_generative:
            return Sharpness()
        with one_blas_thread():
            return sharpness_of(problem, fit.weights, fit.projection, words=words)

    @staticmethod
    def factors(model: Model, sharpness: Sharpness) -> FloatArray:
        """The factor of every weight of a linear model: those of positions come first."""
        factors = np.full(model.n_weights, sharpness.positions if sharpness.edges is None else sharpness.edges)
        if model.linear is not None:
            factors[: model.linear.features.nodes.n_weights] = sharpness.positions
        return factors

    def unsharpened_weights(self) -> FloatArray:
        """All weights of a linear model as the fit found them, flat."""
        weights, n = self._weights(), self._sizes[0] * len(self.classes_)
        weights[:n] /= self.sharpening_.positions
        weights[n:] /= self.sharpening_.edges or 1.0
        return weights

    @property
    def sharpness_(self) -> Any:
        """The factor of all scores; for sequences a pair: of positions, and of edges."""
        found = self.sharpening_
        return found.positions if not self.task.is_sequences else (found.positions, found.edges or 1.0)

    def _report(self, grounded: Grounded, model: Model, fit: Fit, roles: Mapping[int, str] | None) -> ConstraintReport:
        """What became of each constraint under p and q, and for the labels that p predicts."""
        p = predicted = None
        if grounded.tilt is not None:
            touched = model.take(grounded.touched)
            potentials = touched.potentials(fit.weights)
            predicted = grounded.of_labels(touched.structure.best(potentials, touched.workers)[0])
            p = grounded.tilt.of_model(potentials)
        gamma = float(self.gamma) * grounded.instance_weight
        return report_constraints(
            grounded, p, fit.projection, self.classes_.tolist(), self.unit_, gamma, roles, predicted
        )

    def _keep_weights(self, plain: LogLinear, weights: FloatArray) -> None:
        """Set ``coef_`` and its like for a linear model, else ``weights_``."""
        linear = self._is_linear
        for name in ("coef_", "intercept_", "transitions_"):
            self.__dict__.pop(name, None)
        self.weights_ = None if linear or self.learned_ is not None else weights
        if linear:
            self._set_weights(plain.features.whole(weights))

    def _ground_to_fit(
        self, constraints: ConstraintSet, sample: Sample, model: LogLinear, options: Options, revisions: Revisions
    ) -> Grounded:
        """Constraints that cannot hold together do not stop a method that does not follow them: a warning names them,
        and they are softened for the report, which shows how far the model is from each. (A ``distributed_as`` with a
        label that known labels rule out has no soft form, and is refused.)"""
        method = options.method

        def look_up(constraints: ConstraintSet) -> Grounded:
            how = Grounding(
                model.workers, *self.inference_, online=options.solver == "online",
                separate="rows" not in method.needs, violations="violations" in method.needs, base=model.base,
                revisions=revisions,
            )  # fmt: skip
            grounded = ground(constraints, sample, options.strength, how)
            refuse_impossible(model, sample, grounded)
            return grounded

        try:
            return look_up(constraints)
        except ConflictError as error:
            if method.follows:
                raise
            conflict = error
        soft = tuple(replace(c, slack=1.0) if c.is_hard else c for c in constraints)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TiltfitWarning)  # the first attempt has named inactive constraints
            grounded = look_up(ConstraintSet(soft, constraints.classes))
        warn_user(
            f"{conflict} (method={method.name!r} does not follow constraints and goes on: in its report, hard ones are "
            "soft.)",
            UnmetConstraintWarning,
            constraint=conflict.constraint,
            instances=conflict.instances,
        )
        return replace(grounded, constraints=constraints)

    def _ground_again(
        self, sample: Sample, model: LogLinear, options: Options, revisions: Revisions, constraints: ConstraintSet
    ) -> Grounded:
        """As in the fit, which has warned of what there is to warn of."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TiltfitWarning)
            return self._ground_to_fit(constraints, sample, model, options, revisions)

    def _evened(
        self,
        training: Training,
        fit: Fit,
        again: Callable[[ConstraintSet], Grounded] | None,
        options: Options,
        *,
        scored: bool,
    ) -> tuple[Training, Fit]:
        """The fit in which no class is swallowed, if that is the better one, and what it learned from. ``again``: how
        other constraints apply to the data (None: classes may have any share). ``scored``: as for ``_refined``."""
        if again is None or scored or states_shares(training.grounded.constraints):
            return training, fit
        run = Run(options.solver, options.max_iter, options.tol, callback=self.callback, options=options.method_options)
        with one_blas_thread():
            return evened(training, fit, again, options.method, run, words=self._sees_words_alone)

    def _solve(
        self,
        training: Training,
        options: Options,
        given: FloatArray | None = None,
        development: Development | None = None,
        *,
        once: bool = False,
        silent: bool = False,
    ) -> Fit:
        """The best of ``n_init`` runs, by the lowest objective, or by the highest score on ``development``: the first
        from ``given`` or ``init``, the others from random weights. ``once``: one run from the default start.
        ``silent``: nobody is told of its rounds."""
        problem, n_init = training.problem, 1 if once else int(self.n_init)
        if problem.is_sampled:
            options.method.check_sampled()
        if problem.is_sampled and n_init > 1:
            raise UnsupportedError(
                f"n_init={n_init} keeps the fit with the least objective, which is not known where q is sampled. Use "
                "n_init=1, or inference='exact'.",
                parameter="n_init",
            )
        method, rng = options.method, generator(self.random_state)
        first = options.start if options.start and not once else default_start(method.start, problem)
        fits: list[Fit] = []
        with one_blas_thread():
            for k, kind in enumerate([first, *["random"] * (n_init - 1)]):
                start = given if k == 0 and given is not None else starting_point(kind, problem, rng, options.tol)
                run = Run(
                    solver=options.solver,
                    max_iter=options.max_iter,
                    tol=options.tol,
                    seed=int(rng.integers(2**63)),
                    callback=None if silent else self.callback,
                    development=development,
                    options=options.method_options,
                )
                fits.append(method.run(training, start, run))
                if fits[-1].stop is Stop.CALLBACK:
                    break
        return min(fits, key=_rank)

    def _refined(
        self, X: Any, models: tuple[LogLinear, Model], training: Training, fit: Fit, options: Options, *, scored: bool
    ) -> tuple[LogLinear, Model, Fit]:
        """The log-linear model, the model and the fit after the second stage, if there is one (``refine=``).
        ``scored``: the rounds were chosen on a development set."""
        return *models, fit

    def _fitted_first(
        self,
        training: Training,
        sample: Sample,
        options: Options,
        revisions: Revisions,
        given: FloatArray | None,
        development: Development | None,
    ) -> tuple[FloatArray | None, Training]:
        """The weights of the fit without the constraints that come last, to start from, and what is learned from then.
        It starts from ``given``, if there are such weights.

        All constraints come at once, from ``given``, if nothing else is left to learn from, or if runs from several
        starts are to be compared by Eq. 6 with all of them.
        """
        problem, model = training.problem, training.problem.model
        last, briefly = late(training, options.solver)
        if not last or int(self.n_init) > 1 or (given is not None and not briefly):
            return given, training
        others = ConstraintSet(
            tuple(c for c in training.grounded.constraints if c not in last), training.grounded.constraints.classes
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the full set of constraints has been warned about
            how = Grounding(model.workers, *self.inference_, base=model.base, revisions=revisions)
            grounded = ground(others, sample, options.strength, how)
        if grounded.tilt is None and not len(problem.labelled):
            return given, training
        simpler = Training(replace(problem, tilt=grounded.tilt, touched=grounded.touched), grounded, training.votes)
        scored = development if briefly else None
        first = self._solve(simpler, options, given, scored, once=True, silent=not briefly)
        return first.weights, replace(training, first=first if briefly else None)

    def _given_start(self, options: Options, classes: Any, encoder: Any, n_columns: int) -> FloatArray | None:
        """Weights to start from that ``init`` or the last fit holds (flat), or None."""
        source = self if self.warm_start and hasattr(self, "coef_") else None if options.start else self.init
        return None if source is None else self._weights_of(source, classes, encoder, n_columns)

    def _own_start(self, model: Model) -> FloatArray | None:
        """Weights to start from that the model itself holds."""
        return model.initial if self.init is None else None

    def _made(self, plain: LogLinear, weights: FloatArray | None = None) -> Model:
        """The model of the fit on data that are encoded as ``plain``. ``weights``: those that it must be able to
        take."""
        return make_model(self.model_, plain, self.classes_.tolist(), weights)

    def _development(self, kept_aside: tuple[Any, Any] | None, patience: int, model: LogLinear) -> Development | None:
        if kept_aside is None:
            return None
        X, y = kept_aside
        with naming_dev():
            aside = self.infer(X, y)
            if not self._is_linear:
                return development_set(aside.scorer, aside.sample.labels, patience)
            whole, own = model.features.whole, aside.model.features.own
            return development_set(aside.model, aside.sample.labels, patience, lambda weights: own(whole(weights)))

    @property
    def _base(self) -> Any:
        """q₀ as it was given, or set again after loading a file that could not hold it."""
        return self.base if isinstance(self.base_, LostBase) else self.base_

    def ridge(self, model: Model) -> FloatArray:
        """α for every weight; 0 for intercepts that are not penalised."""
        plain, alpha = model.linear, 0.0 if self._trains_itself else float(self.alpha)
        if self._penalizes_intercept or plain is None:
            return np.full(model.n_weights, alpha)
        (n_rows, n_edges), n = self._sizes, len(self.classes_)
        tables = np.full((n_rows, n), alpha), np.full((n_edges or 0, n * n), alpha)
        for table, (first, last) in zip(tables, self._free_rows, strict=True):
            table[first:last] = 0.0
        return plain.features.own(np.concatenate([table.ravel() for table in tables]))

    @property
    def _trains_itself(self) -> bool:
        """True if ``model=`` is an object that holds its weights down itself. (The network of a tagger does not.)"""
        return as_word(self.model) is None and not self.task.is_sequences

    @property
    def _penalizes_intercept(self) -> bool:
        """``auto``: the shares of classes are free, unless alpha is a pseudo-count or a base knows them."""
        if self.penalize_intercept == "auto":
            return as_word(self.model) in GENERATIVE or self.base is not None
        return bool(self.penalize_intercept)

    @property
    def _free_rows(self) -> tuple[Rows, Rows]:
        """The rows of the tables of weights that have no ridge."""
        return ((0, 0), (0, 0)) if self._penalizes_intercept else self._intercepts

    def _warn(self, fit: Fit, lost: tuple[str, ...]) -> None:
        """Warn about what a fit could not do. ``lost``: constraints that a model file could not hold."""
        if lost:
            warn_user(
                f"This fit went without what a model file could not hold: {'; '.join(lost)}. Set constraints= again.",
                NotSavedWarning,
            )
        # Hard constraints that contradict each other leave nothing to converge to; they are named below.
        report = self.constraint_report_
        if not fit.stop.converged and fit.stop is not Stop.CALLBACK and not report.violated:
            advice = fit.advice or f"Raise max_iter= (now {self.max_iter}) or tol=."
            warn_user(f"{type(self).__name__} did not converge: {fit.message}. {advice}", NotConvergedWarning)
        followed = METHODS[self.method].follows
        report.warn_unmet(
            stacklevel=4, vectorizer=hasattr(self, "vectorizer"), followed=followed, ridge=not self._trains_itself
        )
        report.warn_sampling(stacklevel=4)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        learn_more(self, X, y, classes, sample_weight)
        return self

    # Using

    def sample(self, X: Any, y: Any = None, sample_weight: Any = None) -> Sample:
        """X and y as the fitted estimator sees them."""
        return self.infer(X, y, sample_weight).sample

    def infer(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, fitting: bool = False, part: bool = False
    ) -> Beliefs:
        """p_λ on X. ``y``, ``sample_weight``: as for ``project``. ``fitting``: X is what was fitted just now, and so is
        ``base``, if that is an array. ``part``: X is the next part of a stream, from which the encoder learns."""
        given, X = apart(X), apart(X).X
        seen, matrix = self._encode(X, part=part)
        inputs = given.beside(seen)
        refuse_counts(self.model_, matrix, self.names_, inputs.lengths if self.task.is_sequences else None)
        sample = make_sample(self.task, inputs, y, sample_weight, classes=self.classes_.tolist())
        model = self._model(X, matrix, sample, Workers(threads(self.n_jobs)), fitting=fitting)
        if part:
            self._check_sample(sample, model)
        learned, n_labels = self.learned_, len(self.classes_)
        if learned is not None:
            scorer: Model = Scores.of(model.structure, n_labels)
        else:
            scorer = model if self._is_linear else self._made(model, self.weights_)
        sample = replace(sample, structure=model.structure)
        if learned is not None:
            scores = partial(scores_of, learned, matrix, n_labels, self.model_)
            return Beliefs(inputs, sample, model, scorer, lambda: scores().ravel())
        if not self._is_linear:
            return Beliefs(inputs, sample, model, scorer, lambda: self.weights_)
        weights = (lambda: model.features.own(self._weights())) if fitting else self._weights
        return Beliefs(inputs, sample, model, scorer, weights)

    def _beliefs(self, X: Any) -> Beliefs:
        check_is_fitted(self)
        return self.infer(X)

    def ground(self, beliefs: Beliefs, *, part: bool = False) -> Grounded:
        """The constraints of the fit as they apply to the sample of ``beliefs``. ``part``: it is a part of a stream."""
        if self.lost_:
            raise UnsupportedError(
                f"This model was loaded from a file, which could not hold {'; '.join(self.lost_)}. "
                f"predict works; to {'go on' if part else 'project'}, fit again."
            )
        model = beliefs.model
        how = Grounding(model.workers, *self.inference_, part=part, base=model.base, revisions=self.revisions_)
        grounded = ground(self.constraints_, beliefs.sample, self.strength_, how)
        refuse_impossible(model, beliefs.sample, grounded)
        return grounded

    def _project(
        self, X: Any, y: Any, prices: str, sample_weight: Any, *, decode: bool = False, fitting: bool = False
    ) -> Any:
        """q, or the most probable labels under q (``decode``)."""
        check_is_fitted(self)
        beliefs = self.infer(X, y, sample_weight, fitting=fitting)
        # Where statements need not hold on X itself, it says nothing that one does not fire there.
        with nullcontext() if prices == "solve" else warned_already():
            grounded = self.ground(beliefs)
        model, labels = beliefs.model, beliefs.sample.labels
        found = projected(model, beliefs.potentials, beliefs.marginals, grounded, prices, self.prices_)
        q = beliefs.marginals.node
        best = model.structure.best(beliefs.potentials, model.workers)[0] if decode else None
        if found is not None:
            positions = model.structure.positions(grounded.touched)
            q[positions] = found.marginals.node
            if best is not None:
                best[positions] = found.structure.best(found.potentials, model.workers)[0]
        known = np.flatnonzero(labels >= 0)
        if best is not None:
            best[known] = labels[known]
            return self.task.named(best, self.classes_, beliefs.inputs)
        q[known] = np.eye(len(self.classes_))[labels[known]]
        return self.task.per_instance(q, beliefs.inputs)

    def save(self, path: str | Path) -> None:
        """Write a ``.tilt`` file: JSON and arrays, no pickle, atomically."""
        from tiltfit.estimators.persistence import save

        save(self, path)

    def __sklearn_is_fitted__(self) -> bool:
        return "coef_" in vars(self) or any(x is not None for x in (self.stream_, self.weights_, self.learned_))

    # What differs

    @abstractmethod
    def _learn_encoder(self, X: Any, options: Options, *, part: bool = False) -> tuple[Any, Inputs, Matrix]:
        """The encoder, X as conditions see it, and X as a matrix. ``part``: more data will come."""

    @abstractmethod
    def _keep_encoder(self, encoder: Any, n_columns: int) -> None:
        """Set ``encoder_``, ``names_`` and what scikit-learn calls them."""

    @abstractmethod
    def _encode(self, X: Any, *, part: bool) -> tuple[Inputs, Matrix]:
        """New data by the encoder of the fit. ``part``: they are the next part of a stream."""

    @abstractmethod
    def _model(
        self, X: Any, matrix: Matrix, sample: Sample, workers: Workers, *, fitting: bool, occupied: bool = False
    ) -> LogLinear:
        """The log-linear model on the data, with the encoder that is kept. ``fitting``: they are the data of the fit.
        ``occupied``: hashed columns that are empty have no weights."""

    @abstractmethod
    def _weights_of(self, source: Any, classes: Any, encoder: Any, n_columns: int) -> FloatArray:
        """The weights of an earlier model (or a pair of tables) for these classes and features, flat."""

    @abstractmethod
    def _weights(self) -> FloatArray:
        """All weights, flat."""

    @abstractmethod
    def _set_weights(self, weights: FloatArray) -> None:
        """The inverse of ``_weights``."""

    @property
    @abstractmethod
    def _sizes(self) -> tuple[int, int | None]:
        """The rows of the tables of weights: features (and intercepts) of positions, and features of edges."""

    @property
    @abstractmethod
    def _intercepts(self) -> tuple[Rows, Rows]:
        """The rows of both tables that are intercepts."""

    @abstractmethod
    def _check_sample(self, sample: Sample, model: LogLinear) -> None:
        """Refuse a sample, or a part of a stream, that the model cannot learn from."""

    def _check_stream(self) -> None:
        """Refuse parameters that online learning cannot follow."""

    @property
    def _sees_words_alone(self) -> bool:
        """False if a feature tells what a condition looks at without being that itself."""
        return True

    @property
    def _is_pooled(self) -> bool:
        """True if views of X are fitted apart and pooled."""
        return False

    def _inference_settings(self) -> tuple[str, int]:
        return "auto", 0


def _checked(estimator: TiltEstimator, dev: Any, patience: int) -> tuple[Options, tuple[Any, Any] | None]:
    """The parameters, and the development set, if there is one: for models whose weights tiltfit finds."""
    options = Options.of(estimator)
    if dev is not None and options.kind.learner is not None:
        raise UnsupportedError(
            f"dev= scores the weights of every round, but model={options.kind.name} trains itself. Choose its "
            "parameters by GridSearchCV with tiltfit.LabelledKFold, and leave dev= out.",
            parameter="dev",
        )
    return options, parts(dev, patience)


@contextmanager
def warned_already() -> Iterator[None]:
    """Leave out what the fit has just said: which constraints are inactive or do not hold."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InactiveConstraintWarning)
        warnings.simplefilter("ignore", UnmetConstraintWarning)
        yield


def _rank(fit: Fit) -> tuple[float, float]:
    """The lower, the better."""
    score = -np.inf if fit.dev_score is None else fit.dev_score
    return -score, fit.objective if np.isfinite(fit.objective) else np.inf


def _refuse_too_large(options: Options, n_classes: int, matrix: Matrix, *, edges: bool) -> None:
    """Of other models nobody knows what they need."""
    if options.kind.linear:
        rows, columns = matrix.shape
        Size(n_classes, columns, rows, edges=edges, online=options.solver == "online").refuse_too_large()
