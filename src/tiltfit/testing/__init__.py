"""Conformance checks for extensions: each raises ``AssertionError`` at the first law that is broken.

>>> from tiltfit.testing import check_condition
>>> from tiltfit import word
>>> check_condition(word("puck"), ["a puck", "a bat"])
"""

from tiltfit.testing.language import check_condition, check_event
from tiltfit.testing.methods import check_method
from tiltfit.testing.models import check_model
from tiltfit.testing.penalties import check_penalty

__all__ = ["check_condition", "check_event", "check_method", "check_model", "check_penalty"]
