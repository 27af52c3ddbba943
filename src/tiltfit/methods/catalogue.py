"""All methods, by the word that users type: ``method="ap"``."""

from __future__ import annotations

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
METHODS: dict[str, Method] = {module.METHOD.name: module.METHOD for module in _MODULES}
