"""Reports where q was sampled: how much of a violation may be noise, and which samples are too few."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

from tiltfit.errors import SamplingWarning
from tiltfit.projections.information import Projection

HOLDS = 1e-4  # the violation of a hard constraint that a solver may leave
_ACCIDENT = 1.35e-3  # probability that noise alone looks like a violation in any row: 3 standard errors for one row
_FEW = 20.0  # draws
_DRIFT = 1.2  # split-R̂
_APART = 100.0  # stands for a split-R̂ that is infinite: two halves that never move, and differ


def allowance(projection: Projection, unit: npt.NDArray[np.float64] | float = 1.0) -> npt.NDArray[np.float64]:
    """Return by how much a hard constraint may be off and still hold, per row. ``unit``: of m, as it is shown."""
    exact = np.full(len(projection.violation), HOLDS)
    if projection.sampling is None:
        return exact
    errors = float(norm.isf(_ACCIDENT / max(1, len(exact))))
    return np.asarray(np.maximum(exact, errors * projection.sampling.error * unit))


def worth(projection: Projection, rows: npt.NDArray[np.intp]) -> tuple[float | None, float | None]:
    """Return the least number of draws that a row is worth, and the largest split-R̂; None if q is exact."""
    found = projection.sampling
    if found is None:
        return None, None
    return float(np.min(found.effective[rows])), float(np.minimum(np.max(found.r_hat[rows]), _APART))


def in_words(effective: float, r_hat: float) -> str:
    return f"worth {effective:.0f} draws, R-hat {r_hat:.2f}"


def warn_sampling(rows: Iterable[tuple[str, float, float]], stacklevel: int = 1) -> None:
    """Warn about constraints whose expectations were not sampled well: (name, draws, split-R̂) of each row."""
    bad: dict[str, tuple[float, float]] = {}
    for name, effective, r_hat in rows:
        if effective < _FEW or r_hat > _DRIFT:
            least, most = bad.get(name, (np.inf, 0.0))
            bad[name] = min(least, float(effective)), max(most, min(float(r_hat), _APART))
    if bad:
        ranked = sorted(bad.items(), key=lambda item: item[1][0])
        names = "; ".join(f"{name!r} is {in_words(*numbers)}" for name, numbers in ranked[:3])
        more = f"; and {len(ranked) - 3} more" if len(ranked) > 3 else ""
        warnings.warn(
            f"Markov chains say little about some constraints: {names}{more}. A softer target helps (about, or slack=),"
            " and so do fewer fields; inference='exact' needs no chains, where it is possible.",
            SamplingWarning,
            stacklevel=stacklevel + 1,
        )
