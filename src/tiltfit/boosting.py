"""Eq. 6 as a custom objective of gradient boosting: LightGBM and XGBoost.

    gradient = ∂O/∂s = ω·(p − q)        Hessian ≈ ω·p·(1 − p)

of every row and class, s being the booster's raw scores. Both libraries call ``f(scores, data)`` in every round;
neither is imported here. Of two classes a booster may have one score per row, that of the second against the first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.errors import DataError, UnsupportedError
from tiltfit.estimators.objective import Objective
from tiltfit.learners.boosters import gradient_and_hessian


def booster_objective(objective: Objective) -> Callable[[Any, Any], tuple[FloatArray, FloatArray]]:
    """The objective as LightGBM (``params["objective"]``) and XGBoost (``train(..., obj=)``) call it.

    >>> import numpy as np
    >>> from tiltfit import expect, objective, word
    >>> from tiltfit.boosting import booster_objective
    >>> o = objective([expect("h", given=word("puck")).about(0.9)], ["puck", "bat"], classes=["b", "h"])
    >>> gradient, hessian = booster_objective(o)(np.zeros((2, 2)), None)
    >>> gradient.round(2).tolist()
    [[0.4, -0.4], [0.0, 0.0]]
    """
    if not isinstance(objective, Objective):
        raise DataError(
            f"booster_objective takes what tiltfit.objective(...) returns, not {type(objective).__name__}.",
            parameter="objective",
        )
    if objective.is_chains:
        raise UnsupportedError(
            "Boosters score rows, but this objective is about sequences, whose tokens depend on each other. Use "
            "value_and_grad with a model of your own, or TiltTagger."
        )

    def called(scores: Any, data: Any) -> tuple[FloatArray, FloatArray]:
        if isinstance(data, np.ndarray | list):
            raise DataError(
                "The scikit-learn classes of boosters pass y and scores instead of scores and data: use "
                "lightgbm.train or xgboost.train."
            )
        found = np.asarray(scores, dtype=np.float64)
        one = found.ndim == 1 and objective.shape == (len(found), 2)
        if one:
            found = np.column_stack([np.zeros_like(found), found])
        gradient, hessian = gradient_and_hessian(objective, found)
        return (gradient[:, 1], hessian[:, 1]) if one else (gradient, hessian)

    return called
