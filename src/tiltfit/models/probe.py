"""What a model of a package must be, tried on one instance: mistakes are named before the work starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.errors import DataError, TiltfitError
from tiltfit.inference.potentials import Potentials
from tiltfit.models.log_linear import LogLinear
from tiltfit.models.model import Model

_PARTS = (
    "structure", "base", "n_labels", "n_weights", "workers", "linear", "closed_form",
    "potentials", "pull", "take", "infer", "moments",
)  # fmt: skip


def probed(name: str, make: Callable[[], Any], plain: LogLinear, weights: FloatArray | None = None) -> Model:
    """What is made, if it is a model on the instances of ``plain``, else a DataError that names the model.

    ``weights``: those of a fit, by a model that may have been another one then.
    """
    try:
        found = make()
    except TiltfitError:
        raise
    except Exception as error:
        raise _wrong(name, f"make(plain, classes) failed with {type(error).__name__}: {error}.") from error
    lacking = [part for part in _PARTS if not hasattr(found, part)]
    if len(lacking) == len(_PARTS):
        raise _wrong(name, f"make(plain, classes) must return a tiltfit.Model, but returned {found!r:.80}.")
    if lacking:
        raise _wrong(
            name,
            f"{type(found).__name__} has no {lacking[0]}. Inherit from tiltfit.Model, set structure and base, and "
            "write n_labels, n_weights, potentials, pull and take.",
        )
    _same(name, "n_labels", found.n_labels, plain.n_labels)
    if not isinstance(found.n_weights, int | np.integer) or isinstance(found.n_weights, bool) or found.n_weights < 1:
        raise _wrong(name, f"n_weights must be a whole number of at least 1, but is {found.n_weights!r:.80}.")
    _same(name, "the number of instances of structure", len(found.structure), len(plain.structure))
    if weights is not None and len(weights) != found.n_weights:
        raise _wrong(
            name,
            f"it has {found.n_weights} weights here, but {len(weights)} were fitted. Does another version of its "
            "package make it? Then fit again.",
        )
    if len(found.structure):
        _try(name, found)
    checked: Model = found
    return checked


def _try(name: str, model: Model) -> None:
    """Ask for the scores of one instance, and for the way back."""
    try:
        one: Any = model.take(np.zeros(1, dtype=np.intp))
        if type(one) is not type(model):
            raise _wrong(name, f"take must return a {type(model).__name__}, but returned {one!r:.80}.")
        weights = np.zeros(model.n_weights)
        scores: Any = one.potentials(weights)
        if not isinstance(scores, Potentials):
            raise _wrong(name, f"potentials must return a tiltfit.Potentials, but returned {_shown(scores)}.")
        n, labels, kinds = int(one.structure.last[-1]) + 1, model.n_labels, one.structure.n_kinds
        _same(name, "the shape of potentials(weights).node", np.shape(scores.node), (n, labels))
        edges = (kinds, labels, labels) if one.structure.has_edges else ()
        _same(
            name, "the shape of potentials(weights).edge", () if scores.edge is None else np.shape(scores.edge), edges
        )
        back = one.pull(weights, np.zeros((n, labels)), np.zeros(edges) if edges else None)
        _same(name, "the shape of pull(weights, node, edge)", np.shape(back), (model.n_weights,))
    except TiltfitError:
        raise
    except Exception as error:
        raise _wrong(name, f"it failed on the first instance with {type(error).__name__}: {error}.") from error


def _same(name: str, what: str, found: object, right: object) -> None:
    if found != right:
        raise _wrong(name, f"{what} must be {right}, but is {found!r:.80}.")


def _shown(value: object) -> str:
    return f"an array of the shape {value.shape}" if isinstance(value, np.ndarray) else f"{value!r:.80}"


def _wrong(name: str, what: str) -> DataError:
    return DataError(f"model={name!r} of a package is wrong: {what}", parameter="model")
