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
from tiltfit.registry import Registry

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
METHODS: Registry[Method] = Registry("method", error=DataError)
for _module in _MODULES:
    METHODS.register(_module.METHOD.name, _module.METHOD, origin=_module.METHOD.fit)


def register_method(method: Method) -> Method:
    """Make a method available as ``method=method.name``. A name that is taken is refused.

    ``tiltfit.testing.check_method`` checks that it keeps the promises of a method. Returns the method.
    """
    if not isinstance(method, Method):
        raise DataError(f"register_method takes a tiltfit.Method, but got {method!r:.80}.", parameter="method")
    if not isinstance(method.name, str) or not method.name.isidentifier():
        raise DataError(f"A method is named by a word such as 'my_method', not {method.name!r}.", parameter="method")
    if not is_dataclass(method.options):
        raise DataError(f"The options of method={method.name!r} must be a dataclass.", parameter="method")
    if not callable(method.fit):
        raise DataError(
            f"method={method.name!r} needs a function fit(training, start, run), but got {method.fit!r:.80}.",
            parameter="method",
        )
    METHODS.register(method.name, method, origin=method.fit)
    return method
