"""``TiltTagger(model=module)``: a network of PyTorch as the scores of tokens, beside attributes and transitions.

What a model file holds of it: the weights that were trained, whatever else its scores depend on (``constants``), and
the shapes by which a module is known to be of the same architecture. The module itself is code, and is asked for again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import FloatArray
from tiltfit.errors import DataError, ModelFileError, UnsupportedError
from tiltfit.features.beside import BesideFeatures
from tiltfit.features.chains import ChainFeatures
from tiltfit.models.log_linear import LogLinear
from tiltfit.models.registry import NETWORK
from tiltfit.models.token_network import NetworkChains, TokenNetwork, is_network

_ARRAYS = "network."  # begins the names of constants among the arrays of a file


@dataclass(frozen=True, eq=False)
class WrittenNetwork:
    """Stands for the network of a tagger that was loaded from a file, until ``model`` is set again."""

    title: str
    shapes: Mapping[str, list[int]]
    constants: Mapping[str, npt.NDArray[Any]]

    def filled(self, model: Any) -> TokenNetwork:
        """The network, made of a module of the same architecture."""
        if not is_network(model):
            raise UnsupportedError(
                f"This tagger was loaded from a file, which holds the weights of its network {self.title}, but not the "
                "network. Set tagger.model to a module of the same architecture; its own weights do not matter.",
                parameter="model",
            )
        found = TokenNetwork.of(model)
        if found.shapes != dict(self.shapes) or {*found.constants} != {*self.constants}:
            other = next((n for n in (*self.shapes, *found.shapes) if self.shapes.get(n) != found.shapes.get(n)), None)
            detail = (
                "" if other is None else f" Its {other!r} is {found.shapes.get(other)}, not {self.shapes.get(other)}."
            )
            raise DataError(
                f"model={found.title} is not of the architecture of the {self.title} that was fitted.{detail}",
                parameter="model",
            )
        return found.with_constants(self.constants)


def prepared(tagger: Any) -> TokenNetwork | None:
    """The network that a tagger is to train, if ``model=`` is one; parameters that it cannot follow are refused."""
    model = tagger.model
    if not is_network(model):
        if model == NETWORK.name:
            raise UnsupportedError(
                f"model={NETWORK.name!r} stands for a network in a model file. To fit, give the module itself, or "
                "model='crf'.",
                parameter="model",
            )
        return None
    network = TokenNetwork.of(model)
    for name, usual, cure in (
        ("penalize_intercept", True, "alpha= is the ridge on all of its weights"),
        ("warm_start", False, "training starts from the weights of the module: pass model=tagger.estimator_ to go on"),
    ):
        if getattr(tagger, name) != usual:
            raise UnsupportedError(
                f"{name}={getattr(tagger, name)!r} with model={network.title}, a network: {cure}.", parameter=name
            )
    return network


def start_from(source: Any, model: NetworkChains) -> FloatArray:
    """The weights of another tagger whose network, attributes and transitions are of the same number."""
    weights = getattr(source, "weights_", None)
    theirs = getattr(source, "token_network_", None)
    if weights is None or theirs is None or theirs.shapes != model.network.shapes or len(weights) != model.n_weights:
        raise UnsupportedError(
            f"init={type(source).__name__} is not a fitted tagger with the same attributes and a network like "
            f"model={model.network.title}. Without init=, training starts from the weights of the module.",
            parameter="init",
        )
    return np.array(weights)


def network_chains(network: TokenNetwork, plain: LogLinear) -> NetworkChains:
    """p on data that are encoded as ``plain``."""
    features: Any = plain.features
    nodes: Any = features.nodes
    if not isinstance(nodes, BesideFeatures):
        raise UnsupportedError(
            f"model={network.title} is a network, which sees vectors of tokens, but there are none. Pass "
            "fit(X, features=[one array per sequence]), or features={'vectors': encoder}.",
            parameter="model",
        )
    structure: Any = plain.structure
    rest = ChainFeatures(nodes.others, features.kinds)
    return NetworkChains(network, nodes.dense.vectors, rest, structure, plain.base)


def dump_network(network: TokenNetwork | WrittenNetwork, arrays: dict[str, npt.NDArray[Any]]) -> dict[str, Any]:
    """The document; adds to ``arrays``."""
    arrays |= {f"{_ARRAYS}{name}": value for name, value in network.constants.items()}
    return {"title": network.title, "shapes": [[name, list(shape)] for name, shape in network.shapes.items()]}


def restore_network(
    document: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], n_weights: int
) -> WrittenNetwork:
    """The inverse of ``dump_network``. ``n_weights``: of the whole model."""
    shapes = {str(name): [int(size) for size in shape] for name, shape in document["shapes"]}
    if any(size < 0 for shape in shapes.values() for size in shape):
        raise ModelFileError("A parameter of the network has a negative size.")
    if sum(int(np.prod(shape)) for shape in shapes.values()) > n_weights:
        raise ModelFileError("The file has fewer weights than its network.")
    constants = {name.removeprefix(_ARRAYS): value for name, value in arrays.items() if name.startswith(_ARRAYS)}
    if not all(np.all(np.isfinite(value)) for value in constants.values() if value.dtype.kind == "f"):
        raise ModelFileError("Constants of the network are not finite.")
    return WrittenNetwork(str(document["title"]), shapes, constants)
