"""All methods, by the word that users type: ``method="ap"``."""

from __future__ import annotations

from tiltfit.methods import alternating_projections, expectation_maximization, supervised
from tiltfit.methods.method import Method

METHODS: dict[str, Method] = {
    module.METHOD.name: module.METHOD for module in (alternating_projections, supervised, expectation_maximization)
}
