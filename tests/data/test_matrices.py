"""Sparse matrices built by hand: what points outside of them is refused before compiled code sees it."""

import numpy as np
import pytest
from scipy import sparse

from tiltfit import ConstraintSet, TiltClassifier
from tiltfit.data.matrices import refuse_broken
from tiltfit.errors import DataError


def good():
    return sparse.csr_array(np.tile([[1.0, 0, 2], [0, 3, 0]], (4, 1)))


def negative(X):
    X.indices[0] = -100_000_000


def beyond(X):
    X.indices[0] = 2_000_000_000


def far_pointer(X):
    X.indptr[3] = 10**9


def descending(X):
    X.indptr[3] = 0


def short(X):
    X.indptr[-1] = 10**6


FAULTS = [negative, beyond, far_pointer, descending, short]
Y = ["a", "b"] * 4


def broken(fault, make=sparse.csr_array):
    X = make(good())
    fault(X)
    return X


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
def test_a_broken_matrix_is_refused_by_every_door(fault, make):
    X, clf = broken(fault, make), TiltClassifier()
    with pytest.raises(DataError, match="X is a damaged sparse matrix") as found:
        clf.fit(X, Y)
    assert found.value.parameter == "X"
    clf.fit(make(good()), Y)
    with pytest.raises(DataError, match="X is a damaged sparse matrix"):
        clf.predict(X)
    with pytest.raises(DataError, match="features= is a damaged sparse matrix"):
        clf.fit(["text"] * 8, Y, features=X)
    with pytest.raises(DataError, match="X is a damaged sparse matrix"):
        ConstraintSet([], classes=["a", "b"]).check(X)


def test_a_vectorizer_that_makes_a_broken_matrix_is_named():
    class Careless:
        def fit_transform(self, texts, y=None):
            return broken(beyond)

    with pytest.raises(DataError, match="The matrix that Careless returned is a damaged sparse matrix"):
        TiltClassifier(vectorizer=Careless()).fit(["text"] * 8, Y)


def test_triples_outside_are_refused():
    X = sparse.coo_array(good())
    X.coords[1][0] = 7
    with pytest.raises(DataError, match="X is a damaged"):
        refuse_broken(X, "X", parameter="X")


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"])
def test_a_good_matrix_passes_and_stays_as_it_is(form):
    X = good().asformat(form)
    before = X.toarray()
    refuse_broken(X, "X", parameter="X")
    assert np.array_equal(X.toarray(), before)
