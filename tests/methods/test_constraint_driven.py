"""method="codl": what it is made of, at its limits, and what it refuses."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from tiltfit import TiltClassifier, TiltTagger, expect, word
from tiltfit.errors import DataError, NotConvergedWarning, TiltfitWarning, UnsupportedError

# Most tests look at a single round.
pytestmark = pytest.mark.filterwarnings("ignore:.*labels still change")

TEXTS = ["puck ice", "puck goal", "bat ball", "ball base", "ice rink", "base bat goal", "rink puck", "ball ice"]
LABELS = ["h", None, "b", None, None, None, None, None]
PUCK = [expect("h", given=word("puck")).about(0.9), expect("b", given=word("ball")).about(0.8)]
ADS = [
    ["big", "room", ",", "call", "Ann"],
    ["sunny", "room", "phone", "Bob"],
    ["big", "garden", ",", "call"],
    ["big", "sunny", "garden", ",", "phone", "Ann"],
    ["call", "Bob", ",", "big", "room"],
]
TAGS = [["s", "s", "s", "c", "c"], None, ["s", "s", "s", "c"], None, None]
CALL = [expect("c", given=word("phone")).about(0.9), expect.stay().about(0.8)]
TIGHT = {"tol": 1e-11, "alpha": 0.5}


def classifier(constraints=PUCK, method="codl", **options):
    return TiltClassifier(
        constraints, classes=["b", "h"], vectorizer="counts", method=method, method_options=options or None, **TIGHT
    )


def tagger(constraints=CALL, method="codl", n_jobs=None, **options):
    return TiltTagger(
        constraints, classes=["c", "s"], method=method, method_options=options or None, n_jobs=n_jobs, **TIGHT
    )


def flat(model):
    rest = model.transitions_ if isinstance(model, TiltTagger) else model.intercept_
    return np.concatenate([model.coef_.ravel(), rest.ravel()])


def test_with_tau_of_one_it_is_the_supervised_fit():
    np.testing.assert_array_equal(
        classifier(tau=1.0).fit(TEXTS, LABELS).coef_, classifier(method="supervised").fit(TEXTS, LABELS).coef_
    )
    np.testing.assert_array_equal(
        tagger(tau=1.0).fit(ADS, TAGS).coef_, tagger(method="supervised").fit(ADS, TAGS).coef_
    )  # fmt: skip


def test_without_penalties_one_label_each_is_self_training():
    """Hard EM: one round is the fit to what the supervised model predicts for everything that is not labelled."""
    supervised = classifier(method="supervised").fit(TEXTS, LABELS)
    said = [None if label else guess for label, guess in zip(LABELS, supervised.predict(TEXTS), strict=True)]
    wanted = classifier(method="supervised").fit(TEXTS, said)
    found = classifier(rho=0, top_k=1, tau=0.0, max_rounds=1).fit(TEXTS, LABELS)
    np.testing.assert_allclose(flat(found), flat(wanted), atol=1e-6)
    average = classifier(rho=0, top_k=1, tau=0.3, max_rounds=1).fit(TEXTS, LABELS)
    np.testing.assert_allclose(flat(average), 0.3 * flat(supervised) + 0.7 * flat(wanted), atol=1e-6)


def test_so_for_sequences_by_viterbi():
    supervised = tagger(method="supervised").fit(ADS, TAGS)
    said = [None if tags else guess for tags, guess in zip(TAGS, supervised.predict(ADS), strict=True)]
    wanted = tagger([], method="supervised").fit(ADS, said)
    found = tagger(rho=0.0, top_k=1, tau=0.0, max_rounds=1).fit(ADS, TAGS)
    np.testing.assert_allclose(flat(found), flat(wanted), atol=1e-6)


def test_each_of_k_labellings_counts_as_a_kth():
    supervised = tagger(method="supervised").fit(ADS, TAGS)
    unlabelled = [x for x, tags in zip(ADS, TAGS, strict=True) if tags is None]
    lists = [labels for ranked in supervised.predict_k_best(unlabelled, 3) for labels, _ in ranked]
    inputs = [x for x in unlabelled for _ in range(3)]
    weight = [1 / 3] * len(inputs) + [1.0] * len(ADS)
    wanted = tagger([], method="supervised").fit(inputs + ADS, lists + [None] * len(ADS), weight)
    found = tagger(rho=0.0, top_k=3, tau=0.0, max_rounds=1).fit(ADS, TAGS)
    assert set(found.attribute_names_) == set(wanted.attribute_names_)
    names = list(wanted.attribute_names_)
    np.testing.assert_allclose(
        found.coef_, wanted.coef_[:, [names.index(n) for n in found.attribute_names_]], atol=1e-6
    )
    np.testing.assert_allclose(found.transitions_, wanted.transitions_, atol=1e-6)


def test_penalties_turn_labels():
    """The supervised model has never seen "rink" beside "puck"; a high enough price decides against it."""
    said = [expect("b", given=word("puck")).about(0.9, name="wrong")]
    turned = classifier(said, rho={"wrong": 50.0}, tau=0.0, max_rounds=1).fit(TEXTS, LABELS)
    supervised = classifier(method="supervised").fit(TEXTS, LABELS)
    says = ["b" if "puck" in text else guess for text, guess in zip(TEXTS, supervised.predict(TEXTS), strict=True)]
    wanted = classifier(method="supervised").fit(
        TEXTS, [None if known else s for known, s in zip(LABELS, says, strict=True)]
    )
    np.testing.assert_allclose(flat(turned), flat(wanted), atol=1e-6)


def test_it_goes_on_until_labels_no_longer_change():
    found = tagger(tau=0.5, max_rounds=40).fit(ADS, TAGS)
    assert found.converged_
    assert 1 <= found.n_iter_ < 40
    again = tagger(tau=0.5, max_rounds=found.n_iter_).fit(ADS, TAGS)
    np.testing.assert_array_equal(flat(found), flat(again))
    assert not again.converged_  # it has not seen that the next labels are the same
    assert [r.objective for r in found.history_][-1] == found.objective_


def test_the_report_tells_of_all_constraints():
    said = [*CALL, expect.repeats().at_most(0.4), expect.segments("s", per="sequence").at_most(1)]
    found = tagger(said, beam=20, tau=0.3).fit(ADS, TAGS)
    rows = found.constraint_report_.to_dicts()
    assert len(rows) == 4
    assert all(np.isfinite(row["model"]) and np.isfinite(row["projected"]) for row in rows)
    assert [len(labels) for labels in found.project(ADS, decode=True)] == [len(x) for x in ADS]


def test_rules_and_known_tokens_hold():
    rules = [expect("c", given=word("phone")).exactly(1), expect.transition("c", "s").at_most(0)]
    tags = [*TAGS[:4], [None, None, None, "c", None]]
    supervised = tagger(method="supervised").fit(ADS, tags)
    found = tagger(rules, top_k=1, tau=0.0, max_rounds=1).fit(ADS, tags)

    def allowed(x, row, known):
        agrees = all(k in (None, y) and (w != "phone" or y == "c") for w, y, k in zip(x, row, known, strict=True))
        return agrees and ("c", "s") not in pairwise(row)

    said = [None, None, None, None, None]
    for s in (1, 3, 4):
        ranked = supervised.predict_k_best([ADS[s]], 2 ** len(ADS[s]))[0]
        said[s] = next(row for row, _ in ranked if allowed(ADS[s], row, tags[s] or [None] * len(row)))
    wanted = tagger([], method="supervised").fit(ADS, said)
    np.testing.assert_allclose(flat(found), flat(wanted), atol=1e-6)


def test_statistics_that_must_be_zero():
    said = [expect.repeats().at_most(0)]
    supervised = tagger(method="supervised").fit(ADS, TAGS)
    wanted = [None if tags else [] for tags in TAGS]
    for s, x in enumerate(ADS):
        ranked = (row for row, _ in supervised.predict_k_best([x], 2 ** len(x))[0])
        once = (row for row in ranked if sum(a != b for a, b in pairwise(row)) <= 1)
        wanted[s] = None if TAGS[s] else next(once)
    alone = tagger([], method="supervised").fit(ADS, wanted)
    found = tagger(said, top_k=1, beam=1, tau=0.0, max_rounds=1).fit(ADS, TAGS)
    np.testing.assert_allclose(flat(found), flat(alone), atol=1e-6)


def test_the_number_of_threads_changes_no_bit():
    said = [*CALL, expect.repeats().at_most(0.4)]
    ads, tags = ADS * 20, [*TAGS, *[None] * 5 * 19]
    one, two = (tagger(said, n_jobs=n, tau=0.5, max_rounds=3).fit(ads, tags) for n in (1, 2))
    np.testing.assert_array_equal(flat(one), flat(two))


def test_a_development_set_keeps_the_best_round():
    told = []
    found = tagger(tau=0.2).set_params(callback=lambda r: told.append(r.dev_score)).fit(
        ADS, TAGS, dev=(ADS[:2], [TAGS[0], ["s", "s", "c", "c"]])
    )  # fmt: skip
    assert all(score is not None for score in told)
    assert "best on the development set" in found.message_


def test_all_labelled_is_supervised():
    tags = [["s" if w in ("big", "room", "sunny", "garden", ",") else "c" for w in x] for x in ADS]
    found = tagger([]).fit(ADS, tags)
    np.testing.assert_array_equal(flat(found), flat(tagger([], method="supervised").fit(ADS, tags)))
    assert found.converged_


def test_labelled_data_that_contradict_a_constraint_are_told():
    said = [expect("b", given=word("puck")).about(0.6)]
    labels = ["h", "h", "b", None, None, None, "h", None]
    texts = [*TEXTS, "puck bat"]
    with pytest.warns(TiltfitWarning, match=r"violated more often than kept by labelled data \(3 against 0\)"):
        found = classifier(said).fit(texts, [*labels, None])
    quiet = classifier(said, rho={said[0].title: 0.0}).fit(texts, [*labels, None])
    np.testing.assert_array_equal(found.coef_, quiet.coef_)  # log(1.2/3.8) < 0: no penalty


def test_penalties_are_estimated_from_counts():
    """One labelled text with "puck" is h: ρ = log((1 + 2·0.9)/(0 + 2·0.1)), and of "ball" log(2.6/0.4)."""
    named = {c.title: math.log(odds) for c, odds in zip(PUCK, (2.8 / 0.2, 2.6 / 0.4), strict=True)}
    np.testing.assert_array_equal(
        classifier(tau=0.1).fit(TEXTS, LABELS).coef_, classifier(tau=0.1, rho=named).fit(TEXTS, LABELS).coef_
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"top_k": 0}, r"method_options={'top_k': 0} must be a whole number of at least 1\."),
        ({"top_k": 1.5}, "{'top_k': 1.5} must be a whole number"),
        ({"top_k": 2}, "{'top_k': 2} takes all 2 classes"),
        ({"beam": True}, "{'beam': True} must be a whole number"),
        ({"max_rounds": "many"}, "{'max_rounds': 'many'} must be a whole number"),
        ({"rounds": 3}, "is unknown. Did you mean .max_rounds.*knows"),
        ({"tau": 1.1}, "{'tau': 1.1} must be a number between 0"),
        ({"tau": "high"}, "{'tau': 'high'} must be a number between 0"),
        ({"tau": float("nan")}, "{'tau': nan} must be a number between 0"),
        ({"rho": -1}, "{'rho': -1} must be a finite number"),
        ({"rho": float("inf")}, "{'rho': inf} must be a finite number"),
        ({"rho": [1, 2]}, r"{'rho': \[1, 2\]} must be a finite number"),
        ({"rho": {"puck": None}}, "{'rho': {'puck': None}} must be"),
        ({"rho": {"about 90% of documents with the word \"puk\" are h": 1.0}}, "no such constraint. Did you mean"),
        ({"lambda": 1}, "'lambda'.*is unknown"),
    ],
)  # fmt: skip
def test_options_that_cannot_be(options, message):
    with pytest.raises(DataError, match=message):
        classifier(**options).fit(TEXTS, LABELS)


def test_rules_take_no_rho():
    said = [expect("h", given=word("puck")).exactly(1, name="sure")]
    with pytest.raises(DataError, match="'rho': ...} of 'sure' has no effect"):
        classifier(said, rho={"sure": 2.0}).fit(TEXTS, LABELS)


@pytest.mark.filterwarnings("default:.*labels still change")
def test_too_few_rounds_are_told_with_what_would_help():
    with pytest.warns(
        NotConvergedWarning, match=r"labels still change after 1 rounds.*Raise method_options={'max_rounds': 1}"
    ):
        classifier(max_rounds=1, rho=50.0, tau=0.0).fit(TEXTS, LABELS)


def test_all_that_is_refused_is_named():
    said = [expect("h").about(0.9, name="half"), *PUCK, expect("b").at_least(0.1, name="some")]
    said += [expect("h", given=word("puck")).about(0.5, name="even")]
    told = "cannot take 3 constraints. 'half' and 'some': it is a share of all the data.*'even': of a single instance"
    with pytest.raises(UnsupportedError, match=told):
        classifier(said).fit(TEXTS, LABELS)


@pytest.mark.parametrize(
    ("constraint", "why"),
    [
        (expect("h").about(0.9), "a share of all the data"),
        (expect().distributed_as({"h": 0.9, "b": 0.1}), "a share of all the data"),
        (expect("h").between(0, 0.5), "a share of all the data"),
        (expect("h", given=word("puck")).about(0.5), "neither that it usually happens nor"),
        (expect("h", given=word("puck")).at_least(0.4), "neither that it usually happens nor"),
        (expect("h", given=word("puck")).at_most(0.7), "neither that it usually happens nor"),
        (expect("h", given=word("puck"), per="instance").between(0.3, 0.8), "neither that it usually happens nor"),
        (expect(given=word("puck")).distributed_as({"h": 0.5, "b": 0.5}), "neither that it usually happens nor"),
    ],
)
def test_what_says_nothing_of_an_instance_is_refused(constraint, why):
    with pytest.raises(UnsupportedError, match=f"method='codl' cannot take the constraint .*{why}.*method='ap'"):
        classifier([constraint]).fit(TEXTS, LABELS)


@pytest.mark.parametrize(
    "constraint",
    [
        expect("c").about(0.6),
        expect.appears("c").at_most(0.7),
        expect.appears("c").at_least(0.4),
        expect.segments("c").at_least(0.2),
        expect.change(given=word(","), of=expect.change()).about(0.5),
    ],
)
def test_nor_of_a_sequence(constraint):
    with pytest.raises(UnsupportedError, match="method='codl' cannot take the constraint"):
        tagger([constraint]).fit(ADS, TAGS)


def test_all_or_none_is_a_rule_not_a_proportion():
    found = classifier([expect("b").at_most(0)], tau=0.0).fit(TEXTS, LABELS)
    assert set(found.predict(TEXTS[1:2])) == {"h"}


def test_without_labels_it_says_so():
    with pytest.raises(DataError, match="method='codl' learns from labels"):
        classifier().fit(TEXTS)


@pytest.mark.parametrize("solver", ["alternating", "joint", "online", "sgd"])
def test_it_has_no_other_solvers(solver):
    with pytest.raises(UnsupportedError, match="method='codl' (has no solver|cannot learn online)"):
        classifier().set_params(solver=solver).fit(TEXTS, LABELS)
