"""Where a fit starts by default."""

import numpy as np
import pytest

from tiltfit import TiltClassifier, TiltTagger, expect, word

pytestmark = pytest.mark.filterwarnings("ignore::tiltfit.errors.NotConvergedWarning")

TOKENS = [["p", ",", "q"], ["q", ".", "p", "p"], ["p", "q"], ["q", ",", "q", "p"], ["p", "p", ",", "q"]]
TAGS = [["a", "a", "b"], ["b", "b", "a", "a"], None, None, None]
TEXTS = [" ".join(tokens) for tokens in TOKENS]
ROWS = ["a", "b", None, None, None]
SAID = [expect("b", given=word("q")).about(0.8)]
ROUNDS = {"max_iter": 1, "tol": 0.0}  # one round, so that the start shows


def weights(kind, y, X, said=SAID, **options):
    return kind(said, classes=["a", "b"], **ROUNDS | options).fit(X, y).coef_


def test_a_tagger_starts_from_its_labels():
    found = weights(TiltTagger, TAGS, TOKENS)
    np.testing.assert_array_equal(found, weights(TiltTagger, TAGS, TOKENS, init="supervised"))
    assert np.abs(found - weights(TiltTagger, TAGS, TOKENS, init="zeros")).max() > 1e-3


def test_without_labels_or_whole_labelled_sequences_it_starts_from_zeros():
    for y in ([None] * 5, [["a", None, "b"], *[None] * 4]):
        np.testing.assert_array_equal(weights(TiltTagger, y, TOKENS), weights(TiltTagger, y, TOKENS, init="zeros"))


def test_labels_alone_are_not_fitted_twice():
    alone = weights(TiltTagger, TAGS, TOKENS, ())
    np.testing.assert_array_equal(alone, weights(TiltTagger, TAGS, TOKENS, (), init="zeros"))


def test_documents_start_from_zeros():
    found = weights(TiltClassifier, ROWS, TEXTS)
    np.testing.assert_array_equal(found, weights(TiltClassifier, ROWS, TEXTS, init="zeros"))
    assert np.abs(found - weights(TiltClassifier, ROWS, TEXTS, init="supervised")).max() > 1e-3
