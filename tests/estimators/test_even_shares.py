"""Classes that others have swallowed get a share again, if held-out documents speak for it."""

from __future__ import annotations

import numpy as np
import pytest

import tiltfit.estimators.estimator as estimators
from tiltfit import TiltClassifier, expect, load, word
from tiltfit.estimators.even_shares import _note, explains_better, floors
from tiltfit.language.constraint import ConstraintSet
from tiltfit.methods.sharpness import GRID, LEAST_LABELS

LABELS = ("a", "b", "c")
OWN = 12  # words of every class
EVEN, RARE = (1 / 3, 1 / 3, 1 / 3), (0.45, 0.45, 0.1)
FLOOR = 0.9 / 3


def documents(shares, n=600, length=10, contrast=10.0):
    """Documents whose words are independent given the class; its own are more frequent by ``contrast``."""
    rng = np.random.default_rng(0)
    y = rng.choice(3, size=n, p=shares)
    rates = np.ones((3, 3 * OWN + 20))
    for k in range(3):
        rates[k, k * OWN : (k + 1) * OWN] = contrast
    rates /= rates.sum(axis=1, keepdims=True)
    texts = [" ".join(f"w{k}" for k in rng.choice(rates.shape[1], size=length, p=rates[c])) for c in y]
    return texts, np.array(LABELS)[y]


STATED = [
    expect(label, given=word(f"w{k * OWN + j}")).about(0.9)
    for k, (label, number) in enumerate(zip(LABELS, (10, 10, 1), strict=True))
    for j in range(number)
]
TEXTS, TRUE = documents(EVEN)


def is_evened(fitted):
    return len(fitted.constraints_) > len(fitted.constraints) and "every class was given" in fitted.message_


@pytest.fixture(scope="module")
def swallowed():
    """A fit whose second stage is left out."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(estimators, "evened", lambda training, fit, *_, **__: (training, fit))
        return TiltClassifier(STATED).fit(TEXTS)


@pytest.fixture(scope="module")
def evened():
    return TiltClassifier(STATED).fit(TEXTS)


def test_a_swallowed_class_gets_its_documents_back(swallowed, evened):
    assert np.mean(swallowed.predict(TEXTS) == "c") < 0.22
    assert is_evened(evened)
    assert evened.score(TEXTS, TRUE) > swallowed.score(TEXTS, TRUE) + 0.05
    shares = evened.project(TEXTS).mean(axis=0)
    assert shares.min() > FLOOR - 0.005  # hard constraints hold as far as the fit has converged


def test_a_rare_class_stays_rare():
    texts, true = documents(RARE)
    fitted = TiltClassifier(STATED).fit(texts)
    assert not is_evened(fitted)
    assert fitted.score(texts, true) > 0.85


def test_it_is_the_fit_with_these_shares_stated(evened):
    """Eq. 6 with the same constraints, from zeros and solved closely."""
    stated = [*STATED, *(expect(label).at_least(FLOOR) for label in LABELS)]
    close = TiltClassifier(stated, tol=1e-7, max_iter=3000, sharpen=None).fit(TEXTS)
    assert evened.objective_ == pytest.approx(close.objective_, rel=5e-3)  # tol=1e-3
    assert np.mean(evened.predict(TEXTS) == close.predict(TEXTS)) > 0.98


def test_floors_touch_documents_that_statements_did_not():
    """All documents count together as many then, and the strengths of statements with them."""
    few = [c for c in STATED if int(c.given.text[1:]) % OWN < 5]
    close = {"tol": 1e-7, "max_iter": 3000, "sharpen": None}
    assumed = TiltClassifier(few, **close).fit(TEXTS)
    assert is_evened(assumed)
    stated = TiltClassifier([*few, *(expect(label).at_least(FLOOR) for label in LABELS)], **close).fit(TEXTS)
    assert assumed.objective_ == pytest.approx(stated.objective_, rel=1e-3)


def test_reports_show_what_was_assumed(evened):
    found = [entry for entry in evened.constraint_report_ if entry.name == "assumed share of c"]
    assert [entry.sentence for entry in found] == ["at least 30% of documents are c"]
    assert found[0].status == "met"
    assert evened.constraints_[-1].rationale.startswith("Assumed")
    assert "c had 2" in evened.message_
    assert "at least 30.0%" in evened.message_


def test_a_class_that_no_statement_names_is_given_nothing():
    least = floors(ConstraintSet(tuple(STATED), (*LABELS, "d")))
    assert [c.event.names for c in least] == [("a",), ("b",), ("c",)]
    note = _note(least[2:], {"c": 0.2}, "every class that statements name")
    assert "so every class that statements name was given at least 22.5%" in note


def test_files_keep_what_was_assumed(evened, tmp_path):
    evened.save(tmp_path / "m.tilt")
    again = load(tmp_path / "m.tilt")
    assert list(again.constraints_) == list(evened.constraints_)
    assert list(again.constraints) == STATED  # another fit, of other data, decides anew
    again.save(tmp_path / "again.tilt")
    assert list(load(tmp_path / "again.tilt").constraints_) == list(evened.constraints_)
    np.testing.assert_allclose(again.project(TEXTS), evened.project(TEXTS))


@pytest.mark.parametrize(
    "options",
    [{"beta": 0.05}, {"scale": "unit"}, {"method": "vote"}, {"solver": "online"}],
    ids=lambda options: "-".join(map(str, *options.items())),
)
def test_who_states_strengths_or_uses_another_method_gets_just_that(options):
    assert not is_evened(TiltClassifier(STATED, **options).fit(TEXTS))


def test_who_states_proportions_decides():
    assert not is_evened(TiltClassifier([*STATED, expect("c").between(0.01, 0.99)]).fit(TEXTS))


def test_labels_enough_to_tell_proportions_decide():
    y = [str(label) if i < LEAST_LABELS else None for i, label in enumerate(TRUE)]
    assert not is_evened(TiltClassifier(STATED).fit(TEXTS, y))
    y[0] = None
    assert "assumed share of c" in [c.name for c in TiltClassifier(STATED).fit(TEXTS, y).constraints_]


def test_too_few_statements_tell_nothing():
    few = [c for c in STATED if c.given.text in ("w0", "w1", f"w{OWN}", f"w{OWN + 1}", f"w{2 * OWN}")]
    assert not is_evened(TiltClassifier(few).fit(TEXTS))


def test_floors_that_contradict_a_statement_are_left_out():
    """At most 20 % of what is nearly all documents leaves no room for 30 %."""
    few = expect("c", given=~(word("w0") & word("w13") & word("w26"))).at_most(0.2)
    fitted = TiltClassifier([*STATED, few]).fit(TEXTS)
    assert not is_evened(fitted)
    assert fitted.converged_


def test_rounds_are_counted_on():
    told = []
    fitted = TiltClassifier(STATED, callback=lambda one: told.append(one.round)).fit(TEXTS)
    assert is_evened(fitted)
    assert told == [one.round for one in fitted.history_] == list(range(1, fitted.n_iter_ + 1))


def test_a_callback_ends_it_and_the_first_model_stays(swallowed):
    fitted = TiltClassifier(STATED, callback=lambda one: one.round > swallowed.n_iter_ + 2).fit(TEXTS)
    assert not is_evened(fitted)
    np.testing.assert_allclose(fitted.coef_, swallowed.coef_)


def test_only_named_classes_have_a_floor():
    found = floors(ConstraintSet(tuple(STATED), ("a", "b", "c", "other")))
    assert [(c.event.names, c.relation.numbers) for c in found] == [((label,), (0.9 / 4,)) for label in LABELS]


def test_better_is_more_than_two_standard_errors():
    """Against the formula, each fit at its own most likely sharpness."""
    rng = np.random.default_rng(3)
    seen = set()
    for shift in np.linspace(-0.5, 1.5, 21):
        before, after = rng.normal(size=(2, len(GRID), 40))
        after = after + shift
        first = max(before, key=lambda units: units.sum())
        second = max(after, key=lambda units: units.sum())
        difference = second - first
        wanted = difference.mean() > 2 * difference.std() / len(difference) ** 0.5
        assert explains_better(before, after) is bool(wanted)
        seen.add(bool(wanted))
    assert seen == {True, False}
