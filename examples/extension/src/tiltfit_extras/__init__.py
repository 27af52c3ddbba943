"""A penalty, a condition, an event and a method for tiltfit. Importing the package registers them."""

from tiltfit_extras.changes_back import ChangesBack
from tiltfit_extras.continuation import CONTINUATION
from tiltfit_extras.huber import Huber
from tiltfit_extras.long_texts import LongerThan

__all__ = ["CONTINUATION", "ChangesBack", "Huber", "LongerThan"]
