"""A condition on the length of a text: ``given=LongerThan(20)``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tiltfit import Condition, register_condition


@register_condition
@dataclass(frozen=True)
class LongerThan(Condition):
    """The text has more than ``n`` words."""

    n: int
    key = "longer_than"

    def fires(self, inputs: Any) -> npt.NDArray[np.bool_]:
        return np.array([len(text.split()) > self.n for text in inputs.texts()], dtype=np.bool_)

    def clause(self, unit: str, negated: bool = False) -> str:
        return f"of {'at most' if negated else 'more than'} {self.n} words"
