"""Estimators to and from ``.tilt`` files. The container is ``tiltfit.storage``; here is what goes into it.

What cannot be written without pickle (``when(callable)`` conditions, foreign vectorizers) is left out with a warning
that names it: after loading, ``predict`` works, and what needs the missing part refuses by name.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import tiltfit
from tiltfit.errors import ModelFileError, NotSavedWarning, TiltfitError, UnsupportedError
from tiltfit.estimators.base import LostBase
from tiltfit.estimators.classifier import TiltClassifier
from tiltfit.estimators.encoders import TableEncoder, TextEncoder
from tiltfit.estimators.options import Options
from tiltfit.features.text import WEIGHTINGS, BagOfWords
from tiltfit.language.constraint import Constraint, ConstraintSet
from tiltfit.language.document import from_document, to_document
from tiltfit.methods.history import Round
from tiltfit.report.constraints import ConstraintReport
from tiltfit.storage.container import read, write

Arrays = dict[str, npt.NDArray[Any]]
Document = dict[str, Any]

STATE_VERSION = 1
_PARAMETERS = [
    "model",
    "method",
    "solver",
    "alpha",
    "beta",
    "gamma",
    "scale",
    "penalize_intercept",
    "warm_start",
    "n_init",
    "max_iter",
    "tol",
    "n_jobs",
]


def save(estimator: TiltClassifier, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator, atomically."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(estimator)
    document, arrays = _dump(estimator)
    write(Path(path), document, arrays)


def load(path: str | os.PathLike[str]) -> TiltClassifier:
    """Read a ``.tilt`` file. Anything but a sound file is a ``ModelFileError``; nothing in it is executed."""
    document, arrays = read(Path(path))
    if document.get("kind") != "TiltClassifier":
        raise ModelFileError(f"{path} holds {document.get('kind')!r}, which this version of tiltfit does not know.")
    if document.get("state_version") != STATE_VERSION:
        raise ModelFileError(
            f"{path} is of state version {document.get('state_version')!r}; "
            f"this version of tiltfit reads {STATE_VERSION}."
        )
    try:
        return _restore(document, arrays)
    except ModelFileError:
        raise
    except (TiltfitError, ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
        raise ModelFileError(f"{path} is damaged: {type(error).__name__}: {error}") from error


def _dump(estimator: TiltClassifier) -> tuple[Document, Arrays]:
    lost: list[str] = []
    arrays: Arrays = {"coef": estimator.coef_, "intercept": estimator.intercept_}
    for field in fields(Round):
        arrays[f"history.{field.name}"] = np.array([getattr(r, field.name) for r in estimator.history_], dtype=float)
    parameters = {name: _plain(getattr(estimator, name)) for name in _PARAMETERS}
    if isinstance(estimator.random_state, int):
        parameters["random_state"] = estimator.random_state
    document: Document = {
        "kind": "TiltClassifier",
        "state_version": STATE_VERSION,
        "written_by": tiltfit.__version__,
        "parameters": parameters,
        "vectorizer": estimator.vectorizer if isinstance(estimator.vectorizer, str) else None,
        "feature_names": None if estimator.feature_names is None else [str(n) for n in estimator.feature_names],
        "feature_names_in": _names_in(estimator),
        "classes": estimator.classes_.tolist(),
        "constraints": [_dump_constraint(c, lost) for c in estimator._constraints],
        "lost_constraints": lost,
        "report": estimator.constraint_report_.to_dicts(),
        "prices": [[*key, price] for key, price in estimator._prices.items()],
        "objective": estimator.objective_,
        "converged": estimator.converged_,
        "message": estimator._message,
        "has_base": _has_base(estimator, lost),
        "encoder": _dump_encoder(estimator._encoder, arrays, lost),
    }
    if lost:
        warnings.warn(
            f"Not saved: {'; '.join(lost)}. After loading, what needs it refuses by name; the rest works.",
            NotSavedWarning,
            stacklevel=4,
        )
    return document, arrays


def _dump_constraint(constraint: Constraint, lost: list[str]) -> Document | None:
    try:
        return dict(to_document(constraint))
    except (UnsupportedError, TiltfitError):
        lost.append(f"the when(...) condition of {constraint.title!r}")
        return None


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _has_base(estimator: TiltClassifier, lost: list[str]) -> bool:
    if estimator._base is None:
        return False
    lost.append("the base distribution (set model.base again after loading)")
    return True


def _names_in(estimator: TiltClassifier) -> list[str] | None:
    # A text model's names are its vocabulary, which the encoder holds already.
    if estimator._encoder is not None or not hasattr(estimator, "feature_names_in_"):
        return None
    return [str(name) for name in estimator.feature_names_in_]


def _dump_encoder(encoder: TextEncoder | TableEncoder | None, arrays: Arrays, lost: list[str]) -> Document | None:
    if encoder is None:
        return None
    if isinstance(encoder, TableEncoder):
        bags = {name: _dump_bag(bag, f"idf.{k}", arrays) for k, (name, bag) in enumerate(encoder.bags.items())}
        return {"kind": "table", "numeric": list(encoder.numeric), "bags": bags}
    if encoder.bag is None:
        lost.append(f"the vectorizer {type(encoder.foreign).__name__}")
        return {"kind": "text", "bag": None}
    return {"kind": "text", "bag": _dump_bag(encoder.bag, "idf", arrays)}


def _dump_bag(bag: BagOfWords, key: str, arrays: Arrays) -> Document:
    if bag.idf is not None:
        arrays[key] = bag.idf
    return {"words": list(bag.words), "weighting": bag.weighting, "idf": key if bag.idf is not None else None}


def _restore(document: Document, arrays: Arrays) -> TiltClassifier:
    parameters = dict(document["parameters"])
    unknown = set(parameters) - set(_PARAMETERS) - {"random_state"}
    if unknown:
        raise ModelFileError(f"The file sets unknown parameters: {sorted(unknown)}.")
    lost = [str(text) for text in document["lost_constraints"]]
    kept = [from_document(c) for c in document["constraints"] if c is not None]
    classes = np.array(document["classes"])
    estimator = TiltClassifier(kept, classes=list(document["classes"]), **parameters)
    estimator._strength = Options.of(estimator).strength  # refuses parameters that no fit could have had
    estimator.vectorizer = document["vectorizer"] or "auto"
    estimator.feature_names = document["feature_names"]
    estimator.base = estimator._base = LostBase() if document.get("has_base", False) else None
    estimator._message = str(document.get("message", ""))
    estimator.classes_ = classes
    estimator.coef_, estimator.intercept_ = _weights(arrays, len(classes))
    estimator._encoder = _restore_encoder(document["encoder"], arrays)
    if isinstance(estimator._encoder, TableEncoder):
        estimator.columns_in_ = estimator._encoder.columns
    estimator.n_features_in_ = estimator.coef_.shape[1]
    estimator._model_names = document["feature_names"]
    names = estimator._encoder.names if estimator._encoder is not None else document["feature_names_in"]
    if names:
        if len(names) != estimator.n_features_in_:
            raise ModelFileError(f"{len(names)} feature names for {estimator.n_features_in_} features.")
        estimator.feature_names_in_ = np.array(names, dtype=object)
        estimator._model_names = list(names)
    estimator._constraints = ConstraintSet(tuple(kept), tuple(document["classes"]))
    estimator._lost_constraints = tuple(lost)
    estimator._prices = {(int(o), int(c), g): float(p) for o, c, g, p in document["prices"]}
    estimator.constraint_report_ = ConstraintReport.from_dicts(document["report"])
    estimator.objective_ = float(document["objective"])
    estimator.converged_ = bool(document["converged"])
    estimator.history_ = _restore_history(arrays)
    estimator.n_iter_ = len(estimator.history_)
    return estimator


def _weights(arrays: Arrays, n_classes: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    coef = np.ascontiguousarray(arrays["coef"], dtype=np.float64)
    intercept = np.asarray(arrays["intercept"], dtype=np.float64)
    if coef.ndim != 2 or len(coef) != n_classes or intercept.shape != (n_classes,):
        raise ModelFileError(f"Weights of shape {coef.shape} and {intercept.shape} for {n_classes} classes.")
    if not np.all(np.isfinite(coef)) or not np.all(np.isfinite(intercept)):
        raise ModelFileError("The weights are not finite.")
    return coef, intercept


def _restore_encoder(state: Document | None, arrays: Arrays) -> TextEncoder | TableEncoder | None:
    if state is None:
        return None
    if state["kind"] == "table":
        bags = {str(name): _restore_bag(bag, arrays) for name, bag in state["bags"].items()}
        return TableEncoder(tuple(str(n) for n in state["numeric"]), bags)
    if state["kind"] == "text":
        return TextEncoder(bag=None if state["bag"] is None else _restore_bag(state["bag"], arrays))
    raise ModelFileError(f"Unknown encoder {state['kind']!r}.")


def _restore_bag(state: Document, arrays: Mapping[str, npt.NDArray[Any]]) -> BagOfWords:
    words = tuple(str(word) for word in state["words"])
    idf = None if state["idf"] is None else np.asarray(arrays[state["idf"]], dtype=np.float64)
    sound = state["weighting"] in WEIGHTINGS and (idf is not None) == (state["weighting"] == "tfidf")
    if not sound or len(set(words)) < len(words) or (idf is not None and idf.shape != (len(words),)):
        raise ModelFileError("The vocabulary is damaged.")
    return BagOfWords(words, str(state["weighting"]), idf)


def _restore_history(arrays: Arrays) -> tuple[Round, ...]:
    names = [field.name for field in fields(Round)]
    kinds: list[type[Any]] = [int if field.type == "int" else float for field in fields(Round)]
    rows = zip(*(arrays[f"history.{name}"].tolist() for name in names), strict=True)
    return tuple(Round(**{n: kind(v) for n, kind, v in zip(names, kinds, row, strict=True)}) for row in rows)
