"""The benchmarks run on generated documents, and their figures mean what they say. No real data needed."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import maxent, memory, scaling
from benchmarks.documents import generate
from benchmarks.interleaved import take_turns
from benchmarks.page import write_section

from tiltfit.execution.workers import Workers

pytestmark = pytest.mark.filterwarnings("ignore")  # fits are stopped early on purpose


@pytest.fixture(scope="module")
def documents():
    return generate(300, n_words=400, n_classes=3, length=30)


def test_generated_documents_are_the_same_each_time_and_sorted(documents):
    again = generate(300, n_words=400, n_classes=3, length=30)
    assert (documents.X != again.X).nnz == 0
    assert documents.X.has_canonical_format
    assert documents.X.sum() == 300 * 30
    assert documents.csr_bytes == documents.X.nnz * 12 + 301 * 4


def test_contestants_take_turns_and_the_first_is_not_timed():
    order = []

    def run(name, units):
        order.append(name)
        return units

    timings = take_turns({"a": lambda: run("a", 1.0), "b": lambda: run("b", 1e9)}, 2)
    assert order == ["a", "b"] * 3
    assert timings["b"].seconds < timings["a"].seconds
    assert timings["a"].turns == 2


def test_the_whole_report(documents, monkeypatch):
    monkeypatch.setattr(memory, "_ask", lambda *_: 1000)  # other processes have their own test
    result = maxent.measure(documents, n_iter=5, turns=1, fit_turns=1)
    assert result["fit"]["converged"] == {"constraints": True, "labels": True}
    assert result["fit"]["constraints"] == 3 * 15
    assert result["memory"][0]["traced"] == documents.csr_bytes + 1000
    text = maxent.as_markdown(result)
    assert "20 newsgroups" not in text
    assert "| scikit-learn (lbfgs) |" in text
    result["iteration"]["ratio_one"], result["fit"]["ratio"] = 1.9, 1.0
    assert maxent.missed(result) == ["M-projection on one thread"]


def test_both_libraries_minimise_the_same_objective(documents):
    from sklearn.linear_model import LogisticRegression

    ours = maxent.supervised_projection(documents, Workers(1), 300)
    theirs = LogisticRegression(C=1 / maxent.ALPHA, tol=1e-10, max_iter=2000).fit(documents.X, documents.labels)
    assert ours.value == pytest.approx(maxent._objective(documents, theirs), rel=1e-8)


@pytest.mark.parametrize("kind", memory.KINDS)
def test_a_fit_never_makes_a_dense_matrix(kind):
    documents = generate(400, n_words=30_000, n_classes=2, length=40)
    peak = memory._peak_of_fit(documents, kind, "traced", 3)
    assert 0 < peak < 8 * documents.X.shape[0] * documents.X.shape[1] / 4


def test_memory_is_measured_in_processes_of_their_own(documents):
    found = memory.measure(documents, "labels", max_iter=2)
    assert found["traced"] > documents.csr_bytes


def test_cost_against_n():
    row = scaling.measure(300, n_words=500)
    assert row["iterations"] <= scaling.MAX_ITER
    assert 0 < row["iteration"] < row["fit"]
    rows = [{**row, "n": n, "iteration": 1e-6 * n, "fit": 1e-5 * n} for n in scaling.SIZES]
    assert scaling.slope(rows, "iteration") == pytest.approx(1.0)
    assert np.isnan(scaling.slope(rows[:1], "fit"))
    assert "1.00 for an iteration" in scaling.as_markdown(rows)


def test_each_command_writes_its_own_section(tmp_path):
    page = tmp_path / "benchmarks.md"
    write_section("one", "first", page)
    write_section("two", "other", page)
    write_section("one", "third", page)
    text = page.read_text()
    assert "first" not in text
    assert text.index("third") < text.index("other\n")
