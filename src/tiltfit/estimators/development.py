"""Labels kept aside: ``dev=`` and ``patience=`` of ``fit`` as a ``Development`` that solvers ask for scores.

score(λ) = the share of the labels in y_dev that the model p_λ predicts; unlabelled rows and tokens do not count
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.errors import DataError, TiltfitError
from tiltfit.estimators.options import whole_parameter
from tiltfit.methods.history import Development
from tiltfit.models.model import Model


def parts(dev: Any, patience: Any) -> tuple[Any, Any] | None:
    """X_dev and y_dev, or None if there is no development set; raises by name."""
    whole_parameter("patience", patience)
    if dev is None:
        return None
    if not isinstance(dev, tuple | list) or len(dev) != 2:
        kind = f"{type(dev).__name__} of {len(dev)}" if isinstance(dev, Sequence) else type(dev).__name__
        raise DataError(f"dev= must be a pair (X_dev, y_dev), but is a {kind}.", parameter="dev")
    if dev[1] is None:
        raise DataError("dev=(X_dev, y_dev) needs labels, but y_dev is None.", parameter="dev")
    return dev[0], dev[1]


@contextmanager
def naming_dev(what: str = "dev=(X_dev, y_dev)", parameter: str = "dev") -> Iterator[None]:
    """Name the development set (or ``what``, the value of ``parameter``) in errors that are raised within. They lose
    their indices, which are not those of X."""
    try:
        yield
    except TiltfitError as error:
        raise error.with_message(f"In {what}: {error}", parameter=parameter, instances=()) from error
    except ValueError as error:  # scikit-learn's own checks
        raise DataError(f"In {what}: {error}", parameter=parameter) from error


def development_set(
    model: Model, labels: IntArray, patience: int, weights_of: Callable[[FloatArray], FloatArray] = lambda w: w
) -> Development:
    """Score how well ``model``, on the instances of X_dev, predicts ``labels`` (−1: unlabelled, one per position).

    ``weights_of`` turns the weights of the solver into those of ``model``.
    """
    instance = np.asarray(model.structure.spread(np.arange(len(model.structure))), dtype=np.intp)
    some = np.unique(instance[labels >= 0])
    if not len(some):
        raise DataError("dev= needs labels, but everything in y_dev is unlabelled.")
    few, truth = model.take(some), labels[model.structure.positions(some)]
    known = np.flatnonzero(truth >= 0)

    def score(weights: FloatArray) -> float:
        best, _ = few.structure.best(few.potentials(weights_of(weights)), few.workers)
        return float(np.mean(best[known] == truth[known]))

    return Development(score, int(patience), len(truth))
