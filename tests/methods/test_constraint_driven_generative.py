"""method="codl" on naive Bayes and hidden Markov models."""

from __future__ import annotations

import numpy as np
import pytest
from tests.methods.test_constraint_driven import ADS, LABELS, PUCK, TAGS, TEXTS, flat

from tiltfit import TiltClassifier, TiltTagger, expect, word

pytestmark = pytest.mark.filterwarnings("ignore:.*labels still change")


@pytest.mark.parametrize("model", ["naive_bayes", "bernoulli_naive_bayes"])
def test_self_training_of_documents(model):
    def build(method, constraints=(), **options):
        return TiltClassifier(
            constraints, classes=["b", "h"], model=model, method=method, method_options=options or None
        )

    supervised = build("supervised").fit(TEXTS, LABELS)
    np.testing.assert_array_equal(flat(build("codl", PUCK, tau=1.0).fit(TEXTS, LABELS)), flat(supervised))
    said = [None if label else guess for label, guess in zip(LABELS, supervised.predict(TEXTS), strict=True)]
    wanted = build("supervised").fit(TEXTS, said)
    found = build("codl", PUCK, rho=0, tau=0.0, max_rounds=1).fit(TEXTS, LABELS)
    np.testing.assert_allclose(flat(found), flat(wanted), atol=1e-9)
    # An average of counts: labelled rows as if they weighed what the others do.
    weight = [0.4 * (len(TEXTS) - 2) / 2 if label else 0.6 for label in LABELS]
    both = [label or guess for label, guess in zip(LABELS, said, strict=True)]
    average = build("codl", PUCK, rho=0, tau=0.4, max_rounds=1).fit(TEXTS, LABELS)
    np.testing.assert_allclose(flat(average), flat(build("supervised").fit(TEXTS, both, weight)), atol=1e-9)


def test_self_training_of_sequences():
    def build(method, constraints=(), **options):
        return TiltTagger(constraints, classes=["c", "s"], model="hmm", method=method, method_options=options or None)

    supervised = build("supervised").fit(ADS, TAGS)
    said = [None if tags else guess for tags, guess in zip(TAGS, supervised.predict(ADS), strict=True)]
    wanted = build("supervised").fit(ADS, said)
    stated = [expect("c", given=word("phone")).about(0.9)]
    found = build("codl", stated, rho=0.0, top_k=1, tau=0.0, max_rounds=1).fit(ADS, TAGS)
    np.testing.assert_allclose(flat(found), flat(wanted), atol=1e-9)
    assert len(build("codl", stated, tau=0.5).fit(ADS, TAGS).constraint_report_.to_dicts()) == 1


@pytest.mark.parametrize("model", ["naive_bayes", "hmm"])
def test_weights_stay_log_probabilities(model):
    if model == "naive_bayes":
        texts, labels = ["a a b", "c d", "a c", "d d b", "b"], ["x", "y", None, None, None]
        found = TiltClassifier(method="codl", model=model).fit(texts, labels)
        np.testing.assert_allclose(np.exp(found.coef_).sum(axis=1), 1.0)
        np.testing.assert_allclose(np.exp(found.intercept_).sum(), 1.0)
    else:
        rows, tags = [["a", "b"], ["c", "d", "a"], ["d", "b"]], [["x", "y"], None, None]
        found = TiltTagger(method="codl", model=model, method_options={"top_k": 2}).fit(rows, tags)
        n = len(found.attribute_names_) - 2
        np.testing.assert_allclose(np.exp(found.coef_[:, :n]).sum(axis=1), 1.0)
        leaving = np.exp(found.transitions_[0]).sum(axis=1) + np.exp(found.coef_[:, -1])
        np.testing.assert_allclose(leaving, 1.0)
