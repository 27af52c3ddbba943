"""``TiltTagger``: a sequence tagger that also learns from constraints on unlabelled sequences."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from tiltfit.arrays import FloatArray
from tiltfit.data.beside import apart, together
from tiltfit.data.inputs import Inputs
from tiltfit.data.sequences import as_sequences
from tiltfit.errors import DataError, UnsupportedError
from tiltfit.estimators.earlier_models import matched_tables, refuse_impossible_tags, sequence_base
from tiltfit.estimators.estimator import Rows, TiltEstimator, warned_already
from tiltfit.estimators.given_features import WithFeatures, paired, refuse_features, refuse_stream
from tiltfit.estimators.options import Options, generator, whole_parameter
from tiltfit.estimators.sequence_encoder import (
    BOUNDARIES,
    NOTHING,
    PLAIN_EDGES,
    TOKEN_ALONE,
    SequenceEncoder,
    refuse_for_hmm,
    refuse_invalid,
)
from tiltfit.estimators.stream import Settled
from tiltfit.estimators.token_models import WrittenNetwork, network_chains, prepared, start_from
from tiltfit.execution.workers import Workers
from tiltfit.methods.history import Callback
from tiltfit.models.log_linear import LogLinear
from tiltfit.models.model import Model
from tiltfit.models.token_network import NetworkChains, TokenNetwork
from tiltfit.samples.labels import refuse_other_kind
from tiltfit.samples.sample import Sample
from tiltfit.samples.task import SEQUENCES, Task

_MOST_RANKED = 1 << 33  # bytes of sequences of labels in ``predict_k_best``

Labels = list[Any]


class TiltTagger(TiltEstimator):
    """min_λ  Σ_labelled −log p_λ(y|x) + α/2·‖λ‖² + γ·min_q [Σ_unlabelled D(q‖p_λ) + U(E_q[f′])]     (Eq. 6)

    A linear-chain conditional random field p_λ learned from labelled sequences, from constraints on unlabelled ones, or
    from both. X: a list of token lists; or of lists of attributes (names, or dicts as CRFsuite's users have them); or a
    table with a column ``tokens`` and further columns that constraints may refer to.

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
    model : {"crf", "hmm"} or ``torch.nn.Module``
        A conditional random field, p(y|x); or a hidden Markov model p(x, y), with which Eq. 6 has −log p(x, y) and
        −log p(x) added: posterior regularization. A module maps the vectors of the tokens of one sequence (tokens ×
        dimensions) to scores (tokens × sorted classes), which take the place of attributes: ``features=`` puts them
        back, beside it. It is copied, and trained from the weights that it has; ``alpha`` holds down all weights.
    method, method_options
        As for ``TiltClassifier``.
    solver : {"auto", "alternating", "joint", "sgd", "online"}
        As for ``TiltClassifier``; with ``auto``, an HMM alternates, and hard bounds on transitions, segments and whole
        sequences come last: the fit goes without them, then alternates three times with all constraints.
    online : dict, optional
        As for ``TiltClassifier``, of sequences instead of rows: ``batch_size`` (16) of them per step.
    inference : {"auto", "exact", "sampled"}
        How statistics of whole sequences (``expect.repeats()`` and others) are inferred: exactly, or by Markov chains,
        which alternate then. ``auto`` is exact where that takes little longer. Without such constraints: always exact.
    features : ``TokenTemplates``, or a dict of its parameters, optional
        Which attributes tokens get: ``features={"lexicons": {"cities": [...]}}``. ``{"hashing": 2**18}`` hashes
        attributes into so many columns, so that no vocabulary is learned; also where X holds attributes itself.
        ``{"vectors": "static"}`` puts a vector of its meaning beside the attributes of a token.
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
    penalize_intercept : bool
        Whether α also applies to the label biases: the weights of plain transitions, which every edge has, and those of
        ``boundaries``. Not for an HMM.
    base : fitted tagger, or list of arrays of probabilities (tokens × sorted classes), optional
        q₀ of Eq. 2–3: the model is q₀·exp(λ·f), so that it only learns what the base does not know. A ``TiltTagger`` is
        taken with its transitions; any other model with ``predict_marginals(X)`` and ``classes_``, token by token.
        Arrays are of the training sequences, one per sequence.
    sharpen : {"auto"}, float, pair of floats or None
        After the fit, the weights of attributes and those of transitions are multiplied by these numbers. ``"auto"``
        and None: by 1, since no rule is known that is safe for sequences.
    revise : {None, "auto"}
        As for ``TiltClassifier``, but not by default: the tokens of a few labelled sequences are not as many
        observations, and shares that they revised were worse than those stated.
    alpha, beta, gamma, scale, init, n_init, warm_start, max_iter, tol, n_jobs, random_state, callback
        As for ``TiltClassifier``; ``init`` may be a fitted tagger.

    Attributes
    ----------
    coef_, attribute_names_ : array (classes × attributes), array of str
        Weights of attributes, and their names (``hash 0`` and so on if hashed).
    transitions_, transition_names_ : array (attributes of edges × classes × classes), array of str
        Weights of transitions.
    estimator_ : ``torch.nn.Module``
        With a module as ``model``: a copy with the weights that were learned (and no ``coef_``).
    sharpness_ : pair of floats
        What the weights of attributes and of transitions were multiplied by.
    classes_, n_iter_, fit_seconds_, objective_, converged_, history_, constraint_report_
        As for ``TiltClassifier``.

    Examples
    --------
    >>> from tiltfit import TiltTagger, expect, word
    >>> ads = [["big", "room", "call", "Ann"], ["sunny", "room", "call", "Bob"], ["big", "garden", "phone", "Ann"]]
    >>> tagger = TiltTagger([expect("contact", given=word("call") | word("phone")).about(0.95),
    ...                      expect("size", given=word("big") | word("room")).about(0.95),
    ...                      expect.stay().about(0.8)])
    >>> tagger.fit(ads).predict([["sunny", "room", "phone", "Ann"]])
    [['size', 'size', 'contact', 'contact']]
    """

    task: ClassVar[Task] = SEQUENCES
    coef_, transitions_ = Settled(), Settled()
    token_network_: TokenNetwork | WrittenNetwork | None = None

    def __init__(
        self,
        constraints: Any = (),
        *,
        classes: Iterable[object] | None = None,
        model: Any = "crf",
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
        beta: float | str = "auto",
        gamma: float = 1.0,
        scale: str = "auto",
        revise: str | None = None,
        penalize_intercept: bool = True,
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
        self.revise = revise
        self.penalize_intercept = penalize_intercept
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
        """Learn from X, and from y where it has labels. A fit that fails leaves the tagger as it was.

        Parameters
        ----------
        X : list of lists of tokens or of attributes, or table with a column ``tokens``
            The sequences.
        y : list of lists, optional
            Labels; None for an unlabelled sequence or token, a set where the label is one of its members. None: nothing
            is labelled.
        sample_weight : array, optional
            One per sequence.
        features : list of arrays (tokens × dimensions), optional
            Vectors of the tokens, one array per sequence, beside the attributes that X is given or has;
            ``TiltTagger(features=TokenTemplates.only())`` learns from the vectors alone. Conditions look at X as
            before. All vectors are multiplied by one factor, such that their root mean square length is two. Methods
            that predict need ``features=`` of the same encoder.
        evidence, votes : optional
            What conditions, and not the model, look at besides: further columns, and what sources say; see
            ``WithEvidence``. ``predict`` needs neither, ``project`` takes them again.
        dev : (X_dev, y_dev), optional
            After every round the model is scored there (token accuracy; unlabelled tokens do not count), and the best
            round's model is kept. With ``features``: (``WithFeatures(X_dev, V_dev)``, y_dev).
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
    ) -> list[Labels]:
        """Fit on X and label X itself, under the constraints (transductive): the most probable label sequences under q,
        the projection of the fitted model; known labels as they are. Parameters as for ``fit``."""
        X = together(paired(X, features), evidence, votes)
        self.fit(X, y, sample_weight, dev=dev, patience=patience)
        with warned_already():
            return list(self._project(X, y, "solve", sample_weight, decode=True, fitting=True))

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
        """Learn from some more sequences of a stream, in their order; each is looked at once.

        The first call fixes parameters, classes and attributes: name all ``classes`` (here or in the constructor)
        unless the constraints do, and use ``features={"hashing": 2**18}`` where attributes may come that the first
        sequences do not have. Only the ends of steps (``batch_size``) depend on how a stream is cut into calls. A call
        that is refused leaves the tagger as it was, and so do sequences without any weight. After ``fit`` it goes on
        from the fitted model. ``features`` are refused, since their scale is that of all tokens; an encoder in
        ``TokenTemplates(vectors=...)`` is not.
        """
        fitted = getattr(self, "encoder_", None)
        if features is not None or isinstance(apart(X).X, WithFeatures) or (fitted is not None and fitted.takes_given):
            raise refuse_stream()
        return super().partial_fit(together(X, evidence, votes), y, classes, sample_weight)

    @cached_property
    def attribute_names_(self) -> npt.NDArray[Any]:
        # Made when asked for: nothing else needs the names of hashed attributes, and there are very many.
        return np.array(self.names_, dtype=object)

    @property
    def estimator_(self) -> Any:
        """A copy of the module that was given as ``model=``, with the weights that were learned."""
        check_is_fitted(self)
        if self.token_network_ is None:
            raise AttributeError(f"model={self.model_!r} is not a network.")
        if isinstance(self.token_network_, WrittenNetwork):
            self.token_network_ = self.token_network_.filled(self.model)
        return self.token_network_.at(self.weights_[: self.token_network_.n_weights])

    # Using

    def predict(self, X: Any, *, features: Any = None) -> list[Labels]:
        """The most probable label sequence of every sequence (Viterbi), under the model. ``features``: vectors of the
        tokens of X, if the fit had them."""
        found = self._beliefs(paired(X, features))
        return list(self.task.named(found.best, self.classes_, found.inputs))

    def predict_marginals(self, X: Any, *, features: Any = None) -> list[FloatArray]:
        """p_λ(y_t|x) of every token: one array (tokens × classes) per sequence. ``features``: as for ``predict``."""
        found = self._beliefs(paired(X, features))
        return list(self.task.per_instance(found.marginals.node, found.inputs))

    def predict_k_best(self, X: Any, k: int = 5, *, features: Any = None) -> list[list[tuple[Labels, float]]]:
        """The k most probable label sequences with their probabilities, best first; fewer where there are fewer.
        ``features``: as for ``predict``."""
        k = whole_parameter("k", k)
        found = self._beliefs(paired(X, features))
        lengths = found.inputs.lengths
        # There are no more sequences of labels than this; as a float, since it may be beyond whole numbers.
        with np.errstate(over="ignore"):
            k = int(min(k, np.power(float(len(self.classes_)), float(np.max(lengths, initial=0)))))
        needed = 8 * k * (int(np.sum(lengths)) + len(lengths))
        if needed > _MOST_RANKED:
            raise UnsupportedError(
                f"k={k} sequences of labels for each of {len(lengths)} sequences need {needed / 2**30:,.0f} GiB of "
                f"memory (at most {_MOST_RANKED >> 30} are used). Ask for a smaller k, or pass fewer sequences.",
                parameter="k",
            )
        model, log_z = found.model, found.marginals.log_z
        labels, scores = model.structure.k_best(found.potentials, k, model.workers)
        ranked = [self.task.named(row, self.classes_, found.inputs) for row in labels]
        # The share of a long sequence may underflow to 0; −inf means that there is no such sequence.
        full = iter(scores - log_z[:, None])
        log_shares = [next(full) if length else np.zeros(1) for length in lengths]
        return [
            [(ranked[j][s], float(np.exp(share))) for j, share in enumerate(log_shares[s]) if share > -np.inf]
            for s in range(len(lengths))
        ]

    def project(
        self,
        X: Any,
        y: Any = None,
        *,
        features: Any = None,
        evidence: Any = None,
        votes: Any = None,
        prices: str = "auto",
        decode: bool = False,
        sample_weight: Any = None,
    ) -> list[Any]:
        """q(y_t|x): predictions under the constraints, one array (tokens × classes) per sequence.

        Parameters
        ----------
        X, y
            As for ``fit``; known labels are certain under q, and constraints are about the other tokens.
        features : list of arrays, optional
            Vectors of the tokens of X, if the fit had them.
        evidence, votes : optional
            Those of these sequences, where conditions look at them.
        prices : {"auto", "fitted", "solve"}
            ``fitted`` tilts each sequence by the prices learned in ``fit``, so that one asked for alone gets the same
            answer as among others. ``solve`` projects onto the constraints as they apply to X (transductive: sequences
            influence each other), so that they hold there. ``auto``: ``fitted``, unless a constraint is stated per
            sequence and has no price that holds for others. On the data of the fit they agree.
        decode : bool
            Return the most probable label sequences under q instead.
        sample_weight : array, optional
            One per sequence.
        """
        X = together(paired(X, features), evidence, votes)
        return list(self._project(X, y, prices, sample_weight, decode=decode))

    def score(self, X: Any, y: Any, *, features: Any = None) -> float:
        """Token accuracy; unlabelled tokens do not count. A label that the tagger does not know counts as its error.
        ``features``: as for ``predict``."""
        found = self._beliefs(paired(X, features))
        classes, labels, _ = self.task.targets(y, found.inputs, named=self.classes_.tolist(), least=1)
        names = classes.tolist()
        if -1 in names and -1 not in self.classes_.tolist():  # it is not a class, so it means unlabelled
            labels = np.where(labels == names.index(-1), -1, labels)
        known = np.flatnonzero(labels >= 0)
        if not len(known):
            raise DataError("score needs labels, but every token of y is unlabelled.", parameter="y")
        predicted, truth = self.classes_[found.best[known]].tolist(), classes[labels[known]].tolist()
        refuse_other_kind(truth, self.classes_.tolist())
        return float(np.mean([a == b for a, b in zip(predicted, truth, strict=True)]))

    # Inside

    def _learn_encoder(self, X: Any, options: Options, *, part: bool = False) -> tuple[SequenceEncoder, Inputs, Any]:
        if self.weights not in ("all", "observed"):
            raise UnsupportedError(
                f"weights={self.weights!r} is not supported: use 'all' or 'observed'.", parameter="weights"
            )
        if options.solver == "online":
            self._check_stream()
        sequences = as_sequences(X, allow_empty=False)
        features, transitions, boundaries = self.features, self.transitions, self.boundaries
        if options.is_generative:  # an HMM has its own defaults
            refuse_for_hmm(features, transitions, self.weights, sequences)
            features = TOKEN_ALONE if features is None and sequences.kind == "tokens" else features
            transitions, boundaries = transitions or PLAIN_EDGES, True
        self.token_network_ = prepared(self)
        if self.token_network_ is not None and features is None and sequences.kind == "tokens":
            features = NOTHING  # the network stands for them
        encoder, matrix = SequenceEncoder.fit(sequences, features, transitions, boundaries=boundaries)
        return encoder, sequences, matrix

    def _keep_encoder(self, encoder: SequenceEncoder, n_columns: int) -> None:
        self.encoder_, self.names_, self.valid_only_ = encoder, encoder.names, bool(self.valid_only)
        self.transition_names_ = np.array(encoder.edge_names, dtype=object)
        self.__dict__.pop("attribute_names_", None)

    def _encode(self, X: Any, *, part: bool) -> tuple[Inputs, Any]:
        if isinstance(X, WithFeatures) and not self.encoder_.takes_given:
            raise refuse_features()
        sequences = as_sequences(X, allow_empty=not part)
        return sequences, self.encoder_.transform(sequences.without_empty())

    def _model(
        self, X: Any, matrix: Any, sample: Sample, workers: Workers, *, fitting: bool, occupied: bool = False
    ) -> LogLinear:
        encoder: SequenceEncoder = self.encoder_
        observed = fitting and self.weights == "observed"
        if observed and not np.any(sample.labels >= 0):
            raise DataError(
                "weights='observed' keeps the pairs of attribute and label that labelled tokens show, but no token has "
                "a label. Use weights='all'.",
                parameter="weights",
            )
        base = sequence_base(self._base, X, sample, fitting=fitting)
        return encoder.model(
            matrix, sample, workers, valid=self.valid_only_, observed=observed, occupied=occupied, base=base
        )

    def _made(self, plain: LogLinear, weights: FloatArray | None = None) -> Model:
        if self.token_network_ is None:
            return super()._made(plain, weights)
        if isinstance(self.token_network_, WrittenNetwork):
            self.token_network_ = self.token_network_.filled(self.model)
        made = network_chains(self.token_network_, plain)
        if weights is None:
            self.token_network_.refuse_unsteady(made.pieces, made.n_labels)
        return made

    def _own_start(self, model: Model) -> FloatArray | None:
        if isinstance(model, NetworkChains) and self.init is not None and not isinstance(self.init, str):
            return start_from(self.init, model)
        return super()._own_start(model)

    def _check_sample(self, sample: Sample, model: LogLinear) -> None:
        if self.valid_only_:
            refuse_invalid(sample)
        if self._base is not None and model.base is not None:
            refuse_impossible_tags(model.base, replace(sample, structure=model.structure))

    def _check_stream(self) -> None:
        if self.weights != "all":
            raise UnsupportedError(
                f"weights={self.weights!r} must know all labels beforehand, which online learning does not: use "
                "weights='all'.",
                parameter="weights",
            )

    def _inference_settings(self) -> tuple[str, int]:
        return str(self.inference), int(generator(self.random_state).integers(2**31))

    def _weights_of(self, source: Any, classes: Any, encoder: SequenceEncoder, n_columns: int) -> FloatArray:
        return matched_tables(source, classes, encoder.names, encoder.edge_names)

    def _weights(self) -> FloatArray:
        return np.concatenate([self.coef_.T.ravel(), self.transitions_.ravel()])

    def _set_weights(self, weights: FloatArray) -> None:
        (n_rows, n_edges), n = self._sizes, len(self.classes_)
        table, edges = weights[: n_rows * n].reshape(n_rows, n), weights[n_rows * n :]
        self.coef_, self.transitions_ = np.ascontiguousarray(table.T), edges.reshape(n_edges, n, n).copy()

    @property
    def _sizes(self) -> tuple[int, int]:
        return len(self.names_), len(self.encoder_.edge_names)

    @property
    def _intercepts(self) -> tuple[Rows, Rows]:
        n = len(self.names_)
        return (n - len(BOUNDARIES) if self.encoder_.boundaries else n, n), (0, 1)  # the first is the plain transition
