"""What classifier and tagger have in common in a ``.tilt`` file: parameters, constraints, report, prices, history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import FloatArray
from tiltfit.data.inputs import Unit
from tiltfit.errors import ModelFileError, TiltfitError
from tiltfit.estimators.streaming import online_options
from tiltfit.language.constraint import Constraint, ConstraintSet
from tiltfit.language.document import from_document, to_document
from tiltfit.language.sentences import titled
from tiltfit.methods.history import Round
from tiltfit.report.constraints import ConstraintReport

Arrays = dict[str, npt.NDArray[Any]]
Document = dict[str, Any]
E = TypeVar("E")

COMMON = (
    "model",
    "method",
    "solver",
    "alpha",
    "beta",
    "gamma",
    "scale",
    "warm_start",
    "n_init",
    "max_iter",
    "tol",
    "n_jobs",
)
"""Parameters that are plain values in both."""

_CONDITION = "the when(...) condition of"

_IF_PLAIN = {"init": str, "random_state": int}  # written if of this type; anything else is no plain value


def dump(estimator: Any, parameters: Sequence[str], arrays: Arrays, lost: list[str], unit: Unit) -> Document:
    """The common part of the document; adds the history to ``arrays`` and what cannot be written to ``lost``."""
    for name, values_of in _columns(estimator.history_).items():
        arrays[f"history.{name}"] = values_of
    values = {name: _plain(getattr(estimator, name)) for name in (*COMMON, *parameters)}
    for name, kind in _IF_PLAIN.items():
        if isinstance(getattr(estimator, name), kind):
            values[name] = getattr(estimator, name)
    if estimator.method_options:
        values["method_options"] = {name: _written(value) for name, value in estimator.method_options.items()}
    if estimator.online is not None:
        values["online"] = asdict(online_options(estimator.online))
    constraints = list(estimator._constraints)
    # What a file could not hold is not in one that is written after loading it, either.
    lost += [text for text in vars(estimator).get("_lost_constraints", ()) if text.startswith(_CONDITION)]
    written = [_dump_constraint(c, lost, unit) for c in constraints]
    number = numbers_in_file(written)
    return {
        "parameters": values,
        "classes": estimator.classes_.tolist(),
        "constraints": written,
        "lost_constraints": lost,
        "report": estimator.constraint_report_.to_dicts(),
        # The price of a single instance says nothing of others, and there may be very many.
        "prices": [
            [number[key[0]], *key[1:], price]
            for key, price in estimator._prices.items()
            if key[0] in number and constraints[key[0]].per not in ("instance", "sequence")
        ],
        # Where q was sampled the objective is not known, and JSON has no NaN.
        "objective": None if np.isnan(estimator.objective_) else estimator.objective_,
        "converged": estimator.converged_,
        "message": estimator._message,
    }


def numbers_in_file(written: Sequence[Document | None]) -> dict[int, int]:
    """The number of every constraint among those that are in the file: what cannot be written does not count."""
    return {k: n for n, k in enumerate(k for k, constraint in enumerate(written) if constraint is not None)}


def construct(cls: type[E], parameters: Sequence[str], document: Document) -> E:
    """An estimator that is not fitted, with the parameters and those constraints that could be written."""
    values = dict(document["parameters"])
    unknown = set(values) - {*COMMON, *parameters, *_IF_PLAIN, "online", "method_options"}
    if unknown:
        raise ModelFileError(f"The file sets unknown parameters: {sorted(unknown)}.")
    if "method_options" in values:
        values["method_options"] = {name: _read(value) for name, value in dict(values["method_options"]).items()}
    kept = [from_document(c) for c in document["constraints"] if c is not None]
    return cls(kept, classes=list(document["classes"]), **values)  # type: ignore[call-arg]


def restore(estimator: Any, document: Document, arrays: Arrays) -> None:
    """Set what a fit would have set, as far as both estimators have it."""
    estimator.classes_ = _classes(document["classes"])
    estimator._constraints = ConstraintSet(tuple(estimator.constraints), tuple(document["classes"]))
    estimator._lost_constraints = tuple(str(text) for text in document["lost_constraints"])
    estimator._prices = {(int(o), int(c), g): float(p) for o, c, g, p in document["prices"]}
    estimator.constraint_report_ = ConstraintReport.from_dicts(document["report"])
    try:
        str(estimator.constraint_report_)  # what cannot be told is refused now, not when it is printed
    except AssertionError:
        raise ModelFileError("an entry of its report lacks what its status needs") from None
    objective = document["objective"]
    estimator.objective_ = float("nan") if objective is None else float(objective)
    estimator.converged_ = bool(document["converged"])
    estimator.history_ = _history(arrays)
    estimator.n_iter_ = len(estimator.history_)
    estimator._message = str(document.get("message", ""))


def check_weights(n_classes: int, *tables: tuple[FloatArray, tuple[int, ...]]) -> None:
    """ModelFileError unless every table has its shape, and finite numbers only."""
    for table, shape in tables:
        if table.shape != shape:
            raise ModelFileError(f"Weights of shape {table.shape}, but {shape} is needed for {n_classes} classes.")
        if not np.all(np.isfinite(table)):
            raise ModelFileError("The weights are not finite.")


def _dump_constraint(constraint: Constraint, lost: list[str], unit: Unit) -> Document | None:
    try:
        return dict(to_document(constraint))
    except TiltfitError:
        lost.append(f"{_CONDITION} {titled(constraint, unit)!r}")
        return None


def _written(value: Any) -> Any:
    """An option of a method; a mapping as pairs, since keys may be numbers."""
    if isinstance(value, Mapping):
        return {"pairs": [[_plain(key), _plain(one)] for key, one in value.items()]}
    return _plain(value)


def _read(value: Any) -> Any:
    return dict(map(tuple, value["pairs"])) if isinstance(value, dict) else value


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _classes(values: Any) -> npt.NDArray[Any]:
    classes = np.array(values)
    if classes.ndim != 1 or not len(classes) or len(set(classes.tolist())) < len(classes):
        raise ModelFileError("The classes must be a list of different labels.")
    return classes


def _columns(history: Sequence[Round]) -> dict[str, FloatArray]:
    """The rounds as one array a field; NaN for a round without a score, and no such array if no round has one."""
    columns = {field.name: np.array([getattr(r, field.name) for r in history], dtype=float) for field in fields(Round)}
    if all(r.dev_score is None for r in history):
        del columns["dev_score"]
    return columns


def _history(arrays: Arrays) -> tuple[Round, ...]:
    kept = [field for field in fields(Round) if field.name != "dev_score" or "history.dev_score" in arrays]
    rows = zip(*(arrays[f"history.{field.name}"].tolist() for field in kept), strict=True)
    return tuple(
        Round(**{f.name: _number(f.type, value) for f, value in zip(kept, row, strict=True)})  # type: ignore[arg-type]
        for row in rows
    )


def _number(kind: Any, value: float) -> float | None:
    if kind == "int":
        return int(value)
    return None if kind == "float | None" and np.isnan(value) else float(value)
