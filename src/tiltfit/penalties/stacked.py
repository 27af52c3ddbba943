"""Rows of several penalties side by side: U(m) = Σ_blocks U_b(m_b)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tiltfit.arrays import BoolArray, FloatArray, IntArray
from tiltfit.penalties.penalty import Penalty


@dataclass(frozen=True, eq=False)
class Stacked(Penalty):
    """U(m) = Σ_b U_b(m[b]), blocks one after the other."""

    blocks: tuple[Penalty, ...]

    def __len__(self) -> int:
        return sum(len(block) for block in self.blocks)

    def take(self, rows: IntArray) -> Penalty:
        starts = np.array(self._starts())
        of_block = np.searchsorted(starts, rows, side="right") - 1
        runs = np.split(np.arange(len(rows)), np.flatnonzero(np.diff(of_block)) + 1)  # at least one, if without rows
        blocks = (int(of_block[run[0]]) if len(run) else 0 for run in runs)
        return stack([self.blocks[b].take(rows[run] - starts[b]) for b, run in zip(blocks, runs, strict=True)])

    def times(self, factor: FloatArray) -> Penalty:
        return Stacked(tuple(block.times(f) for block, f in zip(self.blocks, self._cut(factor), strict=True)))

    @property
    def hard(self) -> BoolArray:
        return np.concatenate([block.hard for block in self.blocks])

    def softened(self, slack: FloatArray) -> Penalty:
        return Stacked(tuple(block.softened(s) for block, s in zip(self.blocks, self._cut(slack), strict=True)))

    def squared(self) -> Penalty:
        blocks = tuple(block.squared() for block in self.blocks)
        return self if all(a is b for a, b in zip(blocks, self.blocks, strict=True)) else Stacked(blocks)

    def value(self, m: FloatArray) -> FloatArray:
        return self._map(lambda block, a: block.value(a), m)

    def conjugate(self, eta: FloatArray) -> FloatArray:
        return self._map(lambda block, a: block.conjugate(a), eta)

    def grad_conjugate(self, eta: FloatArray) -> FloatArray:
        return self._map(lambda block, a: block.grad_conjugate(a), eta)

    def curvature_conjugate(self, eta: FloatArray) -> FloatArray:
        return self._map(lambda block, a: block.curvature_conjugate(a), eta)

    def dual_bounds(self) -> tuple[FloatArray, FloatArray]:
        return _join_pairs([block.dual_bounds() for block in self.blocks])

    def domain(self) -> tuple[FloatArray, FloatArray]:
        return _join_pairs([block.domain() for block in self.blocks])

    def violation(self, m: FloatArray) -> FloatArray:
        return self._map(lambda block, a: block.violation(a), m)

    def grad(self, m: FloatArray) -> FloatArray | None:
        grads = [block.grad(a) for block, a in zip(self.blocks, self._cut(m), strict=True)]
        smooth = [g for g in grads if g is not None]
        return _join(smooth) if len(smooth) == len(grads) else None

    def instance_form(self) -> tuple[IntArray, FloatArray]:
        forms = [block.instance_form() for block in self.blocks]
        return np.concatenate([kind for kind, _ in forms]), np.concatenate([values for _, values in forms])

    def parts(self) -> tuple[Penalty, IntArray]:
        split = [block.parts() for block in self.blocks]
        origins = [origin + start for (_, origin), start in zip(split, self._starts(), strict=True)]
        return stack([part for part, _ in split]), np.concatenate(origins)

    def _starts(self) -> list[int]:
        return list(np.cumsum([0, *(len(block) for block in self.blocks)])[:-1])

    def _cut(self, values: FloatArray) -> list[FloatArray]:
        return np.split(values, self._starts()[1:])

    def _map(self, method: Callable[[Penalty, FloatArray], FloatArray], values: FloatArray) -> FloatArray:
        return _join([method(block, a) for block, a in zip(self.blocks, self._cut(values), strict=True)])


def stack(penalties: Sequence[Penalty]) -> Penalty:
    """One penalty for all rows, neighbours of one kind joined into one block."""
    blocks: list[Penalty] = []
    for penalty in penalties:
        blocks.extend(penalty.blocks if isinstance(penalty, Stacked) else [penalty])
    joined = [_concatenate(list(run)) for _, run in itertools.groupby(blocks, key=type)]
    return joined[0] if len(joined) == 1 else Stacked(tuple(joined))


def _concatenate(run: list[Penalty]) -> Penalty:
    if len(run) == 1:
        return run[0]
    return type(run[0])(*map(np.concatenate, zip(*(block._arrays for block in run), strict=True)))


def _join(arrays: Sequence[FloatArray]) -> FloatArray:
    return np.concatenate(arrays) if arrays else np.empty(0)


def _join_pairs(pairs: Sequence[tuple[FloatArray, FloatArray]]) -> tuple[FloatArray, FloatArray]:
    return _join([low for low, _ in pairs]), _join([high for _, high in pairs])
