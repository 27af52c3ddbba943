"""Sums and products of vectors as long as the weights, each in one pass over memory.

Vectors are cut into blocks at ``bounds``, by their length alone; sums are taken block by block, so that they do not
depend on who works on which. Within a block terms may be added in any order that the compiler likes: vectors of sums
are several times as fast as one sum, and the order is the same in every run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import FloatArray, IndexArray
from tiltfit.kernels.compile import kernel, summing_kernel
from tiltfit.kernels.halves import bits, from_bits, number, stored

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
    """y = new − old goes to row 2·pair + 1 of ``vectors``;  products[k] ← vectors[:rows]·(y, new), of the blocks
    first ≤ k < last. ``piece``: room for what is worked on, in the precision of sums, [2, PIECE]. Four rows at a time.
    """
    y, g = piece[0], piece[1]
    for k in range(first, last):
        products[k] = 0.0
        for a in range(bounds[k], bounds[k + 1], len(y)):
            b = min(a + len(y), bounds[k + 1])
            # A row first, then a slice of it: of such a slice Numba knows that it is contiguous.
            change, before, now = vectors[2 * pair + 1][a:b], old[a:b], new[a:b]
            for i in range(b - a):
                y[i], g[i] = now[i] - before[i], now[i]
            _round(y, change)
            for r in range(0, rows, 4):
                _multiply_four(vectors, r, a, b, y, g, products[k])


@kernel
def _round(values: npt.NDArray[Any], kept: npt.NDArray[Any]) -> None:
    """``kept`` ← the first of ``values``, which become what is kept of them. In a separate loop, which takes twice as
    many numbers at a time as loops that have to do with double precision."""
    for i in range(len(kept)):
        short = stored(kept[i], values[i])
        kept[i] = short
        values[i] = number(short)


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
def _multiply_four(
    vectors: npt.NDArray[Any], r: int, a: int, b: int, y: npt.NDArray[Any], g: npt.NDArray[Any], products: FloatArray
) -> None:
    """products[:, r : r + 4] += vectors[r : r + 4, a:b]·(y, g). Eight sums do not wait for each other."""
    v0, v1, v2, v3 = vectors[r][a:b], vectors[r + 1][a:b], vectors[r + 2][a:b], vectors[r + 3][a:b]
    zero = y.dtype.type(0.0)
    y0, y1, y2, y3, g0, g1, g2, g3 = zero, zero, zero, zero, zero, zero, zero, zero
    for i in range(b - a):
        n0, n1, n2, n3 = number(v0[i]), number(v1[i]), number(v2[i]), number(v3[i])
        y0 += n0 * y[i]
        y1 += n1 * y[i]
        y2 += n2 * y[i]
        y3 += n3 * y[i]
        g0 += n0 * g[i]
        g1 += n1 * g[i]
        g2 += n2 * g[i]
        g3 += n3 * g[i]
    for n, total in enumerate((y0, y1, y2, y3)):
        products[0, r + n] += total
    for n, total in enumerate((g0, g1, g2, g3)):
        products[1, r + n] += total


@kernel
def _take_in(
    gram: FloatArray, with_gradient: FloatArray, length: FloatArray, products: FloatArray, pair: int, step: float
) -> bool:
    """Enter what ``remember`` found as inner products of s and y: those of the new y go to ``gram``, those of the new
    gradient to ``with_gradient``. False, and ``gram`` as it was, if the pair is without positive curvature.

    Products of the new s with older vectors are not needed: ``_two_loops`` looks at s and y of the same pair,
    or of a newer one.
    """
    s, y, rows = 2 * pair, 2 * pair + 1, products.shape[2]
    length[s] = step
    sums = np.zeros((2, rows))
    # Loops, since sums of whole arrays take seconds to compile.
    for k in range(len(products)):
        for n in range(2):
            for r in range(rows):
                sums[n, r] += length[r] * products[k, n, r]
    for r in range(rows):
        with_gradient[r] = sums[1, r]
    if not sums[0, s] > 1e-14 * sums[0, y]:
        return False
    for r in range(rows):
        gram[y, r] = gram[r, y] = sums[0, r]
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
    kind = total.dtype.type
    for k in range(last - 1, first - 1, -1):
        slope = 0.0
        for a in range(bounds[k], bounds[k + 1], len(total)):
            b = min(a + len(total), bounds[k + 1])
            total[:] = 0
            for r in range(0, len(factors), 4):
                _add_four(vectors, r, a, b, factors, total)
            here, d, old, new = gradient[a:b], vectors[2 * pair][a:b], x[a:b], point[a:b]
            for i in range(b - a):
                total[i] -= kind(of_gradient) * kind(here[i])
            _round(total, d)
            for i in range(b - a):
                change = total[i]
                new[i] = old[i] + step * change
                slope += here[i] * change
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
def add_pull(
    alpha: FloatArray, weights: FloatArray, target: FloatArray | None, cells: IndexArray, amounts: FloatArray,
    starts: IndexArray, gradient: FloatArray, bounds: IndexArray, sums: FloatArray, first: int, last: int,
) -> None:  # fmt: skip
    """gradient += α∘weights − T and sums[k] ← Σ ½·α·weights² − weights·T, of the blocks first ≤ k < last.
    ``alpha``: one per weight, or one for all. T is ``target`` (None: 0) plus ``amounts`` at ``cells``, those of block k
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
