"""Gradient boosting by LightGBM and XGBoost, trained on the scores themselves: one tree per class and round.

    gradient = ∂O/∂s = ω·(p − q)        Hessian ≈ ω·p·(1 − p)

Constraints are followed tree by tree: there are no soft labels, and nothing is fitted twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tiltfit.arrays import FloatArray
from tiltfit.errors import DataError, ModelFileError, UnsupportedError
from tiltfit.models.learner import Learned, Loss, Matrix, Settings, Written

_LEAST = 1e-16
"""Of the Hessian: boosters divide by sums of it."""

LIBRARIES = {"lightgbm": "LightGBM", "xgboost": "XGBoost"}


class Scored(Protocol):
    """What has a gradient and a Hessian by scores: a ``Loss``, a ``tiltfit.Objective``."""

    def value_and_grad(self, scores: FloatArray) -> tuple[Any, ...]: ...
    def hess(self, scores: FloatArray) -> FloatArray: ...


def gradient_and_hessian(loss: Scored, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """As boosters want them: rows × classes."""
    return loss.value_and_grad(scores)[1], np.maximum(loss.hess(scores), _LEAST)


class Backend(Protocol):
    """A library: its parameters, and a booster that grows."""

    def n_rounds(self, model: Any) -> int: ...
    def parameters(self, model: Any, settings: Settings) -> dict[str, Any]:
        """Of the library's own training."""

    def growing(self, parameters: dict[str, Any], X: Matrix, loss: Loss, n: int) -> Iterator[tuple[Any, FloatArray]]:
        """The booster after each of n rounds, and its scores of X."""

    def scores(self, booster: Any, X: Matrix) -> FloatArray: ...
    def text(self, booster: Any) -> bytes: ...
    def read(self, text: bytes) -> Any: ...


_BOOSTING = ("boosting_type", "boosting", "boost")
_ELSEWHERE = (
    *("num_iterations", "num_iteration", "n_iter", "num_tree", "num_trees", "num_round", "num_rounds", "nrounds"),
    *("num_boost_round", "max_iter", "early_stopping_round", "early_stopping_rounds", "early_stopping"),
    "n_iter_no_change",
)
"""Parameters of LightGBM's own loop over rounds, which is not run: n_estimators alone says how many there are."""


class LightGBM:
    """``lightgbm.LGBMClassifier``."""

    def n_rounds(self, model: Any) -> int:
        return int(model.get_params()["n_estimators"])

    def parameters(self, model: Any, settings: Settings) -> dict[str, Any]:
        given = dict(model.get_params())
        for name in ("objective", "class_weight"):
            _refuse(model, given, name, (None,))
        other = next((name for name in _ELSEWHERE if given.get(name) is not None), None)
        if other is not None:
            raise DataError(
                f"model={type(model).__name__} sets {other}={given[other]!r}, but it makes as many rounds as "
                f"n_estimators= says. Use that, and leave {other}= out.",
                parameter="model",
            )
        given = {n: v for n, v in given.items() if v is not None and n not in ("n_estimators", "importance_type")}
        own = {"verbosity": -1, "deterministic": True, "force_col_wise": True, "random_state": settings.seed}
        if "verbose" in given:
            del own["verbosity"]
        return {**own, **given, "num_class": len(settings.classes)}

    def growing(self, parameters: dict[str, Any], X: Matrix, loss: Loss, n: int) -> Iterator[tuple[Any, FloatArray]]:
        import lightgbm

        def objective(scores: Any, _: Any) -> tuple[FloatArray, FloatArray]:
            return gradient_and_hessian(loss, np.asarray(scores, dtype=np.float64))

        X = _plain(X)
        booster = lightgbm.Booster({**parameters, "objective": "none"}, lightgbm.Dataset(X))
        adds = all(parameters.get(name, "gbdt") == "gbdt" for name in _BOOSTING)  # others change the trees there are
        total = np.zeros(loss.shape)
        for k in range(n):
            booster.update(fobj=objective)
            if adds:
                total = total + np.asarray(booster.predict(X, raw_score=True, start_iteration=k, num_iteration=1))
            else:
                total = self.scores(booster, X)
            yield booster, total

    def scores(self, booster: Any, X: Matrix) -> FloatArray:
        return np.asarray(booster.predict(_plain(X), raw_score=True), dtype=np.float64)

    def text(self, booster: Any) -> bytes:
        return str(booster.model_to_string()).encode()

    def read(self, text: bytes) -> Any:
        import lightgbm

        return lightgbm.Booster(model_str=text.decode())


class XGBoost:
    """``xgboost.XGBClassifier``."""

    def n_rounds(self, model: Any) -> int:
        return int(model.get_num_boosting_rounds())

    def parameters(self, model: Any, settings: Settings) -> dict[str, Any]:
        given = dict(model.get_xgb_params())
        _refuse(model, given, "objective", (None, "binary:logistic", "multi:softprob"))
        _refuse(model, model.get_params(), "early_stopping_rounds", (None,))
        given = {name: value for name, value in given.items() if value is not None and name != "objective"}
        own = {"random_state": settings.seed, "verbosity": 0}
        fixed = {"num_class": len(settings.classes), "base_score": 0.0, "disable_default_eval_metric": True}
        return {**own, **given, **fixed}

    def growing(self, parameters: dict[str, Any], X: Matrix, loss: Loss, n: int) -> Iterator[tuple[Any, FloatArray]]:
        import xgboost

        def objective(scores: Any, _: Any) -> tuple[FloatArray, FloatArray]:
            return gradient_and_hessian(loss, np.asarray(scores, dtype=np.float64).reshape(loss.shape))

        data = xgboost.DMatrix(_plain(X), label=np.zeros(X.shape[0]))
        booster = xgboost.Booster(parameters, [data])
        for k in range(n):
            booster.update(data, k, fobj=objective)
            found = booster.predict(data, output_margin=True, training=True)  # kept for these data: no second pass
            yield booster, np.asarray(found, dtype=np.float64).reshape(loss.shape)

    def scores(self, booster: Any, X: Matrix) -> FloatArray:
        import xgboost

        found = booster.predict(xgboost.DMatrix(_plain(X)), output_margin=True)
        return np.asarray(found, dtype=np.float64).reshape(X.shape[0], -1)

    def text(self, booster: Any) -> bytes:
        return bytes(booster.save_raw("json"))

    def read(self, text: bytes) -> Any:
        import xgboost

        json.loads(text)  # the library would end the process for some of what is not JSON
        booster = xgboost.Booster()
        booster.load_model(bytearray(text))
        return booster


BACKENDS: Mapping[str, Backend] = {"lightgbm": LightGBM(), "xgboost": XGBoost()}


@dataclass(frozen=True, eq=False)
class Boosting:
    """A classifier of a library, whose parameters are followed; it is not fitted itself."""

    model: Any
    library: str
    ridge = False

    @staticmethod
    def of(model: Any, library: str) -> Boosting:
        classifier = {"lightgbm": "LGBMClassifier", "xgboost": "XGBClassifier"}[library]
        if isinstance(model, type) or classifier not in [cls.__name__ for cls in type(model).__mro__]:
            shown = model.__name__ if isinstance(model, type) else type(model).__name__
            raise UnsupportedError(
                f"model={shown} of {LIBRARIES[library]} cannot be trained on constraints: use "
                f"{library}.{classifier}(...), whose parameters are followed.",
                parameter="model",
            )
        return Boosting(model, library)

    @property
    def name(self) -> str:
        return type(self.model).__name__

    @property
    def n_rounds(self) -> int:
        return BACKENDS[self.library].n_rounds(self.model)

    def rounds(self, X: Matrix, loss: Loss, settings: Settings) -> Iterator[tuple[Learned, FloatArray]]:
        backend = BACKENDS[self.library]
        for booster, scores in backend.growing(backend.parameters(self.model, settings), X, loss, self.n_rounds):
            yield Grown(booster, self.library, self.model.get_params()), scores


@dataclass(frozen=True, eq=False)
class Grown:
    """A trained booster. ``parameters``: those of the classifier that it was made by."""

    model: Any
    library: str
    parameters: Mapping[str, Any]
    penalty = 0.0

    def scores(self, X: Matrix) -> FloatArray:
        return BACKENDS[self.library].scores(self.model, X)

    def dump(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        plain = {name: value for name, value in self.parameters.items() if _is_plain(value)}
        text = np.frombuffer(BACKENDS[self.library].text(self.model), dtype=np.uint8)
        return {"library": self.library, "parameters": plain}, {"booster": text}


def restore(written: Written, arrays: Mapping[str, npt.NDArray[Any]], model: Any) -> tuple[Any, Grown]:
    """The inverse of ``dump``: the classifier with its parameters, and the booster. ``model``: a classifier that was
    given instead."""
    library = str(written["library"])
    if library not in BACKENDS:
        raise ModelFileError(f"The booster is of {library!r}, which is unknown.")
    parameters = dict(written["parameters"])
    try:
        if library == "lightgbm":
            from lightgbm import LGBMClassifier as Classifier
        else:
            from xgboost import XGBClassifier as Classifier
    except ImportError as error:
        raise needed(library) from error
    text = np.asarray(arrays["booster"], dtype=np.uint8).tobytes()
    return model if model is not None else Classifier(**parameters), Grown(
        BACKENDS[library].read(text), library, parameters
    )


def needed(library: str) -> UnsupportedError:
    """The error of a file whose library is not installed."""
    return UnsupportedError(
        f"This model is a booster of {LIBRARIES[library]}, which is not installed: pip install 'tiltfit[{library}]'.",
        parameter="model",
    )


def _plain(X: Matrix) -> Any:
    """As both libraries take it: not a sparse array, but a sparse matrix."""
    return sparse.csr_matrix(X) if sparse.issparse(X) else X


def _is_plain(value: Any) -> bool:
    return value is None or (isinstance(value, bool | int | float | str) and value == value)


def _refuse(model: Any, given: Mapping[str, Any], name: str, usual: tuple[Any, ...]) -> None:
    if given.get(name) not in usual:
        raise DataError(
            f"model={type(model).__name__} sets {name}={given[name]!r}, but it is trained on the constraints, without "
            f"labels of its own. Leave {name}= out.",
            parameter="model",
        )
