"""``TiltClassifier``: a scikit-learn classifier that also learns from constraints on unlabelled rows."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from tiltfit.arrays import FloatArray
from tiltfit.data.documents import as_table, as_texts
from tiltfit.data.foreign import is_dataset
from tiltfit.data.inputs import Inputs
from tiltfit.errors import DataError, UnsupportedError
from tiltfit.estimators import classifier_stream
from tiltfit.estimators.base import LostBase, log_base, refuse_impossible_labels
from tiltfit.estimators.development import development, naming_dev, parts
from tiltfit.estimators.encoders import (
    Matrix,
    TableEncoder,
    TextEncoder,
    as_matrix,
    has_text,
    matrix_inputs,
)
from tiltfit.estimators.learning import fitted_prices, ground_for, learn, projected, report, warn, warned_already
from tiltfit.estimators.notebook import ShownWithReport
from tiltfit.estimators.options import Options, threads
from tiltfit.estimators.starts import matched_weights
from tiltfit.estimators.streaming import Settled, Stream, keep_stream, learn_more
from tiltfit.execution.workers import Workers
from tiltfit.features.attributes import AttributeFeatures, OccupiedFeatures
from tiltfit.features.hashing import buckets
from tiltfit.inference.independent import Independent
from tiltfit.inference.potentials import Marginals, Potentials
from tiltfit.language.constraint import ConstraintSet
from tiltfit.methods.history import Callback, Development, Fit
from tiltfit.methods.method import Task
from tiltfit.methods.problem import Problem
from tiltfit.models.generative import GENERATIVE, refuse_counts
from tiltfit.models.log_linear import LogLinear
from tiltfit.models.model import Model
from tiltfit.models.registry import MODELS, make_model
from tiltfit.projections.grounding import Grounded, Grounding, ground
from tiltfit.samples.labels import as_objects, find_unlabelled, row_targets, warn_unspoken_classes
from tiltfit.samples.sample import Sample

logger = logging.getLogger("tiltfit")


class TiltClassifier(ShownWithReport, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """min_λ  Σ_labelled −log p_λ(y|x) + α/2·‖λ‖² + γ·min_q [Σ_unlabelled D(q‖p_λ) + U(E_q[f′])]     (Eq. 6)

    A maximum-entropy classifier p_λ learned from labels, from constraints on unlabelled rows, or from both.

    Inductive: ``fit(X, y).predict(new)``, the model p on rows that it has not seen. Transductive:
    ``fit_predict(X, y)``, the unlabelled rows of X itself under q, so that the constraints hold on them. With some
    labels kept aside, ``fit(X, y, dev=(X_dev, y_dev))`` keeps the round that is best there.

    Parameters
    ----------
    constraints : constraints, a ``ConstraintSet``, or the path of a TOML file
        What is known: ``expect("hockey", given=word("puck")).about(0.9)``.
    classes : list, optional
        All labels. Default: those of the constraint file, else of y (and, if it shows fewer than two, of the
        constraints).
    model : {"maxent", "naive_bayes", "bernoulli_naive_bayes"}
        Maximum entropy, p(y|x); or a generative model p(x, y) of counts (multinomial) or of zeros and ones, with which
        Eq. 6 has −log p(x, y) and −log p(x) added: posterior regularization.
    method : str
        ``"ap"`` (alternating projections), or one of the methods it is compared with: ``"ge"`` (generalized
        expectation), ``"codl"`` (constraint-driven learning), ``"supervised"``, ``"em"`` (generative models without
        constraints), ``"entropy"`` and ``"label_regularization"`` (labels, and the entropy or the label proportions of
        unlabelled data), ``"self_training"`` (its own surest labels), ``"vote"`` (of the constraints on single rows) or
        ``"label_model"`` (the same votes, weighed by how right each constraint seems to be).
    method_options : dict, optional
        Options of the method.
    solver : {"auto", "alternating", "joint", "sgd", "online"}
        ``alternating`` is the paper's algorithm; ``joint`` eliminates q and reaches the same stationary points in fewer
        passes. ``sgd`` alternates with one stochastic pass over the instances a round, as the paper did for citations
        (with max_iter=10). ``online`` learns prices and weights together, a few instances at a time (``online=``).
        ``auto`` is ``joint``; generative models alternate.
    online : dict, optional
        How ``solver="online"`` and ``partial_fit`` learn: ``passes`` (5) over the data of ``fit``; ``batch_size``
        (64): rows a step; ``horizon``: how many rows of a stream count at most (default: all that were seen);
        ``steps``: "adaptive", or "printed" as in the paper, with ``eta0`` (0.1).
    vectorizer : {"auto", "tfidf", "counts", "binary", "hashing"} or a scikit-learn vectorizer
        How raw texts become features; ``auto`` is ``tfidf``, each document scaled to length ten (in ``partial_fit``:
        ``hashing``; for naive Bayes ``counts`` or ``binary``). ``hashing`` is the same without a vocabulary: words are
        hashed into 2**18 columns. A matrix is taken as it is: with scikit-learn's tf-idf, of length one, use
        ``alpha=0.01``.
    feature_names : list of str, optional
        Names of the columns of a matrix, so that constraints can speak of them.
    alpha : float
        Strength of the ridge penalty α/2·‖λ‖² on the weights. For naive Bayes the Dirichlet pseudo-count: as if every
        word had been seen α times more in every class (Bernoulli: once with and once without it), and so every class.
    beta : float
        Softness of ``about`` and ``distributed_as``: the smaller, the closer to the target.
    gamma : float
        Weight of unlabelled against labelled rows.
    scale : {"unit", "support"}
        ``unit``: every constraint pulls alike, however often it fires (β as in the paper). ``support``: β is divided by
        how often the condition fires, so that each firing pulls alike and the whole pull grows with the data.
    penalize_intercept : bool
        Whether α also applies to the intercepts (as in the paper).
    base : fitted classifier or array of probabilities (rows × sorted classes), optional
        q₀ of Eq. 2–3: the model is q₀·exp(λ·f), so that it only learns what the base does not know.
    init : {"zeros", "supervised", "constraints", "random"}, fitted estimator, or (coef, intercept), optional
        Where to start: the objective is not convex. Default: zeros; ``"entropy"``: supervised; generative models: what
        labels and constraints say, else random.
    n_init : int
        Number of starts, the first from ``init`` and the others random; the lowest objective wins.
    warm_start : bool
        Start from the last fit, features matched by name (hashed ones by column).
    max_iter : int
        At most this many rounds.
    tol : float
        Stop when the largest entry of the gradient is below ``tol`` times that at weights of zero (generative models:
        when the objective can fall by no more than ``tol``/100 of what it fell).
    n_jobs : int, optional
        Threads; the result does not depend on it. −1: one a core.
    random_state : int, Generator or RandomState, optional
        For random starts; everything else is deterministic.
    callback : callable, optional
        Called with a ``Round`` after every round; a true answer stops the training.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    coef_, intercept_ : array (classes × features), array (classes)
        The weights λ.
    n_features_in_, feature_names_in_ : int, array of str
        The features, by name if they have one (not if hashed).
    columns_in_ : list of str
        The columns of the table, if X was a table with texts.
    objective_ : float
        Eq. 6 at the end.
    converged_ : bool
        Whether it went on until there was nothing to gain: of the objective, or on the development set.
    n_iter_, history_ : int, tuple of ``Round``
        The rounds. With a development set, ``dev_score`` is the accuracy there.
    constraint_report_ : ``ConstraintReport``
        For each constraint: target, expectation under the model and under q, price, support. ``print`` it.

    Examples
    --------
    >>> from tiltfit import TiltClassifier, expect, word
    >>> texts = ["the puck hit the goalie", "goalie saves the puck", "a bat and a pitcher", "the pitcher has a bat"]
    >>> clf = TiltClassifier([expect("hockey", given=word("puck")).about(0.9),
    ...                       expect("baseball", given=word("bat")).about(0.9)])
    >>> clf.fit(texts).predict(["our goalie", "their pitcher"]).tolist()
    ['hockey', 'baseball']
    """

    coef_, intercept_ = Settled(), Settled()
    _stream: Stream

    def __init__(
        self,
        constraints: Any = (),
        *,
        classes: Iterable[object] | None = None,
        model: str = "maxent",
        method: str = "ap",
        method_options: Any = None,
        solver: str = "auto",
        online: Any = None,
        vectorizer: Any = "auto",
        feature_names: Iterable[str] | None = None,
        alpha: float = 1.0,
        beta: float = 0.05,
        gamma: float = 1.0,
        scale: str = "unit",
        penalize_intercept: bool = True,
        base: Any = None,
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
        self.vectorizer = vectorizer
        self.feature_names = feature_names
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.scale = scale
        self.penalize_intercept = penalize_intercept
        self.base = base
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
        """Learn from X, and from y where it has labels. A fit that fails leaves the estimator as it was.

        Parameters
        ----------
        X : list of texts, array, sparse matrix, data frame or dict of columns
            What conditions look at and the model learns from.
        y : list, optional
            Labels; None, NaN or −1 for unlabelled rows, a set where the label is one of its members. None: nothing is
            labelled.
        sample_weight : array, optional
            One a row.
        dev : (X_dev, y_dev), optional
            After every round the model is scored there (accuracy; unlabelled rows do not count), and the best round's
            model is kept.
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
    ) -> npt.NDArray[Any]:
        """Fit on X and label X itself, under the constraints (transductive): the most probable class of every row under
        q, the projection of the fitted model; known labels as they are. Parameters as for ``fit``."""
        self.fit(X, y, sample_weight, dev=dev, patience=patience)
        with warned_already():
            q = self._project(X, y, "solve", sample_weight, fitting=True)
        return np.asarray(self.classes_[q.argmax(axis=1)])

    def _fit(self, X: Any, y: Any, sample_weight: Any, dev: Any, patience: int) -> Fit:
        options, kept_aside = Options.of(self), parts(dev, patience)
        constraints = ConstraintSet.of(self.constraints)
        encoder, matrix, inputs = self._learn_encoder(X, options.vectorizer(self.vectorizer))
        classes, labels, banned = row_targets(
            y,
            inputs.n,
            constraints.classes if self.classes is None else self.classes,
            [name for c in constraints for name in c.names],
        )
        constraints = constraints.with_classes(classes.tolist())
        options.check(constraints, inputs.unit)
        weight = self._weights(sample_weight, matrix)
        workers = options.workers()
        q0 = log_base(self.base, X, inputs.n, classes, fitting=True)
        refuse_impossible_labels(q0, labels, classes, banned)
        names = encoder.names if encoder is not None else self._names()
        refuse_counts(options.model, matrix, names)
        is_hashed = bool(names and buckets(names))
        occupied = is_hashed and options.solver != "online" and MODELS[options.model].linear
        plain = _model(matrix, len(classes), q0, workers, occupied=occupied)
        model = make_model(options.model, plain, classes.tolist())
        grounded = ground_for(
            options.method, constraints,
            Sample(inputs, classes.tolist(), plain.structure, labels, weight, banned), options.strength,
            Grounding(
                workers, online=options.solver == "online",
                separate="rows" not in options.method.needs,
                violations="violations" in options.method.needs, base=model.base,
            ),
            check=lambda grounded: None,
        )  # fmt: skip
        told = grounded.tilt is not None or bool(np.any(labels >= 0))
        options.check_anything(told, "row")
        if told:
            warn_unspoken_classes(classes, labels, constraints, banned)
        unit, votes = inputs.unit, options.votes(constraints, inputs)
        del inputs  # its indexes are as large as X, and nobody looks at it any more
        problem = Problem(
            model=model,
            labels=labels,
            weight=weight,
            alpha=_ridge(model, self.alpha, self.penalize_intercept),
            gamma=float(self.gamma),
            tilt=grounded.tilt,
            touched=grounded.touched,
        )
        features = plain.features
        assert isinstance(features, AttributeFeatures)
        given = None if model.linear is None else self._given_start(classes, names, matrix.shape[1])
        fit, stream = learn(
            Task(problem, grounded, votes),
            options,
            given=None if given is None else features.own(given),
            estimator=self,
            development=self._development(kept_aside, patience, encoder, classes, features),
        )
        del problem  # and its copy of the rows that matter
        logger.info("%s: %s, objective %.6g", options.solver, fit.message, fit.objective)
        if isinstance(encoder, TableEncoder):
            self.columns_in_ = encoder.columns
        if encoder is not None:
            self.n_features_in_ = matrix.shape[1]
            self.__dict__.pop("feature_names_in_", None)
            if not is_hashed:  # those of hashed columns say nothing, and there are very many
                self.feature_names_in_ = np.array(names, dtype=object)
        self.classes_ = classes
        self._keep_weights(model, features, fit.weights)
        self.objective_, self.converged_, self.history_ = fit.objective, fit.converged, fit.history
        self.n_iter_ = len(fit.history)
        self.constraint_report_ = report(
            model, grounded, fit, classes.tolist(), unit, options.roles(constraints, votes)
        )
        # What predict and project need is kept as it was in fit: parameters may be set to something else later.
        self._encoder, self._model_names, self._message, self._unit = encoder, names, fit.message, unit
        self._constraints, self._strength, self._base = constraints, options.strength, self.base
        self._prices, self._generates = fitted_prices(grounded, fit), options.model
        keep_stream(self, stream)
        return fit

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from some more rows of a stream, in their order; each is looked at once.

        The first call fixes parameters, classes and features: name all ``classes`` (here or in the constructor) unless
        the constraints do. Texts are hashed by default (``vectorizer="hashing"``); any other vectorizer knows the words
        of the first call alone. Only the ends of steps (``batch_size``) depend on how a stream is cut into calls. A
        call that is refused leaves the estimator as it was, and so do rows without any weight. After ``fit`` it goes on
        from the fitted model.
        """
        learn_more(self, classifier_stream, X, y, classes, sample_weight)
        return self

    def _settle(self) -> None:
        table, _ = self._stream.learner.weights()
        self.coef_, self.intercept_ = np.ascontiguousarray(table[:-1].T), table[-1].copy()

    # Using

    def predict_proba(self, X: Any) -> FloatArray:
        """p_λ(y|x): the model alone, rows × classes."""
        check_is_fitted(self)
        return self._infer(X, self._matrix(X))[2].node

    def predict_log_proba(self, X: Any) -> FloatArray:
        """log p_λ(y|x)."""
        check_is_fitted(self)
        _, potentials, marginals = self._infer(X, self._matrix(X))
        return np.asarray(potentials.node - marginals.log_z[:, None])

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable class of every row."""
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def project(self, X: Any, y: Any = None, *, prices: str = "solve", sample_weight: Any = None) -> FloatArray:
        """q(y|x): predictions under the constraints, rows × classes.

        Parameters
        ----------
        X, y
            As for ``fit``; known labels are certain under q, and constraints speak of the other rows.
        prices : {"solve", "fitted"}
            ``solve`` projects onto the constraints as they apply to X (transductive: rows influence each other);
            ``fitted`` tilts each row by the prices learned in ``fit``.
        sample_weight : array, optional
            One a row.
        """
        check_is_fitted(self)
        return self._project(X, y, prices, sample_weight, fitting=False)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy on the labelled rows; unlabelled ones do not count."""
        check_is_fitted(self)
        values, predicted = as_objects(y), self.predict(X)
        weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        for name, given in (("y", values), ("sample_weight", weight)):
            if given is not None and given.shape != predicted.shape:
                raise DataError(f"{name} has the shape {given.shape}, but X has {len(predicted)} rows.")
        keep = ~find_unlabelled(values, list(self.classes_))
        if not keep.any():
            raise DataError("score needs labels, but every row of y is unlabelled.")
        weight = None if weight is None else weight[keep]
        hits = np.array([p == t for p, t in zip(predicted[keep].tolist(), values[keep].tolist(), strict=True)])
        return float(np.average(hits, weights=weight))

    def save(self, path: str | Path) -> None:
        """Write a ``.tilt`` file: JSON and arrays, no pickle, atomically."""
        from tiltfit.estimators.persistence import save

        save(self, path)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Names of the model's features, one a column of ``coef_``."""
        check_is_fitted(self)
        names = self._model_names if self._model_names is not None else input_features
        if names is None or not len(names):  # a foreign vectorizer need not name its columns
            names = [f"x{j}" for j in range(self.coef_.shape[1])]
        return np.array(names, dtype=object)

    # Inside

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False  # constraints can take the place of labels
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        # Counts and independence are assumed, whatever the data are: scikit-learn's own naive Bayes says so, too.
        tags.input_tags.positive_only = tags.classifier_tags.poor_score = self.model in GENERATIVE
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return "coef_" in vars(self) or "weights_" in vars(self) or vars(self).get("_stream") is not None

    def _learn_encoder(
        self, X: Any, vectorizer: Any, *, part: bool = False
    ) -> tuple[TextEncoder | TableEncoder | None, Matrix, Inputs]:
        """How X becomes a matrix (None: it is one), that matrix, and what conditions see. ``part``: more will come."""
        encoder: TextEncoder | TableEncoder
        texts = as_texts(X)
        table = as_table(X) if texts is None else None
        if texts is not None:
            encoder, matrix = TextEncoder.fit(texts, vectorizer, part=part)
        elif table is not None and (isinstance(X, Mapping) or is_dataset(X) or has_text(table)):
            encoder, matrix = TableEncoder.fit(table, vectorizer, part=part)
        else:
            numbers = self._validate(X, reset=True)
            return None, numbers, matrix_inputs(X, numbers, self._names())
        if self.feature_names is not None:
            raise DataError("feature_names= names the columns of a matrix, but X is raw text or a table.")
        return encoder, matrix, encoder.inputs(X)

    def _matrix(self, X: Any) -> Matrix:
        """New data as the model takes it."""
        encoder = self._encoder_for(X)
        matrix = encoder.matrix(X) if encoder is not None else self._validate(X, reset=False)
        refuse_counts(vars(self).get("_generates", ""), matrix, self._model_names)
        return matrix

    def _inputs(self, X: Any, matrix: Matrix) -> Inputs:
        """New data as the conditions see it."""
        encoder = self._encoder_for(X)
        return encoder.inputs(X) if encoder is not None else matrix_inputs(X, matrix, self._model_names)

    def _encoder_for(self, X: Any) -> TextEncoder | TableEncoder | None:
        # A model loaded from a file may have lost its foreign vectorizer: it then takes matrices that went through it.
        lost = self._encoder is not None and self._encoder.is_lost and as_texts(X) is None
        return None if lost else self._encoder

    def _validate(self, X: Any, *, reset: bool) -> Matrix:
        if as_texts(X) is not None:
            raise DataError(
                "This model takes numbers, but X is a list of texts. Transform them first, or fit on texts."
            )
        checked = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=reset)
        if reset and self.feature_names is not None:
            names = list(self.feature_names)
            if len(names) != checked.shape[1]:
                raise DataError(f"feature_names has {len(names)} names, but X has {checked.shape[1]} columns.")
            if hasattr(self, "feature_names_in_") and list(self.feature_names_in_) != names:
                raise DataError(f"feature_names= says {names[:5]}, but the frame's columns are {list(X.columns)[:5]}.")
            if len(set(names)) < len(names):
                twice = next(n for k, n in enumerate(names) if n in names[:k])
                raise DataError(f"feature_names names {twice!r} twice.")
        return as_matrix(checked)

    def _names(self) -> list[str] | None:
        if self.feature_names is not None:
            return [str(name) for name in self.feature_names]
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    @staticmethod
    def _weights(sample_weight: Any, matrix: Matrix) -> FloatArray:
        weight: FloatArray = _check_sample_weight(sample_weight, np.empty((matrix.shape[0], 1)), dtype=np.float64)
        if np.any(weight < 0):
            raise DataError(f"sample_weight is negative in row {int(np.argmin(weight))}.")
        if not np.any(weight > 0):
            raise DataError("sample_weight sums to zero: no row counts.")
        return weight

    def _keep_weights(self, model: Model, features: AttributeFeatures, weights: FloatArray) -> None:
        """``coef_`` and ``intercept_`` of a linear model, or ``weights_``."""
        for name in ("coef_", "intercept_", "weights_"):
            self.__dict__.pop(name, None)
        if model.linear is None:
            self.weights_ = weights
            return
        table = features.whole(weights).reshape(-1, features.n_labels)
        self.coef_, self.intercept_ = np.ascontiguousarray(table[:-1].T), table[-1].copy()

    def _given_start(self, classes: npt.NDArray[Any], names: Sequence[str] | None, d: int) -> FloatArray | None:
        """Weights to start from that ``init`` or the last fit holds, or None."""
        if self.warm_start and hasattr(self, "coef_"):
            return matched_weights(self, classes, names, d)
        if self.init is None or isinstance(self.init, str):
            return None
        return matched_weights(self.init, classes, names, d)

    def _development(
        self,
        kept_aside: tuple[Any, Any] | None,
        patience: int,
        encoder: TextEncoder | TableEncoder | None,
        classes: npt.NDArray[Any],
        features: AttributeFeatures,
    ) -> Development | None:
        if kept_aside is None:
            return None
        X, y = kept_aside
        with naming_dev():
            matrix = encoder.matrix(X) if encoder is not None else self._validate(X, reset=False)
            refuse_counts(self.model, matrix, encoder.names if encoder is not None else self._names())
            labels = row_targets(y, matrix.shape[0], classes.tolist()).labels
            q0 = log_base(self.base, X, matrix.shape[0], classes, fitting=False)
            aside = _model(matrix, len(classes), q0, features.workers)
            if not MODELS[self.model].linear:
                return development(make_model(self.model, aside, classes.tolist()), labels, patience)
            return development(aside, labels, patience, features.whole)

    def _project(self, X: Any, y: Any, prices: str, sample_weight: Any, *, fitting: bool) -> FloatArray:
        """``fitting``: X is what the model was fitted on just now, and so is ``base``, if that is an array."""
        matrix = self._matrix(X)
        _, labels, banned = row_targets(y, matrix.shape[0], self.classes_.tolist())
        model, potentials, marginals = self._infer(X, matrix, fitting=fitting)
        weight = self._weights(sample_weight, matrix)
        grounded = self._ground(self._inputs(X, matrix), weight, labels, Workers(), banned=banned)
        q = marginals.node
        found = projected(model, potentials, marginals, grounded, prices, self._prices)
        if found is not None:
            q[grounded.touched] = found.marginals.node
        known = np.flatnonzero(labels >= 0)
        q[known] = np.eye(len(self.classes_))[labels[known]]
        return q

    def _infer(self, X: Any, matrix: Matrix, *, fitting: bool = False) -> tuple[LogLinear, Potentials, Marginals]:
        workers = Workers(threads(self.n_jobs))
        q0 = log_base(self._base_now, X, matrix.shape[0], self.classes_, fitting=fitting)
        model = _model(matrix, len(self.classes_), q0, workers)
        if "weights_" in vars(self):
            potentials = make_model(self._generates, model, self.classes_.tolist()).potentials(self.weights_)
        else:
            potentials = model.potentials(np.concatenate([self.coef_.T, self.intercept_[None, :]]).ravel())
        return model, potentials, model.structure.infer(potentials, workers)

    def _ground(
        self,
        inputs: Inputs,
        weight: FloatArray,
        labels: npt.NDArray[np.intp],
        workers: Workers,
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
        sample = Sample(inputs, self.classes_.tolist(), Independent(inputs.n), labels, weight, banned)
        return ground(self._constraints, sample, self._strength, Grounding(workers, part=part))

    @property
    def _base_now(self) -> Any:
        """That of the fit; one that a file could not hold may have been set again."""
        return self.base if isinstance(self._base, LostBase) else self._base

    def _model(self, matrix: Matrix, q0: FloatArray | None, workers: Workers) -> LogLinear:
        return _model(matrix, len(self.classes_), q0, workers)


def _model(
    matrix: Matrix, n_labels: int, q0: FloatArray | None, workers: Workers, *, occupied: bool = False
) -> LogLinear:
    """``occupied``: hashed columns that are empty here have no weights."""
    base = None if q0 is None else Potentials(q0)
    features = OccupiedFeatures.of if occupied else AttributeFeatures
    return LogLinear(features(matrix, n_labels, workers), Independent(matrix.shape[0]), base)


def _ridge(model: Model, alpha: float, penalize_intercept: bool) -> FloatArray:
    ridge = np.full(model.n_weights, float(alpha))
    if not penalize_intercept and model.linear is not None:
        ridge[-model.n_labels :] = 0.0
    return ridge
