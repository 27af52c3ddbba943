"""The moment projection: fit the model to labels and to the tilted distribution (Eq. 9).

    argmin_λ  Σ_i ω_i log Z_λ(x_i) − λ·T + ½‖λ‖²_α

T = Σ_labelled w f(x, y) + γ Σ_unlabelled w E_q[f(x, y)] is a fixed vector, so an evaluation is one inference pass. ω
is w on labelled and γ·w on unlabelled instances. Gradient: Σ ω E_p[f] − T + α∘λ: model moments match target moments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tiltfit import kernels
from tiltfit.arrays import FloatArray, IntArray
from tiltfit.execution.sums import Moments
from tiltfit.execution.workers import Workers
from tiltfit.optimize.lbfgs import Arrived, minimise
from tiltfit.optimize.result import Minimum

_BLOCK = 1 << 14  # weights that are summed up at a time, whatever the number of threads


def moment_projection(
    moments: Callable[[FloatArray], Moments],
    target: FloatArray,
    alpha: FloatArray,
    start: FloatArray,
    *,
    gradient_tol: float = 0.0,
    arrived: Arrived | None = None,
    units: FloatArray | None = None,
    max_iter: int,
    workers: Workers | None = None,
) -> Minimum:
    """Minimise Eq. 9 from ``start``. ``moments(weights)`` sums log Z and E_p[f] over all instances, wherever they
    are."""

    def objective(weights: FloatArray) -> tuple[float, FloatArray]:
        return moment_objective(moments(weights), weights, target, alpha)

    return minimise(
        objective, start, gradient_tol=gradient_tol, arrived=arrived, max_iter=max_iter, workers=workers, units=units
    )


def moment_objective(
    sums: Moments, weights: FloatArray, target: FloatArray, alpha: FloatArray
) -> tuple[float, FloatArray]:
    """Σ ω log Z − λ·T + ½ Σ α λ²  and its gradient."""
    return sums.log_z + add_ridge(alpha, weights, sums.expectation, target=target), sums.expectation


@dataclass(frozen=True, eq=False)
class Scattered:
    """A vector of zeros but for ``amounts`` at ``cells``, which ascend; ``starts``: the first of every block."""

    cells: IntArray
    amounts: FloatArray
    starts: IntArray

    @staticmethod
    def of(vector: FloatArray) -> Scattered:
        cells = np.flatnonzero(vector)
        return Scattered(cells, vector[cells], np.searchsorted(cells, _blocks(len(vector))))


def add_ridge(
    alpha: FloatArray,
    weights: FloatArray,
    gradient: FloatArray,
    workers: Workers | None = None,
    *,
    target: FloatArray | None = None,
    scattered: Scattered | None = None,
) -> float:
    """gradient += α∘λ − T; returns ½ Σ α λ² − λ·T. T is the sum of ``target`` and ``scattered``, 0 if there is
    neither."""
    strength = alpha[:1] if alpha.strides == (0,) else np.ascontiguousarray(alpha)
    bounds = _blocks(len(weights))
    sums = np.empty(len(bounds) - 1)
    few = _nothing(len(weights)) if scattered is None else scattered

    def run(first: int, last: int) -> None:
        kernels.vectors.add_pull(
            strength, weights, target, few.cells, few.amounts, few.starts, gradient, bounds, sums, first, last
        )

    (workers or Workers()).run(run, bounds, each=0.6)
    return float(sum(sums.tolist()))


@lru_cache(maxsize=8)
def _nothing(n: int) -> Scattered:
    return Scattered.of(np.zeros(n))


@lru_cache(maxsize=8)
def _blocks(n: int) -> npt.NDArray[np.intp]:
    """Bounds of blocks of n numbers."""
    return np.append(np.arange(0, n, _BLOCK), n)
