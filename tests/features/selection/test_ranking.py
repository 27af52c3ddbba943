"""What all rankers refuse, and names of ranked columns."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tiltfit.errors import DataError
from tiltfit.features.selection import Ranking, most_informative, most_uncertain, topic_words

RANKERS = {
    "informative": lambda X, **options: most_informative(X, np.arange(X.shape[0]) % 2, 2, **options),
    "topics": lambda X, **options: topic_words(X, n_topics=2, per_topic=1, passes=1, **options),
    "uncertain": lambda X, **options: most_uncertain(X, np.full((X.shape[0], 2), 0.5), **options),
}


@pytest.fixture(params=RANKERS)
def ranker(request):
    return RANKERS[request.param]


@pytest.mark.parametrize("n", [0, -1, 4])
def test_more_words_than_exist(ranker, n):
    with pytest.raises(DataError, match=f"n={n}, but X has 3 columns"):
        ranker(sparse.csr_array(np.eye(3)), n=n)


@pytest.mark.parametrize(("value", "message"), [(-1.0, "holds -1"), (np.nan, "NaN"), (np.inf, "infinite")])
def test_numbers_that_are_no_counts(ranker, value, message):
    X = np.eye(3)
    X[1, 2] = value
    with pytest.raises(DataError, match=message):
        ranker(sparse.csr_array(X))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_an_empty_matrix(ranker, shape):
    with pytest.raises(DataError, match="at least one document and one column"):
        ranker(sparse.csr_array(shape))


def test_rankers_give_the_same_shape_and_leave_x_alone(ranker):
    X = sparse.csr_array([[2.0, 0, 1, 0], [0, 3, 1, 0], [2, 0, 0, 1], [0, 3, 0, 1]])
    before = X.toarray()
    ranking = ranker(X, n=2)
    assert isinstance(ranking, Ranking)
    assert len(ranking) == len(ranking.columns) == len(ranking.scores) == 2
    assert np.all(np.diff(ranking.scores) <= 0)
    np.testing.assert_array_equal(X.toarray(), before)


def test_names():
    ranking = Ranking(np.array([2, 0]), np.array([1.5, 0.5]))
    assert ranking.named(["a", "b", "c"]) == [("c", 1.5), ("a", 0.5)]
    with pytest.raises(DataError, match="column 2, but there are 2 words"):
        ranking.named(["a", "b"])


@pytest.mark.parametrize("n", [0, 5, 2.5, True])
def test_so_many_cannot_be_ranked(n):
    with pytest.raises(DataError, match=f"n={n}"):
        most_informative(sparse.csr_array(np.eye(4)), np.array([0, 1, 0, 1]), 2, n=n)
