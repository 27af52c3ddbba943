"""Rules as conditions, on generated comments."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from experiments.command import complete
from experiments.kept import Kept
from experiments.youtube import __main__ as youtube
from experiments.youtube import collection
from experiments.youtube.cells import (
    ESTIMATED,
    NOTHING,
    OWN,
    TRUE,
    USUAL,
    WITH_SPAM,
    Judged,
    Plan,
    Rules,
    Way,
)
from experiments.youtube.collection import ABSTAINS, Split, parts

SIZES = {"train": 120, "valid": 40, "test": 40}


@pytest.fixture
def comments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Half are spam. Rule 0 says "spam" and is always right, rule 1 says "not spam" and is right in two of three; each
    tenth comment is a copy of the one before."""
    rng = np.random.default_rng(5)
    rows: list[dict[str, object]] = []
    for part, size in SIZES.items():
        for i in range(size):
            if i % 10 == 9:
                rows.append({**rows[-1], "id": f"{part}-{i}"})
                continue
            spam = i % 2
            words = [f"{'buy' if spam else 'song'}{j}" for j in rng.integers(0, 8, 5)]
            first = spam and i % 4 == 1
            second = i % 6 in (0, 2, 3)
            text = " ".join([*words, f"n{part}{i}", *["my"] * first, *["nice"] * second])
            votes = [1 if first else ABSTAINS, 0 if second else ABSTAINS]
            rows.append({"id": f"{part}-{i}", "split": part, "label": spam, "text": text, "weak_labels": votes})
    (tmp_path / "youtube").mkdir()
    with gzip.open(tmp_path / "youtube" / "youtube.jsonl.gz", "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)
    monkeypatch.setenv("TILTFIT_DATA", str(tmp_path))
    monkeypatch.setattr(collection, "VALID", 40)
    monkeypatch.setattr(collection, "TEST", 40)
    parts.cache_clear()
    yield tmp_path
    parts.cache_clear()


def test_the_votes_are_the_conditions(comments: Path) -> None:
    found = parts(OWN)
    assert [len(part.texts) for part in (found.train, found.valid, found.test)] == list(SIZES.values())
    assert found.elected == ("1", "0")
    first, second, spam = found.constraints([0.9, 0.8], 0.5)
    assert [c.event.names for c in (first, second, spam)] == [("1",), ("0",), ("1",)]
    assert [c.relation.numbers for c in (first, second, spam)] == [(0.9,), (0.8,), (0.5,)]
    assert spam.given is None
    for rule, constraint in enumerate((first, second)):
        holds = [constraint.given.function(text) for text in found.test.texts]  # type: ignore[union-attr]
        assert holds == (found.test.votes[:, rule] != ABSTAINS).tolist()


def test_shares_are_smoothed_counts_of_right_votes(comments: Path) -> None:
    found = parts(OWN)
    right = found.train.labels == "0"
    voted = found.train.votes[:, 1] == 0
    assert found.shares(found.train)[1] == pytest.approx(((right & voted).sum() + 1) / (voted.sum() + 2))
    assert found.shares(found.train)[0] > 0.9


@pytest.mark.parametrize("once", [False, True])
def test_no_text_is_in_two_parts_of_a_random_split(comments: Path, once: bool) -> None:
    found = parts(Split(0, once))
    texts = [part.texts for part in (found.train, found.valid, found.test)]
    for k in range(3):
        assert set(texts[k]).isdisjoint(texts[k - 1])
        assert (len(set(texts[k])) == len(texts[k])) == once
    assert sum(map(len, texts)) == (180 if once else 200)
    assert len(texts[2]) == pytest.approx(40, abs=6)


def test_what_is_stated(comments: Path) -> None:
    found = parts(OWN)
    assert Way("ap", "0.7").targets(found) == [0.7, 0.7]
    assert Way("ap", ESTIMATED).targets(found) == Way("ap", WITH_SPAM).targets(found) == found.shares(found.valid)
    assert Way("ap", TRUE).targets(found) == found.shares(found.train)


def test_the_choice_rests_on_the_valid_part_alone(comments: Path) -> None:
    plan = Plan((OWN,), ("0.6", USUAL, "0.95"))
    assert all(cell.part == "valid" for cell in plan.first({}) if isinstance(cell, Judged))
    found = {Judged(OWN, Way("ap", t), "valid").key: {"accuracy": a} for t, a in (("0.6", 0.8), (USUAL, 0.7))}
    found[Judged(OWN, Way("ap", "0.95"), "valid").key] = {"accuracy": 0.8}
    assert plan.chosen(found, OWN, "ap") == Way("ap", "0.95")  # as good as 0.6, and nearer to the usual


def test_patterns_that_differ_are_counted(comments: Path) -> None:
    rules = Rules().measure()
    assert len(rules["differs"]) == 2
    assert rules["differs"][0] == 0
    assert rules["differs"][1] > 0  # nobody says "subscribe"


def test_labels_are_learned_from(comments: Path) -> None:
    everything = Judged(OWN, Way("supervised", NOTHING, "all")).measure()
    assert everything["accuracy"] > 0.9
    assert Judged(OWN, Way("ap", USUAL, "valid")).measure()["accuracy"] > 0.7


def test_the_page_and_the_figure(comments: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(Judged, "measure", lambda cell: {"accuracy": 0.5 + len(cell.key) / 1000, "f1": 0.75})
    experiment = youtube.experiment(Plan((OWN, Split(0), Split(1)), (USUAL,)))
    found = complete(experiment, Kept(tmp_path / "cells.json"))
    accuracy = found[Judged(OWN, Way("ap", USUAL)).key]["accuracy"]
    assert f"| 0.9 for every rule | **alternating projections** | {accuracy:.3f} | 0.750 |" in experiment.page(found)
    assert experiment.summary(found)["ap, 0.9"].keys() == {"own split", "random splits"}
    assert experiment.plot is not None
    experiment.plot(found, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000
