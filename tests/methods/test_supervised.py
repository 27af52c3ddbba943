"""method="supervised": the labelled rows alone, whatever else there is."""

from __future__ import annotations

import numpy as np
import pytest

from tiltfit import TiltClassifier, TiltTagger, expect, word
from tiltfit.errors import DataError, UnsupportedError

TEXTS = ["puck ice", "puck goal", "bat ball", "ball base", "ice", "base"]
PUCK = [expect("h", given=word("puck")).about(0.9), expect("b", given=word("ball")).about(0.8)]


def test_a_classifier_is_what_it_is_without_constraints_and_other_rows():
    labels = ["h", None, "b", None, None, None]
    alone = TiltClassifier(classes=["b", "h"], vectorizer="counts").fit(TEXTS, labels)
    found = TiltClassifier(PUCK, vectorizer="counts", method="supervised").fit(TEXTS, labels)
    np.testing.assert_allclose(found.coef_, alone.coef_, atol=1e-12)
    np.testing.assert_allclose(found.objective_, alone.objective_)


def test_a_tagger_too_and_the_report_tells_of_the_constraints():
    ads = [["big", "room", "call"], ["sunny", "room", "phone"], ["big", "garden", "call"]]
    tags = [["s", "s", "c"], None, ["s", "s", "c"]]
    alone = TiltTagger(classes=["c", "s"]).fit([ads[0], ads[2]], [tags[0], tags[2]])
    stated = [expect("c", given=word("phone")).about(0.9)]
    found = TiltTagger(stated, classes=["c", "s"], method="supervised").fit(ads, tags)
    names = list(found.attribute_names_)
    columns = [names.index(name) for name in alone.attribute_names_]
    np.testing.assert_allclose(found.coef_[:, columns], alone.coef_, atol=1e-10)
    row = found.constraint_report_.to_dicts()[0]
    assert row["model"] < 0.9
    assert row["price"] > 0


def test_without_labels_it_says_so():
    with pytest.raises(DataError, match="method='supervised' learns from labels"):
        TiltClassifier(PUCK, method="supervised").fit(TEXTS)


@pytest.mark.parametrize("solver", ["alternating", "joint", "online", "sgd"])
def test_it_has_no_other_solvers(solver):
    with pytest.raises(UnsupportedError, match="method='supervised' (has no solver|cannot learn online)"):
        TiltClassifier(PUCK, method="supervised", solver=solver).fit(TEXTS, ["h", None, "b", None, None, None])


@pytest.mark.parametrize(
    ("given", "message"), [({"rho": 1}, "'rho'.*unknown.*knows none"), ("rho", "must be a dict of options")]
)
def test_options_it_does_not_know_are_refused(given, message):
    with pytest.raises(DataError, match=message):
        TiltClassifier(PUCK, method="supervised", method_options=given).fit(TEXTS, ["h", *[None] * 5])


@pytest.mark.filterwarnings("ignore:Hard constraints do not hold")
def test_constraints_that_only_the_report_looks_at_do_not_make_it_unconverged():
    said = [expect("h", given=word("puck")).at_least(0.9), expect("h", given=word("goal")).at_most(0.1)]
    found = TiltClassifier(said, classes=["b", "h"], method="supervised").fit(TEXTS, ["h", None, "b", None, None, None])
    assert max(entry.violation for entry in found.constraint_report_) > 0.1  # q, since no q meets both
    assert found.converged_
