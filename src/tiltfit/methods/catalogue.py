"""All methods, by the word that users type: ``method="ap"``."""

from __future__ import annotations

from dataclasses import is_dataclass

from tiltfit.errors import DataError
from tiltfit.methods import (
    alternating_projections,
    constraint_driven,
    entropy,
    expectation_maximization,
    generalized_expectation,
    label_model,
    label_regularization,
    self_training,
    supervised,
    vote,
)
from tiltfit.methods.method import Method
from tiltfit.registry import Extensible

_MODULES = (
    alternating_projections,
    generalized_expectation,
    constraint_driven,
    supervised,
    expectation_maximization,
    entropy,
    self_training,
    label_regularization,
    vote,
    label_model,
)
METHODS: Extensible[Method] = Extensible({module.METHOD.name: module.METHOD for module in _MODULES})
_BUILT_IN = frozenset(METHODS)


def register_method(method: Method) -> Method:
    """Make a method available as ``method=method.name``; registering a name again replaces the method.

    ``tiltfit.testing.check_method`` checks that it keeps the promises of a method. Returns the method.
    """
    if method.name in _BUILT_IN:
        raise DataError(f"method={method.name!r} is built in: register yours under another name.", parameter="method")
    if not method.name.isidentifier():
        raise DataError(f"A method is named by a word such as 'my_method', not {method.name!r}.", parameter="method")
    if not is_dataclass(method.options):
        raise DataError(f"The options of method={method.name!r} must be a dataclass.", parameter="method")
    METHODS[method.name] = method
    return method
