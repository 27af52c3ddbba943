"""The parameters of an estimator, checked before any work starts."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np
from joblib import effective_n_jobs

from tiltfit.arguments import whole
from tiltfit.data.inputs import Unit
from tiltfit.errors import DataError, UnsupportedError, did_you_mean
from tiltfit.inference.priced import HOW
from tiltfit.language.constraint import ConstraintSet
from tiltfit.learners.choose import learner_of
from tiltfit.methods.catalogue import METHODS
from tiltfit.methods.method import Case, Method
from tiltfit.methods.online import Online
from tiltfit.methods.sharpness import Sharpness
from tiltfit.methods.start import STARTS
from tiltfit.models.registry import MODELS, NETWORK, ModelKind, kind_of, model_names
from tiltfit.models.token_network import is_network
from tiltfit.projections.components import Strength
from tiltfit.samples.task import DOCUMENTS, SEQUENCES, Task

T = TypeVar("T")

SCALES = ("auto", "unit", "support")
STEPS = ("adaptive", "printed")
_AUTO = {"naive_bayes": "counts", "bernoulli_naive_bayes": "binary"}


@dataclass(frozen=True)
class Options:
    """The parameters of a fit besides data and constraints. ``start``: the word in ``init=``, if it is one.
    ``revise``: whether labels revise statements. ``sharpen``: ``"auto"``, or what was given."""

    method: Method
    method_options: Any
    kind: ModelKind
    solver: str
    start: str | None
    strength: Strength
    max_iter: int
    tol: float
    n_jobs: int
    online: Online
    sharpen: str | Sharpness
    revise: bool
    refine: str | None = None

    @staticmethod
    def of(estimator: Any) -> Options:
        """Check the parameters of an estimator; errors name the parameter."""
        task: Task = estimator.task
        kind = _kind(estimator, task)
        if estimator.method not in METHODS:
            _one_of("method", estimator.method, tuple(METHODS), _not_a_method(estimator.method, task))
        _one_of("scale", estimator.scale, SCALES)
        _one_of("solver", estimator.solver, METHODS["ap"].solvers)
        _one_of("inference", getattr(estimator, "inference", "auto"), HOW)
        if estimator.revise is not None and as_word(estimator.revise) != "auto":
            raise _refused("revise", estimator.revise, "'auto' (labels revise stated shares) or None (they do not)")
        start = as_word(estimator.init)
        if start is not None:
            _one_of("init", start, STARTS)
        _positive("alpha", estimator.alpha, zero=True)
        _refuse_generative(estimator, kind)
        _refuse_learner(estimator, kind)
        beta = None if as_word(estimator.beta) == "auto" else estimator.beta
        if beta is not None:
            _positive("beta", beta, or_="'auto'")
        _positive("gamma", estimator.gamma)
        _positive("tol", estimator.tol, zero=True)
        for name in ("valid_only", "boundaries", "warm_start", "penalize_intercept"):
            value = getattr(estimator, name, False)
            auto = name == "penalize_intercept" and not task.is_sequences
            if not isinstance(value, bool | np.bool_) and not (auto and as_word(value) == "auto"):
                raise _refused(name, value, "True, False or 'auto'" if auto else "True or False")
        for name in ("max_iter", "n_init"):
            whole_parameter(name, getattr(estimator, name))
        if estimator.callback is not None and not callable(estimator.callback):
            raise DataError(
                f"callback={estimator.callback!r} is not callable: pass a function of one argument.",
                parameter="callback",
            )
        for name in ("constraints", "classes", "feature_names"):
            if hasattr(getattr(estimator, name, None), "__next__"):
                raise DataError(f"{name}= is an iterator, which can be read only once: pass a list.", parameter=name)
        check_classes(estimator.classes)
        if getattr(estimator, "refine", None) not in (None, "auto"):
            raise _refused("refine", estimator.refine, "'auto' or None")
        method = METHODS[estimator.method]
        # Before data are looked at; the constraints come later.
        method.check(Case(kind, estimator.solver, ConstraintSet(), task.unit or "rows"))
        return Options(
            method=method,
            method_options=_method_options(method, estimator.method_options),
            kind=kind,
            solver=estimator.solver,
            start=start,
            strength=Strength(
                None if beta is None else float(beta),
                estimator.scale,
                sequences=task.is_sequences,
                sized=method.name == "ap" and estimator.solver != "online" and not kind.generative,
                near_votes=method.name == "ap" and kind.name == "crf" and estimator.base is None,
                smooth="smooth" in method.needs or estimator.solver == "online",
            ),
            max_iter=int(estimator.max_iter),
            tol=float(estimator.tol),
            n_jobs=threads(estimator.n_jobs),
            online=online_options(estimator.online),
            sharpen=_sharpness(estimator, kind),
            revise=estimator.revise is not None,
            refine=getattr(estimator, "refine", None),
        )

    def check(self, constraints: ConstraintSet, unit: Unit, solver: str | None = None) -> None:
        """Refuse a model or constraints that the method cannot work with, with its ``solver`` or another."""
        self.method.check(Case(self.kind, solver or self.solver, constraints, unit))

    def vectorizer(self, given: Any, *, part: bool) -> Any:
        """``given``; for ``"auto"`` what the model generates, if it does, and in a stream (``part``) hashed words."""
        if as_word(given) != "auto":
            return given
        return "hashing" if part else _AUTO.get(self.model, given)

    def check_anything(self, any_source: bool, noun: str) -> None:
        """Refuse to learn from nothing: neither labels nor constraints that fire (``any_source``)."""
        if any_source or self.method.unaided:
            return
        em = " Use method='em' for clusters of what is there." if self.is_generative else ""
        raise DataError(
            f"There is nothing to learn from: no {noun} has a label, and no constraint fires on this data.{em}"
        )

    @property
    def model(self) -> str:
        """The word of the model, or what messages call an object."""
        return self.kind.name

    @property
    def refines(self) -> bool:
        """True if there is a second stage: it needs weights that are linear and free, and all rows at once."""
        plain = self.model == DOCUMENTS.models[0] and self.method.name == "ap"
        return self.refine == "auto" and plain and self.solver != "online"

    @property
    def evens(self) -> bool:
        """True if classes that others have swallowed get a share again: of documents, where nobody has stated how
        strong statements are."""
        plain = self.model == DOCUMENTS.models[0] and self.method.name == "ap" and self.solver != "online"
        return plain and self.strength.beta is None and self.strength.scale == "auto"

    @property
    def is_generative(self) -> bool:
        """True if the model is one of p(x, y)."""
        return self.kind.generative


def _kind(estimator: Any, task: Task) -> ModelKind:
    """The model: a word that is registered, or an object: of a tagger a network, else what trains itself."""
    given, word = estimator.model, as_word(estimator.model)
    if task.is_sequences and (is_network(given) or word == NETWORK.name):
        return NETWORK
    if word is None and given is not None and not task.is_sequences:
        return ModelKind.of(learner_of(given))
    kind = None if word is None else MODELS.get(word)
    if kind is None or kind.sequences is not task.is_sequences:
        models = model_names(sequences=task.is_sequences)
        _one_of("model", given, models, _not_a_model(given, task))
    return kind_of(given)


_NOT_LEARNERS: dict[str, tuple[Any, str]] = {
    "base": (None, "its scores are not built on those of another model. Leave base= out, or use model='maxent'"),
    "init": (None, "it starts as it is. Leave init= out"),
    "n_init": (1, "it starts as it is. Use n_init=1"),
    "warm_start": (False, "it starts as it is. Use warm_start=False"),
    "refine": (None, "there is no second stage of its training. Use refine=None"),
}
"""Parameters that an object as ``model=`` cannot follow, how they must be, and why."""


def _refuse_learner(estimator: Any, kind: ModelKind) -> None:
    """Refuse parameters that a model which trains itself cannot follow."""
    if kind.learner is None:
        return
    reasons = dict(_NOT_LEARNERS)
    if not kind.learner.ridge:
        own = "its strength is its own. Set it there, and leave"
        reasons |= {"alpha": (1.0, f"{own} alpha= out"), "penalize_intercept": ("auto", f"{own} it out")}
    for name, (usual, why) in reasons.items():
        value = getattr(estimator, name, usual)
        if value is not usual and (usual is None or value != usual):
            raise UnsupportedError(f"{name}={value!r:.80} does not go with model={kind.name}: {why}.", parameter=name)


def _refuse_generative(estimator: Any, kind: ModelKind) -> None:
    """Refuse parameters that a model of p(x, y) cannot have."""
    if not kind.generative:
        return
    if estimator.alpha == 0:
        raise DataError(
            f"alpha=0 with model={estimator.model!r}, whose alpha is a pseudo-count: what a class has not shown would "
            "have probability 0. Use a small one, such as alpha=0.001.",
            parameter="alpha",
        )
    if estimator.task.is_sequences and not estimator.penalize_intercept:
        raise UnsupportedError(
            f"penalize_intercept=False with model={estimator.model!r}, whose alpha is a pseudo-count: transitions, "
            "starts and ends that are not seen would have probability 0. Use penalize_intercept=True.",
            parameter="penalize_intercept",
        )
    if getattr(estimator, "base", None) is not None:
        raise UnsupportedError(
            f"base= is a distribution of y given x, on which model={estimator.model!r} of x and y cannot be built. Use "
            f"model={estimator.task.models[0]!r}.",
            parameter="base",
        )


def _sharpness(estimator: Any, kind: ModelKind) -> str | Sharpness:
    """``sharpen=``: ``"auto"``, or the sharpness that it gives; refused where weights cannot be scaled."""
    given, chains = estimator.sharpen, estimator.task.is_sequences
    if as_word(given) == "auto":
        return "auto"
    if given is None:
        return Sharpness(1.0, 1.0 if chains else None)
    factors = given if isinstance(given, tuple | list) else (given,) * (1 + chains)
    what = "'auto', None or a positive number"
    if len(factors) != 1 + chains or (isinstance(given, tuple | list) and not chains):
        raise _refused("sharpen", given, what + (", or a pair of them: of tokens, of transitions" if chains else ""))
    for factor in factors:
        if not _is_number(factor) or not 0 < factor < float("inf"):
            raise _refused(
                "sharpen", given, what + (", or a pair of them: of tokens, of transitions" if chains else "")
            )
    for refused, why in (
        (
            not kind.linear,
            f"model={kind.name!r} has scores that are not linear in its weights",
        ),
        (kind.generative, f"the weights of model={kind.name!r} are log-probabilities"),
        (estimator.solver == "online", "solver='online' goes on learning from its weights"),
        (getattr(estimator, "base", None) is not None, "base= has scores of its own, which are not scaled"),
    ):
        if refused:
            raise UnsupportedError(
                f"sharpen={given!r} multiplies the fitted weights, but {why}. Use sharpen='auto' or None.",
                parameter="sharpen",
            )
    return Sharpness(float(factors[0]), float(factors[1]) if chains else None, "as given")


def threads(n_jobs: Any) -> int:
    """The number of threads that ``n_jobs`` asks for."""
    try:
        if n_jobs is not None and whole(n_jobs) is None:
            raise TypeError
        return int(effective_n_jobs(n_jobs))
    except (TypeError, ValueError) as error:
        raise _refused("n_jobs", n_jobs, "a whole number of threads (-1: one per core) or None") from error


def generator(random_state: Any) -> np.random.Generator:
    """A source of random numbers from scikit-learn's kinds of random state; touches no global state."""
    seed = random_state
    if isinstance(random_state, np.random.RandomState):
        seed = int(random_state.randint(2**31))
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise _refused("random_state", random_state, "a whole number of at least 0, or None") from error


def online_options(given: Any) -> Online:
    """The options in ``online=``; errors name the option."""
    options = given if isinstance(given, Online) else _from_dict("online", given, Online, ", such as {'passes': 3}")
    if options.steps not in STEPS:
        raise DataError(f"online steps={options.steps!r} is unknown: use 'adaptive' or 'printed'.", parameter="steps")
    plain: dict[str, Any] = {}  # not NumPy's numbers, which a file does not hold
    for name in ("passes", "batch_size", "horizon"):
        value = getattr(options, name)
        if value is not None or name == "passes":
            plain[name] = whole_parameter(f"online {name}", value)
    _positive("online eta0", options.eta0)
    return replace(options, **plain, eta0=float(options.eta0))


def _method_options(method: Method, given: Any) -> Any:
    """``method_options=`` as the method takes it; errors name the option."""
    known = [field.name for field in fields(method.options)]
    what = f" of method={method.name!r}: {known}"
    return _from_dict("method_options", given, method.options, what, f"method={method.name!r} knows {known or 'none'}.")


def _from_dict(parameter: str, given: Any, kind: Callable[..., T], what: str, knows: str = "") -> T:
    """The dict that a user gives as a value of the dataclass ``kind``. ``what``, ``knows``: the ends of the messages
    about something that is not such a dict, and about an unknown name in it."""
    if given is None:
        return kind()
    if not isinstance(given, Mapping):
        raise DataError(f"{parameter}={given!r:.80} must be a dict of options{what}.", parameter=parameter)
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    for name in given:
        if name not in known:
            raise DataError(
                f"{parameter}={{{name!r}: ...}} is unknown.{did_you_mean(name, known)} {knows or f'Known: {known}.'}",
                parameter=parameter,
            )
    return kind(**given)


def _one_of(name: str, value: object, known: tuple[str, ...], hint: str = "") -> None:
    if value not in known:
        raise UnsupportedError(
            f"{name}={value!r} is not supported: use {' or '.join(map(repr, known))}."
            f"{hint or did_you_mean(value, known)}",
            parameter=name,
            missing=None if hint or name not in ("model", "method") else (name, str(value)),
        )


def _not_a_model(value: object, task: Task) -> str:
    """A hint about a word that names a method, or a model of the other task."""
    if value in METHODS:
        return f" {value!r} is a method: use method={value!r}."
    kind = MODELS.get(value) if isinstance(value, str) else None
    if kind is None:
        return ""
    other = "TiltClassifier, for documents or rows" if task.is_sequences else "TiltTagger, for sequences"
    hint = f" {value!r} is a model of {other}."
    if value not in (*DOCUMENTS.models, *SEQUENCES.models):
        again = f"register_model(..., sequences={task.is_sequences})"
        hint += f" If it can be one of {task.instance}s as well, register it again under another name: {again}."
    return hint


def _not_a_method(value: object, task: Task) -> str:
    """A hint about a word that names a model or a solver."""
    if value in (*DOCUMENTS.models, *SEQUENCES.models):
        return f" {value!r} is a model: use model={value!r}." if value in task.models else _not_a_model(value, task)
    if value in METHODS["ap"].solvers:
        return f" {value!r} is a solver: use solver={value!r}."
    return ""


def as_word(value: Any) -> str | None:
    """The value if it is a word; ``init`` and ``vectorizer`` may also be objects."""
    return value if isinstance(value, str) else None


def check_classes(classes: Any) -> None:
    """Refuse ``classes=`` unless it is None or a list of labels."""
    if classes is not None and (isinstance(classes, str | bytes) or not np.iterable(classes)):
        raise _refused("classes", classes, "a list of all labels, such as ['a', 'b']")


def whole_parameter(name: str, value: Any, least: int = 1) -> int:
    """``value`` as an int; refused, by the name of the parameter, unless it is a whole number of at least ``least``."""
    found = whole(value)
    if found is None or found < least:
        raise _refused(name, value, f"a whole number of at least {least}")
    return found


def check_share(name: str, value: Any) -> float:
    """``value`` as a float; refused, by the name of the parameter, unless it is a number between 0 and 1."""
    if not _is_number(value) or not 0 < value < 1:
        raise _refused(name, value, "a number between 0 and 1, such as 0.95")
    return float(value)


def _positive(name: str, value: Any, *, zero: bool = False, or_: str | None = None) -> None:
    if not _is_number(value) or not (value > 0 or (zero and value == 0)) or value == float("inf"):
        others = "" if or_ is None else f", or {or_}"
        raise _refused(name, value, f"a {'non-negative' if zero else 'positive'}, finite number{others}")


def _is_number(value: object) -> bool:
    """Return whether it is a number; True and False are not numbers."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _refused(name: str, value: object, what: str) -> DataError:
    """The error that says what a parameter must be, or an option within it (``"online passes"``)."""
    return DataError(f"{name}={value!r} must be {what}.", parameter=name.rpartition(" ")[2])
