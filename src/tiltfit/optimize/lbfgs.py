"""Limited-memory BFGS with a strong-Wolfe line search, for smooth functions of millions of variables.

An iteration costs some 6·memory·n multiplications (``History``) and one or two evaluations (``strong_wolfe``). At its
peak it holds memory/2 + 4 vectors (2·memory + 4 if they are short) beside what the objective needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tiltfit import kernels
from tiltfit.arrays import FloatArray, IntArray
from tiltfit.execution.workers import Workers
from tiltfit.optimize.result import Minimum, Objective, Stop

Progress = Callable[[int, float, float, FloatArray], bool | None]
Arrived = Callable[[float, FloatArray], bool]


def minimise(
    objective: Objective,
    start: FloatArray,
    *,
    gradient_tol: float = 0.0,
    arrived: Arrived | None = None,
    curvature: float = 0.0,
    negligible: float = 1e-12,
    max_iter: int = 1000,
    memory: int = 6,
    progress: Progress | None = None,
    workers: Workers | None = None,
    measure: Measure | None = None,
    units: FloatArray | None = None,
) -> Minimum:
    """Minimise ``objective(x) -> (value, gradient)`` from ``start``.

    Stops when ``arrived(value, x)`` says so (``plateau``), when max|gradient| ≤ ``gradient_tol``, or when a step along
    the best direction known fails and promised less than ``negligible`` of the value anyway (by default what rounding
    hides). ``curvature``: O curves upwards by at least as much, which tells when no more than that is left to gain.
    ``measure``: what to take for max|gradient|. ``progress(iteration, value, max|gradient|, x)`` is called after each
    step and may return True to stop. If the line search fails, the best point so far is returned with
    ``Stop.LINE_SEARCH``. ``units``: search for ``units``·x instead, where the entries of x differ by orders of
    magnitude.

    >>> import numpy as np
    >>> found = minimise(lambda x: (float((x - 3) @ (x - 3)), 2 * (x - 3)), np.zeros(4), gradient_tol=1e-9)
    >>> found.x.round(6).tolist(), found.converged
    ([3.0, 3.0, 3.0, 3.0], True)
    """
    if units is not None:
        return _minimise_in_units(
            units, objective, start, arrived=arrived, progress=progress, curvature=curvature, negligible=negligible,
            gradient_tol=gradient_tol, max_iter=max_iter, memory=memory, workers=workers,
        )  # fmt: skip
    x = np.array(start, dtype=np.float64)
    value, gradient = objective(x)
    n_eval = 1
    workers = workers or Workers()
    history = History(memory, len(x), workers)

    def done(n_iter: int, stop: Stop) -> Minimum:
        return Minimum(x, value, gradient, n_iter, n_eval, stop)

    if not np.isfinite(value) or not np.all(np.isfinite(gradient)):
        return done(0, Stop.NOT_FINITE)
    measure = measure or Measure.plain(len(x))
    largest = measure.of(gradient)
    for n_iter in range(max_iter):
        if largest <= gradient_tol or _is_near(value, largest, gradient, curvature, negligible):
            return done(n_iter, Stop.CONVERGED)
        first = 1.0 if n_iter > 0 else _cautious(gradient)
        direction, point, slope = history.direction(gradient, x, first)
        if not slope < 0:  # only rounding can do this; start afresh from the steepest descent
            history.clear()
            direction, point, slope = history.direction(gradient, x, first)
        found = strong_wolfe(
            objective, x, direction, Trial(0.0, value, slope, largest, gradient), first, point, measure
        )
        n_eval += found.n_eval
        if found.trial is None and -slope * first <= negligible * max(1.0, abs(value)):
            return done(n_iter, Stop.FLAT)
        if found.trial is None and n_iter > 0:
            # A pair with next to no curvature, as where O is not convex, may point a million times too far.
            history.clear()
            first = _cautious(gradient)
            direction, point, slope = history.direction(gradient, x, first)
            origin = Trial(0.0, value, slope, largest, gradient)
            found = strong_wolfe(objective, x, direction, origin, first, point, measure)
            n_eval += found.n_eval
        if found.trial is None:
            return done(n_iter, Stop.LINE_SEARCH)
        history.move(found.trial.step, gradient, found.trial.gradient)
        x, value, largest, gradient = found.point, found.trial.value, found.trial.steepest, found.trial.gradient
        del found, direction, point
        if progress is not None and progress(n_iter + 1, value, largest, x):
            return done(n_iter + 1, Stop.CALLBACK)
        if arrived is not None and arrived(value, x):
            return done(n_iter + 1, Stop.FLAT)
    return done(max_iter, Stop.CONVERGED if largest <= gradient_tol else Stop.MAX_ITER)


_BLOCK = 1 << 14
_LONG = 1 << 16  # shorter vectors stay in the cache whatever their precision


def _cautious(gradient: FloatArray) -> float:
    """A first step along the steepest descent, of which nothing is known but the gradient."""
    return min(1.0, 1.0 / float(np.sum(np.abs(gradient))))


def _is_near(value: float, largest: float, gradient: FloatArray, curvature: float, negligible: float) -> bool:
    """O(x) − min O ≤ ‖∇O‖²/2c ≤ ``negligible``·|O|, where O curves upwards by at least c > 0 in every direction."""
    limit = 2 * curvature * negligible * abs(value)
    return largest**2 <= limit and float(gradient @ gradient) <= limit


def _minimise_in_units(
    units: FloatArray,
    objective: Objective,
    start: FloatArray,
    *,
    arrived: Arrived | None,
    progress: Progress | None,
    curvature: float,
    **options: Any,
) -> Minimum:
    """``minimise`` over z = ``units``·x: ∂O/∂z = ∂O/∂x / units."""

    def scaled(z: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = objective(z / units)
        return value, gradient / units

    def told(n_iter: int, value: float, largest: float, z: FloatArray) -> bool | None:
        return None if progress is None else progress(n_iter, value, largest, z / units)

    def reached(value: float, z: FloatArray) -> bool:
        return arrived is not None and arrived(value, z / units)

    least = curvature / float(units.max()) ** 2
    found = minimise(scaled, start * units, arrived=reached, progress=told, curvature=least, **options)
    return replace(found, x=found.x / units, gradient=found.gradient * units)


class History:
    """The memory: the last steps s and gradient changes y, and their inner products.

        H·g = a combination of g and of the remembered s and y, whose coefficients follow from inner products alone

    (the two-loop recursion in Gram form, Chen et al. 2014). So an iteration touches it in two passes: one takes its
    products with the new y and the new gradient, one forms the combination. Both go block by block: blocks fit into the
    cache, are shared out among threads, and sums are taken in their order, whatever the number of threads.

    A long history is kept in sixteen bits per number (``kernels.halves``): a quarter of the memory, and less to wait
    for. It only shapes the direction, and steps are taken along the direction that is kept, so that s is what it is and
    y off by 1/257 of each entry at most: Cora and CoNLL-2000 need about as many iterations. How far to go, and when to
    stop, is decided by values and gradients in full precision.

    ``vectors``: the direction d of pair k in row 2k, s = step·d; y in row 2k + 1. ``length``: the step in row 2k, 1 in
    row 2k + 1. When all are in use, the oldest pair gives way. Rows are worked on by fours.
    """

    def __init__(self, memory: int, n: int, workers: Workers) -> None:
        is_long = n >= _LONG
        rows = _whole_fours(2 * memory)
        self._vectors: npt.NDArray[Any] = np.zeros((rows, n), dtype=np.uint16 if is_long else np.float64)
        self._summed: Any = np.float32 if is_long else np.float64
        self._length = np.ones(rows)
        self._gram = np.zeros((rows, rows))
        self._memory = memory
        self._order: list[int] = []  # pairs, oldest first
        self._factors = np.empty(0), 1.0  # of the rows that hold numbers in −H·g, and that of g in H·g
        self._next = 0  # the pair of the direction that was given last
        self._workers = workers
        self._bounds = np.append(np.arange(0, n, _BLOCK), n)

    def clear(self) -> None:
        """Forget everything, so that no NaN is left over."""
        self._vectors[:] = 0
        self._order, self._factors = [], (np.empty(0), 1.0)

    def direction(self, g: FloatArray, x: FloatArray, step: float) -> tuple[npt.NDArray[Any], FloatArray, float]:
        """d = −H·g, H the inverse-Hessian estimate, for the gradient that the last move led to; x + step·d; and the
        slope, −g·H·g. Of d there is one at a time: it stands where the next pair will, and if there is no room for
        one more, the oldest pair is forgotten for it."""
        vectors, (factors, of_gradient), bounds = kernels.vectors, self._factors, self._bounds
        full = len(self._order) == self._memory
        pair = self._order.pop(0) if full else next(k for k in range(self._memory) if k not in self._order)
        self._next = pair
        point, slopes = self._workers.buffers.empty(len(g)), np.empty(len(bounds) - 1)

        def run(first: int, last: int) -> None:
            total = np.empty(vectors.PIECE, dtype=self._summed)
            vectors.combine(
                self._vectors, factors, of_gradient, g, pair, x, step, point, bounds, slopes, total, first, last
            )

        self._workers.run(run, bounds, each=0.25 * len(factors))
        return self._vectors[2 * pair], point, sum(slopes.tolist())

    def move(self, step: float, old: FloatArray, new: FloatArray) -> None:
        """``step`` along the direction given last took the gradient from ``old`` to ``new``.

        A pair without positive curvature is forgotten at once: it would spoil the estimate.
        """
        self._order.append(self._next)
        # Rows that hold numbers: they are filled in order. A forgotten pair among them has no weight.
        vectors, rows, bounds = kernels.vectors, _whole_fours(2 * (max(self._order) + 1)), self._bounds
        products = np.empty((len(bounds) - 1, 2, rows))

        def run(first: int, last: int) -> None:
            piece = np.empty((2, vectors.PIECE), dtype=self._summed)
            vectors.remember(self._vectors, rows, self._next, old, new, bounds, products, piece, first, last)

        self._workers.run(run, bounds, each=0.25 * rows)
        factors, order = np.zeros(rows), np.array(self._order)
        kept, of_gradient = vectors.turn(self._gram, self._length, products, order, step, factors)
        self._factors = factors, of_gradient
        if not kept:
            self._order.pop()


def _whole_fours(rows: int) -> int:
    return -(-rows // 4) * 4


SUFFICIENT_DECREASE = 1e-4  # c₁
CURVATURE = 0.9  # c₂: loose, as quasi-Newton directions are well scaled
MAX_TRIALS = 25


class Trial(NamedTuple):
    """φ at one step, with the full gradient so that it need not be computed again. ``steepest``: its measure."""

    step: float
    value: float
    slope: float
    steepest: float
    gradient: FloatArray


class Found(NamedTuple):
    """The accepted trial (None if no step lowers the value), x + step·direction there, and the evaluations spent."""

    trial: Trial | None
    point: FloatArray
    n_eval: int


def strong_wolfe(
    objective: Objective,
    x: FloatArray,
    direction: npt.NDArray[Any],
    origin: Trial,
    first: float,
    point: FloatArray,
    measure: Measure,
) -> Found:
    """A step t with  φ(t) ≤ φ(0) + c₁·t·φ′(0)  and  |φ′(t)| ≤ c₂·|φ′(0)|,  φ(t) = f(x + t·direction)  (Nocedal &
    Wright, algorithms 3.5 and 3.6). ``point``: x + first·direction, where it begins; it is moved along."""
    best: Trial | None = None
    low, high = origin, None
    step = first
    for n_eval in range(1, MAX_TRIALS + 1):
        if n_eval > 1:
            kernels.vectors.go_along(x, step, direction, point)
        value, gradient = objective(point)
        slope, steepest = measure.along(gradient, direction) if math.isfinite(value) else (np.inf, np.inf)
        trial = Trial(step, value, slope, steepest, gradient)
        if trial.value < (best or origin).value:
            best = trial
        limit = origin.value + SUFFICIENT_DECREASE * step * origin.slope
        if not math.isfinite(value) or value > limit or (value >= low.value and low is not origin):
            high = trial
        elif abs(trial.slope) <= -CURVATURE * origin.slope:
            return Found(trial, point, n_eval)
        else:
            if trial.slope * ((high.step if high else np.inf) - low.step) >= 0:
                high = low
            low = trial
        if high is None:
            step = _beyond(origin, trial)
        else:
            if abs(high.step - low.step) <= 1e-12 * max(step, 1e-300):
                break
            step = _between(low, high)
    # No step meets both conditions to working precision: any real decrease is still progress.
    if best is not None:
        kernels.vectors.go_along(x, best.step, direction, point)
    return Found(best, point, n_eval)


def _beyond(origin: Trial, trial: Trial) -> float:
    """The step at which the slope would vanish if it went on rising as it did so far; at least 2 and at most 1000 times
    as far.

    A first step is a guess that can be orders of magnitude too short; doubling alone would pay an evaluation for each.
    """
    rise = trial.slope - origin.slope
    guess = trial.step * -origin.slope / rise if rise > 0 else 10.0 * trial.step
    return float(np.clip(guess, 2.0 * trial.step, 1000.0 * trial.step))


def _between(low: Trial, high: Trial) -> float:
    """The minimiser of the cubic through both ends, kept away from them; the middle where the cubic is no help."""
    width = high.step - low.step
    if not np.isfinite(high.value):
        return low.step + 0.1 * width
    bend = low.slope + high.slope - 3 * (high.value - low.value) / width
    under = bend * bend - low.slope * high.slope
    if under < 0 or not np.isfinite(under):
        return low.step + 0.5 * width
    root = np.copysign(np.sqrt(under), width)
    guess = high.step - width * (high.slope + root - bend) / (high.slope - low.slope + 2 * root)
    if not np.isfinite(guess):
        return low.step + 0.5 * width
    edge = 0.1 * abs(width)
    return float(np.clip(guess, min(low.step, high.step) + edge, max(low.step, high.step) - edge))


@dataclass(frozen=True, eq=False)
class Measure:
    """The distance of a gradient from zero: max |g_i|/divisor[k] over bounds[k] ≤ i < bounds[k + 1] and all k. Divisors
    are positive."""

    bounds: IntArray
    divisor: FloatArray

    @staticmethod
    def plain(n: int) -> Measure:
        """max |g_i| of n numbers."""
        return Measure(np.array([0, n]), np.ones(1))

    def of(self, gradient: FloatArray) -> float:
        """The measure of a gradient; NaN if it has one."""
        return float(kernels.vectors.largest(gradient, self.bounds, self.divisor))

    def along(self, gradient: FloatArray, direction: npt.NDArray[Any]) -> tuple[float, float]:
        """gradient·direction, and the measure of the gradient, in one pass."""
        slope, size = kernels.vectors.slope_and_largest(gradient, direction, self.bounds, self.divisor)
        return slope, size


def steepest(gradient: FloatArray) -> float:
    """max|gradient|, NaN if there is one."""
    return Measure.plain(len(gradient)).of(gradient)
