"""Any classifier with ``fit`` and ``predict_proba``: the slow path, which tells it nothing but soft labels.

    q ← argmin_q O(s̃, q)                                information projection, Eq. 8
    f ← argmin_f −Σ_i ω_i Σ_y q(y|x_i)·log p_f(y|x_i) + its own penalty                a whole fit
    s ← log p_f,      s̃ ← s + (m − 1)/m′·(s − s before)                         m′ = (1 + √(1 + 4m²))/2, from m = 1

The first q is what the statements say by themselves. A row with soft labels is a row per class, weighted by ω·q ("class
expansion"). Rows on which O does not depend are left out: they would fit the model to its own guess. The plain
alternation, s̃ = s, moves by no more than the prices in every round and seems to stall long before it is there. The
extrapolation is Nesterov's, restarted where a step turns back (O'Donoghue & Candès 2015); where fit(q) gives the scores
that q was projected from, neither moves, so both end at the same points.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone

from tiltfit.arrays import FloatArray
from tiltfit.errors import DataError, TiltfitError, UnsupportedError
from tiltfit.models.learner import Learned, Loss, Matrix, Settings

_LEAST = 1e-6
"""A probability of 0, as forests give it, is taken for this: no tilt could change it."""
_MOVED = 0.01
"""A soft label that moved so far changes what any model gives."""
_COPIES = 10
"""Rows that stand for one row, on average, for a model whose ``fit`` takes no weights."""


@dataclass(frozen=True, eq=False)
class SoftLabels:
    """A classifier as scikit-learn has them; it is copied."""

    model: Any
    ridge = False
    n_rounds = None

    @staticmethod
    def of(model: Any) -> SoftLabels:
        """Refuse what cannot be taught."""
        name = type(model).__name__
        if isinstance(model, type):
            raise UnsupportedError(f"model={model.__name__} is a class: pass an object, {model.__name__}().")
        if not callable(getattr(model, "fit", None)):
            raise UnsupportedError(
                f"model={model!r:.80} is not supported: use 'maxent' or another word, an object with fit and "
                "predict_proba, a torch.nn.Module, or a classifier of LightGBM or XGBoost.",
                parameter="model",
            )
        if not hasattr(model, "predict_proba"):
            raise UnsupportedError(
                f"model={name} has no predict_proba (as it is set), and constraints are about probabilities. Wrap it "
                f"in sklearn.calibration.CalibratedClassifierCV({name}(...)), or use a classifier that has it.",
                parameter="model",
            )
        return SoftLabels(model)

    @property
    def name(self) -> str:
        return type(self.model).__name__

    def rounds(self, X: Matrix, loss: Loss, settings: Settings) -> Iterator[tuple[Learned, FloatArray]]:
        model = _copied(self.model, settings.seed)
        teach = _Teaching.of(model, self.name, settings)
        q = loss.stated()  # a model with some noise of its own would not notice a first tilt of the uniform guess
        before = ahead = last = np.zeros(loss.shape)
        momentum = 1.0
        while True:
            model = teach.fit(model, X, q, loss.omega)
            learned = Taught(model, settings.classes, self.name)
            scores = learned.scores(X)
            yield learned, scores
            teach.refuse_standstill(scores, before, float(np.max(np.abs(q - last))))
            last = q
            # Only differences between classes matter.
            now = scores - scores.mean(axis=1, keepdims=True)
            turns_back = teach.steps or float(np.sum((ahead - now) * (now - before))) > 0
            following = 1.0 if turns_back else (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            ahead = now + (momentum - 1) / following * (now - before)
            before, momentum = now, following
            q = loss.projected(ahead)


@dataclass(frozen=True, eq=False)
class Taught:
    """A fitted classifier."""

    model: Any
    classes: tuple[Any, ...]
    name: str
    penalty = 0.0

    def scores(self, X: Matrix) -> FloatArray:
        """log p(y|x)."""
        try:
            proba = np.asarray(self.model.predict_proba(X), dtype=np.float64)
            known = [self.classes.index(label) for label in np.asarray(self.model.classes_).tolist()]
        except Exception as error:
            _failed(self.name, "predict_proba", X, error)
        if proba.ndim != 2 or proba.shape[1] != len(known):
            return proba  # the caller says what is wrong with it
        found = np.zeros((len(proba), len(self.classes)))
        found[:, known] = proba
        return np.asarray(np.log(np.maximum(found, _LEAST)))

    def dump(self) -> NoReturn:
        raise UnsupportedError(
            f"model={self.name} is of another library, whose models only pickle could hold, and tiltfit's files "
            "contain none. Keep clf.estimator_ in the way of that library (skops or joblib for scikit-learn), or use a "
            "torch.nn.Module, a booster or model='maxent', which can be saved.",
            parameter="model",
        )


@dataclass(frozen=True)
class _Teaching:
    """How a model is told of soft labels. ``weights``: the keyword by which ``fit`` takes weights of rows, if it does.
    ``steps``: a round is one ``partial_fit``, a pass over the data. ``goes_on``: every fit begins where the last one
    ended (``warm_start=True``)."""

    name: str
    classes: tuple[Any, ...]
    seed: int
    weights: str | None
    steps: bool
    goes_on: bool

    @staticmethod
    def of(model: Any, name: str, settings: Settings) -> _Teaching:
        parameters = model.get_params(deep=False) if hasattr(model, "get_params") else {}
        # Models that make steps have both; of naive Bayes, partial_fit adds counts and never forgets.
        steps = callable(getattr(model, "partial_fit", None)) and "warm_start" in parameters
        goes_on = not steps and parameters.get("warm_start") is True
        weights = _weights_of(model, "partial_fit" if steps else "fit")
        return _Teaching(name, settings.classes, settings.seed, weights, steps, goes_on)

    def fit(self, model: Any, X: Matrix, q: FloatArray, omega: FloatArray) -> Any:
        """The model taught that the rows of X have the labels q, with weights ``omega``."""
        rows, labels, weight = expanded(q, omega)
        if self.weights is None:
            chosen = _sampled(weight, _COPIES * len(q))
            rows, labels = rows[chosen], labels[chosen]
        given = {} if self.weights is None else {self.weights: weight}
        names = np.array(self.classes)
        try:
            if self.steps:
                return model.partial_fit(X[rows], names[labels], classes=names, **given)
            fresh = model if self.goes_on else _copied(model, self.seed)
            return fresh.fit(X[rows], names[labels], **given)
        except TiltfitError:
            raise
        except Exception as error:
            _failed(self.name, "partial_fit" if self.steps else "fit", X, error)

    def refuse_standstill(self, scores: FloatArray, before: FloatArray, moved: float) -> None:
        """Trees with ``warm_start`` add to what is there, or do nothing, instead of going on with other labels.
        ``moved``: by how much these are others."""
        if self.goes_on and moved > _MOVED and np.array_equal(scores - scores.mean(axis=1, keepdims=True), before):
            raise UnsupportedError(
                f"model={self.name} with warm_start=True gives the same after it was fitted to other labels: it adds "
                "to what it has instead of going on. Use warm_start=False.",
                parameter="model",
            )


def expanded(q: FloatArray, omega: FloatArray) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], FloatArray]:
    """A row for each class that a row may have: its number, the class and the weight ω·q."""
    weight = q * omega[:, None]
    rows, labels = np.nonzero(weight > 0)
    return rows, labels, weight[rows, labels]


def _sampled(weight: FloatArray, n: int) -> npt.NDArray[np.intp]:
    """n numbers, each as often as its share of the weight says, rounded up or down."""
    ends = np.cumsum(weight)
    return np.asarray(np.searchsorted(ends, (np.arange(n) + 0.5) * (ends[-1] / n), side="right"), dtype=np.intp)


def _weights_of(model: Any, method: str) -> str | None:
    """The keyword for weights of rows; for a pipeline that of its last step."""
    steps = getattr(model, "steps", None)
    if steps:
        last, final = steps[-1]
        inner = _weights_of(final, method)
        return None if inner is None else f"{last}__{inner}"
    return "sample_weight" if "sample_weight" in inspect.signature(getattr(model, method)).parameters else None


def _copied(model: Any, seed: int) -> Any:
    """A copy that is not fitted, whose random numbers follow from ``seed`` where they are not set."""
    fresh = clone(model)
    if hasattr(fresh, "get_params"):
        unset = [n for n, v in fresh.get_params().items() if n.rpartition("__")[2] == "random_state" and v is None]
        fresh.set_params(**dict.fromkeys(unset, seed))
    return fresh


def _failed(name: str, method: str, X: Matrix, error: Exception) -> NoReturn:
    dense = "" if not sparse.issparse(X) else " (The features are a sparse matrix.)"
    raise DataError(
        f"model={name} failed in {method} with {type(error).__name__}: {error}{dense}", parameter="model"
    ) from error
