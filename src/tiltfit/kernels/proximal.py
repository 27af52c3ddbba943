"""One step of a proximal Newton method for a few prices: a quadratic model of log Z plus exact penalties.

    min_x  g·(x − θ) + ½(x − θ)ᵀH(x − θ) + Σ_k [c_k·offset_k·x_k + U_k*(−c_k x_k)],      low_k ≤ x_k ≤ high_k

Every coordinate alone has a closed form. Sweeps over them find which prices rest at a kink or a bound; a Newton step on
the others then does at once what sweeps would creep towards.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import FloatArray
from tiltfit.kernels.compile import kernel
from tiltfit.kernels.instances import INTERVAL

Records = npt.NDArray[Any]

# A row: its penalty, its mean m = scale·E[f] + offset, and what the search for its price needs.
ROW = np.dtype(
    [
        ("kind", np.int64),  # of the penalty: INTERVAL with (low, high, slack, slope) or KL with (target, –, –, weight)
        ("first", np.float64), ("second", np.float64), ("third", np.float64), ("fourth", np.float64),
        ("scale", np.float64), ("offset", np.float64), ("support", np.float64),  # c = w/scale
        ("low", np.float64), ("high", np.float64),  # bounds of the price
        ("theta", np.float64), ("trial", np.float64), ("move", np.float64),  # the price, the next one, the step
        ("expectation", np.float64), ("new_expectation", np.float64), ("gradient", np.float64),  # E[f], w·E[f]
        ("along", np.float64), ("change", np.float64), ("bent", np.float64), ("free", np.bool_),
    ]
)  # fmt: skip

_MAX_SWEEPS = 200
_FAR = 1e12  # a price that no soft penalty asks for
_POLE = 1.0 - 1e-12  # how near to where U* is infinite


@kernel
def set_bounds(row: Any, weight: float, cap: float) -> None:
    """The support, and the interval of prices in which U* is finite; a hard row's are within ±cap."""
    row.support = weight / row.scale
    if row.kind != INTERVAL:
        row.low = -row.fourth / row.support * (_POLE if row.first > 0.0 else 1.0)
        row.high = _FAR
        return
    limit = cap if row.third == 0.0 else _FAR
    if row.fourth < np.inf:
        limit = row.fourth / row.support
    row.low = -limit if row.second < np.inf else 0.0
    row.high = limit if row.first > -np.inf else 0.0


@kernel
def cost(row: Any, x: float) -> float:
    """c·offset·x + U*(−c·x)."""
    cx = row.support * x
    total: float = cx * row.offset
    if row.kind != INTERVAL:
        if row.first > 0.0:
            total -= row.fourth * row.first * np.log(1.0 + cx / row.fourth)
    elif x != 0.0:
        total += -cx * (row.second if x < 0.0 else row.first) + 0.5 * row.third * cx * cx
    return total


@kernel
def _slopes(row: Any, x: float) -> tuple[float, float]:
    """First and second derivative of ``cost``, not at a kink."""
    c = row.support
    if row.kind != INTERVAL:
        room = 1.0 + c * x / row.fourth
        return c * (row.offset - row.first / room), c * c * row.first / (row.fourth * room * room)
    edge = row.second if x < 0.0 or row.first == -np.inf else row.first
    return c * (row.offset - edge + row.third * c * x), row.third * c * c


@kernel
def residual(row: Any, x: float, m: float) -> float:
    """The distance of m from what the penalty wants at price x, given that x may rest at a kink or a bound."""
    if row.kind != INTERVAL:
        low = row.first / (1.0 + row.support * x / row.fourth) if row.first > 0.0 else 0.0
        high = low
    elif x == 0.0:
        low, high = row.first, row.second
    else:
        low = (row.second if x < 0.0 else row.first) - row.third * row.support * x
        high = low
    if x <= row.low:  # m may be larger: the price would fall if it could
        high = np.inf
    if x >= row.high:
        low = -np.inf
    return float(max(low - m, m - high, 0.0))


@kernel
def _coordinate(row: Any, h: float, q: float) -> float:
    """The x that minimises ½h(x − θ)² + q(x − θ) + cost(x)."""
    c = row.support
    pull = h * row.theta - q - c * row.offset  # the derivative is h·x − pull + (U*)′
    if row.kind != INTERVAL:
        if row.first == 0.0:
            x = _ratio(pull, h)
        else:  # with z = 1 + c·x/w: a·z² + b·z = c·u
            a = h * row.fourth / c
            b = -pull - a
            root = np.sqrt(b * b + 4.0 * a * c * row.first)
            z = 2.0 * c * row.first / (b + root) if b > 0.0 else _ratio(root - b, 2.0 * a)
            x = (z - 1.0) * row.fourth / c
    else:
        bend = h + row.third * c * c
        right = _ratio(pull + c * row.first, bend) if row.first > -np.inf else 0.0
        left = _ratio(pull + c * row.second, bend) if row.second < np.inf else 0.0
        x = right if right > 0.0 else min(left, 0.0)
    return float(min(max(x, row.low), row.high))


@kernel
def _ratio(a: float, b: float) -> float:
    """a/b, and ±far where b is zero; 0/0 = 0."""
    if b > 0.0:
        return min(max(a / b, -_FAR), _FAR)
    return 0.0 if a == 0.0 else (_FAR if a > 0.0 else -_FAR)


@kernel
def model_step(rows: Records, hessian: FloatArray, factor: FloatArray) -> tuple[float, float]:
    """``move`` of every row; the largest relative to 1 + |θ|, and the fall of the model, ≤ 0, without its curvature.

    ``factor`` is room for another matrix.
    """
    n, largest = len(rows), 0.0
    for k in range(n):
        rows[k].move = 0.0
        largest = max(largest, abs(rows[k].theta))
    for _ in range(_MAX_SWEEPS):
        moved = 0.0
        for k in range(n):
            q = rows[k].gradient
            for j in range(n):
                q += hessian[k, j] * rows[j].move if j != k else 0.0
            new = _coordinate(rows[k], hessian[k, k], q) - rows[k].theta
            moved = max(moved, abs(new - rows[k].move))
            rows[k].move = new
        if n == 1 or moved <= 1e-13 * (1.0 + largest):
            break
        _newton(rows, hessian, factor)
    size, fall = 0.0, 0.0
    for k in range(n):
        row = rows[k]
        size = max(size, abs(row.move))
        fall += row.gradient * row.move + cost(row, row.theta + row.move) - cost(row, row.theta)
    return size / (1.0 + largest), min(fall, 0.0)


@kernel
def _model_value(rows: Records, hessian: FloatArray, step: float) -> float:
    total = 0.0
    for i in range(len(rows)):
        x = rows[i].move + step * rows[i].along
        total += rows[i].gradient * x + cost(rows[i], rows[i].theta + x)
        for j in range(len(rows)):
            total += 0.5 * x * hessian[i, j] * (rows[j].move + step * rows[j].along)
    return total


@kernel
def _newton(rows: Records, hessian: FloatArray, factor: FloatArray) -> None:
    """A Newton step of the model on the prices that are neither at a kink nor at a bound, as far as none is crossed."""
    _free_system(rows, hessian, factor)
    _solve_positive(factor, rows)
    step = 1.0
    for i in range(len(rows)):
        row = rows[i]
        x = row.theta + row.move
        wall = row.low if row.along < 0.0 else row.high
        if _has_kink(row) and x * row.along < 0.0:
            wall = 0.0
        if row.along != 0.0 and abs(step * row.along) > abs(wall - x):
            step = abs((wall - x) / row.along)
    before = _model_value(rows, hessian, 0.0)
    for _ in range(10):
        if _model_value(rows, hessian, step) < before:
            for i in range(len(rows)):
                row = rows[i]
                row.move = min(max(row.move + step * row.along, row.low - row.theta), row.high - row.theta)
            return
        step *= 0.5


@kernel
def _free_system(rows: Records, hessian: FloatArray, factor: FloatArray) -> None:
    """The negative gradient of the model in ``along`` and its Hessian in ``factor``; the identity where a price is not
    free."""
    n = len(rows)
    for i in range(n):
        row = rows[i]
        x = row.theta + row.move
        first, second = _slopes(row, x)
        row.free = row.low < x < row.high and (x != 0.0 or not _has_kink(row))
        row.along = -(row.gradient + first)
        for j in range(n):
            row.along -= hessian[i, j] * rows[j].move
            factor[i, j] = hessian[i, j]
        row.along = row.along if row.free else 0.0
        factor[i, i] += second
    for i in range(n):
        for j in range(n):
            if not (rows[i].free and rows[j].free):
                factor[i, j] = 1.0 if i == j else 0.0


@kernel
def _has_kink(row: Any) -> bool:
    return bool(row.kind == INTERVAL and row.first < row.second)


@kernel
def _solve_positive(matrix: FloatArray, rows: Records) -> None:
    """along ← matrix⁻¹·along by Cholesky; pivots that rounding has spoilt are raised. O(n³)."""
    n, least = len(rows), 1e-300
    for i in range(n):
        least = max(least, 1e-13 * matrix[i, i])
    for i in range(n):
        for j in range(i + 1):
            total = matrix[i, j]
            for k in range(j):
                total -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = np.sqrt(max(total, least)) if i == j else total / matrix[j, j]
    for i in range(n):
        for k in range(i):
            rows[i].along -= matrix[i, k] * rows[k].along
        rows[i].along /= matrix[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            rows[i].along -= matrix[k, i] * rows[k].along
        rows[i].along /= matrix[i, i]
