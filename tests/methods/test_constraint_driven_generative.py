"""method="codl" on naive Bayes and hidden Markov models."""

from __future__ import annotations

import numpy as np
import pytest
from tests.methods.test_constraint_driven import ADS, LABELS, PUCK, TAGS, TEXTS, flat

from tiltfit import TiltClassifier, TiltTagger, expect, word


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
    found = build("codl", PUCK, rho=0, tau=0.0, rounds=1).fit(TEXTS, LABELS)
    np.testing.assert_allclose(flat(found), flat(wanted), atol=1e-9)
    average = build("codl", PUCK, rho=0, tau=0.4, rounds=1).fit(TEXTS, LABELS)
    np.testing.assert_allclose(flat(average), 0.4 * flat(supervised) + 0.6 * flat(wanted), atol=1e-9)
    assert average.converged_


def test_self_training_of_sequences():
    def build(method, constraints=(), **options):
        return TiltTagger(constraints, classes=["c", "s"], model="hmm", method=method, method_options=options or None)

    supervised = build("supervised").fit(ADS, TAGS)
    said = [None if tags else guess for tags, guess in zip(TAGS, supervised.predict(ADS), strict=True)]
    wanted = build("supervised").fit(ADS, said)
    stated = [expect("c", given=word("phone")).about(0.9)]
    found = build("codl", stated, rho=0.0, top_k=1, tau=0.0, rounds=1).fit(ADS, TAGS)
    np.testing.assert_allclose(flat(found), flat(wanted), atol=1e-9)
    assert len(build("codl", stated, tau=0.5).fit(ADS, TAGS).constraint_report_.to_dicts()) == 1
