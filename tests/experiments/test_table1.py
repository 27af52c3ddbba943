"""Table 1 on a generated collection and on made-up cells."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.corpora import load_corpus
from experiments.command import Finished
from experiments.oracle_words import LabelledWord
from experiments.table1 import data, words
from experiments.table1.cells import AP, BASE, GE, OURS, SUPERVISED, VOTE, Cell, _columns
from experiments.table1.data import sides, split
from experiments.table1.figure import plot
from experiments.table1.page import best, missed, page, summary
from experiments.table1.plan import AMOUNTS, GOALS, METHODS, PAPER, Plan
from experiments.table1.words import INFOGAIN, LDA, Amount, candidates, labelled

from tiltfit import TiltClassifier, expect, word

CLASSES = ("earth", "fire", "water")
FULL = Plan(AMOUNTS)
CHOSEN = {setting: amounts[1] for setting, amounts in FULL.amounts.items()}


@pytest.fixture
def collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """240 texts of ten words, five of them from the label's own ten; "The" and "a" are everywhere."""
    rng = np.random.default_rng(3)
    rows = []
    for i in range(240):
        label = CLASSES[i % 3]
        own = [f"{label}{j}" for j in rng.integers(0, 10, 5)] + [f"plain{j}" for j in rng.integers(0, 20, 5)]
        rows.append({"id": i, "label": label, "text": " ".join(["The", "a", *own, f"only{i}"])})
    (tmp_path / "movie").mkdir()
    with gzip.open(tmp_path / "movie" / "movie.jsonl.gz", "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)
    monkeypatch.setenv("TILTFIT_DATA", str(tmp_path))
    data.sides.cache_clear()
    words._topics.cache_clear()
    yield "movie"
    data.sides.cache_clear()
    words._topics.cache_clear()


def test_development_sees_nothing_of_the_test_side() -> None:
    labels = np.array(CLASSES * 40)
    _, test = split(labels, 0, development=False)
    learn, judge = split(labels, 0, development=True)
    assert set(test).isdisjoint({*learn, *judge})
    assert set(learn).isdisjoint(judge)
    assert len(test) == 30
    assert sorted(np.unique(labels[test], return_counts=True)[1]) == [10, 10, 10]
    assert set(test) != set(split(labels, 1, development=False)[1])


def test_a_smaller_collection() -> None:
    learn, judge = split(np.array(CLASSES * 40), 0, development=False, documents=60)
    assert (len(learn), len(judge)) == (45, 15)


def test_content_words(collection: str) -> None:
    found = sides(collection, 0, development=False)
    content = set(found.words[found.content])
    assert {"earth1", "plain1"} <= content
    assert not content & {"the", "a"}
    assert not any(word.startswith("only") for word in content)


def test_tfidf_is_what_the_library_makes_of_texts(collection: str) -> None:
    found, corpus = sides(collection, 0, development=False), load_corpus(collection)
    learn, judge = split(corpus.labels, 0, development=False)
    constraints = [expect("fire", given=word("fire1")).about(0.9), expect("water", given=word("water2")).about(0.9)]
    by_text = TiltClassifier(constraints, classes=CLASSES).fit([corpus.texts[i] for i in learn])
    stated = [c for w in (LabelledWord("fire1", ("fire",)), LabelledWord("water2", ("water",))) for c in w.each()]
    by_matrix = TiltClassifier(stated, classes=CLASSES, feature_names=found.words.tolist()).fit(found.tfidf[0])
    np.testing.assert_allclose(
        by_matrix.predict_proba(found.tfidf[1]), by_text.predict_proba([corpus.texts[i] for i in judge]), atol=1e-6
    )


@pytest.mark.parametrize("amount", [Amount(5), Amount(2, relevance=0.3)])
def test_the_oracle_labels_words_of_both_sets(collection: str, amount: Amount) -> None:
    found = sides(collection, 0, development=False)
    columns = candidates(found, amount)
    assert len(set(columns)) == len(columns)
    assert set(columns) <= set(found.content)
    own = [w for w in labelled(found, columns) if not w.word.startswith("plain")]
    assert own
    assert all(w.labels == (w.word.rstrip("0123456789"),) for w in own)


def test_each_majority_label_has_its_share() -> None:
    stated = LabelledWord("w", ("a", "b")).each()
    assert [(c.event.names, c.relation.numbers[0]) for c in stated] == [(("a",), 0.45), (("b",), 0.45)]


def test_what_models_see(collection: str) -> None:
    found = sides(collection, 0, development=False)
    few = [LabelledWord("fire1", ("fire",)), LabelledWord("earth2", ("earth",))]
    assert found.words[_columns(found, few, BASE)].tolist() == ["earth2", "fire1"]
    assert _columns(found, few, AP).tolist() == found.content.tolist()
    assert len(_columns(found, few, OURS)) == len(found.words)


@pytest.mark.slow
def test_a_cell_learns_without_labels(collection: str) -> None:
    methods = (*METHODS, SUPERVISED)
    told = Cell(collection, 0, INFOGAIN, (Amount(5),), methods).measure()
    assert told["documents"] == 180
    figures = told["amounts"]["5 a label"]["methods"]
    assert list(figures) == list(methods)
    assert all(figure["macro_f1"] > 0.8 for figure in figures.values())
    assert figures[BASE]["macro_f1"] < figures[SUPERVISED]["macro_f1"]
    json.dumps(told)


def made_up(cell: Cell) -> dict[str, Any]:
    """Base reaches the paper's from the second amount on; our defaults are far above the paper's AP."""
    rng = np.random.default_rng([cell.seed, len(cell.collection)])
    setting = cell.collection, cell.source
    paper, told = PAPER[setting], {}
    for amount in cell.amounts:
        place = FULL.amounts[setting].index(amount) - FULL.amounts[setting].index(CHOSEN[setting])
        level = paper[BASE] + 0.04 + 0.1 * place + 0.01 * rng.normal()
        gain = {BASE: 0.0, GE: 0.02, AP: 0.02, OURS: paper[AP] - paper[BASE] + 0.1, VOTE: -0.05, SUPERVISED: 0.2}
        figures = {
            m: {"macro_f1": level + gain[m] + 0.001 * rng.normal(), "seconds": 1.0, "rounds": 3, "converged": True}
            for m in cell.methods
        }
        told[str(amount)] = {"shown": 9, "labelled": 8, "constraints": 10, "methods": figures}
    return {"documents": 100, "choosing_seconds": 0.5, "amounts": told}


@pytest.fixture
def found() -> Finished:
    cells: dict[str, Any] = {}
    for stage in FULL.stages:
        cells |= {cell.key: made_up(cell) for cell in stage(cells)}  # type: ignore[arg-type]
    return cells


def test_the_number_of_words_is_chosen_on_development_data(found: Finished) -> None:
    development = FULL.development({})
    assert all(cell.development and cell.seed == 0 for cell in development)
    tried = {cell.key: made_up(cell) for cell in development}
    assert {setting: FULL.amount(tried, *setting) for setting in FULL.settings} == CHOSEN
    final = FULL.final(tried)
    low = json.loads(json.dumps(tried))
    cell = FULL.tried("sector", LDA)
    for told in low[cell.key]["amounts"].values():
        told["methods"][BASE]["macro_f1"] = 0.1
    assert FULL.amount(low, "sector", LDA) == cell.amounts[-1]  # never reached: the best for AP
    assert not any(cell.development for cell in final)
    assert len({cell.key for cell in final}) == len(final) == 2 * 4 * 10
    assert {cell.amounts for cell in final} == {(amount,) for amount in CHOSEN.values()}
    assert [cell.source for cell in final[:2]] == [INFOGAIN, LDA]
    assert final[0].seed == final[1].seed


def test_the_page_has_every_figure(found: Finished) -> None:
    text = page(FULL, found)
    rows = summary(FULL, found)["rows"]
    assert [(row["collection"], row["words"]) for row in rows] == list(FULL.settings)
    for row in rows:
        assert row["significantly_best"] == [OURS]
        assert f"**{row['ours'][OURS]:.3f} ± {row['standard_error'][OURS]:.3f}**" in text
        assert all(f"{row['ours'][m]:.3f}" in text for m in (BASE, GE, AP, VOTE, SUPERVISED))
        assert f"| {row['paper'][AP]:.3f} |" in text


def test_alike_is_not_better(found: Finished) -> None:
    assert not best(FULL, found, FULL.settings[0], GE)
    assert not best(FULL, found, FULL.settings[0], AP)


def test_one_split_has_neither_errors_nor_p_values() -> None:
    plan = Plan({setting: amounts[:2] for setting, amounts in FULL.amounts.items() if setting[0] == "movie"}, 1)
    cells: dict[str, Any] = {}
    for stage in plan.stages:
        cells |= {cell.key: made_up(cell) for cell in stage(cells)}  # type: ignore[arg-type]
    assert "±" not in page(plan, cells).split("## What was done")[0].replace("mean ± standard", "")
    assert not best(plan, cells, ("movie", INFOGAIN), OURS)


def test_what_is_missed_is_told(found: Finished) -> None:
    assert missed(FULL, found) == []
    worse = json.loads(json.dumps(found))
    setting = ("webkb", LDA)
    for cell in FULL.runs(found, *setting):
        worse[cell.key]["amounts"][str(cell.amounts[0])]["methods"][OURS]["macro_f1"] = 0.6
    assert missed(FULL, worse) == [f"webkb, LDA: 0.600, goal {GOALS[setting]:g} (-0.030)"]
    assert "webkb, LDA: 0.600, goal 0.63" in page(FULL, worse)


def test_the_figure_is_written(found: Finished, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert plot(FULL, found, tmp_path / "table1.png")
    assert (tmp_path / "table1.png").stat().st_size > 10_000
