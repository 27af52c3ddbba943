"""What a statement is worth for the predicted labels, beside its expectation under the model; and whose merit it is
that a statement holds."""

from __future__ import annotations

import numpy as np
import pytest

from tiltfit import ConstraintDisplay, TiltClassifier, TiltTagger, column, disputes, expect, punctuation, word
from tiltfit.report.constraints import ConstraintReport, signed
from tiltfit.report.html.constraints import most_telling

rng = np.random.default_rng(3)
TEXTS = [" ".join(rng.choice(list("abcdef"), 4)) for _ in range(80)]
FRAME = {"text": TEXTS, "of": ["u", "v"] * 40}
WEIGHT = 0.5 + rng.random(80)
SEQUENCES = [[str(t) for t in rng.choice(["a", "b", ",", "c"], rng.integers(2, 7))] for _ in range(60)]


def test_of_documents_it_is_the_share_of_predictions():
    y = ["x", "y"] + [None] * 78
    has_a = np.array(["a" in text for text in TEXTS])
    has_b = np.array(["b" in text for text in TEXTS])
    unknown = np.array([label is None for label in y])
    said = [
        expect("x", given=word("a")).about(0.7),
        expect("x", given=word("b"), per=column("of")).about(0.4),
        expect("y", given=word("b"), per="instance").at_least(0.3),
        expect("y", on="all").about(0.5),
        expect(given=word("a")).distributed_as({"x": 0.6, "y": 0.4}),
    ]
    model = TiltClassifier(said, classes=["x", "y"]).fit(FRAME, y, sample_weight=WEIGHT)
    is_x = model.predict(FRAME) == "x"

    def share(happens, among):
        return float(WEIGHT[among] @ happens[among] / WEIGHT[among].sum())

    every = np.where(unknown, is_x, [label == "x" for label in y])  # known labels are what they are
    wanted = [
        share(is_x, has_a & unknown),
        share(is_x, has_b & unknown),
        share(~is_x, has_b & unknown),
        share(~every, np.ones(80, dtype=bool)),
        share(is_x, has_a & unknown),
        share(~is_x, has_a & unknown),
    ]
    assert [e.predicted for e in model.constraint_report_] == pytest.approx(wanted)
    assert all(0 < share < 1 for share in wanted)
    assert abs(model.constraint_report_[0].model - wanted[0]) > 0.01


def test_of_sequences_it_is_that_of_the_best_labels():
    said = [
        expect("x", given=word("a")).about(0.7),
        expect.change(given=punctuation.before).about(0.6),
        expect.segments("x").about(1.4),
        expect("y", given=word("c"), per="sequence").at_least(0.4),
        expect.segments("y", per="sequence").at_most(1.5),
        expect.change(given=punctuation.before, of=expect.change()).between(0.5, 0.9),
    ]
    model = TiltTagger(said, classes=["x", "y"]).fit(SEQUENCES)
    found = list(zip(SEQUENCES, model.predict(SEQUENCES), strict=True))
    tokens = [(token, label) for s, labels in found for token, label in zip(s, labels, strict=True)]
    edges = [(s[t - 1], labels[t - 1] != labels[t]) for s, labels in found for t in range(1, len(s))]

    def runs(labels, of):
        return sum(label == of and (t == 0 or labels[t - 1] != of) for t, label in enumerate(labels))

    wanted = [
        np.mean([label == "x" for token, label in tokens if token == "a"]),
        np.mean([moves for before, moves in edges if before == ","]),
        np.mean([runs(labels, "x") for _, labels in found]),
        np.mean([label == "y" for token, label in tokens if token == "c"]),
        np.mean([runs(labels, "y") for _, labels in found]),
        np.mean([before == "," for before, moves in edges if moves]),
    ]
    assert [e.predicted for e in model.constraint_report_] == pytest.approx(wanted)
    assert f"predicted {100 * wanted[0]:.1f}%" in str(model.constraint_report_)
    assert f"predicted {wanted[2]:.2f}" in str(model.constraint_report_)


def test_where_labels_do_not_tell_there_is_none():
    whole = TiltTagger([expect.repeats().at_most(0.1)], classes=["x", "y"]).fit(SEQUENCES).constraint_report_
    assert whole[0].predicted is None
    assert "predicted" not in str(whole)
    # Nothing changes in the predicted labels, so that there is nothing to take a share of.
    still = [expect.change().at_most(0.01), expect.change(given=punctuation.before, of=expect.change()).about(0.6)]
    report = TiltTagger(still, classes=["x", "y"]).fit(SEQUENCES).constraint_report_
    assert (report[0].predicted, report[1].predicted) == (0.0, None)
    assert (
        TiltClassifier([expect("x").exactly(1)], classes=["x", "y"]).fit(TEXTS).constraint_report_[0].predicted is None
    )


def test_one_pass_of_decoding(monkeypatch):
    from tiltfit.inference.chain import Chains

    passes = []
    best = Chains.best
    monkeypatch.setattr(Chains, "best", lambda self, *args: passes.append(len(self)) or best(self, *args))
    TiltTagger([expect("x", given=word("a")).about(0.7)], classes=["x", "y"]).fit(SEQUENCES)
    assert passes == [sum("a" in s for s in SEQUENCES)]


# Holding by itself


def test_a_statement_that_others_make_hold_does_not_hold_by_itself():
    """Every document is asked to be x with 60%; so half of them are, which the model alone does not give."""
    others = expect("x", per="instance").at_least(0.6, name="each")
    said = [expect("x").at_least(0.55, name="half"), others]
    stiff = TiltClassifier(said, classes=["x", "y"], alpha=1e6, penalize_intercept=True)
    half, _ = stiff.fit(TEXTS).constraint_report_
    assert (half.price, half.status) == (0.0, "met")
    assert half.projected == pytest.approx(0.6, abs=1e-6)
    assert half.model == pytest.approx(0.5, abs=1e-3)
    assert half.verdict == "holds thanks to the others"
    assert half.meaning == "it costs nothing: others make it hold, but the model alone is off by 5.0%"
    easy = TiltClassifier([expect("x").at_least(0.45), others], classes=["x", "y"]).fit(TEXTS).constraint_report_[0]
    assert easy.verdict == "holds by itself"
    assert easy.meaning == "it costs nothing: the model agrees by itself"


# Order


def many():
    """A word in many documents whose target is far off, and one in few whose target is nearly right."""
    said = [
        expect("x", given=word("a")).about(0.8, name="common"),
        expect("x", given=word("rare")).about(0.8, name="rare"),
    ]
    texts = ["rare a", *TEXTS[1:], "rare rare", "rare f"]
    model = TiltClassifier(said, classes=["x", "y"], gamma=0.5, beta=0.2).fit(texts, ["y"] * 40 + [None] * 42)
    return model, texts


def test_what_pulls_harder_comes_first():
    model, _ = many()
    common, rare = model.constraint_report_
    assert common.pull > 1.5 * rare.pull > 0
    assert common.price < rare.price
    assert common.pull == pytest.approx(0.5 * common.support * common.price)
    assert list(most_telling(model.constraint_report_, 1)) == [0]
    pytest.importorskip("matplotlib")
    shown = ConstraintDisplay.from_estimator(model, most=1).ax_.get_yticklabels()
    assert [label.get_text() for label in shown] == ["common"]


def test_disputes_have_the_pulls_of_their_data():
    model, texts = many()
    found = disputes(model, texts, ["y"] * 40 + [None] * 42)
    assert [d.pull for d in found] == pytest.approx([e.pull for e in model.constraint_report_], rel=1e-3)
    assert (
        found[0].verdict
        == f"pull {signed(found[0].pull)}, price {signed(found[0].price)}: pulls up what these hold down"
    )


def test_the_page_begins_with_the_dispute_that_pulls_hardest():
    from tiltfit import report_page

    model, texts = many()
    html = report_page(model, texts[40:]).html
    after = html[html.index('id="examples"') :]
    assert after.index("common") < after.index("rare")


def test_reports_of_older_versions_are_ordered_too():
    model, _ = many()
    rows = [
        {k: v for k, v in row.items() if k not in ("pull", "predicted")} for row in model.constraint_report_.to_dicts()
    ]
    old = ConstraintReport.from_dicts(rows)
    assert [e.pull for e in old] == [None, None]
    assert list(most_telling(old, 1)) == [0]
    assert "pull " not in str(old)
    assert "predicted" not in old._repr_html_().lower()


# Streams


def test_pulls_of_a_stream_count_the_instances_that_count():
    said = [expect("x", given=word("a")).about(0.7), expect("x", per=column("of")).about(0.6)]
    model = TiltClassifier(said, classes=["x", "y"], gamma=0.3, random_state=0)
    for start in (0, 40):
        part = {name: values[start : start + 40] for name, values in FRAME.items()}
        model.partial_fit(part)
    one, groups = model.constraint_report_
    assert one.pull == pytest.approx(0.3 * one.support * one.price)
    assert groups.pull == pytest.approx(sum(0.3 * 40 * model.prices_[1, -1, name] for name in ("u", "v")))
    assert one.predicted is None
    assert one.model_violation == pytest.approx(abs(one.model - 0.7))
    declared = TiltClassifier(said, classes=["x", "y"], gamma=0.3, random_state=0, online={"horizon": 40})
    one = declared.partial_fit(FRAME).constraint_report_[0]
    assert one.pull == pytest.approx(0.3 * one.support / 2 * one.price)


def test_pulls_of_shares_in_a_stream_count_how_often_the_other_event_happens():
    said = [expect.change(given=punctuation.before, of=expect.change()).about(0.8)]
    model = TiltTagger(said, classes=["x", "y"], gamma=0.3, random_state=0, online={"batch_size": 20})
    entry = model.partial_fit(SEQUENCES).constraint_report_[0]
    changes = float(model.stream_.learner.ledger.column("other_q")[0])
    assert 0 < changes < 0.7 * entry.support
    assert entry.pull == pytest.approx(0.3 * changes * entry.price)


@pytest.mark.parametrize(
    ("value", "told"), [(0.0, "+0.00"), (-0.00123, "-0.0012"), (0.25, "+0.25"), (-31.26, "-31.3"), (12345.6, "+12,346")]
)
def test_large_and_small_numbers_are_short(value, told):
    assert signed(value) == told


@pytest.mark.parametrize(("share", "ends"), [(0.5, 0.7), (0.98, 0.9)])
def test_between_ends_at_the_edge_nearest_to_where_the_model_would_be(share, ends):
    """Without it, the model gives x the share that is stated of all documents."""
    others = [expect("x").about(share, beta=1e-3)]
    said = expect("x", given=word("a")).between(0.7, 0.9)
    before = TiltClassifier(others, classes=["x", "y"]).fit(TEXTS)
    has_a = np.array(["a" in text for text in TEXTS])
    at = before.predict_proba(TEXTS)[has_a, 0].mean()
    assert at < 0.7 if ends == 0.7 else at > 0.9
    entry = TiltClassifier([said, *others], classes=["x", "y"]).fit(TEXTS).constraint_report_[0]
    assert entry.projected == pytest.approx(ends, abs=1e-4)
