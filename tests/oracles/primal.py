"""The information projection by brute force: minimise over q itself, one number a position and label.

min_q Σ_j w_j D(q_j‖p_j) + Σ_r U_r(m_r(q)) over the simplex, a convex problem with linear constraints, by SLSQP.
Only for a handful of positions and labels.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import rel_entr


def primal_optimum(p, fires, events, weight, support, soft, bounds, offset=None):
    """Least value and q. ``soft``: list of (row, function of m); ``bounds``: list of (row, low, high)."""
    n, n_labels = p.shape
    offset = np.zeros(len(events)) if offset is None else offset

    def moments(q):
        return (np.einsum("i,ir,ry,iy->r", weight, fires, events, q) + offset) / support

    def value(z):
        q = z.reshape(n, n_labels)
        m = moments(q)
        return float(weight @ rel_entr(q, p).sum(axis=1)) + sum(f(m[r]) for r, f in soft)

    rules = [{"type": "eq", "fun": lambda z: z.reshape(n, n_labels).sum(axis=1) - 1}]
    for r, low, high in bounds:
        if low == high:
            rules.append({"type": "eq", "fun": lambda z, r=r, low=low: moments(z.reshape(n, n_labels))[r] - low})
            continue
        if np.isfinite(low):
            rules.append({"type": "ineq", "fun": lambda z, r=r, low=low: moments(z.reshape(n, n_labels))[r] - low})
        if np.isfinite(high):
            rules.append({"type": "ineq", "fun": lambda z, r=r, high=high: high - moments(z.reshape(n, n_labels))[r]})
    found = minimize(
        value,
        np.full(p.size, 1 / n_labels),
        method="SLSQP",
        bounds=[(1e-12, 1.0)] * p.size,
        constraints=rules,
        options={"maxiter": 1000, "ftol": 1e-13},
    )
    return float(found.fun), found.x.reshape(n, n_labels)
