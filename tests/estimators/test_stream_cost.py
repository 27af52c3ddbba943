"""A stream costs its non-zeros: a step looks at no more rows of weights than its instances have attributes."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy import sparse

from tiltfit import TiltClassifier, TiltTagger, expect, word
from tiltfit.optimize.lazy import Adaptive, LazyTable, Printed

WIDE = 1_000_000


def rows(n, width, seed=0):
    """Ten non-zeros a row, anywhere."""
    rng = np.random.default_rng(seed)
    columns = np.concatenate([rng.choice(width, 10, replace=False) for _ in range(n)])
    arrays = (np.ones(10 * n), columns, np.arange(0, 10 * n + 1, 10))
    return sparse.csr_array(arrays, shape=(n, width))


@pytest.mark.parametrize("rule", [Adaptive, Printed])
def test_no_step_sweeps_over_a_million_rows(rule, monkeypatch):
    touched = []
    plain = rule.rows

    def counted(self, table, which, clock, size):
        touched.append((len(table.value), len(which)))
        return plain(self, table, which, clock, size)

    monkeypatch.setattr(rule, "rows", counted)
    monkeypatch.setattr(LazyTable, "copy", lambda self: pytest.fail("partial_fit copied all weights"))
    steps = "adaptive" if rule is Adaptive else "printed"
    model = TiltClassifier(classes=["a", "b"], online={"steps": steps, "batch_size": 4})
    for seed in range(3):
        model.partial_fit(rows(20, WIDE, seed), ["a", "b"] * 10)
    assert touched
    assert {n for n, _ in touched} == {WIDE + 1}
    assert max(n for _, n in touched) <= 4 * 10 + 1
    assert np.sum(model.stream_.learner.nodes.settled > 0) <= 60 * 10 + 1


def test_a_tagger_looks_at_the_attributes_of_its_tokens_alone(monkeypatch):
    touched = []
    plain = Adaptive.rows

    def counted(self, table, which, clock, size):
        touched.append(len(which))
        return plain(self, table, which, clock, size)

    monkeypatch.setattr(Adaptive, "rows", counted)
    model = TiltTagger([expect("a", given=word("x")).about(0.9)], classes=["a", "b"], features={"hashing": 2**16})
    model.partial_fit([["x", "y"], ["z"]])
    assert 0 < max(touched) < 200


def test_time_does_not_grow_with_the_width():
    """A thousand times the columns in less than four times the time; a sweep would take hundreds of times as long."""

    def seconds(width):
        model = TiltClassifier([expect("a").about(0.5)], classes=["a", "b"], online={"batch_size": 1})
        X, y = rows(40, width), ["a", None] * 20
        model.partial_fit(X, y)
        best = np.inf
        for _ in range(5):
            start = time.perf_counter()
            model.partial_fit(X, y)
            best = min(best, time.perf_counter() - start)
        return best

    narrow = seconds(1000)
    assert seconds(WIDE) < 4 * narrow
