"""Learning from measurements (Liang, Jordan & Klein 2009): every measurement of docs/measurements.md is a statement of
the constraint language. The oracle writes the objective of the measurements down and minimises it over λ and q at once:

    Σ_i D(q_i‖p_λ) + h(τ − Σ_i E_q[σ(x_i, y)]) + ½·α‖λ‖²
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from tiltfit import TiltClassifier, column, expect, feature

pytestmark = pytest.mark.filterwarnings("ignore:Neither a label nor a constraint")

CLASSES, ALPHA = ["a", "b", "c"], 0.5
OPTIONS = {"classes": CLASSES, "alpha": ALPHA, "penalize_intercept": True}  # α‖λ‖² is of all weights
RNG = np.random.default_rng(5)
TABLE = pd.DataFrame(
    {"u": RNG.normal(size=6), "v": RNG.normal(size=6), "fires": [1, 1, 1, 1, 0, 0], "group": [0, 0, 1, 1, 1, 1]}
)
FIRES, GROUP = TABLE["fires"].to_numpy() == 1, TABLE["group"].to_numpy()
COUNT = int(FIRES.sum())
GIVEN = feature("fires")


def log_p(flat):
    table = flat.reshape(-1, 3)
    return log_softmax(TABLE.to_numpy() @ table[:-1] + table[-1], axis=1)


def q_of(z):
    return softmax(z[-18:].reshape(6, 3), axis=1)


def measured(h: Callable[[np.ndarray], tuple[float, np.ndarray]], inside=()) -> tuple[float, np.ndarray]:
    """The least value of the objective, and λ there. ``h`` gives the value and its gradient in q; ``inside``: functions
    of q that must be ≥ 0."""
    X = np.column_stack([TABLE.to_numpy(), np.ones(6)])

    def value(z):
        flat, q, p, log_q = z[:-18], q_of(z), log_p(z[:-18]), log_softmax(z[-18:].reshape(6, 3), axis=1)
        noise, slope = h(q)
        in_q = log_q - p + slope
        in_z = q * (in_q - np.sum(q * in_q, axis=1, keepdims=True))
        in_weights = X.T @ (np.exp(p) - q) + ALPHA * flat.reshape(-1, 3)
        total = np.sum(q * (log_q - p)) + noise + 0.5 * ALPHA * float(flat @ flat)
        return total, np.concatenate([in_weights.ravel(), in_z.ravel()])

    size = 3 * X.shape[1] + 18
    how = {"method": "BFGS", "options": {"gtol": 1e-8}}
    if inside:
        must = [{"type": "ineq", "fun": lambda z, f=f: f(q_of(z))} for f in inside]
        how = {"method": "SLSQP", "constraints": must, "options": {"maxiter": 500, "ftol": 1e-12}}
    starts = [np.zeros(size), *np.random.default_rng(0).normal(scale=0.3, size=(2, size))]
    found = min((minimize(value, start, jac=True, **how) for start in starts), key=lambda r: r.fun)
    return found.fun, found.x[:-18]


def of_sum(where, label: int, noise: Callable[[float], tuple[float, float]]):
    """h of how many of some rows have a label; ``noise`` gives value and slope."""

    def h(q):
        value, slope = noise(float(q[where, label].sum()))
        gradient = np.zeros_like(q)
        gradient[where, label] = slope
        return value, gradient

    return h


def gaussian(tau: float, variance: float):
    return lambda m: ((tau - m) ** 2 / (2 * variance), (m - tau) / variance)


def nothing(q):
    return 0.0, np.zeros_like(q)


def check(said, value: float, flat, *, value_tol: float = 2e-5) -> None:
    found = TiltClassifier(said, **OPTIONS, tol=1e-6).fit(TABLE)
    assert found.objective_ == pytest.approx(value, abs=value_tol)
    np.testing.assert_allclose(found.predict_log_proba(TABLE), log_p(flat), atol=5e-3)


def test_a_sum_with_gaussian_noise_is_about_with_the_variance_of_the_mean():
    tau, variance = 3.5, 0.4
    value, flat = measured(of_sum(FIRES, 0, gaussian(tau, variance)))
    check([expect("a", given=GIVEN).about(tau / COUNT, beta=variance / COUNT**2)], value, flat)


def test_a_sum_within_a_box_is_between():
    tau, width = 3.2, 0.3
    low, high = tau - width, tau + width
    value, flat = measured(nothing, [lambda q: q[FIRES, 0].sum() - low, lambda q: high - q[FIRES, 0].sum()])
    check([expect("a", given=GIVEN).between(low / COUNT, high / COUNT)], value, flat, value_tol=1e-4)


def test_a_sum_without_noise_is_exactly():
    value, flat = measured(nothing, [lambda q: q[FIRES, 0].sum() - 3.0, lambda q: 3.0 - q[FIRES, 0].sum()])
    check([expect("a", given=GIVEN).exactly(3.0 / COUNT)], value, flat, value_tol=1e-4)


def test_a_sum_with_laplacian_noise_is_about_with_l1():
    tau, scale = 3.2, 0.9

    def smoothed(m):  # the corner of |·| is rounded off a little
        root = np.sqrt((tau - m) ** 2 + 1e-8)
        return root / scale, (m - tau) / root / scale

    value, flat = measured(of_sum(FIRES, 0, smoothed))
    check([expect("a", given=GIVEN).about(tau / COUNT, beta=scale / COUNT, penalty="l1")], value, flat, value_tol=1e-3)


def _sum(parts):
    values, gradients = zip(*parts, strict=True)
    return sum(values), sum(gradients)


def test_label_proportions_are_statements_without_a_condition():
    tau, variance = np.array([3.6, 1.8]), 0.5
    parts = [of_sum(slice(None), k, gaussian(t, variance)) for k, t in enumerate(tau)]
    value, flat = measured(lambda q: _sum(part(q) for part in parts))
    said = [expect(name).about(t / 6, beta=variance / 36) for name, t in zip("ab", tau, strict=True)]
    check(said, value, flat)


@pytest.mark.parametrize("shares", [(0.7, 0.7), (0.7, 0.2)])
def test_group_proportions_are_stated_by_column(shares):
    variance = 0.2
    sizes = np.bincount(GROUP)
    parts = [
        of_sum(np.flatnonzero(GROUP == g), 0, gaussian(u * sizes[g], variance * sizes[g] ** 2))  # noqa: SIM300
        for g, u in enumerate(shares)
    ]
    value, flat = measured(lambda q: _sum(part(q) for part in parts))
    each = [expect("a", given=column("group").isin([g])).about(u, beta=variance) for g, u in enumerate(shares)]
    check(each, value, flat)
    if shares[0] == shares[1]:
        check([expect("a", per=column("group")).about(shares[0], beta=variance)], value, flat)


def test_labels_and_sets_are_exact_measurements_of_one_row():
    """Σ_i D(q_i‖p) with q_i within the set is −log p(set), the marginal likelihood."""
    y = ["a", None, None, {"a", "b"}, None, "c"]
    found = TiltClassifier(**OPTIONS, tol=1e-9).fit(TABLE, y)

    def likelihood(flat):
        p = np.exp(log_p(flat))
        return -np.log(p[0, 0] * p[5, 2] * (p[3, 0] + p[3, 1])) + 0.5 * ALPHA * float(flat @ flat)

    best = minimize(likelihood, np.zeros(15), method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-9})
    assert found.objective_ == pytest.approx(best.fun, abs=1e-7)
    np.testing.assert_allclose(found.predict_log_proba(TABLE), log_p(best.x), atol=1e-3)
