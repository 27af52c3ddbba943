"""The formula, by hand; the greedy choice, by brute force."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tiltfit.features.selection import information_gain, learn_topics, topic_shares
from tiltfit.language.conditions import Word
from tiltfit.suggesting.candidates import Candidates
from tiltfit.suggesting.knowledge import Knowledge
from tiltfit.suggesting.usefulness import PRIOR, choose, divergence, shares_given


def candidates(matrix: np.ndarray) -> Candidates:
    columns = [(Word(f"w{j}"), np.flatnonzero(column)) for j, column in enumerate(matrix.T)]
    return Candidates.of(columns, len(matrix))


@pytest.fixture
def case() -> tuple[np.ndarray, Knowledge]:
    rng = np.random.default_rng(0)
    matrix = (rng.random((40, 12)) < 0.3).astype(float)
    shares = rng.dirichlet(np.ones(3), 40)
    known = rng.random(40) < 0.7
    return matrix, Knowledge("labels", shares * known[:, None], known, rng.random(40))


def test_shares_are_shrunk_towards_those_of_all(case: tuple[np.ndarray, Knowledge]) -> None:
    matrix, view = case
    base = view.shares[view.known].mean(axis=0)
    for j, found in enumerate(shares_given(candidates(matrix), view)):
        here = (matrix[:, j] > 0) & view.known
        np.testing.assert_allclose(found, (view.shares[here].sum(axis=0) + PRIOR * base) / (here.sum() + PRIOR))
        assert found.sum() == pytest.approx(1)


def test_greedy_takes_what_adds_most_each_time(case: tuple[np.ndarray, Knowledge]) -> None:
    matrix, view = case
    found = list(choose(candidates(matrix), view, 5, np.zeros(40)))
    divides = divergence(shares_given(candidates(matrix), view), view.shares[view.known].mean(axis=0))
    touched = np.zeros(40)
    left = set(range(12))
    for scored in found:
        value = {j: divides[j] * np.sum(view.weight * 0.5**touched * matrix[:, j]) / 40 for j in left}
        assert scored.column == max(value, key=lambda j: value[j])
        assert scored.usefulness == pytest.approx(value[scored.column])
        left.remove(scored.column)
        touched += matrix[:, scored.column]
    assert len(found) == 5


def test_with_all_labels_it_is_the_half_of_information_gain_where_a_word_is() -> None:
    rng = np.random.default_rng(1)
    matrix = (rng.random((3000, 4)) < 0.3).astype(float)
    codes = np.where(matrix[:, 0] > 0, rng.integers(0, 2, 3000), rng.integers(0, 3, 3000))
    view = Knowledge("labels", np.eye(3)[codes], np.ones(3000, dtype=bool), np.ones(3000))
    (best, *_) = choose(candidates(matrix), view, 1, np.zeros(3000))
    gain = information_gain(sparse.csr_array(matrix), codes, 3)
    assert best.column == np.argmax(gain) == 0
    inverse = candidates(1 - matrix)
    away = divergence(shares_given(inverse, view), view.shares.mean(axis=0))[0] * np.mean(matrix[:, 0] == 0)
    assert best.usefulness + away == pytest.approx(gain[0], rel=0.02)  # the prior counts 2 of 3,000


def test_what_fires_in_the_same_places_is_told_once() -> None:
    matrix = np.zeros((30, 4))
    matrix[:10, 0] = matrix[:10, 1] = matrix[:9, 2] = 1
    matrix[10:20, 3] = 1
    shares = np.eye(2)[(np.arange(30) < 10).astype(int)]
    view = Knowledge("labels", shares, np.ones(30, dtype=bool), np.ones(30))
    found = list(choose(candidates(matrix), view, 9, np.zeros(30)))
    assert [(s.column, s.same) for s in found] == [(0, (1, 2)), (3, ())]


def test_nothing_is_chosen_where_nothing_is_to_learn(case: tuple[np.ndarray, Knowledge]) -> None:
    matrix, view = case
    sure = Knowledge("model", view.shares, view.known, np.zeros(40))
    assert list(choose(candidates(matrix), sure, 5, np.zeros(40))) == []
    assert list(choose(candidates(matrix[:, :0]), view, 5, np.zeros(40))) == []


def test_shares_of_topics_find_what_documents_were_made_of() -> None:
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(50, 0.1), 4)
    truth = rng.dirichlet(np.full(4, 0.3), 30)
    X = sparse.csr_array(np.stack([rng.multinomial(2000, p) for p in truth @ topics]).astype(float))
    np.testing.assert_allclose(topic_shares(X, topics, steps=100), truth, atol=0.06)
    empty = topic_shares(sparse.csr_array(np.zeros((2, 50))), topics)
    np.testing.assert_allclose(empty, 0.25)
    with pytest.raises(Exception, match="give topics × columns"):
        topic_shares(X, topics[:, 1:])
    assert learn_topics(X, 2, passes=1).shape == (2, 50)
