"""Planted topics are found; what is ranked is what the topics say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tiltfit.errors import DataError
from tiltfit.features.selection import _rank_topics, learn_topics, topic_words

WORDS = 5
"""Of each planted topic; one more word is everywhere."""


@pytest.fixture(scope="module")
def planted():
    """150 documents of 30 tokens: topic t has the words 5t to 5t + 4, each half as probable as the one before; a third
    of all tokens are word 15."""
    rng = np.random.default_rng(0)
    shares = 0.5 ** np.arange(WORDS) / np.sum(0.5 ** np.arange(WORDS))
    X = np.zeros((150, 3 * WORDS + 2))
    for i, row in enumerate(X):
        first = WORDS * (i % 3)
        row[first : first + WORDS] = rng.multinomial(20, shares)
        row[3 * WORDS] = 10
    return sparse.csr_array(X)


def test_planted_topics_are_found(planted):
    topics = learn_topics(planted, 3, random_state=1)
    np.testing.assert_allclose(topics.sum(axis=1), 1.0)
    own = np.argmax(topics[:, : 3 * WORDS].reshape(3, 3, WORDS).sum(axis=2), axis=1)
    assert sorted(own.tolist()) == [0, 1, 2]
    found = topic_words(planted, n_topics=3, per_topic=3, relevance=0.0, random_state=1).columns
    assert len(found) == 9
    assert set(found.tolist()) <= set(range(3 * WORDS))  # with relevance 0, what is everywhere is nobody's own
    probable = topic_words(planted, n_topics=3, per_topic=1, random_state=1).columns
    assert 3 * WORDS in probable.tolist()


def test_topics_that_are_known_already(planted):
    topics = learn_topics(planted, 3, passes=2)
    known = topic_words(planted, per_topic=4, topics=topics)
    assert known.columns.tolist() == topic_words(planted, n_topics=3, per_topic=4, passes=2).columns.tolist()
    with pytest.raises(DataError, match="give topics × columns"):
        topic_words(planted, per_topic=4, topics=topics[:, 1:])


def test_one_seed_one_answer(planted):
    first, second = (topic_words(planted, n_topics=4, per_topic=4, passes=2, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first.columns, second.columns)
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    learn_topics(planted, 2, passes=1)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_first_words_come_first_and_duplicates_are_dropped():
    topics = np.array([[0.5, 0.3, 0.1, 0.1, 0.0001], [0.2, 0.6, 0.05, 0.15, 0.0001]])
    totals = np.array([10.0, 10, 10, 10, 0])
    ranking = _rank_topics(topics, totals, per_topic=3, relevance=1.0, n=None)
    assert ranking.columns.tolist() == [1, 0, 3, 2]  # firsts (0.6, 0.5), then 3 and 2, third in their topics
    np.testing.assert_allclose(ranking.scores, [1, 1, 1 / 3, 1 / 3])
    assert _rank_topics(topics, totals, 3, 1.0, n=1).columns.tolist() == [1]


def test_relevance_prefers_a_topics_own_words():
    topics = np.array([[0.6, 0.3, 0.1], [0.6, 0.1, 0.3]])
    totals = np.array([60.0, 20, 20])
    assert _rank_topics(topics, totals, 1, 1.0, None).columns.tolist() == [0]
    assert _rank_topics(topics, totals, 1, 0.0, None).columns.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_topics": 0}, "n_topics=0"),
        ({"passes": 0}, "passes=0"),
        ({"per_topic": 18}, "per_topic=18, but X has 17 columns"),
        ({"relevance": 1.5}, "relevance=1.5"),
    ],
)
def test_bad_options(planted, options, message):
    with pytest.raises(DataError, match=message):
        topic_words(planted, **{"per_topic": 3, **options})


def test_documents_without_words():
    with pytest.raises(DataError, match="no document has any word"):
        learn_topics(sparse.csr_array((3, 2)), 2)
