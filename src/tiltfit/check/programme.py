"""The expectations that can be had together, as a linear programme.

    x[p, y] ≥ 0,  Σ_y x[p, y] = 1,   m_r = (known_r + Σ_p n_p Σ_{y ∈ S_r} x[p, y]) / c_r,   low_r ≤ m_r ≤ high_r

Positions with the same statements are exchangeable: replacing q at each by their mean changes no m. So there is one
distribution x[p, ·] per *pattern* p of statements, shared by its n_p positions, and the programme is exact: some q has
these expectations if and only if some x has.

That holds for statements about labels of single positions. Labels that no statement tells apart are one column.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from tiltfit.arrays import BoolArray, FloatArray, IntArray
from tiltfit.check.support import Data, places_of
from tiltfit.language.conditions import Column
from tiltfit.language.constraint import Constraint, ConstraintSet
from tiltfit.language.event import indicator
from tiltfit.language.values import Label

ROUNDING = 1e-6  # shares that differ by less are the same: the solver is exact to 1e-7

_LARGE = 5_000  # unknowns from which on interior points are faster than the simplex method: six times at 50,000


@dataclass(frozen=True, eq=False)
class Relaxed:
    """``total``: the least sum by which elastic statements must give way; ``down`` and ``up``: how far the lower and
    the upper end of each one moves. ``active``: the statements that it is due to, those with the largest multipliers
    first. ``point``: an x that attains it."""

    point: FloatArray
    total: float
    down: FloatArray
    up: FloatArray
    active: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Programme:
    """``rows @ x + known`` are the expectations m; ``owner[r]`` is the statement of row r. ``ruled_out``: entries of x
    that sets in y leave no room for. ``shape``: patterns × columns of labels."""

    rows: sparse.csr_array
    known: FloatArray
    owner: IntArray
    low: FloatArray
    high: FloatArray
    ruled_out: BoolArray
    shape: tuple[int, int]

    @staticmethod
    def of(statements: Sequence[Statement], banned: BoolArray | None) -> Programme:
        """``banned``: labels that y rules out (positions × classes)."""
        patterns = Patterns.of(statements, banned)
        # The distinct sets of labels that are ruled out.
        sets = np.zeros_like(statements[0].labels[None]) if banned is None else np.unique(banned, axis=0)
        columns = np.unique(np.vstack([*(s.labels for s in statements), *sets]), axis=1)
        n = len(statements)
        ruled_out = columns[n:].astype(np.bool_)[patterns.ruled_out].ravel()
        built = [_rows_of(s, patterns, k, columns[k].astype(np.bool_)) for k, s in enumerate(statements)]
        owner = np.repeat(np.arange(n), [len(known) for _, known in built])
        return Programme(
            rows=sparse.csr_array(sparse.vstack([rows for rows, _ in built], format="csr")),
            known=np.concatenate([known for _, known in built]),
            owner=owner,
            low=np.array([s.low for s in statements])[owner],
            high=np.array([s.high for s in statements])[owner],
            ruled_out=ruled_out,
            shape=(len(patterns.size), columns.shape[1]),
        )

    @property
    def size(self) -> int:
        """Unknowns and rows: what it costs to solve it once."""
        return self.shape[0] * self.shape[1] + len(self.known)

    def rows_of(self, statement: int) -> IntArray:
        return np.flatnonzero(self.owner == statement)

    def relax(self, elastic: Collection[int], firm: Collection[int] = ()) -> Relaxed:
        """min Σ_k (down_k + up_k) such that low_k − down_k ≤ m_r ≤ high_k + up_k for the rows r of every elastic
        statement k, while the firm ones hold."""
        which = np.array(sorted(elastic), dtype=np.intp)
        n, k = self.rows.shape[1], int(self.owner.max(initial=-1)) + 1
        matrix, bound, rows = self._inequalities([*which.tolist(), *firm])
        gives = np.isin(self.owner[np.abs(rows) - 1], which)
        column = np.where(rows > 0, k, 0) + self.owner[np.abs(rows) - 1]  # the lower ends first, then the upper ones
        at = np.flatnonzero(gives)
        slack = sparse.csr_array((-np.ones(len(at)), (at, column[at])), shape=(len(rows), 2 * k))
        cost = np.concatenate([np.zeros(n), np.ones(2 * k)])
        found = self._solve(cost, sparse.hstack([matrix, slack], format="csr"), bound)
        assert found.status == 0, found.message  # whatever is elastic has a solution, and the sum is bounded
        moved = found.x[n:]
        owner = self.owner[np.abs(rows) - 1]
        weight = np.bincount(owner, np.abs(found.ineqlin.marginals), minlength=k)
        active = tuple(int(i) for i in np.argsort(-weight, kind="stable") if weight[i] > ROUNDING)
        return Relaxed(found.x[:n], float(found.fun), moved[:k], moved[k:], active)

    def is_feasible(self, statements: Collection[int]) -> bool:
        return self.relax(statements).total <= ROUNDING

    def extreme(self, row: int, firm: Collection[int], *, largest: bool) -> tuple[float, tuple[int, ...]]:
        """The smallest or largest m of a row that the firm statements allow, and those of them that it is due to; NaN
        if rounding leaves no solution."""
        matrix, bound, rows = self._inequalities(list(firm))
        sign = -1.0 if largest else 1.0
        found = self._solve(sign * self.rows[[row]].toarray().ravel(), matrix, bound)
        if found.status != 0:
            return float(np.nan), ()
        held = np.abs(found.ineqlin.marginals) > ROUNDING
        due = tuple(sorted({int(self.owner[abs(r) - 1]) for r in rows[held]}))
        return sign * float(found.fun) + float(self.known[row]), due

    def free(self, row: int, *, largest: bool) -> float:
        """The smallest or largest m of a row where nothing else is stated: each pattern has its best label."""
        weight = self.rows[[row]].toarray().reshape(self.shape)
        allowed = ~self.ruled_out.reshape(self.shape)
        best = (
            np.where(allowed, weight, -np.inf).max(axis=1) if largest else np.where(allowed, weight, np.inf).min(axis=1)
        )
        return float(best.sum() + self.known[row])

    def around(self, row: int, point: FloatArray) -> Programme:
        """The patterns of one row alone, while x stays at ``point`` in all others: smaller, and what is possible in it
        is possible."""
        columns = self.shape[1]
        inside = np.zeros(self.shape, dtype=np.bool_)
        inside[np.unique(self.rows[[row]].indices // columns)] = True
        here = inside.ravel()
        return replace(
            self,
            rows=self.rows[:, here],
            known=self.known + self.rows[:, ~here] @ point[~here],
            ruled_out=self.ruled_out[here],
            shape=(int(here.sum()) // columns, columns),
        )

    def _inequalities(self, statements: list[int]) -> tuple[sparse.csr_array, FloatArray, IntArray]:
        """matrix @ x ≤ bound, and what each line says: +(r + 1) that m_r is at most, −(r + 1) that it is at least."""
        mine = np.isin(self.owner, np.array(statements, dtype=np.intp))
        above, below = np.flatnonzero(mine & np.isfinite(self.high)), np.flatnonzero(mine & np.isfinite(self.low))
        matrix = sparse.vstack([self.rows[above], -self.rows[below]], format="csr")
        bound = np.concatenate([(self.high - self.known)[above], (self.known - self.low)[below]])
        return sparse.csr_array(matrix), bound, np.concatenate([above + 1, -below - 1])

    def _solve(self, cost: FloatArray, matrix: Any, bound: FloatArray) -> Any:
        from scipy.optimize import linprog

        patterns, columns = self.shape
        extra = len(cost) - patterns * columns
        one = sparse.kron(sparse.eye_array(patterns), np.ones((1, columns)), format="csr")
        sums: Any = sparse.hstack([one, sparse.csr_array((patterns, extra))], format="csr")
        upper = np.concatenate([np.where(self.ruled_out, 0.0, 1.0), np.full(extra, np.inf)])
        bounds: Any = np.column_stack([np.zeros(len(cost)), upper])
        method: Any = "highs-ipm" if len(cost) > _LARGE else "highs"
        return linprog(cost, matrix, bound, sums, np.ones(patterns), bounds, method=method)


@dataclass(frozen=True, eq=False)
class Patterns:
    """``size``: the number of positions of each pattern. ``group``: patterns × statements, the group that its positions
    are in, or −1. ``ruled_out``: the number of the set of labels that y rules out there."""

    size: FloatArray
    group: IntArray
    ruled_out: IntArray

    @staticmethod
    def of(statements: Sequence[Statement], banned: BoolArray | None) -> Patterns:
        """Statements split the positions further and further: those of each statement get new numbers."""
        n = 1 + max((int(s.at.max(initial=-1)) for s in statements), default=-1)
        number, used = np.zeros(n, dtype=np.intp), 1
        for s in statements:
            split = number[s.at] * (1 + s.group.max(initial=0)) + s.group
            found, which = np.unique(split, return_inverse=True)
            number[s.at] = used + which
            used += len(found)
        touched = np.flatnonzero(number)
        if banned is not None:
            which_set = np.unique(banned, axis=0, return_inverse=True)[1].ravel()
            number[touched] = number[touched] * (1 + which_set.max(initial=0)) + which_set[touched]
        _, at, inverse, size = np.unique(number[touched], return_index=True, return_inverse=True, return_counts=True)
        pattern = np.full(n, -1, dtype=np.intp)
        pattern[touched] = inverse
        group = np.full((len(size), len(statements)), -1, dtype=np.intp)
        for k, s in enumerate(statements):
            group[pattern[s.at], k] = s.group
        ruled_out = np.zeros(len(size), dtype=np.intp) if banned is None else which_set[touched[at]]
        return Patterns(size.astype(np.float64), group, ruled_out)


def _rows_of(
    statement: Statement, patterns: Patterns, number: int, labels: BoolArray
) -> tuple[sparse.csr_array, FloatArray]:
    """The rows of one statement over the entries of x, and what known labels add to each."""
    code = patterns.group[:, number]
    at, inside = np.flatnonzero(code >= 0), np.flatnonzero(labels)
    if statement.each:  # stated of every position: each pattern is a group, in which one position is like the other
        group, share = np.arange(len(at)), np.ones(len(at))
        n, known = len(at), np.zeros(len(at))
    else:
        group, share = code[at], patterns.size[at] / statement.count[code[at]]
        n, known = len(statement.count), statement.known / statement.count
    entry = (at[:, None] * len(labels) + inside[None, :]).ravel()
    values = np.repeat(share, len(inside))
    shape = (n, len(code) * len(labels))
    return sparse.csr_array((values, (np.repeat(group, len(inside)), entry)), shape=shape), known


@dataclass(frozen=True, eq=False)
class Statement:
    """low ≤ m ≤ high for the share m of ``labels`` (a mask over the classes) in every group of positions.

    ``number``: of its constraint; ``component``: the class of a distribution, else None. ``at``: the positions that the
    constraint looks at and whose label is open, ``group``: the group of each. ``count``: the size of each group,
    ``known``: how many known labels of it are among ``labels`` (both count known labels only under ``on="all"``).
    ``each``: it is stated of every single position, and there is one group. ``hard``: it must hold; a soft one is
    stated as low = high = target.
    """

    number: int
    at: IntArray
    group: IntArray
    labels: BoolArray
    low: float
    high: float
    hard: bool
    count: FloatArray
    known: FloatArray
    each: bool = False
    component: Label | None = None


def states_labels(constraint: Constraint) -> bool:
    """True if it is about labels of single positions, so it can be stated in a linear programme over them."""
    return constraint.of is None and constraint.event.place is not None


def statements_of(constraints: ConstraintSet, data: Data, usable: tuple[int, ...]) -> list[Statement]:
    """The constraints on labels of single positions that find an open one."""
    found = (s for k in usable if states_labels(constraints[k]) for s in _statements(k, constraints[k], data))
    return [s for s in found if len(s.count)]


def _statements(number: int, constraint: Constraint, data: Data) -> Iterator[Statement]:
    group, each = _groups(constraint, data)
    looked_at, is_open = places_of(constraint, data)[0], data.open_positions
    counted = np.flatnonzero(looked_at if constraint.on == "all" and not each else looked_at & is_open)
    which, code = np.unique(group[counted], return_inverse=True)
    count = np.bincount(code, minlength=len(which)).astype(np.float64)
    mine = is_open[counted]
    classes = list(data.sample.classes)
    named = indicator(constraint.event.names, classes) > 0
    for target in constraint.targets(classes):
        labels = named if target.label is None else np.arange(len(classes)) == target.number
        hits = ~mine & labels[data.sample.labels[counted]]  # a label is known where it is not open
        known = np.bincount(code[hits], minlength=len(which)).astype(np.float64)
        yield Statement(
            number, counted[mine], code[mine], labels, target.low, target.high, constraint.is_hard, count, known, each,
            target.label,
        )  # fmt: skip


def _groups(constraint: Constraint, data: Data) -> tuple[IntArray, bool]:
    """The group of every position, and whether each position is one."""
    if isinstance(constraint.per, Column):
        values = data.sample.inputs.column(constraint.per.name)
        return np.unique(values.astype(str), return_inverse=True)[1].astype(np.intp), False
    if not constraint.is_local:
        return np.zeros(data.n, dtype=np.intp), False
    if data.is_sequences and constraint.event.place == "all":
        return data.sample.instance, False
    return np.zeros(data.n, dtype=np.intp), True  # documents, and the first or last token of sequences
