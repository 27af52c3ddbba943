"""``TiltTagger``: a sequence tagger that also learns from constraints on unlabelled sequences."""

from __future__ import annotations

import logging
import numbers
import warnings
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tiltfit.arrays import FloatArray
from tiltfit.data.sequences import Sequences, as_sequences
from tiltfit.errors import DataError, UnsupportedError
from tiltfit.estimators import tagger_stream
from tiltfit.estimators.development import development, naming_dev, parts
from tiltfit.estimators.learning import fitted_prices, ground_for, learn, projected, report, solve, warn, warned_already
from tiltfit.estimators.notebook import ShownWithReport
from tiltfit.estimators.options import TAGGERS, Options, threads
from tiltfit.estimators.sequence_encoder import (
    PLAIN_EDGES,
    TOKEN_ALONE,
    SequenceEncoder,
    refuse_for_hmm,
    refuse_impossible,
    refuse_invalid,
)
from tiltfit.estimators.starts import generator, matched_tables
from tiltfit.estimators.streaming import Settled, Stream, keep_stream, learn_more
from tiltfit.execution.workers import Workers
from tiltfit.features.chains import ChainFeatures
from tiltfit.inference.chain import Chains
from tiltfit.inference.potentials import Marginals, Potentials
from tiltfit.language.constraint import ConstraintSet
from tiltfit.methods.history import Callback, Development, Fit
from tiltfit.methods.method import Task
from tiltfit.methods.problem import Problem
from tiltfit.models.generative import refuse_counts
from tiltfit.models.log_linear import LogLinear
from tiltfit.models.model import Model
from tiltfit.models.registry import MODELS, make_model
from tiltfit.projections.grounding import Grounded, Grounding, ground
from tiltfit.samples.labels import tag_targets
from tiltfit.samples.sample import Sample, instance_weights

logger = logging.getLogger("tiltfit")

Labels = list[Any]


class TiltTagger(ShownWithReport, BaseEstimator):  # type: ignore[misc]
    """min_λ  Σ_labelled −log p_λ(y|x) + α/2·‖λ‖² + γ·min_q [Σ_unlabelled D(q‖p_λ) + U(E_q[f′])]     (Eq. 6)

    A linear-chain conditional random field p_λ learned from labelled sequences, from constraints on unlabelled ones, or
    from both. X: a list of token lists; or of lists of attributes (names, or dicts as CRFsuite's users have them); or a
    table with a column ``tokens`` and further columns that constraints may speak of.

    Inductive: ``fit(X, y).predict(new)``, the model p on sequences that it has not seen. Transductive:
    ``fit_predict(X, y)``, the unlabelled tokens of X itself under q, so that the constraints hold on them. With some
    labels kept aside, ``fit(X, y, dev=(X_dev, y_dev))`` keeps the round that is best there.

    Parameters
    ----------
    constraints : constraints, a ``ConstraintSet``, or the path of a TOML file
        What is known: ``expect("author", given=word("and")).about(0.8)``, ``expect.stay().about(0.9)``.
    classes : list, optional
        All labels. Default: those of the constraint file, else of y (and, if it shows fewer than two, of the
        constraints).
    model : {"crf", "hmm"}
        A conditional random field, p(y|x); or a hidden Markov model p(x, y), with which Eq. 6 has −log p(x, y) and
        −log p(x) added: posterior regularization.
    method, method_options
        As for ``TiltClassifier``.
    solver : {"auto", "alternating", "joint", "sgd", "online"}
        ``alternating`` is the paper's algorithm; ``joint`` eliminates q and reaches the same stationary points in fewer
        passes. ``sgd`` alternates with one stochastic pass over the instances a round, as the paper did for citations
        (with max_iter=10). ``online`` learns prices and weights together, a few sequences at a time (``online=``).
        ``auto`` is ``joint``; an HMM alternates.
    online : dict, optional
        How ``solver="online"`` and ``partial_fit`` learn: ``passes`` (5) over the data of ``fit``; ``batch_size``
        (16): sequences a step; ``horizon``: how many sequences of a stream count at most (default: all that
        were seen); ``steps``: "adaptive", or "printed" as in the paper, with ``eta0`` (0.1).
    inference : {"auto", "exact", "sampled"}
        How statistics of whole sequences (``expect.repeats()`` and others) are inferred: exactly, or by Markov chains,
        which alternate then. ``auto`` is exact where that takes little longer. Without such constraints: always exact.
    features : ``TokenTemplates``, or a dict of its parameters, optional
        Which attributes tokens get: ``features={"lexicons": {"cities": [...]}}``. ``{"hashing": 2**18}`` hashes
        attributes into so many columns, so that no vocabulary is learned; also where X holds attributes itself.
        An HMM generates the attributes of a token as a bag of words, by default the token alone, in lower case.
    transitions : ``EdgeTemplates``, or a dict of its parameters, optional
        What else transition weights depend on: by default on the punctuation class of the token before. ``{}`` with
        attribute input, or ``EdgeTemplates(before={})``: plain transitions, the only ones of an HMM.
    weights : {"all", "observed"}
        A weight for every attribute and label, or only for the pairs that labelled tokens show.
    boundaries : bool
        Weights for the first and the last label of a sequence (the default templates have such attributes already; an
        HMM always has them: its sequences start and end).
    valid_only : bool
        With BIO or IOBES labels, forbid sequences that are not well formed (an I after something else).
    alpha, beta, gamma, scale, init, n_init, warm_start, max_iter, tol, n_jobs, random_state, callback
        As for ``TiltClassifier``; ``init`` may be a fitted tagger.

    Attributes
    ----------
    coef_, attribute_names_ : array (classes × attributes), array of str
        Weights of attributes, and their names (``hash 0`` and so on if hashed).
    transitions_, transition_names_ : array (attributes of edges × classes × classes), array of str
        Weights of transitions.
    classes_, n_iter_, objective_, converged_, history_, constraint_report_
        As for ``TiltClassifier``.

    Examples
    --------
    >>> from tiltfit import TiltTagger, expect, word
    >>> ads = [["big", "room", "call", "Ann"], ["sunny", "room", "call", "Bob"], ["big", "garden", "phone", "Ann"]]
    >>> tagger = TiltTagger([expect("contact", given=word("call") | word("phone")).about(0.95),
    ...                      expect("size", given=word("big") | word("room")).about(0.95),
    ...                      expect.stay().about(0.8)])
    >>> tagger.fit(ads).predict([["sunny", "garden", "phone", "Bob"]])
    [['size', 'size', 'contact', 'contact']]
    """

    coef_, transitions_ = Settled(), Settled()
    _stream: Stream

    def __init__(
        self,
        constraints: Any = (),
        *,
        classes: Iterable[object] | None = None,
        model: str = "crf",
        method: str = "ap",
        method_options: Any = None,
        solver: str = "auto",
        online: Any = None,
        inference: str = "auto",
        features: Any = None,
        transitions: Any = None,
        weights: str = "all",
        boundaries: bool = False,
        valid_only: bool = False,
        alpha: float = 1.0,
        beta: float = 0.05,
        gamma: float = 1.0,
        scale: str = "unit",
        init: Any = None,
        n_init: int = 1,
        warm_start: bool = False,
        max_iter: int = 500,
        tol: float = 1e-3,
        n_jobs: int | None = None,
        random_state: Any = None,
        callback: Callback | None = None,
    ) -> None:
        self.constraints = constraints
        self.classes = classes
        self.model = model
        self.method = method
        self.method_options = method_options
        self.solver = solver
        self.online = online
        self.inference = inference
        self.features = features
        self.transitions = transitions
        self.weights = weights
        self.boundaries = boundaries
        self.valid_only = valid_only
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.scale = scale
        self.init = init
        self.n_init = n_init
        self.warm_start = warm_start
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callback = callback

    # Learning

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, dev: Any = None, patience: int = 5) -> Self:
        """Learn from X, and from y where it has labels. A fit that fails leaves the tagger as it was.

        Parameters
        ----------
        X : list of lists of tokens or of attributes, or table with a column ``tokens``
            The sequences.
        y : list of lists, optional
            Labels; None for an unlabelled sequence or token, a set where the label is one of its members. None: nothing
            is labelled.
        sample_weight : array, optional
            One a sequence.
        dev : (X_dev, y_dev), optional
            After every round the model is scored there (token accuracy; unlabelled tokens do not count), and the best
            round's model is kept.
        patience : int
            With ``dev``: stop after so many rounds without a better score.
        """
        before = dict(self.__dict__)
        try:
            fit = self._fit(X, y, sample_weight, dev, patience)
        except BaseException:
            self.__dict__ = before
            raise
        warn(self, fit, self.__dict__.pop("_lost_constraints", ()))
        return self

    def fit_predict(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, dev: Any = None, patience: int = 5
    ) -> list[Labels]:
        """Fit on X and label X itself, under the constraints (transductive): the most probable label sequences under q,
        the projection of the fitted model; known labels as they are. Parameters as for ``fit``."""
        self.fit(X, y, sample_weight, dev=dev, patience=patience)
        with warned_already():
            return self.project(X, y, decode=True, sample_weight=sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any, dev: Any, patience: int) -> Fit:
        options, kept_aside = Options.of(self, models=TAGGERS), parts(dev, patience)
        if self.weights not in ("all", "observed"):
            raise UnsupportedError(f"weights={self.weights!r} is not supported: use 'all' or 'observed'.")
        constraints = ConstraintSet.of(self.constraints, "tokens")
        sequences = as_sequences(X, allow_empty=False)
        classes, labels, banned = tag_targets(
            y, sequences, self.classes if self.classes is not None else constraints.classes, _named(constraints)
        )
        constraints = constraints.with_classes(classes.tolist(), "tokens")
        options.check(constraints, "tokens")
        if self.valid_only:
            refuse_invalid(classes.tolist(), labels, sequences)
        if options.is_generative:
            refuse_for_hmm(self.transitions, self.weights, sequences.kind)
        if options.solver == "online":
            tagger_stream.refuse_observed(self)
        if self.weights == "observed" and not np.any(labels >= 0):
            raise DataError(
                "weights='observed' keeps the pairs of attribute and label that labelled tokens show, but no token has "
                "a label. Use weights='all'."
            )
        weight = instance_weights(sample_weight, sequences.n_sequences, "sequence")
        encoder, matrix = self._learn_encoder(sequences)
        refuse_counts(options.model, matrix, encoder.names)
        workers = options.workers()
        plain = encoder.model(
            matrix, sequences, classes.tolist(), workers, valid=self.valid_only,
            observed=labels if self.weights == "observed" else None,
            occupied=options.solver != "online" and MODELS[options.model].linear,
        )  # fmt: skip
        model = make_model(options.model, plain, classes.tolist())
        strength = options.strength
        seed = int(generator(self.random_state).integers(2**31))
        inputs = sequences
        grounded = ground_for(
            options.method, constraints,
            Sample(inputs, classes.tolist(), plain.structure, labels, weight, banned), strength,
            Grounding(
                workers, self.inference, seed, online=options.solver == "online",
                separate="rows" not in options.method.needs,
                violations="violations" in options.method.needs, base=model.base,
            ),
            check=partial(refuse_impossible, plain),
        )  # fmt: skip
        votes = options.votes(constraints, inputs)
        problem = Problem(
            model=model,
            labels=labels,
            weight=weight,
            alpha=np.full(model.n_weights, float(self.alpha)),
            gamma=float(self.gamma),
            tilt=grounded.tilt,
            touched=grounded.touched,
        )
        options.check_anything(grounded.tilt is not None or bool(len(problem.labelled)), "token")
        given = None if model.linear is None else self._given_start(classes, encoder, plain)
        alternates = options.method.name == "ap" and options.solver != "online"
        if given is None and self.init is None and problem.is_sampled and alternates:
            given = self._local_start(problem, constraints, sequences, options, banned)
        fit, stream = learn(
            Task(problem, grounded, votes),
            options,
            given=given,
            estimator=self,
            development=self._development(kept_aside, patience, encoder, plain, classes),
        )
        del problem  # and its copy of the rows that matter
        logger.info("%s: %s, objective %.6g", options.solver, fit.message, fit.objective)
        self.classes_ = classes
        self._keep_weights(model, plain, fit.weights)
        self.__dict__.pop("attribute_names_", None)
        self.transition_names_ = np.array(encoder.edge_names, dtype=object)
        self.objective_, self.converged_, self.history_ = fit.objective, fit.converged, fit.history
        self.n_iter_ = len(fit.history)
        self.constraint_report_ = report(
            model, grounded, fit, classes.tolist(), "tokens", options.roles(constraints, votes)
        )
        # What predict and project need is kept as it was in fit: parameters may be set to something else later.
        self._encoder, self._message, self._valid = encoder, fit.message, bool(self.valid_only)
        self._constraints, self._strength = constraints, replace(options.strength, rates=grounded.rates)
        self._inference = str(self.inference), seed
        self._prices, self._unit, self._generates = fitted_prices(grounded, fit), "tokens", options.model
        keep_stream(self, stream)
        return fit

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from some more sequences of a stream, in their order; each is looked at once.

        The first call fixes parameters, classes and attributes: name all ``classes`` (here or in the constructor)
        unless the constraints do, and use ``features={"hashing": 2**18}`` where attributes may come that the first
        sequences do not have. Only the ends of steps (``batch_size``) depend on how a stream is cut into calls. A call
        that is refused leaves the tagger as it was, and so do sequences without any weight. After ``fit`` it goes on
        from the fitted model.
        """
        learn_more(self, tagger_stream, X, y, classes, sample_weight)
        return self

    def _settle(self) -> None:
        table, edges = self._stream.learner.weights()
        assert edges is not None
        n = table.shape[1]
        self.coef_, self.transitions_ = np.ascontiguousarray(table.T), edges.reshape(-1, n, n)

    @cached_property
    def attribute_names_(self) -> npt.NDArray[Any]:
        # Made when asked for: nothing else needs the names of hashed attributes, and there are very many.
        return np.array(self._encoder.names, dtype=object)

    # Using

    def predict(self, X: Any) -> list[Labels]:
        """The most probable label sequence of every sequence (Viterbi), under the model."""
        sequences, model, potentials = self._potentials(X)
        best, _ = model.structure.best(potentials, model.workers)
        return self._named(best, sequences)

    def predict_marginals(self, X: Any) -> list[FloatArray]:
        """p_λ(y_t|x) of every token: an array (tokens × classes) a sequence."""
        sequences, model, potentials = self._potentials(X)
        return _split(self._infer(model, potentials).node, sequences)

    def predict_k_best(self, X: Any, k: int = 5) -> list[list[tuple[Labels, float]]]:
        """The k most probable label sequences with their probabilities, best first; fewer where there are fewer."""
        if not isinstance(k, numbers.Integral) or isinstance(k, bool) or k < 1:
            raise DataError(f"k={k!r} must be a whole number of at least 1.")
        sequences, model, potentials = self._potentials(X)
        log_z = self._infer(model, potentials).log_z
        assert isinstance(model.structure, Chains)
        labels, scores = model.structure.k_best(potentials, int(k), model.workers)
        ranked = [self._named(row, sequences) for row in labels]
        # The share of a long sequence may underflow to 0; −inf says that there is no such sequence.
        full = iter(scores - log_z[:, None])
        log_shares = [next(full) if length else np.zeros(1) for length in sequences.lengths]
        return [
            [(ranked[j][s], float(np.exp(share))) for j, share in enumerate(log_shares[s]) if share > -np.inf]
            for s in range(sequences.n_sequences)
        ]

    def project(
        self, X: Any, y: Any = None, *, prices: str = "solve", decode: bool = False, sample_weight: Any = None
    ) -> list[Any]:
        """q(y_t|x): predictions under the constraints, an array (tokens × classes) a sequence.

        Parameters
        ----------
        X, y
            As for ``fit``; known labels are certain under q, and constraints speak of the other tokens.
        prices : {"solve", "fitted"}
            ``solve`` projects onto the constraints as they apply to X (transductive: sequences influence each other);
            ``fitted`` tilts each by the prices learned in ``fit``.
        decode : bool
            Give the most probable label sequences under q instead.
        sample_weight : array, optional
            One a sequence.
        """
        sequences, model, potentials = self._potentials(X)
        _, labels, banned = tag_targets(y, sequences, self.classes_.tolist())
        p = self._infer(model, potentials)
        weight = instance_weights(sample_weight, sequences.n_sequences, "sequence")[sequences.lengths > 0]
        grounded = self._ground(sequences.without_empty(), model, weight, labels, banned=banned)
        found = projected(model, potentials, p, grounded, prices, self._prices)
        best = model.structure.best(potentials, model.workers)[0] if decode else None
        if found is not None:
            positions = model.structure.positions(grounded.touched)
            p.node[positions] = found.marginals.node
            if best is not None:
                best[positions] = found.structure.best(found.potentials, model.workers)[0]
        known = np.flatnonzero(labels >= 0)
        p.node[known] = np.eye(len(self.classes_))[labels[known]]
        if best is not None:
            best[known] = labels[known]
        return _split(p.node, sequences) if best is None else self._named(best, sequences)

    def score(self, X: Any, y: Any) -> float:
        """Token accuracy; unlabelled tokens do not count. A label that the tagger does not know is an error of it."""
        check_is_fitted(self)
        sequences = as_sequences(X)
        classes, labels, _ = tag_targets(y, sequences, named=self.classes_.tolist(), least=1)
        names = classes.tolist()
        if -1 in names and -1 not in self.classes_.tolist():  # it is no class, so it means unlabelled
            labels = np.where(labels == names.index(-1), -1, labels)
        known = np.flatnonzero(labels >= 0)
        if not len(known):
            raise DataError("score needs labels, but every token of y is unlabelled.")
        _, model, potentials = self._potentials(sequences)
        best, _ = model.structure.best(potentials, model.workers)
        predicted, truth = self.classes_[best[known]].tolist(), classes[labels[known]].tolist()
        return float(np.mean([a == b for a, b in zip(predicted, truth, strict=True)]))

    def save(self, path: str | Path) -> None:
        """Write a ``.tilt`` file: JSON and arrays, no pickle, atomically."""
        from tiltfit.estimators.persistence import save

        save(self, path)

    # Inside

    def __sklearn_is_fitted__(self) -> bool:
        return "coef_" in vars(self) or "weights_" in vars(self) or vars(self).get("_stream") is not None

    def _potentials(self, X: Any) -> tuple[Sequences, LogLinear, Potentials]:
        """X, the model on its sequences that are not empty, and its potentials there."""
        check_is_fitted(self)
        sequences = as_sequences(X)
        full = sequences.without_empty()
        workers = Workers(threads(self.n_jobs))
        matrix = self._encoder.transform(full)
        refuse_counts(vars(self).get("_generates", ""), matrix, self._encoder.names)
        model = self._encoder.model(matrix, full, self.classes_.tolist(), workers, valid=self._valid)
        if "weights_" in vars(self):
            mine = make_model(self._generates, model, self.classes_.tolist())
            return sequences, model, mine.potentials(self.weights_)
        weights = np.concatenate([self.coef_.T.ravel(), self.transitions_.ravel()])
        return sequences, model, model.potentials(weights)

    def _learn_encoder(self, sequences: Sequences) -> tuple[SequenceEncoder, sparse.csr_array]:
        """Attributes and edges as ``features``, ``transitions`` and ``boundaries`` say; an HMM has its own defaults."""
        if self.model != "hmm":
            return SequenceEncoder.fit(sequences, self.features, self.transitions, boundaries=self.boundaries)
        features = TOKEN_ALONE if self.features is None and sequences.kind == "tokens" else self.features
        return SequenceEncoder.fit(sequences, features, self.transitions or PLAIN_EDGES, boundaries=True)

    @staticmethod
    def _infer(model: LogLinear, potentials: Potentials) -> Marginals:
        return model.structure.infer(potentials, model.workers)

    def _named(self, labels: npt.NDArray[np.intp], sequences: Sequences) -> list[Labels]:
        names = self.classes_.tolist()
        return [[names[k] if k >= 0 else None for k in row.tolist()] for row in _split(labels, sequences)]

    def _keep_weights(self, model: Model, plain: LogLinear, weights: FloatArray) -> None:
        """``coef_`` and ``transitions_`` of a linear model, or ``weights_``."""
        for name in ("coef_", "transitions_", "weights_"):
            self.__dict__.pop(name, None)
        if model.linear is None:
            self.weights_ = weights
            return
        assert isinstance(plain.features, ChainFeatures)
        coef, transitions = plain.features.tables(weights)
        self.coef_, self.transitions_ = np.ascontiguousarray(coef.T), transitions.copy()

    def _given_start(self, classes: npt.NDArray[Any], encoder: SequenceEncoder, model: LogLinear) -> FloatArray | None:
        """Weights to start from that ``init`` or the last fit holds, or None."""
        tables = self._given_tables(classes, encoder)
        assert isinstance(model.features, ChainFeatures)
        return None if tables is None else model.features.flat(*tables)

    def _given_tables(
        self, classes: npt.NDArray[Any], encoder: SequenceEncoder
    ) -> tuple[FloatArray, FloatArray] | None:
        source = self if self.warm_start and hasattr(self, "coef_") else self.init
        if source is None or isinstance(source, str):
            return None
        if not isinstance(source, TiltTagger) or not hasattr(source, "coef_"):
            raise DataError(f"init={source!r} is not a start: use 'supervised', 'constraints', or a fitted tagger.")
        return matched_tables(source, classes, encoder.names, encoder.edge_names)

    def _local_start(
        self,
        problem: Problem,
        constraints: ConstraintSet,
        sequences: Sequences,
        options: Options,
        banned: npt.NDArray[np.bool_] | None,
    ) -> FloatArray | None:
        """The fit without the constraints on whole sequences: exact, fast, and near where sampling has to go."""
        local = ConstraintSet(tuple(c for c in constraints if not c.event.whole), constraints.classes)
        model, names, chains = problem.model, list(constraints.classes or ()), problem.model.structure.chains
        assert chains is not None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # all of it is said of the full set
            grounded = ground(
                local,
                Sample(sequences, names, chains, problem.labels, problem.weight, banned),
                options.strength,
                Grounding(model.workers, base=model.base),
            )
        if grounded.tilt is None and not len(problem.labelled):
            return None
        simpler = replace(problem, tilt=grounded.tilt, touched=grounded.touched)
        task = Task(simpler, grounded)
        return solve(
            task, options, given=None, init=None, n_init=1, random_state=self.random_state, callback=None
        ).weights  # fmt: skip

    def _development(
        self,
        kept_aside: tuple[Any, Any] | None,
        patience: int,
        encoder: SequenceEncoder,
        model: LogLinear,
        classes: npt.NDArray[Any],
    ) -> Development | None:
        if kept_aside is None:
            return None
        with naming_dev():
            sequences = as_sequences(kept_aside[0]).without_empty()
            labels = tag_targets(kept_aside[1], as_sequences(kept_aside[0]), classes.tolist()).labels
            matrix = encoder.transform(sequences)
            aside = encoder.model(matrix, sequences, classes.tolist(), model.workers, valid=bool(self.valid_only))
            if not MODELS[self.model].linear:
                return development(make_model(self.model, aside, classes.tolist()), labels, patience)
            ours, theirs = model.features, aside.features
            assert isinstance(ours, ChainFeatures)
            assert isinstance(theirs, ChainFeatures)
            return development(aside, labels, patience, lambda weights: theirs.flat(*ours.tables(weights)))

    def _ground(
        self,
        sequences: Sequences,
        model: LogLinear,
        weight: FloatArray,
        labels: npt.NDArray[np.intp],
        *,
        part: bool = False,
        banned: npt.NDArray[np.bool_] | None = None,
    ) -> Grounded:
        lost = getattr(self, "_lost_constraints", ())
        if lost:
            raise UnsupportedError(
                f"This model was loaded from a file, which cannot hold when(...) conditions: {', '.join(lost)}. "
                f"predict works; to {'go on' if part else 'project'}, fit again."
            )
        grounded = ground(
            self._constraints,
            Sample(sequences, self.classes_.tolist(), model.structure, labels, weight, banned),
            self._strength,
            Grounding(model.workers, *self._inference, part=part, base=model.base),
        )
        refuse_impossible(model, grounded)
        return grounded


def _named(constraints: ConstraintSet) -> list[object]:
    return [name for constraint in constraints for name in constraint.names]


def _split(values: npt.NDArray[Any], sequences: Sequences) -> list[npt.NDArray[Any]]:
    return sequences.split(values)
