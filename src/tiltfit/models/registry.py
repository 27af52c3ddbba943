"""All models, by the word that users type: ``model="maxent"``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tiltfit.errors import DataError, UnsupportedError
from tiltfit.models.generative import GENERATIVE, Generative
from tiltfit.models.log_linear import LogLinear
from tiltfit.models.model import Model
from tiltfit.registry import Extensible

Factory = Callable[[LogLinear, tuple[Any, ...]], Model]


@dataclass(frozen=True)
class ModelKind:
    """``make(plain, classes)`` builds the model on data that are encoded as ``plain``, a log-linear model: its
    ``features``, ``structure``, ``base`` and ``workers``. ``sequences``: it is for sequences, else for documents.
    ``generative``: a model of x and y. ``linear``: its scores are linear in its weights, which are those of ``plain``.
    """

    name: str
    make: Factory
    sequences: bool = False
    generative: bool = False
    linear: bool = True


def _generative(name: str) -> Factory:
    return lambda plain, classes: Generative(
        plain.features, plain.structure, plain.base, family=GENERATIVE[name](classes)
    )


MODELS: Extensible[ModelKind] = Extensible(
    {
        "maxent": ModelKind("maxent", lambda plain, _: plain),
        "naive_bayes": ModelKind("naive_bayes", _generative("naive_bayes"), generative=True),
        "bernoulli_naive_bayes": ModelKind(
            "bernoulli_naive_bayes", _generative("bernoulli_naive_bayes"), generative=True
        ),
        "crf": ModelKind("crf", lambda plain, _: plain, sequences=True),
        "hmm": ModelKind("hmm", _generative("hmm"), sequences=True, generative=True),
    }
)
_BUILT_IN = frozenset(MODELS)


def register_model(name: str, make: Factory, *, sequences: bool = False) -> None:
    """Make a model of p(y|x) available as ``model=name``; registering a name again replaces the model.

    Parameters
    ----------
    name : str
        The word for ``TiltClassifier(model=...)``, or ``TiltTagger(model=...)`` if ``sequences``.
    make : callable
        ``make(plain, classes)`` returns a ``tiltfit.models.model.Model`` on the instances of ``plain``: a log-linear
        model whose ``features.nodes.X`` (positions × attributes), ``structure``, ``base`` and ``workers`` describe the
        encoded data.
    sequences : bool
        Whether it is a model of sequences.
    """
    if name in _BUILT_IN:
        raise DataError(f"model={name!r} is built in: register yours under another name.", parameter="name")
    MODELS[name] = ModelKind(name, make, sequences=sequences, linear=False)


def model_names(*, sequences: bool) -> tuple[str, ...]:
    """The models of sequences, or of documents; the default first."""
    return tuple(kind.name for kind in MODELS.values() if kind.sequences is sequences)


def make_model(name: str, plain: LogLinear, classes: list[Any]) -> Model:
    """The model of this name on data that are encoded as ``plain``."""
    if not MODELS.knows(name):
        raise UnsupportedError(f"model={name!r} is not registered: call tiltfit.register_model({name!r}, ...) first.")
    return MODELS[name].make(plain, tuple(classes))
