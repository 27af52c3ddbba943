"""Known labels, as places c = position·L + label in a flat array of positions × labels.

    Σ_k w_k·s[c_k]        ω∘p − Σ_k w_k·e(c_k),  e(c) one at c and else zero

that is the score of known labels, and what the model's marginals lack of them.
"""

from __future__ import annotations

from tiltfit.arrays import FloatArray, IndexArray
from tiltfit.kernels.compile import kernel, summing_kernel


@summing_kernel
def sum_at(values: FloatArray, places: IndexArray, weight: FloatArray) -> float:
    """Σ_k weight[k]·values[places[k]]. O(places)."""
    total = 0.0
    for k in range(len(places)):
        total += weight[k] * values[places[k]]
    return total


@kernel
def subtract_at(values: FloatArray, places: IndexArray, weight: FloatArray) -> None:
    """values[places[k]] −= weight[k]. O(places)."""
    for k in range(len(places)):
        values[places[k]] -= weight[k]
