"""All models, by the word that users type: ``model="maxent"``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tiltfit.arrays import FloatArray
from tiltfit.errors import DataError, UnsupportedError, check_arguments
from tiltfit.models.generative import GENERATIVE, Generative
from tiltfit.models.learner import Learner
from tiltfit.models.log_linear import LogLinear
from tiltfit.models.model import Model
from tiltfit.models.probe import probed
from tiltfit.models.scores import Scores
from tiltfit.registry import Registry

Factory = Callable[[LogLinear, tuple[Any, ...]], Model]


@dataclass(frozen=True)
class ModelKind:
    """``make(plain, classes)`` builds the model on data that are encoded as ``plain``, a log-linear model: its
    ``features``, ``structure``, ``base`` and ``workers``. ``sequences``: it is for sequences, else for documents.
    ``generative``: a model of x and y. ``linear``: its scores are linear in its weights, which are those of ``plain``.
    ``learner``: who trains it, if it is an object of the user's; its weights are then the scores.
    """

    name: str
    make: Factory
    sequences: bool = False
    generative: bool = False
    linear: bool = True
    learner: Learner | None = None

    @staticmethod
    def of(learner: Learner) -> ModelKind:
        """A model that ``learner`` trains."""
        return ModelKind(learner.name, _scores, linear=False, learner=learner)


def _scores(plain: LogLinear, _: tuple[Any, ...]) -> Model:
    """The model whose weights are its scores, for what trains itself."""
    return Scores.of(plain.structure, plain.n_labels)


def _generative(name: str) -> Factory:
    return lambda plain, classes: Generative(
        plain.features, plain.structure, plain.base, family=GENERATIVE[name](classes)
    )


MODELS: Registry[ModelKind] = Registry("model", error=DataError)
for _kind in (
    ModelKind("maxent", lambda plain, _: plain),
    ModelKind("naive_bayes", _generative("naive_bayes"), generative=True),
    ModelKind("bernoulli_naive_bayes", _generative("bernoulli_naive_bayes"), generative=True),
    ModelKind("crf", lambda plain, _: plain, sequences=True),
    ModelKind("hmm", _generative("hmm"), sequences=True, generative=True),
):
    MODELS.register(_kind.name, _kind, origin=Generative if _kind.generative else LogLinear)


def _without_module(plain: LogLinear, classes: tuple[Any, ...]) -> Model:
    raise UnsupportedError("A network needs its module.", parameter="model")


NETWORK = ModelKind("network", _without_module, sequences=True, linear=False)
"""What a module given as ``model=`` is called: it is not found by name, so that it is not registered."""


def register_model(name: str, make: Factory, *, sequences: bool = False) -> None:
    """Make a model of p(y|x) available as ``model=name``. A name that is taken is refused.

    Parameters
    ----------
    name : str
        The word for ``TiltClassifier(model=...)``, or ``TiltTagger(model=...)`` if ``sequences``.
    make : callable
        ``make(plain, classes)`` returns a ``tiltfit.Model`` on the instances of ``plain``: a log-linear
        model whose ``features.nodes.X`` (positions × attributes, an array or a sparse matrix of SciPy), ``structure``,
        ``base`` and ``workers`` describe the encoded data.
    sequences : bool
        Whether it is a model of sequences.

    Notes
    -----
    A model file holds the name and the weights; a process that loads it must know the name.
    ``tiltfit.testing.check_model(make)`` checks that it is right.
    """
    if not callable(make):
        raise DataError(
            f"model={name!r} needs a function make(plain, classes), but got {make!r:.80}.", parameter="make"
        )
    check_arguments(make, f"make of model={name!r}", "plain", "classes")
    MODELS.register(name, ModelKind(name, make, sequences=sequences, linear=False), origin=make)


def model_names(*, sequences: bool) -> tuple[str, ...]:
    """The models of sequences, or of documents; the default first."""
    return tuple(kind.name for kind in MODELS.values() if kind.sequences is sequences)


def kind_of(name: str) -> ModelKind:
    """The model of a fitted estimator, which this process may not know: a name that is not registered is refused."""
    if name == NETWORK.name and name not in MODELS.loaded:
        return NETWORK
    if name not in MODELS:
        raise UnsupportedError(
            f"model={name!r} is not registered: call tiltfit.register_model({name!r}, ...) first.",
            parameter="model",
            missing=("model", name),
        )
    return MODELS[name]


def make_model(name: str, plain: LogLinear, classes: list[Any], weights: FloatArray | None = None) -> Model:
    """The model of this name on data that are encoded as ``plain``; one of a package is tried first.

    ``weights``: those that it must be able to take.
    """
    kind = kind_of(name)
    if kind.linear:
        return kind.make(plain, tuple(classes))
    return probed(name, lambda: kind.make(plain, tuple(classes)), plain, weights)
