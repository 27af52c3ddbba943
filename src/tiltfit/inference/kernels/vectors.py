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
from tiltfit.inference.kernels.exponential import bits, from_bits
from tiltfit.inference.kernels.halves import number, stored

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[Any]

PIECE = 1024  # numbers of each vector that are worked on at a time: they stay in the first-level cache


@summing_kernel
def remember(
    vectors: npt.NDArray[Any],
    rows: int,
    pair: int,
    old: FloatArray,
    new: FloatArray,
    bounds: IndexArray,
    products: FloatArray,
    piece: npt.NDArray[Any],
    first: int,
    last: int,
) -> None:
    """y = new − old goes to row 2·pair + 1 of ``vectors``; the direction d is in row 2·pair.
    products[k] ← vectors[:rows]·(d, y, new), of the blocks first ≤ k < last. ``piece``: room for what is worked on, in
    the precision of sums, [3, PIECE].
    """
    d, y, g = piece[0], piece[1], piece[2]
    for k in range(first, last):
        products[k] = 0.0
        for a in range(bounds[k], bounds[k + 1], len(d)):
            b = min(a + len(d), bounds[k + 1])
            # A row first, then a slice of it: of such a slice Numba knows that it is contiguous.
            direction, change = vectors[2 * pair][a:b], vectors[2 * pair + 1][a:b]
            before, now = old[a:b], new[a:b]
            for i in range(b - a):
                change[i] = stored(change[i], now[i] - before[i])
                d[i], y[i], g[i] = number(direction[i]), number(change[i]), now[i]
            for r in range(0, rows, 2):
                _multiply_pair(vectors, r, a, b, d, y, g, products[k])


@kernel
def largest(values: FloatArray, bounds: IndexArray, divisor: FloatArray) -> Any:
    """max |values[i]|/divisor[k] over bounds[k] ≤ i < bounds[k + 1] and all k, NaN if there is one. Divisors are
    positive.

    Without their sign, numbers are ordered as their bits, those of NaN above all; and whole numbers are compared
    several at a time.
    """
    greatest = 0.0
    for k in range(len(divisor)):
        part, top = values[bounds[k] : bounds[k + 1]], np.int64(0)
        for i in range(len(part)):
            top = max(top, bits(part[i]) & 0x7FFFFFFFFFFFFFFF)
        size = from_bits(top) / divisor[k]
        if size != size:
            return size
        greatest = max(greatest, size)
    return greatest


@summing_kernel
def _multiply_pair(
    vectors: npt.NDArray[Any], r: int, a: int, b: int, d: npt.NDArray[Any], y: npt.NDArray[Any], g: npt.NDArray[Any],
    products: FloatArray,
) -> None:  # fmt: skip
    """products[:, r : r + 2] += vectors[r : r + 2, a:b]·(d, y, g). Six sums do not wait for each other."""
    v0, v1, zero = vectors[r][a:b], vectors[r + 1][a:b], d.dtype.type(0.0)
    d0, d1, y0, y1, g0, g1 = zero, zero, zero, zero, zero, zero
    for i in range(b - a):
        one, other = number(v0[i]), number(v1[i])
        d0 += one * d[i]
        d1 += other * d[i]
        y0 += one * y[i]
        y1 += other * y[i]
        g0 += one * g[i]
        g1 += other * g[i]
    products[0, r] += d0
    products[0, r + 1] += d1
    products[1, r] += y0
    products[1, r + 1] += y1
    products[2, r] += g0
    products[2, r + 1] += g1


@kernel
def _take_in(
    gram: FloatArray, with_gradient: FloatArray, length: FloatArray, products: FloatArray, pair: int, step: float
) -> bool:
    """What ``remember`` found, as inner products of s and y: those of the new pair go to ``gram``, those of the new
    gradient to ``with_gradient``. False, and ``gram`` as it was, if the pair is without positive curvature.
    """
    s, y, rows = 2 * pair, 2 * pair + 1, products.shape[2]
    length[s] = step
    sums = np.zeros((3, rows))
    # Loops, since sums of whole arrays take seconds to compile.
    for k in range(len(products)):
        for n in range(3):
            for r in range(rows):
                sums[n, r] += length[r] * products[k, n, r]
    for r in range(rows):
        with_gradient[r] = sums[2, r]
    if not step * sums[0, y] > 1e-14 * sums[1, y]:
        return False
    for r in range(rows):
        gram[s, r] = gram[r, s] = step * sums[0, r]
        gram[y, r] = gram[r, y] = sums[1, r]
    return True


@kernel
def _two_loops(
    gram: FloatArray, with_gradient: FloatArray, length: FloatArray, order: IndexArray, out: FloatArray
) -> Any:
    """out ← the coefficients of −H·g in the basis of stored vectors, and returns the factor of g in H·g.

    ``gram``: the products of s and y, ``with_gradient``: those with g, ``order``: pairs, oldest first, one at least;
    ``length``: how many times as long s and y are as what is stored of them; ``out`` is 0 before. The two loops of the
    textbook run on r = Σ_j out[j]·v_j + g. O(memory²).
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
        out[j] *= -length[j]
    return scale


@kernel
def turn(
    gram: FloatArray, length: FloatArray, products: FloatArray, order: IndexArray, step: float, out: FloatArray
) -> tuple[bool, float]:
    """After ``step`` along the direction of the last pair of ``order``: whether there is positive curvature, for else
    the pair is forgotten; the factor of g in H·g, and in ``out``, 0 before, those of the stored vectors in −H·g.
    ``products``: what ``remember`` found. O(memory²)."""
    with_gradient = np.empty(products.shape[2])
    kept = _take_in(gram, with_gradient, length, products, order[-1], step)
    last = len(order) if kept else len(order) - 1
    if last == 0:
        return kept, 1.0
    return kept, _two_loops(gram, with_gradient, length, order[:last], out)


@summing_kernel
def combine(
    vectors: npt.NDArray[Any],
    factors: FloatArray,
    of_gradient: float,
    gradient: FloatArray,
    pair: int,
    x: FloatArray,
    step: float,
    point: FloatArray,
    bounds: IndexArray,
    slopes: FloatArray,
    total: npt.NDArray[Any],
    first: int,
    last: int,
) -> None:
    """d = factors·vectors[: len(factors)] − of_gradient·gradient goes to row 2·pair of ``vectors`` (which may be one of
    those it comes from);  point ← x + step·d  and  slopes[k] ← gradient·d, of the blocks first ≤ k < last.

    The last block first: ``remember`` ended there, so it is still in the cache.
    """
    for k in range(last - 1, first - 1, -1):
        slope = 0.0
        for a in range(bounds[k], bounds[k + 1], len(total)):
            b = min(a + len(total), bounds[k + 1])
            total[:] = 0
            r = 0
            while r + 4 <= len(factors):
                _add_four(vectors, r, a, b, factors, total)
                r += 4
            if r < len(factors):  # rows come in pairs
                _add_two(vectors, r, a, b, factors, total)
            here, d, old, new = gradient[a:b], vectors[2 * pair][a:b], x[a:b], point[a:b]
            for i in range(b - a):
                d[i] = stored(d[i], total[i] - of_gradient * here[i])
            for i in range(b - a):
                new[i] = old[i] + step * number(d[i])
                slope += here[i] * number(d[i])
        slopes[k] = slope


@summing_kernel
def slope_and_largest(
    gradient: FloatArray, direction: npt.NDArray[Any], bounds: IndexArray, divisor: FloatArray
) -> tuple[float, float]:
    """gradient·direction, in full precision whatever that of the direction; and ``largest`` of the gradient. Both are
    NaN if it has one."""
    slope, greatest = 0.0, 0.0
    for k in range(len(divisor)):
        part, along, top = gradient[bounds[k] : bounds[k + 1]], direction[bounds[k] : bounds[k + 1]], np.int64(0)
        total = 0.0
        for i in range(len(part)):
            total += part[i] * number(along[i])
            top = max(top, bits(part[i]) & 0x7FFFFFFFFFFFFFFF)
        slope += total
        size = from_bits(top) / divisor[k]
        if size != size:
            return size, size
        greatest = max(greatest, size)
    return slope, greatest


@kernel
def go_along(x: FloatArray, step: float, direction: npt.NDArray[Any], point: FloatArray) -> None:
    """point ← x + step·direction."""
    for i in range(len(x)):
        point[i] = x[i] + step * number(direction[i])


@summing_kernel
def _add_four(vectors: npt.NDArray[Any], r: int, a: int, b: int, factors: FloatArray, total: npt.NDArray[Any]) -> None:
    """total += factors[r : r + 4]·vectors[r : r + 4, a:b]."""
    v0, v1, v2, v3 = vectors[r][a:b], vectors[r + 1][a:b], vectors[r + 2][a:b], vectors[r + 3][a:b]
    kind = total.dtype.type
    f0, f1, f2, f3 = kind(factors[r]), kind(factors[r + 1]), kind(factors[r + 2]), kind(factors[r + 3])
    for i in range(b - a):
        total[i] += f0 * number(v0[i]) + f1 * number(v1[i]) + f2 * number(v2[i]) + f3 * number(v3[i])


@summing_kernel
def _add_two(vectors: npt.NDArray[Any], r: int, a: int, b: int, factors: FloatArray, total: npt.NDArray[Any]) -> None:
    """total += factors[r : r + 2]·vectors[r : r + 2, a:b]."""
    v0, v1, kind = vectors[r][a:b], vectors[r + 1][a:b], total.dtype.type
    f0, f1 = kind(factors[r]), kind(factors[r + 1])
    for i in range(b - a):
        total[i] += f0 * number(v0[i]) + f1 * number(v1[i])


@summing_kernel
def add_pull(
    alpha: FloatArray, weights: FloatArray, target: FloatArray | None, cells: IndexArray, amounts: FloatArray,
    starts: IndexArray, gradient: FloatArray, bounds: IndexArray, sums: FloatArray, first: int, last: int,
) -> None:  # fmt: skip
    """gradient += α∘weights − T and sums[k] ← Σ ½·α·weights² − weights·T, of the blocks first ≤ k < last.
    ``alpha``: one a weight, or one for all. T is ``target`` (None: 0) plus ``amounts`` at ``cells``, those of block k
    from starts[k] on."""
    for k in range(first, last):
        w, g, total = weights[bounds[k] : bounds[k + 1]], gradient[bounds[k] : bounds[k + 1]], 0.0
        strengths = alpha[bounds[k] : bounds[k + 1]]
        for i in range(len(w)):
            pull = (alpha[0] if len(alpha) == 1 else strengths[i]) * w[i]
            g[i] += pull
            total += 0.5 * pull * w[i]
        if target is not None:
            wanted = target[bounds[k] : bounds[k + 1]]
            for i in range(len(w)):
                g[i] -= wanted[i]
                total -= w[i] * wanted[i]
        for n in range(starts[k], starts[k + 1]):
            gradient[cells[n]] -= amounts[n]
            total -= weights[cells[n]] * amounts[n]
        sums[k] = total
