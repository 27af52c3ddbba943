"""The joint solver around its line search: what is told of a step, and what the next one goes by."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tiltfit.methods import joint
from tiltfit.methods.joint import solve_jointly
from tiltfit.methods.method import Run
from tiltfit.optimize.result import Stop


def test_figures_and_tolerances_are_those_of_the_accepted_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line search that tries x = 2 and x = 3, and goes back to 2."""
    asked: list[tuple[float, float]] = []

    def evaluate(weights: Any, duals: Any, tol: float) -> Any:
        x = float(weights[0])
        asked.append((x, tol))
        projection = SimpleNamespace(start=None, sampling=None, converged=True, gap=0.0)
        return SimpleNamespace(
            value=10 - x if x != 3 else 20.0, gradient=np.array([0.01 * x]), projection=projection,
            gap=0.1 * x, worst_violation=x, start=None,
        )  # fmt: skip

    def minimise(objective: Any, start: Any, *, progress: Any, **_: Any) -> Any:
        for tried, accepted in (([1.0], None), ([2.0, 3.0], 2.0), ([4.0], 4.0)):
            for x in tried:
                objective(np.array([x]))
            if accepted is not None:
                progress(1, 10 - accepted, 0.0, np.array([accepted]))
        return SimpleNamespace(x=start, value=0.0, gradient=np.zeros(1), converged=True, stop=Stop.CONVERGED)

    monkeypatch.setattr(joint, "minimise", minimise)
    problem: Any = SimpleNamespace(
        plateau=lambda tol: SimpleNamespace(reached=None), rounding=0.0, curvature=0.0, units=None,
        omega=np.ones(1), evaluate=evaluate, model=SimpleNamespace(workers=None), merged=None, tilt=None,
    )  # fmt: skip
    problem.active = problem
    fit = solve_jointly(problem, np.zeros(1), Run(max_iter=9, tol=1e-3))
    assert [r.worst_violation for r in fit.history] == [2.0, 4.0]
    assert [r.gap for r in fit.history] == pytest.approx([0.2, 0.4])
    tolerances = dict(asked)
    assert tolerances[2.0] == pytest.approx(0.05 * 0.01)  # follows the gradient at 1
    assert tolerances[4.0] == pytest.approx(0.05 * 0.02)  # that at 2, where the search is, not at 3
