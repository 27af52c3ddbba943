"""What ``project`` says of a row by default: the same alone and among others."""

import numpy as np
import pytest

from tiltfit import TiltClassifier, TiltTagger, expect, word
from tiltfit.errors import DataError, InactiveConstraintWarning

TEXTS = ["puck goalie", "puck rink", "puck bat", "bat pitcher", "bat mound", "bat puck rink", "goalie", "mound"] * 4
STATED = [expect("hockey", given=word("puck")).about(0.8), expect("baseball", given=word("bat")).about(0.8)]
TOKENS = [text.split() for text in TEXTS]


@pytest.fixture(scope="module", params=["documents", "sequences"])
def fitted(request):
    if request.param == "documents":
        return TiltClassifier(STATED, penalize_intercept=True, alpha=5.0).fit(TEXTS), TEXTS
    return TiltTagger(STATED, alpha=5.0).fit(TOKENS), TOKENS


def stacked(q):
    return np.concatenate(list(q)) if isinstance(q, list) else q


def test_a_row_alone_has_the_answer_that_it_has_among_others(fitted):
    model, X = fitted
    assert max(map(abs, model.prices_.values())) > 1e-3  # otherwise nothing is shown
    together = model.project(X)
    for i in (0, 2, 3):
        np.testing.assert_allclose(stacked(model.project(X[i : i + 1])), stacked(together[i : i + 1]), atol=1e-12)
    with pytest.warns(InactiveConstraintWarning):
        solved = stacked(model.project(X[:1], prices="solve"))
    assert np.abs(solved - stacked(together[:1])).max() > 0.01  # one row alone is made to meet the statement


def test_on_the_data_of_the_fit_both_agree(fitted):
    model, X = fitted
    np.testing.assert_allclose(stacked(model.project(X)), stacked(model.project(X, prices="solve")), atol=2e-3)


def test_statements_about_single_rows_are_solved():
    said = [expect("hockey", given=word("puck"), per="instance").at_least(0.7)]
    model = TiltClassifier(said, classes=["baseball", "hockey"]).fit(TEXTS)
    q = model.project(["puck"])
    np.testing.assert_array_equal(q, model.project(["puck"], prices="solve"))
    assert q[0, 1] >= 0.7 - 1e-6


def test_unknown_words_are_refused(fitted):
    model, X = fitted
    with pytest.raises(DataError, match="prices='best' is unknown: use 'auto', 'solve' or 'fitted'"):
        model.project(X, prices="best")
