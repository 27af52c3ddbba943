"""The running report: supports, expectations of late, drift, shares of other events, constraints without a price."""

from __future__ import annotations

import numpy as np
import pytest

from tiltfit import TiltClassifier, TiltTagger, column, expect, punctuation, word

NAMES = ["on", "x"]
ON = column("on").above(0.5)


def rows(n, *, share=0.5, at=1.0, seed=0):
    """``on`` with that share, and ``x`` about ±``at``."""
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.random(n) < share, at + 0.1 * rng.normal(size=n)]).astype(float)


def classifier(constraints, **options):
    return TiltClassifier(constraints, classes=["a", "b"], feature_names=NAMES, random_state=0, **options)


def entry(model, name):
    return next(e for e in model.constraint_report_ if e.name == name)


def test_supports_add_up_over_calls_labels_and_weights():
    constraints = [
        expect("a", given=ON).about(0.9, name="on"),
        expect("b").between(0.2, 0.8, name="all"),
        expect("a", given=ON, per="instance").at_least(0.1, name="each"),
        expect("a", given=column("on").above(7)).about(0.9, name="never"),
        expect("b", given=column("x").above(1.05)).at_most(0, name="rule"),
        expect("a", given=ON, per=column("on")).about(0.8, name="groups"),
    ]
    model, X = classifier(constraints), rows(120)
    labels = ["a" if i % 4 == 0 and X[i, 1] > 1.05 else None for i in range(120)]
    weight = 0.5 + np.arange(120) % 3
    unlabelled = np.array([label is None for label in labels])
    for end in (30, 31, 90, 120):
        start = {30: 0, 31: 30, 90: 31, 120: 90}[end]
        model.partial_fit(X[start:end], labels[start:end], sample_weight=weight[start:end])
        counts = weight[:end] * unlabelled[:end]
        on = float(counts @ (X[:end, 0] > 0.5))
        wanted = {"on": on, "all": counts.sum(), "each": on, "never": 0.0, "groups": on}
        wanted["rule"] = float(counts @ (X[:end, 1] > 1.05))
        assert {name: pytest.approx(entry(model, name).support) for name in wanted} == wanted
    statuses = {e.name: e.status for e in model.constraint_report_}
    assert (statuses["never"], statuses["rule"], statuses["each"]) == ("rests", "rules", "each")
    told = str(model.constraint_report_)
    assert "was projected in each instance as it came" in told
    assert "inactive: it never fires on unlabelled data" in told
    assert "holds everywhere: it rules labels out" in told
    assert entry(model, "never").drift is None


def test_expectations_are_those_of_the_rows_as_they_were_met():
    """At the first step weights and prices are zero, so that p and q are uniform. Later they are what was learned, and
    what came before counts a little less."""
    model = classifier([expect("a", given=ON).about(0.9)], alpha=1e-9, beta=0.05, online={"batch_size": 40})
    X = rows(160)
    recent = np.zeros(3)  # support, and sums under p and q
    for start in range(0, 160, 40):
        part = X[start : start + 40]
        on = part[:, 0] > 0.5
        p, price = np.full(40, 0.5), 0.0
        if start:
            p, price = model.predict_proba(part)[:, 0], model.constraint_report_[0].price
        q = p * np.exp(price) / (p * np.exp(price) + 1 - p)
        model.partial_fit(part)
        recent = np.exp(-on.sum() / 1000) * recent + [on.sum(), p[on].sum(), q[on].sum()]
        told = model.constraint_report_[0]
        # The ridge of a step comes before its p; alpha makes it nothing.
        assert (told.model, told.projected) == pytest.approx((recent[1] / recent[0], recent[2] / recent[0]), abs=1e-6)
        assert start or (told.model, told.projected) == pytest.approx((0.5, 0.5))
    assert told.projected > told.model > 0.55


@pytest.mark.parametrize("sign", [1, -1])
def test_drift_has_the_sign_of_the_shift(sign):
    """The model learns that x > 0 is a; then rows come whose x has the other sign, or still more of it."""
    rng = np.random.default_rng(1)
    X = np.column_stack([np.ones(4000), rng.normal(size=4000)])
    y = np.where(X[:, 1] > 0, "a", "b").astype(object)
    y[::2] = None
    model = classifier([expect("a", given=ON).about(0.5, beta=1000.0)], online={"horizon": 10000})
    model.partial_fit(X, y)
    before = model.constraint_report_[0]
    assert abs(before.drift) < 0.03
    shifted = np.column_stack([np.ones(1500), sign + 0.1 * rng.normal(size=1500)])
    model.partial_fit(shifted)
    after = model.constraint_report_[0]
    assert sign * after.drift > 0.1
    assert sign * (after.model - before.model) > 0.2
    assert ("drift +" if sign > 0 else "drift -") in str(model.constraint_report_)


def test_shares_of_another_event_are_told_as_shares():
    rng = np.random.default_rng(0)
    X = [[str(t) for t in rng.choice(["x", ",", "y"], 5)] for _ in range(150)]
    share = expect.change(given=punctuation.before, of=expect.change()).at_least(0.9, name="share")
    both = expect.change(given=punctuation.before, of=expect.change()).between(0.2, 0.3, name="both")
    for constraint in (share, both):
        model = TiltTagger([constraint], classes=["a", "b"], random_state=0, online={"batch_size": 30})
        model.partial_fit(X[:30])
        first = model.constraint_report_[0]
        # At weights of zero all edges are alike: of all changes, as many come after a comma as edges do.
        commas = np.mean([token == "," for x in X[:30] for token in x[:-1]])
        assert first.model == pytest.approx(commas)
        assert first.projected == pytest.approx(commas)
        assert first.support == 30 * 4
        model.partial_fit(X[30:])
        last = model.constraint_report_[0]
        wanted = 0.9 if constraint is share else 0.3
        assert abs(last.projected - wanted) < abs(first.projected - wanted)
        assert last.support == 150 * 4
        assert not last.counts


def test_a_share_that_cannot_happen_rests_until_it_can():
    share = expect.change(given=word("z").before, of=expect.change()).at_least(0.9, name="share")
    options = {"classes": ["a", "b"], "random_state": 0, "features": {"hashing": 16}, "online": {"batch_size": 2}}
    model = TiltTagger([share], **options).partial_fit([["x", "y"], ["y", "x"]])
    assert model.constraint_report_[0].status == "rests"
    assert not np.any(model.coef_)
    model.partial_fit([["x", "y"], ["z", "x"]])
    assert model.constraint_report_[0].status in ("learning", "met")
    assert model.constraint_report_[0].price > 0


def test_means_count_the_sequences_where_nothing_is_found():
    constraint = expect.segments("a", given=word("x")).about(0.1, name="mean")
    X = [["x", "y"], ["y"], ["y", "y"], ["x"], ["y"], ["y"]]
    for cuts in ([6], [1, 2, 6], [2, 3, 6]):
        model = TiltTagger([constraint], classes=["a", "b"], online={"batch_size": 1}, features={"hashing": 16})
        for a, b in zip([0, *cuts], cuts, strict=False):
            model.partial_fit(X[a:b])
        assert model.constraint_report_[0].support == 6
        assert model.constraint_report_[0].counts
    # Of late, but for those after the last that fired: ½ + ½ of the first four.
    assert model.constraint_report_[0].model == pytest.approx(0.25, abs=0.1)


def test_hard_constraints_are_being_learned_and_soft_ones_missed():
    X = rows(30)
    said = [expect("a", given=ON).at_least(0.999, name="h"), expect("b").about(0.9, name="s")]
    model = classifier(said, online={"batch_size": 64}).partial_fit(X)  # one step: prices were zero
    assert [e.status for e in model.constraint_report_] == ["learning", "missed"]
    assert "is being learned: off by" in str(model.constraint_report_)
    assert model.converged_ is False
    assert np.isnan(model.objective_)


def test_a_report_of_classes_adds_up_to_one():
    model = (
        classifier([expect(given=ON).distributed_as({"a": 0.7, "b": 0.3})]).partial_fit(rows(200)).partial_fit(rows(50))
    )
    told = [e for e in model.constraint_report_ if e.component is not None]
    assert [e.component for e in told] == ["a", "b"]
    assert sum(e.model for e in told) == pytest.approx(1)
    assert sum(e.projected for e in told) == pytest.approx(1)
