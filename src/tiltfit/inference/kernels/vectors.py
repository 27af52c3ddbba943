"""Sums and products of vectors as long as the weights, each in one pass over memory.

Vectors are cut into blocks at ``bounds``, by their length alone; sums are taken block by block, so that they do not
depend on who works on which. Within a block terms may be added in any order that the compiler likes: vectors of sums
are several times as fast as one sum, and the order is the same in every run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tiltfit.inference.kernels.compile import kernel, summing_kernel

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[Any]

_PIECE = 1024  # numbers of each vector that are worked on at a time: they stay in the first-level cache


@summing_kernel
def remember(
    vectors: npt.NDArray[Any],
    rows: int,
    pair: int,
    direction: FloatArray,
    step: float,
    old: FloatArray,
    new: FloatArray,
    bounds: IndexArray,
    products: FloatArray,
    steepest: FloatArray,
    first: int,
    last: int,
) -> None:
    """s = step·direction and y = new − old go to rows 2·pair and 2·pair + 1 of ``vectors``;
    products[k] ← vectors[:rows]·(s, y, new) and steepest[k] ← max|new|, of the blocks first ≤ k < last.
    """
    kind = vectors.dtype.type
    gradient = np.empty(_PIECE, dtype=vectors.dtype)
    for k in range(first, last):
        top = 0.0
        products[k] = 0.0
        for a in range(bounds[k], bounds[k + 1], _PIECE):
            b = min(a + _PIECE, bounds[k + 1])
            # A row first, then a slice of it: of such a slice Numba knows that it is contiguous.
            s, y = vectors[2 * pair][a:b], vectors[2 * pair + 1][a:b]
            along, before, now = direction[a:b], old[a:b], new[a:b]
            for i in range(b - a):
                s[i] = step * along[i]
                y[i] = now[i] - before[i]
                gradient[i] = now[i]
            for i in range(b - a):
                size = abs(now[i])
                top = top if size <= top else size  # NaN stays
            for r in range(rows):
                v = vectors[r][a:b]
                with_s, with_y, with_g = kind(0.0), kind(0.0), kind(0.0)
                for i in range(b - a):
                    with_s += v[i] * s[i]
                    with_y += v[i] * y[i]
                    with_g += v[i] * gradient[i]
                products[k, 0, r] += with_s
                products[k, 1, r] += with_y
                products[k, 2, r] += with_g
        steepest[k] = top


@kernel
def two_loops(gram: FloatArray, with_gradient: FloatArray, order: IndexArray, out: FloatArray) -> Any:
    """out ← the coefficients of −H·g in the basis of stored vectors, and returns the factor of g in H·g.

    ``gram``: their products, ``with_gradient``: those with g, ``order``: pairs, oldest first; ``out`` is 0 before. The
    two loops of the textbook run on r = Σ_j out[j]·v_j + g. O(memory²).
    """
    alpha = np.zeros(len(order))
    for n in range(len(order) - 1, -1, -1):
        s, y = 2 * order[n], 2 * order[n] + 1
        product = with_gradient[s]
        for j in range(len(out)):
            product += out[j] * gram[j, s]
        alpha[n] = product / gram[s, y]
        out[y] -= alpha[n]
    s, y = 2 * order[-1], 2 * order[-1] + 1
    scale = gram[s, y] / gram[y, y]
    for j in range(len(out)):
        out[j] *= scale
    for n in range(len(order)):
        s, y = 2 * order[n], 2 * order[n] + 1
        product = scale * with_gradient[y]
        for j in range(len(out)):
            product += out[j] * gram[j, y]
        out[s] += alpha[n] - product / gram[s, y]
    for j in range(len(out)):
        out[j] = -out[j]
    return scale


@summing_kernel
def combine(
    vectors: npt.NDArray[Any],
    factors: npt.NDArray[Any],
    of_gradient: float,
    gradient: FloatArray,
    out: FloatArray,
    x: FloatArray,
    step: float,
    point: FloatArray,
    bounds: IndexArray,
    slopes: FloatArray,
    first: int,
    last: int,
) -> None:
    """out ← factors·vectors[: len(factors)] − of_gradient·gradient,  point ← x + step·out  and
    slopes[k] ← gradient·out, of the blocks first ≤ k < last.

    The last block first: ``remember`` ended there, so it is still in the cache.
    """
    total = np.empty(_PIECE, dtype=vectors.dtype)
    for k in range(last - 1, first - 1, -1):
        slope = 0.0
        for a in range(bounds[k], bounds[k + 1], _PIECE):
            b = min(a + _PIECE, bounds[k + 1])
            total[:] = 0
            for r in range(len(factors)):
                v, factor = vectors[r][a:b], factors[r]
                for i in range(b - a):
                    total[i] += factor * v[i]
            here, result, old, new = gradient[a:b], out[a:b], x[a:b], point[a:b]
            for i in range(b - a):
                value = total[i] - of_gradient * here[i]
                result[i] = value
                new[i] = old[i] + step * value
                slope += here[i] * value
        slopes[k] = slope


@summing_kernel
def add_pull(
    alpha: FloatArray, weights: FloatArray, gradient: FloatArray, bounds: IndexArray, sums: FloatArray,
    first: int, last: int,
) -> None:  # fmt: skip
    """gradient += α∘weights and sums[k] ← Σ α·weights², of the blocks first ≤ k < last. ``alpha``: one a weight, or
    one for all."""
    for k in range(first, last):
        w, g, total = weights[bounds[k] : bounds[k + 1]], gradient[bounds[k] : bounds[k + 1]], 0.0
        strengths = alpha[bounds[k] : bounds[k + 1]]
        for i in range(len(w)):
            pull = (alpha[0] if len(alpha) == 1 else strengths[i]) * w[i]
            g[i] += pull
            total += pull * w[i]
        sums[k] = total
