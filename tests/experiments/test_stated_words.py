"""Labelled words as matrices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.labelled_words import load_task
from experiments.rivals.cells import Rival, split_of
from experiments.stated_words import scene, usually


def test_the_words_are_those_of_the_benchmarks(elements: Path) -> None:
    stated = {(c.given.text, *c.event.names) for c in load_task("youtube").constraints}  # type: ignore[union-attr]
    assert {(word.word, word.label) for word in scene("youtube", 0).usual} == stated


def test_fewer_words_are_the_first_of_more(elements: Path) -> None:
    found = scene("youtube", 0)
    few, more = found.words(2), found.words(5)
    assert len(few) == 6
    assert [word for word in more if word in few] == few
    assert all(len(found.words(n)) == 3 * n for n in (1, 5))


def test_shares_are_counted_in_the_training_part(elements: Path) -> None:
    found = scene("youtube", 0)
    for word in found.ranked[:5]:
        has = np.array([word.word in text.split() for text in found.split.texts])
        assert word.share == pytest.approx(np.mean(found.split.labels[has] == word.label))


def test_matrices_give_what_texts_give(elements: Path) -> None:
    found = scene("youtube", 0)
    as_texts = Rival("ap").measure(split_of("youtube", 0), 0)
    as_matrix = found.measure(usually(found.usual))
    assert as_matrix["accuracy"] == as_texts["accuracy"] > 0.8
    assert as_matrix["constraints"] == len(found.usual)
