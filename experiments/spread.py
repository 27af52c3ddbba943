"""Means over runs, and how certain they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def error(values: Sequence[float]) -> float:
    """Standard error of the mean, s/√n; 0 of one value."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def mean(values: Sequence[float]) -> str:
    """The mean, and its standard error where there are several.

    >>> mean([0.5, 0.7]), mean([0.25])
    ('0.600 ± 0.100', '0.250')
    """
    return f"{np.mean(values):.3f}" + (f" ± {error(values):.3f}" if len(values) > 1 else "")


def p_value(p: float) -> str:
    """
    >>> p_value(0.0001), p_value(0.04)
    ('< 0.001', '0.040')
    """
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
