"""Limited-memory BFGS with a strong-Wolfe line search, for smooth functions of millions of variables.

The two-loop recursion is run on inner products alone (Chen et al. 2014): the direction is a combination of the stored
steps S, the stored gradient changes Y and the gradient, so the history is touched only by S·g, Y·g and by the final
combination, each one matrix product. An iteration costs some 6·memory·n multiplications and one or two evaluations.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tiltfit.optimize.line_search import Trial, strong_wolfe
from tiltfit.optimize.result import FloatArray, Minimum

Objective = Callable[[FloatArray], tuple[float, FloatArray]]
Progress = Callable[[int, float, float], bool | None]

_ROUNDING = 1e-12
"""A Newton-like step that promises less than this fraction of the value is beyond what the value can show."""


class _History:
    """The last steps s and gradient changes y, their Gram matrix, and their products with the current gradient.

    Rows 0…memory−1 of ``_vectors`` hold s, the rest y, both as a ring. One pass over them a step gives the products
    with the new step and the new gradient; those with y follow, since y is a difference of gradients.
    """

    def __init__(self, memory: int, gradient: FloatArray) -> None:
        self._vectors = np.zeros((2 * memory, len(gradient)))
        self._gram = np.zeros((2 * memory, 2 * memory))
        self._with_gradient = np.zeros(2 * memory)
        self._memory = memory
        self._order: list[int] = []

    def move(self, s: FloatArray, y: FloatArray, gradient: FloatArray) -> None:
        """Take in a step ``s`` that changed the gradient by ``y`` to ``gradient``; drops the oldest pair when full.

        A pair without positive curvature is left out: it would spoil the estimate.
        """
        m = self._memory
        curvature = float(s @ y)
        keep = curvature > 1e-14 * float(y @ y)
        if keep:
            slot = len(self._order) if len(self._order) < m else self._order.pop(0)
            self._order.append(slot)
            self._vectors[slot], self._vectors[slot + m] = s, y
        with_s, with_gradient = self._products(s, gradient)
        if keep:
            with_y = with_gradient - self._with_gradient
            # The new pair had no product with the old gradient yet.
            with_y[slot], with_y[slot + m] = curvature, float(y @ y)
            for row, products in ((slot, with_s), (slot + m, with_y)):
                self._gram[row] = self._gram[:, row] = products
        self._with_gradient = with_gradient

    def direction(self, g: FloatArray) -> FloatArray:
        """−H·g, H the inverse-Hessian estimate, for the gradient that the last move led to."""
        if not self._order:
            return -g
        of_history, of_gradient = self._coefficients()
        rows = self._used()
        combined = of_history[rows] @ self._vectors[rows]
        combined -= of_gradient * g
        return np.asarray(combined)

    def _products(self, s: FloatArray, gradient: FloatArray) -> tuple[FloatArray, FloatArray]:
        rows = self._used()
        products = np.zeros((2 * self._memory, 2))
        products[rows] = self._vectors[rows] @ np.column_stack([s, gradient])
        return products[:, 0], products[:, 1]

    def _used(self) -> slice | list[int]:
        """The rows that hold something; a slice (a view, no copy) once the ring is full."""
        if len(self._order) == self._memory:
            return slice(None)
        return [*self._order, *(slot + self._memory for slot in self._order)]

    def _coefficients(self) -> tuple[FloatArray, float]:
        """Coefficients of −H·g in the basis of stored vectors, and the factor of g (the two loops, on numbers)."""
        m, gram, products = self._memory, self._gram, self._with_gradient
        weights = np.zeros(2 * m)  # of the stored vectors in the running vector r; r starts as g
        alpha: dict[int, float] = {}
        for i in reversed(self._order):
            alpha[i] = (products[i] + weights @ gram[:, i]) / gram[i, i + m]
            weights[i + m] -= alpha[i]
        newest = self._order[-1]
        scale = gram[newest, newest + m] / gram[newest + m, newest + m]
        weights *= scale
        for i in self._order:
            beta = (scale * products[i + m] + weights @ gram[:, i + m]) / gram[i, i + m]
            weights[i] += alpha[i] - beta
        return -weights, scale


def minimise(
    objective: Objective,
    start: FloatArray,
    *,
    gradient_tol: float,
    max_iter: int = 1000,
    memory: int = 7,
    progress: Progress | None = None,
) -> Minimum:
    """Minimise ``objective(x) -> (value, gradient)`` from ``start``.

    Stops when max|gradient| ≤ ``gradient_tol``, or when a step along the best direction known could not change the
    value by more than rounding. ``progress(iteration, value, max|gradient|)`` is called after each step and may
    return True to stop. If the line search fails, the best point so far is returned with ``converged=False``.

    >>> import numpy as np
    >>> found = minimise(lambda x: (float((x - 3) @ (x - 3)), 2 * (x - 3)), np.zeros(4), gradient_tol=1e-9)
    >>> found.x.round(6).tolist(), found.converged
    ([3.0, 3.0, 3.0, 3.0], True)
    """
    x = np.array(start, dtype=np.float64)
    value, gradient = objective(x)
    n_eval = 1
    history = _History(memory, gradient)

    def done(n_iter: int, converged: bool, message: str) -> Minimum:
        return Minimum(x, value, gradient, n_iter, n_eval, converged, message)

    if not np.isfinite(value) or not np.all(np.isfinite(gradient)):
        return done(0, False, "the objective is not finite at the start")
    for n_iter in range(max_iter):
        if _steepest(gradient) <= gradient_tol:
            return done(n_iter, True, "gradient below tolerance")
        direction = history.direction(gradient)
        slope = float(gradient @ direction)
        if slope >= 0:  # only rounding can do this; start afresh from the steepest descent
            history, direction = _History(memory, gradient), -gradient
            slope = -float(gradient @ gradient)
        first = 1.0 if n_iter > 0 else min(1.0, 1.0 / float(np.sum(np.abs(gradient))))
        found = strong_wolfe(objective, x, direction, Trial(0.0, value, slope, gradient), first)
        n_eval += found.n_eval
        if found.trial is None:
            if n_iter > 0 and -slope <= _ROUNDING * max(1.0, abs(value)):
                return done(n_iter, True, "value no longer falls")
            return done(n_iter, False, "the line search found no better point (rounding, or a wrong gradient)")
        step = found.trial.step * direction
        change = found.trial.gradient - gradient
        x = x + step
        value, gradient = found.trial.value, found.trial.gradient
        history.move(step, change, gradient)
        if progress is not None and progress(n_iter + 1, value, _steepest(gradient)):
            return done(n_iter + 1, False, "stopped by the callback")
    converged = _steepest(gradient) <= gradient_tol
    message = "gradient below tolerance" if converged else f"stopped after {max_iter} iterations"
    return done(max_iter, converged, message)


def _steepest(gradient: FloatArray) -> float:
    return float(np.max(np.abs(gradient), initial=0.0))
