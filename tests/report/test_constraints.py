"""The constraint report says in words and numbers what became of each statement."""

from __future__ import annotations

import io
import json
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from tiltfit import TiltClassifier, column, expect, word
from tiltfit.errors import InactiveConstraintWarning, SamplingWarning
from tiltfit.inference.whole import SamplerState
from tiltfit.projections.information import Projection, Sampling
from tiltfit.report.constraints import ConstraintReport, Entry
from tiltfit.report.sampling import allowance, warn_sampling, worth

TEXTS = 5 * ["the puck hit the goalie", "goalie saves the puck", "a bat and a pitcher", "the pitcher has a bat"]


@pytest.fixture(scope="module")
def report():
    said = [
        expect("hockey", given=word("puck")).about(0.95, name="puck"),
        expect("hockey").at_least(0.1),
        expect("hockey", given=word("goalie")).exactly(1),
        expect(given=word("bat")).distributed_as({"hockey": 0.2, "baseball": 0.8}),
        expect("hockey", given=word("curling")).about(0.5),
    ]
    with pytest.warns(InactiveConstraintWarning):
        return TiltClassifier(said, beta=0.05, penalize_intercept=True).fit(TEXTS).constraint_report_


def test_every_constraint_has_its_entry(report):
    assert [e.status for e in report][1:3] == ["met", "rules"]
    assert report[5].status == "rests"
    assert [e.component for e in report] == [None, None, None, "baseball", "hockey", None]
    assert report[0].support == 10
    assert report[1].price == 0
    assert report[1].verdict == "holds by itself"
    assert report[2].verdict == "holds everywhere: it rules labels out"
    assert "inactive" in report[5].verdict
    assert report[3].projected + report[4].projected == pytest.approx(1)


def test_shares_and_prices_are_those_of_the_projection(report):
    # The price of an L2 row is (u − m)/(β·c): here β = 0.05 and c = 10.
    entry = report[0]
    assert entry.price == pytest.approx((0.95 - entry.projected) / (0.05 * 10), abs=2e-3)


def test_it_survives_json_and_renders_within_80_columns(report):
    again = ConstraintReport.from_dicts(json.loads(json.dumps(report.to_dicts())))
    assert again == report
    assert str(replace(again, note=report.note)) == str(report)  # the note is about the fit, not about a constraint
    page = io.StringIO()
    Console(width=80, file=page).print(report.to_table())
    assert all(len(line) <= 80 for line in page.getvalue().splitlines())


def test_no_constraints():
    assert str(TiltClassifier().fit([[0.0], [1.0]], [0, 1]).constraint_report_) == "no constraints"


# Where q was sampled

SAMPLED = Entry(None, "few repeats", None, 10.0, 1, 0.5, 0.2, -1.0, 0.0, "met", counts=True, effective=45.2, r_hat=1.02)


def test_what_samples_are_worth_is_told_only_where_there_are_some(report):
    told = ConstraintReport((SAMPLED, *report))
    assert str(told).splitlines()[1].endswith("; holds; sampled: worth 45 draws, R-hat 1.02")
    assert str(told).count("sampled") == 1
    assert "sampled" not in str(report)
    page = io.StringIO()
    Console(width=80, file=page).print(told.to_table())
    assert " ".join(page.getvalue().split()).count("R-hat") == 1
    again = ConstraintReport.from_dicts(json.loads(json.dumps(told.to_dicts(), allow_nan=False)))
    assert again == told
    old = [{k: v for k, v in row.items() if k not in ("effective", "r_hat")} for row in report.to_dicts()]
    assert ConstraintReport.from_dicts(old) == report  # written before there were samples


@pytest.mark.parametrize(("effective", "r_hat", "warns"), [(20.0, 1.2, False), (19.0, 1.0, True), (60.0, 1.21, True)])
def test_too_few_draws_are_warned_of(effective, r_hat, warns):
    told = ConstraintReport((replace(SAMPLED, effective=effective, r_hat=r_hat), replace(SAMPLED, effective=None)))
    with pytest.warns(SamplingWarning, match="'few repeats' is worth") if warns else nullcontext():
        told.warn_sampling()


def test_many_constraints_that_are_sampled_badly():
    rows = [(f"c{k}", 5.0 + k, 1.0) for k in range(5)] + [("c0", 50.0, 1.5)]
    with pytest.warns(SamplingWarning, match="'c0' is worth 5 draws, R-hat 1.50; 'c1' .*; and 2 more"):
        warn_sampling(rows)


def test_noise_is_allowed_for():
    found = Sampling(SamplerState(np.empty(0, dtype=np.int16)), np.array([9.0, 60.0]), np.array([np.inf, 1.1]),
                     np.array([0.02, 0.0]))  # fmt: skip
    nothing = np.zeros(2)
    exact = Projection(nothing, nothing, None, 0.0, 0.0, nothing, nothing, 0.0, 1, True)
    sampled = replace(exact, sampling=found)
    assert allowance(exact).tolist() == [1e-4, 1e-4]
    assert 0.06 < allowance(sampled)[0] < 0.07  # three errors if it were alone, more among many
    assert allowance(sampled)[1] == 1e-4
    assert allowance(sampled, np.array([2.0, 2.0])).tolist() == pytest.approx([2 * allowance(sampled)[0], 1e-4])
    assert worth(exact, np.array([0])) == (None, None)
    assert worth(sampled, np.array([0, 1])) == (9.0, 100.0)  # JSON has no infinity


# Methods that do not follow constraints

SAID = [
    expect("hockey", given=word("puck")).about(0.95, name="puck"),
    expect("hockey").about(0.5, name="half"),
    expect("hockey", given=word("pitcher")).at_least(0.9, name="wrong"),
    expect("hockey", given=word("saves")).exactly(1, name="rule"),
    expect("baseball", given=word("curling")).about(0.7, name="idle"),
]


def fitted(method, said=SAID, **parameters):
    y = [None] * len(TEXTS)
    y[0], y[1], y[2], y[3] = "hockey", "hockey", "baseball", "baseball"
    with pytest.warns(InactiveConstraintWarning) if said is SAID else nullcontext():
        return TiltClassifier(said, method=method, **parameters).fit(TEXTS, y).constraint_report_


def test_constraints_that_are_not_used_are_judged_by_the_model():
    report = fitted("supervised")
    puck, half, wrong, rule, idle = report
    assert {e.role for e in report} == {"not used"}
    assert half.verdict == "not used; the model agrees"
    assert half.status == "met"
    # At least 90% of what the model gives next to nothing; a soft word for a hard statement that nobody asked to hold.
    assert wrong.status == "missed"
    assert wrong.model_violation == pytest.approx(0.9 - wrong.model)
    assert wrong.verdict == f"not used; the model is off by {100 * wrong.model_violation:.1f}%"
    assert puck.verdict.startswith("not used; the model is off by")
    assert rule.verdict == "not used; it would rule labels out"
    assert idle.verdict == "inactive: it never fires on unlabelled data"
    assert report.worst is wrong
    assert not report.violated


def test_who_votes_is_told():
    votes = ["votes", "not used", "votes", "votes", "votes"]
    assert [e.role for e in fitted("vote")] == votes
    assert [e.role for e in fitted("label_model")] == [votes[0], "states the balance", *votes[2:]]
    assert fitted("vote")[2].verdict.startswith("votes; the model ")


def test_who_states_proportions_is_told():
    said = [*SAID[:1], expect().distributed_as({"hockey": 0.5, "baseball": 0.5})]
    assert [e.role for e in fitted("label_regularization", said)] == ["not used", *2 * ["states the proportions"]]
    options = {"proportions": {"hockey": 0.3, "baseball": 0.7}}
    assert {e.role for e in fitted("label_regularization", said, method_options=options)} == {"not used"}


def test_methods_that_follow_constraints_are_judged_by_q():
    report = fitted("ap")
    assert {e.role for e in report} == {None}
    assert not any("model" in e.verdict for e in report)


def test_roles_survive_json_and_are_rendered():
    report = fitted("supervised")
    assert ConstraintReport.from_dicts(json.loads(json.dumps(report.to_dicts()))) == report
    assert str(report).count("not used; the model is off by") == 2
    page = io.StringIO()
    Console(width=120, file=page).print(report.to_table())
    assert "not used; the model agrees" in page.getvalue()


def test_the_worst_group_is_that_of_the_model():
    texts = {"text": ["a a", "b b", "a b", "b b", "a a", "a a"], "of": ["u", "u", "v", "v", "w", "w"]}
    said, y = [expect("x", per=column("of")).about(0.0)], ["x", "y", None, None, None, None]
    model = TiltClassifier(said, method="supervised", vectorizer="counts", beta=1e-4).fit(texts, y)
    entry = model.constraint_report_[0]
    share = model.predict_proba(texts)[:, 0].reshape(3, 2).mean(axis=1)
    assert share[2] > share[1]  # of two groups that are not labelled, the second has more of what should not be there
    assert entry.miss == f"{100 * share[2]:.1f}% in 'w'"
