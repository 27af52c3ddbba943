"""The cells of a comparison: a method, its model and its parameters, under a name.

A method is a word of ``METHODS``, with a model behind a slash if it is not the usual one (``"ap/naive_bayes"``), or,
under another name, a dict of the estimator's parameters or an object as ``model=``. Nothing here knows what methods do.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tiltfit.errors import DataError, UnsupportedError, did_you_mean
from tiltfit.estimators.estimator import TiltEstimator
from tiltfit.methods.catalogue import METHODS
from tiltfit.models.registry import MODELS

ALL = "all"
_OWN = {
    "constraints": "is the first argument of compare",
    "callback": "cannot be called from another process: use progress=",
    "random_state": "is the same for all methods: pass it to compare",
    "classes": "is the same for all methods: pass it to compare",
    "method": "belongs into methods=, such as methods=['ap', 'supervised']",
}


@dataclass(frozen=True, eq=False)
class Cell:
    """One of those compared. ``parameters``: of the estimator, its method among them. ``notes``: what was chosen for
    it, and why."""

    name: str
    parameters: Mapping[str, Any]
    notes: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        """True if there is such a model. (A method that does not exist is refused with the cell.)"""
        word = self.parameters.get("model")
        return not isinstance(word, str) or word in MODELS

    @property
    def model(self) -> str | None:
        """The word of the model, or what an object is called; None: the usual one."""
        found = self.parameters.get("model")
        return found if found is None or isinstance(found, str) else type(found).__name__

    @property
    def method(self) -> str:
        return str(self.parameters["method"])


def cells(methods: Any, shared: Mapping[str, Any], estimator: type[TiltEstimator]) -> tuple[Cell, ...]:
    """The cells that ``methods=`` asks for; ``shared`` parameters hold for all of them. Raises by name."""
    known = _parameters(estimator)
    for name in shared:
        if name in _OWN:
            raise DataError(f"{name}= {_OWN[name]}.")
        _check_parameter(name, known, f"{name}=", estimator)
    found = [_cell(name, given, shared, known, estimator) for name, given in _named(methods)]
    if not found:
        raise DataError(f"methods= is empty: name at least one of {', '.join(METHODS)}, or all.")
    names = [cell.name for cell in found]
    for name in names:
        if names.count(name) > 1:
            raise DataError(
                f"methods= names {name!r} twice. Give each its own name: {{'one': dict(method='ap'), ...}}."
            )
    return tuple(found)


def _named(methods: Any) -> list[tuple[str, Any]]:
    if isinstance(methods, str):
        methods = list(METHODS) if methods == ALL else [word.strip() for word in methods.split(",")]
    if not isinstance(methods, Iterable):
        raise DataError(f"methods={methods!r:.80} must be 'all', a list of methods, or a dict of names and parameters.")
    named = methods.items() if isinstance(methods, Mapping) else ((word, word) for word in methods)
    return [(str(name), given) for name, given in named]


def _cell(name: str, given: Any, shared: Mapping[str, Any], known: list[str], estimator: type[TiltEstimator]) -> Cell:
    if isinstance(given, str):
        given = of_word(given)
    elif _is_model(given):
        given = {"method": "ap", "model": given}
    if not isinstance(given, Mapping):
        raise DataError(
            f"methods= holds {given!r:.80}: use a word such as 'ap', {{'a name': dict(method='ap')}}, or {{'a name': "
            "a model}."
        )
    if "method" not in given:
        raise DataError(f"The parameters of {name!r} name no method: add method='ap', or another of {list(METHODS)}.")
    if given["method"] not in METHODS:
        raise UnsupportedError(
            f"There is no method {given['method']!r}.{did_you_mean(given['method'], METHODS)} "
            f"Use one of: {', '.join(METHODS)}."
        )
    for parameter in given:
        if parameter in _OWN and parameter != "method":
            raise DataError(f"{parameter}= of {name!r} {_OWN[parameter]}.")
        _check_parameter(parameter, known, f"{parameter}= of {name!r}", estimator)
    return _with_model(Cell(name, {**shared, **given}), estimator)


def _is_model(given: Any) -> bool:
    """True if it is an object for ``model=``, rather than parameters."""
    return not isinstance(given, Mapping) and any(hasattr(given, part) for part in ("fit", "forward", "rounds"))


def _with_model(cell: Cell, estimator: type[TiltEstimator]) -> Cell:
    """The cell with a model that the method can train, if none was named and it cannot train the default."""
    usual, *_ = models = estimator.task.models
    method = METHODS[cell.method]
    model = next((model for model in models if model not in method.why_not), usual)
    if "model" in cell.parameters or model == usual:
        return cell
    why = f"with model={model!r}, since method={method.name!r} cannot train {usual!r}"
    return Cell(cell.name, {**cell.parameters, "model": model}, (*cell.notes, why))


def of_word(word: str) -> dict[str, Any]:
    """``ap``, or ``ap/naive_bayes``: the method and its model."""
    method, slash, model = (part.strip() for part in word.partition("/"))
    if slash and not model:
        raise DataError(f"{word!r} names no model after the slash: write METHOD, or METHOD/MODEL.")
    return {"method": method, "model": model} if slash else {"method": method}


def _parameters(estimator: type[TiltEstimator]) -> list[str]:
    return [name for name in inspect.signature(estimator).parameters if name not in ("constraints", "callback")]


def _check_parameter(name: str, known: list[str], what: str, estimator: type[TiltEstimator]) -> None:
    if name not in known:
        raise DataError(f"{what} is not a parameter of {estimator.__name__}.{did_you_mean(name, known)}")
