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


def test_documents_start_from_the_fit_with_squares():
    found = weights(TiltClassifier, ROWS, TEXTS)
    np.testing.assert_array_equal(found, weights(TiltClassifier, ROWS, TEXTS, init="squares"))
    for other in ("zeros", "supervised"):
        assert np.abs(found - weights(TiltClassifier, ROWS, TEXTS, init=other)).max() > 1e-3


@pytest.mark.parametrize("options", [{"beta": 0.05}, {"method": "ge"}, {"method": "supervised"}])
def test_without_bounded_pulls_documents_start_from_zeros(options):
    found = weights(TiltClassifier, ROWS, TEXTS, **options)
    np.testing.assert_array_equal(found, weights(TiltClassifier, ROWS, TEXTS, init="zeros", **options))


def test_no_class_is_lost_at_the_start():
    """Two words of one label against sixteen of another: from zeros, all statements pull alike."""
    rng = np.random.default_rng(0)
    loud, quiet = [f"l{i}" for i in range(16)], ["q0", "q1"]
    texts = [" ".join(rng.choice(loud if i % 2 else [*quiet, "l0", "l1"], size=3)) for i in range(120)]
    said = [expect("loud", given=word(w)).about(0.9) for w in loud] + [
        expect("quiet", given=word(w)).about(0.9) for w in quiet
    ]
    fits = {
        init: TiltClassifier(said, classes=["loud", "quiet"], init=init, sharpen=None).fit(texts)
        for init in (None, "zeros")
    }
    assert fits[None].objective_ <= fits["zeros"].objective_ + 1e-3
    assert np.mean(fits[None].predict(texts) == "quiet") > 0.3
