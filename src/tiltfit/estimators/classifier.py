"""``TiltClassifier``: a scikit-learn classifier that also learns from constraints on unlabelled rows."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from tiltfit.arrays import FloatArray
from tiltfit.data.beside import apart, together
from tiltfit.data.documents import as_table, as_texts, refuse_tokens
from tiltfit.data.foreign import is_dataset
from tiltfit.data.inputs import Inputs
from tiltfit.data.matrices import refuse_broken
from tiltfit.errors import DataError
from tiltfit.estimators.earlier_models import log_base, matched_weights, refuse_impossible_labels
from tiltfit.estimators.encoders import Matrix, TableEncoder, TextEncoder, as_matrix, has_text, matrix_inputs
from tiltfit.estimators.estimator import Rows, TiltEstimator, warned_already
from tiltfit.estimators.given_features import (
    GivenFeatures,
    WithFeatures,
    paired,
    refuse_features,
    refuse_stream,
)
from tiltfit.estimators.options import Options, as_word
from tiltfit.estimators.pooling import fit_apart
from tiltfit.estimators.refining import refine
from tiltfit.estimators.stream import Settled
from tiltfit.execution.workers import Workers, one_blas_thread
from tiltfit.features.attributes import AttributeFeatures, OccupiedFeatures
from tiltfit.features.hashing import buckets
from tiltfit.inference.independent import Independent
from tiltfit.inference.potentials import Potentials
from tiltfit.methods.history import Callback, Development, Fit
from tiltfit.methods.method import Run, Training
from tiltfit.methods.problem import Problem
from tiltfit.methods.sharpness import Sharpness
from tiltfit.models.generative import GENERATIVE
from tiltfit.models.log_linear import LogLinear
from tiltfit.models.model import Model
from tiltfit.optimize.result import Stop
from tiltfit.samples.labels import as_objects, find_unlabelled, refuse_other_kind
from tiltfit.samples.sample import Sample
from tiltfit.samples.task import DOCUMENTS, Task

logger = logging.getLogger("tiltfit")

Encoder = TextEncoder | TableEncoder | GivenFeatures | None  # None: X is a matrix


class TiltClassifier(ClassifierMixin, TiltEstimator):  # type: ignore[misc]
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
    model : {"maxent", "naive_bayes", "bernoulli_naive_bayes"} or object
        Maximum entropy, p(y|x); or a generative model p(x, y) of counts (multinomial) or of zeros and ones, with which
        Eq. 6 has −log p(x, y) and −log p(x) added: posterior regularization. An object takes their place: a
        ``torch.nn.Module`` or ``tiltfit.torch.Network``, ``lightgbm.LGBMClassifier``, ``xgboost.XGBClassifier``
        (trained on Eq. 6 itself), or any classifier with ``fit`` and ``predict_proba`` (by soft labels, slowly). It is
        copied.
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
        (64): rows per step; ``horizon``: how many rows of a stream count at most (default: all that were seen);
        ``steps``: "adaptive", or "printed" as in the paper, with ``eta0`` (0.1).
    vectorizer : str, scikit-learn vectorizer or encoder
        "auto", "tfidf", "counts", "binary", "hashing", "words+meaning" or "words+sentences".
        How raw texts become features; ``auto`` is ``tfidf``, each document scaled to length ten (in ``partial_fit``:
        ``hashing``; for naive Bayes ``counts`` or ``binary``). ``hashing`` is the same without a vocabulary: words are
        hashed into 2**18 columns. ``words+meaning`` is tf-idf with, beside it, the vectors of a static encoder, scaled
        to length five (``pip install 'tiltfit[embeddings]'``). ``words+sentences`` has the vectors of a small sentence
        encoder beside words (``'tiltfit[sentences]'``); both are fitted apart, and their weights are averaged, each
        with the say that it has earned on the texts of the fit. A vectorizer is any transformer of scikit-learn, a
        pipeline or union of them included; it is copied, and its matrix is taken as it is: with scikit-learn's tf-idf,
        of length one, use ``alpha=0.01``. An encoder is any object with ``encode(texts)``, as sentence-transformers and
        model2vec have it; its vectors are scaled to length ten. To compute vectors yourself, see ``features=`` of
        ``fit``.
    feature_names : list of str, optional
        Names of the columns of a matrix, so that constraints can refer to them.
    alpha : float
        Strength of the ridge penalty α/2·‖λ‖² on the weights. For naive Bayes the Dirichlet pseudo-count: as if every
        word had been seen α times more in every class (Bernoulli: once with and once without it), and so every class.
    beta : "auto" or float
        Strength of the statements that do not state it (as ``about(0.8, within=0.05)`` does). ``auto``: a bounded pull.
        ``about`` is met unless the data or other statements fight it harder than it may pull,
        which the report says. A number is the softness of ``about`` and ``distributed_as``, as in the paper: the
        smaller, the closer to the target.
    gamma : float
        Weight of unlabelled against labelled rows. By default strength (neither ``beta`` nor ``scale`` is set) all
        unlabelled rows count together as 2,000 times so much, however many they are (not for an object as ``model``).
    scale : {"auto", "unit", "support"}
        ``unit``: every constraint pulls alike, however often it fires (β as in the paper). ``support``: β is divided by
        how often the condition fires, so that each firing pulls alike and the whole pull grows with the data. ``auto``:
        ``unit`` for documents; a tagger adds, to a bounded pull, what grows with the share of the tokens that a
        statement speaks of.
    revise : {"auto", None}
        Whether labels revise the shares that ``about`` states: the target becomes the mean of a Beta posterior, with
        the statement as a prior worth twenty labels (``within=``: as many as the stated deviation implies), see
        ``tiltfit.projections.revision``. The report shows what labels said. Not in streams. ``None``: as stated.
    penalize_intercept : "auto" or bool
        Whether α also applies to the intercepts (as in the paper). ``auto``: it does not, so that statements about
        proportions can be met, except with ``base=``; naive Bayes smooths the shares of the classes, too.
    refine : {"auto"}, optional
        ``"auto"``: a second stage learns from what the first one is surest of, on all rows, and from texts with pairs
        of words and pieces of words as well (``vectorizer="auto"`` or ``"tfidf"``; otherwise with the same features).
        It is kept if its labels meet the statements as well and no class collapses; ``refinement_`` says so. For
        ``model="maxent"`` and ``method="ap"`` with constraints that fire, without ``base=``, ``dev=`` and streams; with
        these there is no second stage.
    base : fitted classifier or array of probabilities (rows × sorted classes), optional
        q₀ of Eq. 2–3: the model is q₀·exp(λ·f), so that it only learns what the base does not know.
    init : {"zeros", "supervised", "constraints", "random"}, fitted estimator, or (coef, intercept), optional
        Where to start: the objective is not convex. Default: zeros; ``"entropy"`` and taggers with
        labels: supervised; generative models: what labels and constraints say, else random.
    n_init : int
        Number of starts, the first from ``init`` and the others random; the lowest objective wins.
    warm_start : bool
        Start from the last fit, features matched by name (hashed ones by column).
    max_iter : int
        At most this many rounds.
    tol : float
        A fit is over when ten rounds lower the objective by less than this part of it, and change less than one
        predicted label in a thousand (generative models: when it can fall by no more than ``tol``/100 of a nat per
        row). 0: make ``max_iter`` rounds.
    sharpen : {"auto"}, float or None
        After the fit, all weights are multiplied by one number, which makes probabilities surer (above 1) or more
        modest and changes no prediction. ``"auto"`` chooses it for ``method="ap"``, by how well documents that were
        left out tell where conditions fire, and from thirty labels on also by these; it is 1 where the data do not ask
        for another, or the model is too weak to tell. None: 1.
    n_jobs : int, optional
        Threads; the result does not depend on it. −1: one per core.
    random_state : int, Generator or RandomState, optional
        For random starts; everything else is deterministic.
    callback : callable, optional
        Called with a ``Round`` after every round; a true answer stops the training.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    coef_, intercept_ : array (classes × features), array (classes)
        The weights λ, sharpened.
    estimator_ : object
        What was fitted, if ``model`` is an object: the trained module, the booster, or the copy of the classifier.
    sharpness_ : float
        What the weights of the fit were multiplied by; the report says why. Going on from a fit (``init``,
        ``warm_start``, ``partial_fit``) begins with the weights without it.
    n_features_in_, feature_names_in_ : int, array of str
        The features, by name if they have one (not if hashed).
    columns_in_ : list of str
        The columns of the table, if X was a table with texts.
    objective_ : float
        Eq. 6 at the end.
    converged_ : bool
        Whether it went on until there was nothing to gain: of the objective, or on the development set. False where
        hard constraints are missed because they contradict each other.
    n_iter_, history_ : int, tuple of ``Round``
        The rounds. With a development set, ``dev_score`` is the accuracy there. ``stage`` is 2 in the second stage,
        whose objective is another one.
    fit_seconds_ : float
        How long ``fit`` took. Files do not hold it, so that they do not differ from run to run.
    refinement_ : ``Refinement`` or None
        What the second stage changed, and what it cost. ``print`` it.
    constraint_report_ : ``ConstraintReport``
        For each constraint, and for each share that was assumed of a class that others had swallowed: target,
        expectation under the model and under q, share of the predicted labels, pull, price, support. ``print`` it.

    Examples
    --------
    >>> from tiltfit import TiltClassifier, expect, word
    >>> texts = ["the puck hit the goalie", "goalie saves the puck", "a bat and a pitcher", "the pitcher has a bat"]
    >>> clf = TiltClassifier([expect("hockey", given=word("puck")).about(0.9),
    ...                       expect("baseball", given=word("bat")).about(0.9)])
    >>> clf.fit(texts).predict(["our goalie", "their pitcher"]).tolist()
    ['hockey', 'baseball']
    """

    task: ClassVar[Task] = DOCUMENTS
    coef_, intercept_ = Settled(), Settled()

    def __init__(
        self,
        constraints: Any = (),
        *,
        classes: Iterable[object] | None = None,
        model: Any = "maxent",
        method: str = "ap",
        method_options: Any = None,
        solver: str = "auto",
        online: Any = None,
        vectorizer: Any = "auto",
        feature_names: Iterable[str] | None = None,
        alpha: float = 1.0,
        beta: float | str = "auto",
        gamma: float = 1.0,
        scale: str = "auto",
        revise: str | None = "auto",
        penalize_intercept: bool | str = "auto",
        refine: str | None = None,
        base: Any = None,
        init: Any = None,
        n_init: int = 1,
        warm_start: bool = False,
        max_iter: int = 500,
        tol: float = 1e-3,
        sharpen: Any = "auto",
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
        self.revise = revise
        self.penalize_intercept = penalize_intercept
        self.refine = refine
        self.base = base
        self.init = init
        self.n_init = n_init
        self.warm_start = warm_start
        self.max_iter = max_iter
        self.tol = tol
        self.sharpen = sharpen
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callback = callback

    # Learning

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        features: Any = None,
        evidence: Any = None,
        votes: Any = None,
        dev: Any = None,
        patience: int = 5,
    ) -> Self:
        """Learn from X, and from y where it has labels. A fit that fails leaves the estimator as it was.

        Parameters
        ----------
        X : list of texts, array, sparse matrix, data frame or dict of columns
            The documents or rows that conditions look at and, without ``features``, the model learns from.
        y : list, optional
            Labels; None, NaN or −1 for unlabelled rows, a set where the label is one of its members. None: nothing is
            labelled.
        sample_weight : array, optional
            One per row.
        features : array or sparse matrix (rows × dimensions), optional
            What the model learns from instead: ``vectorizer=`` is not used, and conditions look at X as before. All
            rows are multiplied by one factor, such that their root mean square length is ten (not for naive Bayes).
            Methods that predict need ``features=`` of the same encoder, and X (else None) only where conditions look
            at it.
        evidence, votes : optional
            What conditions, and not the model, look at besides: further columns, and what sources say; see
            ``WithEvidence``. ``predict`` needs neither, ``project`` takes them again.
        dev : (X_dev, y_dev), optional
            After every round the model is scored there (accuracy; unlabelled rows do not count), and the best round's
            model is kept. With ``features``: (``WithFeatures(X_dev, V_dev)``, y_dev).
        patience : int
            With ``dev``: stop after so many rounds without a better score.
        """
        X = together(paired(X, features), evidence, votes)
        return super().fit(X, y, sample_weight, dev=dev, patience=patience)

    def fit_predict(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        features: Any = None,
        evidence: Any = None,
        votes: Any = None,
        dev: Any = None,
        patience: int = 5,
    ) -> npt.NDArray[Any]:
        """Fit on X and label X itself, under the constraints (transductive): the most probable class of every row under
        q, the projection of the fitted model; known labels as they are. Parameters as for ``fit``."""
        X = together(paired(X, features), evidence, votes)
        self.fit(X, y, sample_weight, dev=dev, patience=patience)
        with warned_already():
            q = self._project(X, y, "solve", sample_weight, fitting=True)
        return np.asarray(self.classes_[q.argmax(axis=1)])

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        features: Any = None,
        evidence: Any = None,
        votes: Any = None,
    ) -> Self:
        """Learn from some more rows of a stream, in their order; each is looked at once.

        The first call fixes parameters, classes and features: name all ``classes`` (here or in the constructor) unless
        the constraints do. Texts are hashed by default (``vectorizer="hashing"``); any other vectorizer knows the words
        of the first call alone. Only the ends of steps (``batch_size``) depend on how a stream is cut into calls. A
        call that is refused leaves the estimator as it was, and so do rows without any weight. After ``fit`` it goes on
        from the fitted model. ``features`` are refused: their scale is that of all rows.
        """
        given = isinstance(apart(X).X, WithFeatures) or isinstance(getattr(self, "encoder_", None), GivenFeatures)
        if features is not None or given:
            raise refuse_stream()
        return super().partial_fit(together(X, evidence, votes), y, classes, sample_weight)

    # Using

    def predict_proba(self, X: Any, *, features: Any = None) -> FloatArray:
        """p_λ(y|x): the model alone, rows × classes. ``features``: as for ``predict``."""
        return self._beliefs(paired(X, features)).marginals.node

    def predict_log_proba(self, X: Any, *, features: Any = None) -> FloatArray:
        """log p_λ(y|x). ``features``: as for ``predict``."""
        found = self._beliefs(paired(X, features))
        return np.asarray(found.potentials.node - found.marginals.log_z[:, None])

    def predict(self, X: Any, *, features: Any = None) -> npt.NDArray[Any]:
        """The most probable class of every row. ``features``: those of these rows, if the fit had them; X may then be
        None."""
        found = self._beliefs(paired(X, features))
        return np.asarray(self.task.named(found.best, self.classes_, found.inputs))

    def project(
        self,
        X: Any,
        y: Any = None,
        *,
        features: Any = None,
        evidence: Any = None,
        votes: Any = None,
        prices: str = "auto",
        sample_weight: Any = None,
    ) -> FloatArray:
        """q(y|x): predictions under the constraints, rows × classes.

        Parameters
        ----------
        X, y
            As for ``fit``; known labels are certain under q, and constraints are about the other rows.
        features : array or sparse matrix, optional
            Those of these rows, if the fit had them. X is needed as well where conditions look at it.
        evidence, votes : optional
            Those of these rows, where conditions look at them.
        prices : {"auto", "fitted", "solve"}
            ``fitted`` tilts each row by the prices learned in ``fit``, so that one asked for alone gets the same answer
            as among others. ``solve`` projects onto the constraints as they apply to X (transductive: rows influence
            each other), so that they hold there. ``auto``: ``fitted``, unless a constraint is stated per instance and
            has no price that holds for others. On the data of the fit they agree.
        sample_weight : array, optional
            One per row.
        """
        X = together(paired(X, features), evidence, votes)
        return np.asarray(self._project(X, y, prices, sample_weight))

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, features: Any = None) -> float:
        """Accuracy on the labelled rows; unlabelled ones do not count. ``features``: as for ``predict``."""
        check_is_fitted(self)
        values, predicted = as_objects(y), self.predict(X, features=features)
        weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        for name, given in (("y", values), ("sample_weight", weight)):
            if given is not None and given.shape != predicted.shape:
                raise DataError(f"{name} has the shape {given.shape}, but X has {len(predicted)} rows.", parameter=name)
        keep = ~find_unlabelled(values, list(self.classes_))
        if not keep.any():
            raise DataError("score needs labels, but every row of y is unlabelled.", parameter="y")
        weight = None if weight is None else weight[keep]
        refuse_other_kind(values[keep].tolist(), self.classes_.tolist())
        hits = np.array([p == t for p, t in zip(predicted[keep].tolist(), values[keep].tolist(), strict=True)])
        return float(np.average(hits, weights=weight))

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Names of the model's features, one per column of ``coef_``."""
        check_is_fitted(self)
        names = self.names_ if self.names_ is not None else input_features
        if names is None or not len(names):  # a foreign vectorizer need not name its columns
            names = [self.unnamed(j) for j in range(self.coef_.shape[1])]
        return np.array(names, dtype=object)

    def unnamed(self, column: int) -> str:
        """The name of a column that has none: that of scikit-learn, or its number among vectors."""
        encoder: Encoder = self.encoder_
        lengths = isinstance(encoder, TextEncoder) and encoder.length is not None
        return f"feature {column}" if lengths or isinstance(encoder, GivenFeatures) else f"x{column}"

    # Inside

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False  # constraints can take the place of labels
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        # Counts and independence are assumed, whatever the data are: as in scikit-learn's own naive Bayes.
        tags.input_tags.positive_only = tags.classifier_tags.poor_score = as_word(self.model) in GENERATIVE
        return tags

    def _learn_encoder(self, X: Any, options: Options, *, part: bool = False) -> tuple[Encoder, Inputs, Matrix]:
        if isinstance(X, WithFeatures):
            given = X.matrix()
            inputs = X.inputs(self.feature_names, given.shape[0])
            scaled, numbers = GivenFeatures.fit(given, scaled=not options.is_generative)
            return scaled, inputs, numbers
        vectorizer = options.vectorizer(self.vectorizer, part=part)
        encoder: TextEncoder | TableEncoder
        texts = as_texts(X)
        table = as_table(X) if texts is None else None
        if texts is not None:
            encoder, matrix = TextEncoder.fit(texts, vectorizer, part=part)
        elif table is not None and (isinstance(X, Mapping) or is_dataset(X) or has_text(table)):
            encoder, matrix = TableEncoder.fit(table, vectorizer, part=part)
        else:
            numbers = self._validate(X, reset=True)
            return None, matrix_inputs(X, numbers, self._names()), numbers
        if self.feature_names is not None:
            raise DataError(
                "feature_names= names the columns of a matrix, but X is raw text or a table.",
                parameter="feature_names",
            )
        return encoder, encoder.inputs(X), matrix

    def _keep_encoder(self, encoder: Encoder, n_columns: int) -> None:
        self.encoder_ = encoder
        if encoder is None:
            self.names_ = self._names()
            return
        named = len(encoder.names) == n_columns  # a foreign vectorizer need not name its columns
        self.names_, self.n_features_in_ = encoder.names if named else None, n_columns
        self.__dict__.pop("feature_names_in_", None)
        if named and not buckets(encoder.names):  # names of hashed columns say nothing, and there are very many
            self.feature_names_in_ = np.array(encoder.names, dtype=object)
        if encoder.columns is not None:
            self.columns_in_ = encoder.columns

    def _encode(self, X: Any, *, part: bool) -> tuple[Inputs, Matrix]:
        encoder: Encoder = self.encoder_
        if isinstance(encoder, GivenFeatures):
            matrix = encoder.matrix(X)
            return X.inputs(self.feature_names, matrix.shape[0]), matrix
        # A model loaded from a file may have lost its foreign vectorizer: it then takes matrices that went through it.
        lost = encoder if isinstance(encoder, TextEncoder) and encoder.is_lost else None
        if isinstance(X, WithFeatures):
            if lost is None:
                raise refuse_features()
            matrix = X.matrix(self.n_features_in_)
            return X.inputs(None, matrix.shape[0]), lost.found(matrix)
        if encoder is None or (lost is not None and as_texts(X) is None):
            matrix = self._validate(X, reset=False)
            inputs = matrix_inputs(X, matrix, self.names_)
            return inputs, matrix if lost is None else lost.found(matrix)
        if not part:
            return encoder.inputs(X), encoder.matrix(X)
        self.encoder_, numbers = encoder.learn(X)
        return encoder.inputs(X), numbers

    def _model(
        self, X: Any, matrix: Matrix, sample: Sample, workers: Workers, *, fitting: bool, occupied: bool = False
    ) -> LogLinear:
        q0 = log_base(self._base, X, sample.n, sample.classes, fitting=fitting)
        occupied = occupied and self.encoder_ is not None and bool(buckets(self.encoder_.names))
        features = OccupiedFeatures.of if occupied else AttributeFeatures
        nodes = features(matrix, len(sample.classes), workers)
        return LogLinear(nodes, Independent(sample.n), None if q0 is None else Potentials(q0))

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
        def solve(training: Training) -> Fit:
            return super(TiltClassifier, self)._solve(training, options, given, development, once=once, silent=silent)

        if not self._is_pooled or training.problem.model.linear is None:
            return solve(training)

        def sharpness(problem: Problem, fit: Fit, words: bool) -> Sharpness:
            return self._sharpness(problem, fit, options, words=words)

        return fit_apart(training, self.encoder_.apart, solve, sharpness)

    def _refined(
        self, X: Any, models: tuple[LogLinear, Model], training: Training, fit: Fit, options: Options, *, scored: bool
    ) -> tuple[LogLinear, Model, Fit]:
        plain, self.refinement_ = models[0], None
        possible = fit.projection is not None and plain.base is None and len(self.classes_) > 1
        if not (options.refines and possible) or scored or fit.stop is Stop.CALLBACK:
            return *models, fit
        began, first, n_columns = time.perf_counter(), self.encoder_, self.n_features_in_
        wider = None if first is None else first.wider(X)
        model = plain
        if wider is not None:
            encoder, matrix = wider
            self._keep_encoder(encoder, matrix.shape[1])
            model = replace(plain, features=AttributeFeatures(matrix, len(self.classes_), plain.workers))
        views = () if wider is None else wider[0].views
        run = Run(max_iter=options.max_iter, tol=options.tol, callback=self.callback)
        with one_blas_thread():
            second, found = refine(training.problem, training.grounded, fit, model, self.ridge(model), run, views)
        self.refinement_ = replace(found, seconds=time.perf_counter() - began)
        logger.info("%s", self.refinement_)
        kept = second if found.is_kept else replace(fit, history=second.history)
        if not found.is_kept:
            self._keep_encoder(first, n_columns)
            model = plain
        note = f"{fit.note}; {self.refinement_}" if fit.note else str(self.refinement_)
        return model, model, replace(kept, note=note)

    @property
    def _sees_words_alone(self) -> bool:
        return self.encoder_ is None or not self.encoder_.has_meaning

    @property
    def _is_pooled(self) -> bool:
        return self.encoder_ is not None and bool(np.any(self.encoder_.apart))

    def _check_sample(self, sample: Sample, model: LogLinear) -> None:
        refuse_impossible_labels(None if model.base is None else model.base.node, sample)

    def _validate(self, X: Any, *, reset: bool) -> Matrix:
        if as_texts(X) is not None:
            raise DataError(
                "This model takes numbers, but X is a list of texts. Transform them first, or fit on texts.",
                parameter="X",
            )
        refuse_tokens(X)
        refuse_broken(X, "X", parameter="X")
        checked = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=reset)
        if reset and self.feature_names is not None:
            names, fault = list(self.feature_names), ""
            if len(names) != checked.shape[1]:
                fault = f"feature_names has {len(names)} names, but X has {checked.shape[1]} columns."
            elif hasattr(self, "feature_names_in_") and list(self.feature_names_in_) != names:
                fault = f"feature_names= says {names[:5]}, but the frame's columns are {list(X.columns)[:5]}."
            elif len(set(names)) < len(names):
                fault = f"feature_names names {next(n for k, n in enumerate(names) if n in names[:k])!r} twice."
            if fault:
                raise DataError(fault, parameter="feature_names")
        return as_matrix(checked)

    def _names(self) -> list[str] | None:
        if self.feature_names is not None:
            return [str(name) for name in self.feature_names]
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    def _weights_of(self, source: Any, classes: Any, encoder: Encoder, n_columns: int) -> FloatArray:
        return matched_weights(source, classes, self._names() if encoder is None else encoder.names, n_columns)

    def _weights(self) -> FloatArray:
        return np.concatenate([self.coef_.T, self.intercept_[None, :]]).ravel()

    def _set_weights(self, weights: FloatArray) -> None:
        table = weights.reshape(-1, len(self.classes_))
        self.coef_, self.intercept_ = np.ascontiguousarray(table[:-1].T), table[-1].copy()

    @property
    def _sizes(self) -> tuple[int, int | None]:
        return self.n_features_in_ + 1, None

    @property
    def _intercepts(self) -> tuple[Rows, Rows]:
        return (self.n_features_in_, self.n_features_in_ + 1), (0, 0)
