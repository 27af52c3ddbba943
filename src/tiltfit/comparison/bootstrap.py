"""Paired bootstrap: how far figures, and differences of figures, may be an accident of the test part.

Draw as many test instances as there are, with replacement, R times; all methods are judged on the same draws, so that
what is hard for all of them cancels in a difference. The interval holds the middle 95 % of the R values (percentiles).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.comparison.figures import Evidence, figures
from tiltfit.comparison.result import Figure

LEVEL = 0.95
_ROOM = 4_000_000  # draws that are held at once


def judged(evidence: Sequence[Evidence], n_bootstrap: int, rng: np.random.Generator) -> list[dict[str, Figure]]:
    """The figures of every method, and their differences to those of the first."""
    if not evidence:
        return []
    whole = [{key: float(v[0]) for key, v in figures(e, np.ones((1, len(e)))).items()} for e in evidence]
    drawn = replicates(evidence, n_bootstrap, rng) if n_bootstrap else None
    found: list[dict[str, Figure]] = []
    for k, values in enumerate(whole):
        found.append({})
        for key, value in values.items():
            difference = value - whole[0][key] if k else None
            if drawn is None:
                found[k][key] = Figure(value, difference=difference)
                continue
            low, high = _middle(drawn[k][key])
            least, most = _middle(drawn[k][key] - drawn[0][key]) if k else (None, None)
            found[k][key] = Figure(value, low, high, difference, least, most)
    return found


def replicates(evidence: Sequence[Evidence], n: int, rng: np.random.Generator) -> list[dict[str, FloatArray]]:
    """The figures of every method on ``n`` draws, which are the same for all."""
    m = len(evidence[0])
    parts: list[list[dict[str, FloatArray]]] = [[] for _ in evidence]
    step = max(1, _ROOM // m)
    for start in range(0, n, step):
        rows = min(step, n - start)
        drawn = rng.integers(m, size=(rows, m)) + m * np.arange(rows)[:, None]
        weight = np.bincount(drawn.ravel(), minlength=rows * m).reshape(rows, m).astype(np.float64)
        for part, one in zip(parts, evidence, strict=True):
            part.append(figures(one, weight))
    return [{key: np.concatenate([piece[key] for piece in part]) for key in part[0]} for part in parts]


def _middle(values: FloatArray) -> tuple[float, float]:
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
