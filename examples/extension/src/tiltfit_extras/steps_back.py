"""An event between neighbouring tokens: fields come in an order, and the label steps back in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from tiltfit import Event, register_event

FloatArray = npt.NDArray[np.float64]


@register_event
@dataclass(frozen=True)
class StepsBack(Event):
    """A transition to a label that comes earlier in ``order``: ``StepsBack(("author", "title", "date"))``."""

    order: tuple[str, ...]
    key = "steps_back"
    plural = "steps back"

    @property
    def names(self) -> tuple[str, ...]:
        return self.order

    def tables(self, classes: Sequence[object]) -> list[tuple[Literal["all", "first", "last", "edge"], FloatArray]]:
        place = {label: k for k, label in enumerate(self.order)}
        back = [[a in place and b in place and place[b] < place[a] for b in classes] for a in classes]
        return [("edge", np.array(back, dtype=np.float64))]
