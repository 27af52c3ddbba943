"""``partial_fit``: where a stream is cut, saved or threaded makes no difference; horizons and starts do what they say.

Two streams are compared by all that the next step needs, bit by bit.
"""

from __future__ import annotations

import warnings
from functools import cache
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from tiltfit import TiltClassifier, TiltTagger, column, expect, load, punctuation, word
from tiltfit.errors import DataError

N = 40


def texts():
    rng = np.random.default_rng(0)
    words = ["puck", "bat", "goal", "ice", "base", "the", "of", "w1", "w2"]
    X = [" ".join(rng.choice(words, 6)) for _ in range(N)]
    return X, [("h" if "puck" in x else "b") if i % 5 == 0 else None for i, x in enumerate(X)]


ABOUT_TEXTS = [
    expect("h", given=word("puck")).about(0.9),
    expect("b", given=word("bat")).between(0.7, 0.95),
    expect("h").at_least(0.4),
    expect(given=word("ice")).distributed_as({"h": 0.7, "b": 0.3}),
    expect("b", given=word("base"), per="instance").at_least(0.6),
    expect("h", given=word("goal") & word("puck") & ~word("base")).exactly(1),
]


def sequences():
    rng = np.random.default_rng(1)
    tokens = ["Smith", ",", "J.", "Title", "of", "1999", "."]
    X = [[str(t) for t in rng.choice(tokens, rng.integers(1, 6))] for _ in range(N)]
    y = [["a" if t in ("Smith", "J.") else "t" for t in x] if i % 6 == 0 else None for i, x in enumerate(X)]
    y[3] = [None] * (len(X[3]) - 1) + ["d"]  # partly labelled
    return {"tokens": X, "style": ["p" if i % 3 else "q" for i in range(N)]}, y


ABOUT_SEQUENCES = [
    expect("a", given=word("Smith")).about(0.9),
    expect.stay().between(0.5, 0.7),
    expect.segments("a", per="sequence").at_most(1.6),
    expect.segments("d", given=word("1999")).about(0.3),
    expect("t", per=column("style")).about(0.4),
    expect.change(given=punctuation.before, of=expect.change()).at_least(0.5),
    expect.start("a", "t").at_least(0.8),
    expect.transition("d", "a", given=word("of")).at_most(0),
]
WHOLE = [expect.repeats("a").at_most(0.1), expect("a", given=word("Smith")).about(0.9)]


def some(X, a, b):
    return {name: values[a:b] for name, values in X.items()} if isinstance(X, dict) else X[a:b]


def begin(kind, **options):
    """An estimator of that kind, and its data."""
    online = {"batch_size": 8, **options.pop("online", {})}
    if kind == "classifier":
        return TiltClassifier(ABOUT_TEXTS, classes=["h", "b"], random_state=0, online=online, **options), *texts()
    constraints = WHOLE if kind == "whole" else ABOUT_SEQUENCES
    fixed = {"classes": ["a", "t", "d"], "features": {"hashing": 64}, "inference": "exact"}
    return TiltTagger(constraints, random_state=0, online=online, **(fixed | options)), *sequences()


def stream(kind, cuts, *, path=None, **options):
    """Learn the data piece by piece; with a ``path``, save and load between any two."""
    model, X, y = begin(kind, **options)
    for a, b in zip([0, *cuts], [*cuts, N], strict=True):
        model.partial_fit(some(X, a, b), y[a:b])
        if path is not None:
            with mock.patch("os.fsync"):
                model.save(path)
            model = load(path)
    return model


@cache
def uncut(kind, steps, batch_size=8):
    """The stream that others are compared with."""
    return stream(kind, [], online={"batch_size": batch_size, **STEPS[steps]})


def state(model):
    """All that the next step needs, as arrays."""
    learner = model.stream_.learner
    ledger = learner.ledger
    order = sorted(range(len(ledger)), key=lambda k: repr(ledger.keys[k]))
    found = {
        "ledger": ledger.table[:, order],
        "declared": ledger.declared[order],
        "counts": np.array([learner.seen, learner.unlabelled, learner.positions, learner.seed]),
        "numbers": np.array([learner.clock, learner.size, learner.alpha, learner.gamma, learner.n]),
        "apart": np.array(sorted(model.stream_.apart.items()), dtype=float),
    }
    for name in ("nodes", "edges"):
        table = getattr(learner, name)
        if table is not None:
            found |= {f"{name}.{part}": getattr(table, part) for part in ("value", "square", "settled")}
    return found


def same(one, other, tol=0.0):
    a, b = state(one), state(other)
    assert sorted(map(repr, one.stream_.learner.ledger.keys)) == sorted(map(repr, other.stream_.learner.ledger.keys))
    for name, values in a.items():
        if tol:
            np.testing.assert_allclose(b[name], values, atol=tol, rtol=tol, err_msg=name)
        else:
            np.testing.assert_array_equal(b[name], values, err_msg=name)
    if not tol:
        assert str(one.constraint_report_) == str(other.constraint_report_)
        assert np.array_equal(one.coef_, other.coef_)


STEPS = {"adaptive": {}, "printed": {"steps": "printed"}, "horizon": {"horizon": 500}}


@pytest.mark.parametrize("steps", sorted(STEPS))
@pytest.mark.parametrize("kind", ["classifier", "tagger"])
def test_save_load_continue_equals_not_stopping(kind, steps, tmp_path):
    straight = stream(kind, [16, 24], online=STEPS[steps])
    same(straight, stream(kind, [16, 24], online=STEPS[steps], path=tmp_path / "m.tilt"))
    assert np.abs(straight.coef_).max() > 0


def test_the_order_of_saved_arrays_is_that_of_the_ledger(tmp_path):
    model = stream("tagger", [16])
    model.save(tmp_path / "m.tilt")
    again = load(tmp_path / "m.tilt")
    assert again.stream_.learner.ledger.keys == model.stream_.learner.ledger.keys
    again.save(tmp_path / "n.tilt")
    assert (tmp_path / "m.tilt").read_bytes() == (tmp_path / "n.tilt").read_bytes()


@pytest.mark.parametrize(("kind", "tol"), [("classifier", 0.0), ("tagger", 0.0), ("whole", 1e-12)])
@pytest.mark.parametrize("steps", sorted(STEPS))
@given(multiples=st.sets(st.integers(1, (N - 1) // 8), max_size=5))
@settings(max_examples=4)
def test_cuts_at_the_ends_of_steps_change_nothing(kind, tol, steps, multiples):
    cuts = sorted(8 * k for k in multiples)
    same(uncut(kind, steps), stream(kind, cuts, online=STEPS[steps]), tol)


@pytest.mark.parametrize("kind", ["classifier", "tagger"])
@pytest.mark.parametrize("steps", sorted(STEPS))
@given(cuts=st.sets(st.integers(1, N - 1), max_size=6))
@settings(max_examples=3)
def test_steps_of_one_instance_do_not_care_for_cuts_at_all(kind, steps, cuts):
    one = {"batch_size": 1, **STEPS[steps]}
    same(uncut(kind, steps, 1), stream(kind, sorted(cuts), online=one))


def test_a_cut_inside_a_step_ends_it():
    one, other = (stream("classifier", cuts) for cuts in ([], [3]))
    assert not np.array_equal(one.coef_, other.coef_)
    assert state(one)["counts"].tolist() == state(other)["counts"].tolist()


@pytest.mark.parametrize("kind", ["classifier", "tagger", "whole"])
def test_threads_do_not_matter(kind):
    same(*(stream(kind, [24], n_jobs=n) for n in (1, 2)))


@pytest.mark.parametrize("kind", ["classifier", "tagger"])
def test_fit_online_is_decided_by_the_random_state(kind):
    def fitted(seed, **options):
        model, X, y = begin(kind, solver="online", online={"passes": 2, **options})
        return model.set_params(random_state=seed).fit(X, y)

    same(fitted(1), fitted(1))
    assert not np.array_equal(fitted(1).coef_, fitted(2).coef_)
    assert fitted(1).n_iter_ == len(fitted(1).history_) == 2
    assert np.isfinite(fitted(1).objective_)


@pytest.mark.parametrize("kind", ["classifier", "tagger"])
def test_partial_fit_goes_on_after_fit_online(kind, tmp_path):
    def fitted():
        model, X, y = begin(kind, solver="online", online={"passes": 1})
        return model.fit(X, y), X, y

    model, X, y = fitted()
    before = model.coef_.copy()
    learner = model.stream_.learner
    assert (learner.seen, learner.n) == (N, N)
    model.save(tmp_path / "m.tilt")
    again = load(tmp_path / "m.tilt")
    assert np.array_equal(again.coef_, before)
    for each in (model, again):
        each.partial_fit(some(X, 0, 16), y[:16])
    same(model, again)
    assert learner.seen == N + 16
    assert not np.array_equal(model.coef_, before)
    assert again.predict(some(X, 0, 5)) is not None


@pytest.mark.parametrize("kind", ["classifier", "tagger"])
def test_at_most_the_horizon_counts(kind):
    """n of a stream is what was seen, but no more than the horizon; supports are scaled to it."""
    growing, wide = stream(kind, [24]), stream(kind, [24], online={"horizon": 10 * N})
    assert growing.stream_.learner.n == wide.stream_.learner.n == N
    assert growing.stream_.learner.clock == pytest.approx(sum(1 / t for t in range(1, N + 1)))
    np.testing.assert_array_equal(growing.coef_, wide.coef_)
    half = stream(kind, [24], online={"horizon": N // 2})
    learner = half.stream_.learner
    assert learner.n == N // 2
    rows = np.arange(len(learner.ledger))
    support = learner.ledger.column("support")
    np.testing.assert_allclose(learner.ledger.total(rows, learner.growth), support * (N // 2) / N)
    assert learner.clock == pytest.approx(sum(1 / min(t, N // 2) for t in range(1, N + 1)))


@pytest.mark.parametrize("kind", ["classifier", "tagger"])
def test_partial_fit_goes_on_after_a_batch_fit(kind, tmp_path):
    model, X, y = begin(kind, solver="joint")
    model.fit(X, y)
    before = model.coef_.copy()
    model.partial_fit(some(X, 0, 16), y[:16])
    assert 0 < np.abs(model.coef_ - before).max() < np.abs(before).max(), "it starts from the fitted weights"
    model.save(tmp_path / "m.tilt")
    same(model, load(tmp_path / "m.tilt"))
    model.fit(X, y)
    assert np.array_equal(model.coef_, before), "a fit begins anew"


def test_weights_are_settled_when_asked_for_and_stay_fresh():
    model, X, y = begin("classifier")
    model.partial_fit(X[:16], y[:16])
    assert "coef_" not in vars(model)
    first = model.coef_
    assert "coef_" in vars(model)
    model.partial_fit(X[16:32], y[16:32])
    assert not np.array_equal(model.coef_, first)


@pytest.mark.parametrize("kind", ["classifier", "tagger"])
def test_looking_at_a_stream_does_not_disturb_it(kind):
    model, X, y = begin(kind)
    for a in range(0, N, 8):
        model.partial_fit(some(X, a, a + 8), y[a : a + 8])
        model.predict(some(X, 0, 3))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # constraints that rest on so few
            model.project(some(X, 0, 3))
        str(model.constraint_report_)
    same(stream(kind, []), model)


@pytest.mark.parametrize("kind", ["classifier", "tagger"])
def test_init_is_where_a_stream_starts(kind):
    source = stream(kind, [])
    model, X, _ = begin(kind, init=source, online={"horizon": 10**9}, warm_start=True)
    unlabelled = [None] * 2 if kind == "classifier" else None
    model.set_params(constraints=[]).partial_fit(some(X, 0, 2), unlabelled)
    np.testing.assert_allclose(model.coef_, source.coef_, atol=1e-6)


def test_labels_alone_make_a_stream():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.where(X[:, 0] > 0, "p", "n")
    model = TiltClassifier(alpha=0.1)
    for a in range(0, 400, 50):
        model.partial_fit(X[a : a + 50], y[a : a + 50], classes=["n", "p"])
    assert model.score(X, y) > 0.9


def test_classes_come_from_the_first_call_the_constructor_or_constraints():
    assert TiltClassifier().partial_fit(["x"], ["a"], classes=["b", "a"]).classes_.tolist() == ["a", "b"]
    assert TiltClassifier(ABOUT_TEXTS).partial_fit(["x"]).classes_.tolist() == ["b", "h"]
    tagger = TiltTagger([expect("q", given=word("x")).about(0.9)])
    assert tagger.partial_fit([["x", "y"]], [["r", None]]).classes_.tolist() == ["q", "r"]
    minus = TiltTagger([]).partial_fit([["x", "y", "z"]], [[1, -1, 2]])
    assert minus.classes_.tolist() == [1, 2]


def test_single_tokens_do_not_spoil_constraints_on_edges():
    """There is no edge in the first step, so a constraint on edges has nothing to learn there."""
    constraints = [expect("a", given=word("x")).about(0.9), expect.stay().at_least(0.7)]
    model = TiltTagger(constraints, classes=["a", "b"], online={"batch_size": 1}, features={"hashing": 32})
    model.partial_fit([["x"], ["x"], ["y", "x", "x"], ["x", "y"], ["x"]])
    assert np.all(np.isfinite(model.coef_))
    assert all(np.isfinite(price) for price in model.prices_.values())
    assert [entry.support for entry in model.constraint_report_] == [6, 3]


def test_instances_of_weight_zero_do_not_spoil_anything():
    constraints = [expect("a", given=word("x")).at_least(0.9), expect("a", given=word("y")).between(0.2, 0.3)]
    model = TiltClassifier(constraints, classes=["a", "b"], online={"batch_size": 1})
    model.partial_fit(["x y", "x", "y"], sample_weight=[0, 1, 1])
    assert np.all(np.isfinite(model.coef_))
    assert [entry.support for entry in model.constraint_report_] == [1, 1]


@pytest.mark.parametrize("place", [0, 8, N])
@pytest.mark.parametrize("kind", ["classifier", "tagger"])
def test_calls_without_any_weight_change_nothing(kind, place, tmp_path):
    """First, in between or last: the words of such texts do not count for their idf either."""
    model, X, y = begin(kind)
    if place:
        model.partial_fit(some(X, 0, place), y[:place])
    before = dict(vars(model))
    model.partial_fit(some(X, 0, 24), y[:24], sample_weight=np.zeros(24))
    if place:
        assert vars(model) == before
    else:
        assert not model.coef_.any()
        assert {entry.support for entry in model.constraint_report_} == {0.0}
        model.save(tmp_path / "m.tilt")
        model = load(tmp_path / "m.tilt")
    if place < N:
        model.partial_fit(some(X, place, N), y[place:])
    same(model, stream(kind, [8] if place == 8 else []))


def test_without_any_weight_after_a_batch_fit():
    model, X, y = begin("classifier")
    model.fit(X, y)
    before = dict(vars(model))
    model.partial_fit(some(X, 0, 8), y[:8], sample_weight=[0] * 8)
    assert vars(model) == before


@pytest.mark.parametrize("empty", [["", " "], {"text": ["", " "], "pages": [1, 2]}])
def test_a_stream_may_begin_with_texts_that_have_no_words(empty):
    fixed = {"classes": ["h", "b"], "random_state": 0, "online": {"batch_size": 4}}
    model = TiltClassifier([expect("h", given=word("puck")).about(0.9)], **fixed).partial_fit(empty)
    texts = ["a puck", "a bat"] * 20
    model.partial_fit({"text": texts, "pages": [1] * 40} if isinstance(empty, dict) else texts)
    found = model.predict({"text": ["puck"], "pages": [1]} if isinstance(empty, dict) else ["puck"])
    assert found.tolist() == ["h"]
    for vectorizer in ("tfidf", "counts"):
        with pytest.raises(DataError, match="no words at all"):
            TiltClassifier(vectorizer=vectorizer, **fixed).partial_fit(["", " "])
    with pytest.raises(DataError, match="no words at all"):
        TiltClassifier([expect("h").about(0.9)], vectorizer="hashing", **fixed).fit(["", " "])


@pytest.mark.parametrize("kind", ["classifier", "tagger"])
def test_clones_and_parameters(kind):
    model = stream(kind, [])
    again = clone(model)
    assert not again.__sklearn_is_fitted__()
    assert again.get_params()["online"] == {"batch_size": 8}
    again.set_params(online={"steps": "printed"})
    _, X, y = begin(kind)
    again.partial_fit(X, y)
    assert again.stream_.learner.online.steps == "printed"
    assert model.stream_.learner.online.steps == "adaptive"
