"""A penalty, a condition, two events, a method and a model for tiltfit. Importing the package registers them."""

from tiltfit_extras.changes_back import ChangesBack
from tiltfit_extras.continuation import CONTINUATION
from tiltfit_extras.huber import Huber
from tiltfit_extras.long_texts import LongerThan
from tiltfit_extras.scaled import Scaled
from tiltfit_extras.steps_back import StepsBack

__all__ = ["CONTINUATION", "ChangesBack", "Huber", "LongerThan", "Scaled", "StepsBack"]
