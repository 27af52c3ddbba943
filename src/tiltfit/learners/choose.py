"""The learner of an object that is given as ``model=``, by the library that it comes from."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from tiltfit.errors import ModelFileError
from tiltfit.learners.boosters import LIBRARIES, Boosting
from tiltfit.learners.network import Network
from tiltfit.learners.soft_labels import SoftLabels
from tiltfit.models.learner import Learned, Learner, Written

_FILES = {"Trained": "tiltfit.learners.network", "Grown": "tiltfit.learners.boosters"}
"""Where what a file holds is made again."""


def learner_of(model: Any) -> Learner:
    """Native paths for PyTorch, LightGBM and XGBoost, soft labels for the rest; a learner is one already. Raises by
    name."""
    if isinstance(model, Network):
        model.check()
        return model
    if hasattr(model, "rounds") and hasattr(model, "n_rounds"):
        found: Learner = model
        return found
    kind = model if isinstance(model, type) else type(model)
    for base in kind.__mro__:
        library = base.__module__.partition(".")[0]
        if library == "torch" and not isinstance(model, type):
            return learner_of(Network(model))
        if library in LIBRARIES:
            return Boosting.of(model, library)
    return SoftLabels.of(model)


def dump(learned: Learned) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """What a file holds of it: plain values and arrays."""
    document, arrays = learned.dump()
    return {**document, "learned": type(learned).__name__}, arrays


def restore(written: Written, arrays: Mapping[str, npt.NDArray[Any]], model: Any) -> tuple[Any, Learned]:
    """The inverse of ``dump``: what ``model=`` was, and what it has learned. ``model``: given by who loads."""
    kind = written.get("learned")
    if kind not in _FILES:
        raise ModelFileError(f"The file holds a model {kind!r}, which this version of tiltfit does not know.")
    made: tuple[Any, Learned] = importlib.import_module(_FILES[kind]).restore(written, arrays, model)
    return made
