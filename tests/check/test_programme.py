"""The linear programme against mixtures of all labellings, with known labels, sets, groups, instances and sequences."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from tiltfit import Constraint, ConstraintSet, column, expect, word
from tiltfit.check import programme
from tiltfit.check.programme import Programme, statements_of
from tiltfit.check.support import Data
from tiltfit.language.events import End, Labels, Start
from tiltfit.language.expect import Expectation

CLASSES = ("a", "b", "c")
WORDS = np.array(["u", "v", "w"])
Position = dict[str, Any]
Row = tuple[int, frozenset[int], frozenset[str]]


def rows_of(number: int, c: Constraint, positions: Sequence[Position], is_sequences: bool) -> list[Row]:
    """Every expectation of a constraint: whose, of which positions, of which labels."""
    groups: dict[object, set[int]] = {}
    single = c.per in ("instance", "sequence") and not (is_sequences and isinstance(c.event, Labels))
    for i, p in enumerate(positions):
        there = (not isinstance(c.event, Start) or p["first"]) and (not isinstance(c.event, End) or p["last"])
        fires = c.given is None or {*c.given.words} <= p["words"]
        if there and fires and (p["open"] or (c.on == "all" and not single)):
            key = i if single else p["sequence"] if c.per == "sequence" else p["county"] if c.per != "dataset" else 0
            groups.setdefault(key, set()).add(i)
    names = frozenset(map(str, c.event.names))
    return [(number, frozenset(g), names) for g in groups.values()]


def least_total(rows: Sequence[Row], constraints: Sequence[Constraint], positions: Sequence[Position]) -> float:
    """The smallest sum of slacks, one for each end of each constraint, over mixtures of labellings that y allows."""
    labellings = list(itertools.product(*(p["allowed"] for p in positions)))
    n, k = len(labellings), len(constraints)
    matrix, ends = [], []
    for number, at, names in rows:
        m = np.array([np.mean([labels[i] in names for i in at]) for labels in labellings])
        for sign, end in zip((-1.0, 1.0), constraints[number].relation.interval, strict=True):
            if math.isfinite(end):
                slack = np.zeros(2 * k)
                slack[2 * number + (sign > 0)] = -1
                matrix.append(np.concatenate([sign * m, slack]))
                ends.append(sign * end)
    if not matrix:
        return 0.0
    is_slack = np.arange(n + 2 * k) >= n
    found = linprog(is_slack.astype(float), np.array(matrix), ends, (~is_slack)[None].astype(float), [1.0])
    assert found.fun is not None
    return float(found.fun)


def known(rng: np.random.Generator) -> Any:
    """A label, a set of labels, or nothing."""
    kind = rng.integers(4)
    if kind == 0:
        return str(rng.choice(CLASSES))
    return {str(c) for c in rng.choice(CLASSES, 2, replace=False)} if kind == 1 else None


def stated(rng: np.random.Generator, k: int, is_sequences: bool) -> Constraint:
    labels = [str(c) for c in rng.choice(CLASSES, rng.integers(1, 3), replace=False)]
    kinds: list[Callable[..., Expectation]] = [expect, expect.start, expect.end] if is_sequences else [expect]
    scopes: list[Any] = ["dataset", "sequence" if is_sequences else "instance", column("county")]
    given = word(str(rng.choice(WORDS))) if rng.random() < 0.6 else None
    event = kinds[rng.integers(len(kinds))](
        *labels, given=given, per=scopes[rng.integers(3)], on=str(rng.choice(["all", "unlabelled"]))
    )
    low, high = np.sort(rng.integers(0, 11, 2) / 10).tolist()
    how = rng.integers(3)
    if how == 0:
        return event.at_least(low, name=str(k))
    return event.at_most(high, name=str(k)) if how == 1 else event.between(low, high, name=str(k))


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("is_sequences", [False, True])
def test_least_relaxation_is_that_of_enumeration(
    seed: int, is_sequences: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if seed % 2:
        monkeypatch.setattr(programme, "_LARGE", 0)  # by interior points, as large ones are
    rng = np.random.default_rng([seed, is_sequences])
    lengths = [2, 1, 3] if is_sequences else [1] * 5
    counties = rng.choice(["x", "y"], len(lengths)).tolist()
    positions: list[Position] = []
    for s, length in enumerate(lengths):
        for t in range(length):
            words = {str(rng.choice(WORDS))} if is_sequences else {str(w) for w in rng.choice(WORDS, rng.integers(4))}
            place = {"first": t == 0, "last": t == length - 1, "sequence": s, "county": counties[s]}
            positions.append({"words": words, "y": known(rng), **place})
    if all(isinstance(p["y"], str) for p in positions):
        positions[0]["y"] = None
    for p in positions:
        p["open"] = not isinstance(p["y"], str)
        p["allowed"] = [p["y"]] if not p["open"] else sorted(p["y"] or CLASSES)
    constraints = [stated(rng, k, is_sequences) for k in range(4)]
    try:
        said = ConstraintSet(tuple(constraints), CLASSES)
    except ValueError:  # two contradict each other whatever the data
        return
    rest = iter([" ".join(sorted(p["words"])) for p in positions])
    labels = iter([p["y"] for p in positions])
    X: Any = [[next(rest) for _ in range(n)] for n in lengths] if is_sequences else np.array(list(rest))
    y: Any = [[next(labels) for _ in range(n)] for n in lengths] if is_sequences else list(labels)
    data = Data.of(said, {"tokens" if is_sequences else "text": X, "county": np.array(counties)}, y)
    assert data.is_sequences == is_sequences
    statements = statements_of(said, data, tuple(range(len(said))))
    expected = [r for k, c in enumerate(constraints) for r in rows_of(k, c, positions, is_sequences)]
    if not statements:
        assert not expected
        return
    found = Programme.of(statements, data.sample.banned).relax(range(len(statements)))
    assert found.total == pytest.approx(least_total(expected, constraints, positions), abs=1e-6)
