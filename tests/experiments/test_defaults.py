"""The experiment that chose the defaults, on generated collections: what it sees, what it measures, what it writes."""

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
from experiments.defaults.__main__ import experiment
from experiments.defaults.cells import Cell, Setting
from experiments.defaults.plan import CHOSEN, QUICK
from experiments.development import development_part, development_split, features

from tiltfit import TiltClassifier
from tiltfit.demo.tickets import generate
from tiltfit.demo.tickets import split as split_tickets
from tiltfit.features.text import LENGTH

CLASSES = ("fire", "water")


def write_collection(folder: Path, name: str, n: int, *, split: bool) -> None:
    """Texts of ten words, six of them from the label's own twenty; test texts say so."""
    rng = np.random.default_rng(7)
    rows = []
    for i in range(n):
        label = i % 2
        words = [f"{CLASSES[label]}{j}" for j in rng.integers(0, 20, 6)] + [f"plain{j}" for j in rng.integers(0, 30, 4)]
        row = {"id": i, "label": CLASSES[label]}
        if split:
            row["split"] = "test" if i % 3 == 0 else "train"
            words += ["unseen"] * (i % 3 == 0)
        rows.append({**row, "text": " ".join([*words, f"number{i}"])})
    (folder / name).mkdir()
    with gzip.open(folder / name / f"{name}.jsonl.gz", "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def collections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    write_collection(tmp_path, "youtube", 300, split=True)
    write_collection(tmp_path, "movie", 300, split=False)
    monkeypatch.setenv("TILTFIT_DATA", str(tmp_path))
    _forget()
    yield tmp_path
    _forget()


def _forget() -> None:
    for cached in (development_part, development_split, development._whole_split, development._bag):
        cached.cache_clear()


@pytest.mark.parametrize("name", ["youtube", "movie"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_what_the_benchmark_tests_on_is_never_seen(collections: Path, name: str, seed: int) -> None:
    split = development_split(name, seed, "all + judged")
    seen = {*split.texts, *split.judged_texts}
    assert len(seen) == 200
    assert seen.isdisjoint(load_task(name).test)
    assert not any("unseen" in text for text in seen)


def test_the_judged_labels_are_not_learned_from(collections: Path) -> None:
    split = development_split("movie", 0)
    assert set(split.texts).isdisjoint(split.judged_texts)
    both = split.resize("all + judged", 0)
    assert set(both.labels[len(split.texts) :]) == {""}


def test_smaller_sizes_are_part_of_larger_ones_and_keep_the_constraints(collections: Path) -> None:
    split = development_split("movie", 1)
    small, large = split.resize("20", 1), split.resize("60", 1)
    assert (len(small.texts), len(large.texts)) == (20, 60)
    assert set(small.texts) < set(large.texts) < set(split.texts)
    assert small.constraints == split.constraints
    assert all(label in text for label, text in zip(small.labels, small.texts, strict=True))


@pytest.mark.parametrize("weighting", ["tfidf", "log"])
def test_documents_have_the_length_asked_for(collections: Path, weighting: str) -> None:
    found = features(development_split("movie", 0), weighting, 3.0)
    for side in (found.train, found.judged):
        np.testing.assert_allclose(np.sqrt(side.power(2).sum(axis=1)), 3.0)


def test_words_that_no_text_has_are_left_out(collections: Path) -> None:
    split = development_split("movie", 0).resize("5", 0)
    known = features(split, "binary", None).constraints(split)
    assert 0 < len(known) < len(split.constraints)


def test_true_targets_are_the_shares_of_the_texts_learned_from(collections: Path) -> None:
    split = development_split("movie", 0)
    found = features(split, "counts", None)
    for constraint in found.constraints(split, true_targets=True):
        word = constraint.given.name  # type: ignore[union-attr]
        labels = [y for text, y in zip(split.texts, split.labels, strict=True) if word in text.split()]
        assert constraint.relation.numbers[0] == pytest.approx(np.mean([y in constraint.event.names for y in labels]))


def test_tickets_are_not_those_that_the_demo_is_judged_on() -> None:
    _forget()
    _, judged = split_tickets(generate())
    seen = [text for seed in range(3) for text in development_split("tickets", seed, "all + judged").texts]
    assert len(set(judged.texts) & set(seen)) < 0.02 * len(judged.texts)  # short tickets can come twice by chance


def test_a_cell_is_what_a_fit_on_the_raw_texts_gives(collections: Path) -> None:
    split = development_split("movie", 0)
    texts = TiltClassifier(list(split.constraints), beta=0.03, n_jobs=1).fit(list(split.texts))
    agree = np.mean(texts.predict(list(split.judged_texts)) == split.judged_labels)
    score = Cell("movie", 0, Setting(beta=0.03)).measure()
    assert score["rounds"] == texts.n_iter_
    assert score["macro_f1"] == pytest.approx(agree, abs=0.02)  # balanced labels: accuracy and macro-F1 almost agree
    assert score["macro_f1"] > 0.9


def test_the_quick_run_prints_a_page(collections: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(experiment(QUICK), experiment(QUICK), ["--quick", "--jobs", "1"]) == 0
    printed = capsys.readouterr().out
    assert f"**unit β={CHOSEN.beta:g}, length 10**" in printed
    assert "| youtube | 200 |" not in printed  # only 140 texts are there to learn from
    assert "| youtube | 140 |" in printed


def test_the_defaults_are_what_was_chosen() -> None:
    given = TiltClassifier().get_params()
    assert {name: given[name] for name in ("scale", "beta", "alpha", "tol")} == {
        "scale": CHOSEN.scale,
        "beta": CHOSEN.beta,
        "alpha": CHOSEN.alpha,
        "tol": CHOSEN.tol,
    }
    assert CHOSEN.length == LENGTH
