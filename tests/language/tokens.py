"""Token inputs as a tagger would pass them: one position a token, and where each sequence starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tiltfit.data.inputs import Inputs, Unit, WordIndex


class TokenInputs(Inputs):
    unit: Unit = "tokens"

    def __init__(self, sequences: Sequence[Sequence[str]]) -> None:
        self._tokens = [token for sequence in sequences for token in sequence]
        self.offsets = np.cumsum([0, *map(len, sequences)])

    @property
    def n(self) -> int:
        return len(self._tokens)

    def index(self, column: str | None = None) -> WordIndex:
        return WordIndex(([token] for token in self._tokens), whole_tokens=True)

    def texts(self, column: str | None = None) -> Sequence[str]:
        return self._tokens

    def column(self, name: str) -> npt.NDArray[Any]:
        raise NotImplementedError

    def feature(self, name: str) -> npt.NDArray[np.float64]:
        raise NotImplementedError

    def row(self, i: int) -> str:
        return self._tokens[i]
