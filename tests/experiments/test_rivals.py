"""The comparison of methods on a generated collection, and the words that its oracle labels."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from benchmarks.labelled_words import load_task
from experiments import development
from experiments.command import run
from experiments.oracle_words import LabelledWord, oracle_words
from experiments.rivals import cells as rivals_cells
from experiments.rivals.__main__ import QUICK
from experiments.rivals.cells import TEN, Rival, Setup, some_labels, split_of
from experiments.rivals.plan import FEW_LABELS, UNLABELLED
from scipy import sparse

CLASSES = ("earth", "fire", "water")


@pytest.fixture
def collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """180 texts of ten words, six of them from the label's own ten; test texts say so."""
    rng = np.random.default_rng(3)
    rows = []
    for i in range(180):
        label, part = CLASSES[i % 3], "test" if i % 5 == 0 else "train"
        words = [f"{label}{j}" for j in rng.integers(0, 10, 6)] + [f"plain{j}" for j in rng.integers(0, 20, 4)]
        rows.append(
            {"id": i, "label": label, "split": part, "text": " ".join([*words, *["unseen"] * (part == "test")])}
        )
    (tmp_path / "youtube").mkdir()
    with gzip.open(tmp_path / "youtube" / "youtube.jsonl.gz", "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)
    monkeypatch.setenv("TILTFIT_DATA", str(tmp_path))
    _forget()
    yield tmp_path
    _forget()


def _forget() -> None:
    for cached in (
        development.development_part,
        development.development_split,
        development.features,
        rivals_cells.split_of,
        rivals_cells._counts,
        rivals_cells._stopped,
        rivals_cells._tfidf,
        rivals_cells._words,
    ):
        cached.cache_clear()


@pytest.mark.slow
def test_the_quick_run_prints_and_writes(collection: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    assert run(QUICK, QUICK, ["--quick", "--page", "--jobs", "1", "--docs", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert (tmp_path / "rivals-experiments.md").read_text(encoding="utf-8") in printed
    found = json.loads((tmp_path / "rivals-experiments.json").read_text(encoding="utf-8"))["cells"]
    assert all(cell["macro_f1"] > 0.8 for key, cell in found.items() if "supervised, all" in key)
    for rival in (*UNLABELLED, *FEW_LABELS):
        assert f"| {rival.name} |" in printed


def test_development_cells_see_nothing_of_the_test_part(collection: Path) -> None:
    split = split_of("youtube", 0, development=True)
    seen = {*split.texts, *split.judged_texts}
    assert seen.isdisjoint(load_task("youtube").test)
    assert not any("unseen" in text for text in seen)


def test_the_base_sees_the_words_of_the_constraints_alone(collection: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[list[str], int]] = []

    def judge(classifier: object, X: sparse.csr_array, *_: object) -> dict[str, float]:
        seen.append((list(classifier.feature_names), X.shape[1]))  # type: ignore[attr-defined]
        return {}

    monkeypatch.setattr(rivals_cells, "judge", judge)
    split = split_of("youtube", 0)
    Rival("base", method="ge", base=True).measure(split, 0)
    assert sorted(c.given.text for c in split.constraints) == seen[0][0]  # type: ignore[union-attr]
    assert len(split.constraints) == seen[0][1]


def test_a_set_up_says_the_same_in_three_ways(collection: Path) -> None:
    split = split_of("youtube", 0)
    kl, l2, either = (Setup(TEN, form, "ge").constraints(split) for form in ("kl", "l2", "either"))
    assert 3 * len(kl) == len(l2) == 3 * len(either) == 3 * len(split.constraints)
    assert Setup("", "", "supervised").constraints(split) == []


def test_some_labels_of_each_class() -> None:
    labels = np.array(["a", "b"] * 10)
    y = some_labels(labels, "3", 0)
    assert y is not None
    known = [k for k, label in enumerate(y) if label is not None]
    assert [y[k] for k in known] == labels[known].tolist()
    assert sorted(y[known]) == ["a"] * 3 + ["b"] * 3
    assert some_labels(labels, "none", 0) is None
    assert some_labels(labels, "all", 0) is labels


def test_the_oracle_names_near_majorities_and_rejects_words_of_too_many_labels() -> None:
    # A row a word, a column a document, each with a label of its own.
    counts = np.array([[20, 0, 0, 0], [20, 11, 0, 0], [9, 10, 10, 1], [5, 5, 5, 5]])
    documents = sparse.csr_array(counts.T.astype(float))
    found = oracle_words(documents, np.arange(4), "abcd", ["one", "two", "three", "none"], 4)
    assert {w.word: w.labels for w in found} == {"one": ("a",), "two": ("a", "b")}
    best = oracle_words(documents, np.arange(4), "abcd", ["one", "two", "three", "none"], 1)
    assert [w.word for w in best] == ["two"]  # in two documents of four: it halves the labels


def test_of_two_labels_one_is_the_majority() -> None:
    documents = sparse.csr_array(np.array([[3.0], [2.0]]))
    assert oracle_words(documents, np.arange(2), "ab", ["w"], 1) == [LabelledWord("w", ("a",))]


def test_the_target_distribution() -> None:
    word = LabelledWord("w", ("a", "b"))
    assert word.shares("abcd") == pytest.approx({"a": 0.45, "b": 0.45, "c": 0.05, "d": 0.05})
    assert [c.relation.numbers[0] for c in word.l2("abcd")] == pytest.approx([0.45, 0.45, 0.05, 0.05])
    assert [c.relation.numbers for c in word.either("abcd")] == [(0.9,)]
