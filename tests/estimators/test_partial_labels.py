"""Sets in y: the label is one of these. Oracles: enumeration, the hard constraint that says the same, and bad input."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tiltfit import TiltClassifier, TiltTagger, constraints_from_labels, expect, feature, word
from tiltfit.data.sequences import as_sequences
from tiltfit.errors import ConflictError, DataError, TiltfitWarning, UnknownLabelError
from tiltfit.estimators.model_selection import LabelledKFold, labelled_scorer
from tiltfit.samples.labels import find_unlabelled, row_targets, tag_targets

RNG = np.random.default_rng(3)
X = np.hstack([RNG.normal(size=(8, 3)), np.eye(8)])
NAMES = ["u", "v", "w", *(f"row{i}" for i in range(8))]
Y = ["a", "b", "c", {"a", "b"}, None, {"c"}, frozenset({"b", "c"}), {"a", "b", "c"}]
ADS = [["big", "room"], ["call", "Ann"], ["big", "call", "Bob"]]


def classifier(constraints=(), **options) -> TiltClassifier:
    return TiltClassifier(constraints, classes=["a", "b", "c"], feature_names=NAMES, tol=1e-9, **options)


@pytest.mark.parametrize("gamma", [1.0, 0.3])
def test_a_set_adds_the_probability_of_its_members(gamma):
    found = classifier(gamma=gamma, sharpen=None).fit(X, Y)
    p = found.predict_proba(X)
    labelled = -np.log([p[0, 0], p[1, 1], p[2, 2], p[5, 2]]).sum()
    partly = -np.log([p[3, :2].sum(), p[6, 1:].sum()]).sum()
    ridge = 0.5 * np.sum(found.coef_**2)  # intercepts are free
    assert found.objective_ == pytest.approx(labelled + gamma * partly + ridge, rel=1e-9)


def test_a_set_is_the_hard_constraint_that_says_so():
    said = [expect("a", "b", given=feature("row3")).exactly(1), expect("b", "c", given=feature("row6")).exactly(1)]
    stated = classifier(said).fit(X, [v if isinstance(v, str) else None for v in [*Y[:5], "c", *Y[6:]]])
    in_y = classifier().fit(X, Y)
    np.testing.assert_allclose(in_y.coef_, stated.coef_, atol=1e-7)
    np.testing.assert_allclose(in_y.project(X, Y)[[3, 6]], stated.project(X)[[3, 6]], atol=1e-6)


def test_a_set_of_one_is_a_label_and_a_set_of_all_is_none():
    plain = classifier().fit(X, ["a", None, "b", *[None] * 5])
    sets = classifier().fit(X, [{"a"}, {"a", "b", "c"}, frozenset({"b"}), *[None] * 5])
    np.testing.assert_array_equal(sets.coef_, plain.coef_)


@pytest.mark.parametrize("kind", [list, tuple, pd.Series, lambda y: np.array([*y, None], dtype=object)[:-1]])
def test_any_kind_of_y_may_hold_sets(kind):
    np.testing.assert_array_equal(classifier().fit(X, kind(Y)).coef_, classifier().fit(X, Y).coef_)


def test_sets_alone_are_something_to_learn_from_and_name_classes():
    found = TiltClassifier(feature_names=NAMES).fit(X, [{"a", "b"}, *[None] * 6, {"b", "c"}])
    assert found.classes_.tolist() == ["a", "b", "c"]
    assert found.predict(X[:1])[0] == "b"


@pytest.mark.parametrize("prices", ["solve", "fitted"])
def test_projections_stay_within_sets_and_constraints_speak_of_these_rows(prices):
    said = [expect("a").about(0.5)]
    found = classifier(said).fit(X, Y)
    q = found.project(X, Y, prices=prices)
    assert np.all(q[3, 2] == 0)
    assert np.all(q[6, 0] == 0)
    np.testing.assert_allclose(q.sum(axis=1), 1)
    assert found.constraint_report_.to_dicts()[0]["support"] == 4
    assert set(found.fit_predict(X, Y)[[3]]) <= {"a", "b"}


def test_the_solvers_agree_on_sets():
    told = classifier(solver="alternating", max_iter=2000).set_params(tol=1e-6).fit(X, Y)
    np.testing.assert_allclose(told.predict_proba(X), classifier().fit(X, Y).predict_proba(X), atol=1e-3)


def test_a_stream_learns_from_sets():
    y = [{"a", "b"}] * 4 + [{"b", "c"}] * 4
    found = TiltClassifier(classes=["a", "b", "c"], feature_names=NAMES)
    for _ in range(30):
        found.partial_fit(X, y)
    p = found.predict_proba(X)
    assert p[:4, 2].max() < 0.2
    assert p[4:, 0].max() < 0.2
    tagger = TiltTagger(classes=["a", "b", "c"])
    for _ in range(30):
        tagger.partial_fit([["x", "y"]], [[{"a", "b"}, {"b", "c"}]])
    assert tagger.predict_marginals([["x", "y"]])[0][1, 0] < 0.2


def test_scores_leave_sets_out():
    found = classifier().fit(X, Y)
    predicted = found.predict(X).tolist()
    assert found.score(X, [*predicted[:2], *[{"a", "b"}] * 6]) == 1.0
    assert found.score(X, [{predicted[0]}, *[None] * 7]) == 1.0
    assert labelled_scorer("accuracy")(found, X, [*predicted[:2], *[{"a", "b"}] * 6]) == 1.0
    with pytest.raises(DataError, match="every row of y is unlabelled"):
        found.score(X, [{"a", "b"}] * 8)
    (_, first), (_, second) = LabelledKFold(2).split(X, ["a", "b", *[{"a", "b"}] * 6])
    assert sorted([*first, *second]) == [0, 1]


def test_development_sets_leave_sets_out():
    kept = classifier().fit(X, Y, dev=(X[:3], ["a", {"a", "b"}, "c"]))
    assert kept.history_[-1].dev_score is not None
    with pytest.raises(DataError, match="everything in y_dev is unlabelled"):
        classifier().fit(X, Y, dev=(X[:1], [{"a", "b"}]))


def test_constraints_from_labels_look_at_labels_alone():
    texts = ["puck ice"] * 6 + ["bat ball"] * 6 + ["puck"]
    y = ["h"] * 6 + ["b"] * 6
    assert constraints_from_labels(texts, [*y, {"h", "b"}]) == constraints_from_labels(texts, [*y, None])


def test_minus_one_beside_sets():
    values = np.array([-1, {0, 1}, 0], dtype=object)
    assert find_unlabelled(values, None).tolist() == [True, True, False]
    classes, codes, banned = row_targets([-1, {-1, 0}, 0], 3)
    assert (classes.tolist(), codes.tolist(), banned) == ([-1, 0], [0, -1, 1], None)
    found = tag_targets([[-1, {-1, 0}, 0]], as_sequences([["x", "y", "z"]]))
    assert (found[0].tolist(), found[1].tolist()) == ([-1, 0], [0, -1, 1])
    found = tag_targets([[-1, {1, 0}, 0]], as_sequences([["x", "y", "z"]]))
    assert (found[0].tolist(), found[1].tolist()) == ([0, 1], [-1, -1, 0])


@pytest.mark.parametrize("mark", [-1, np.int64(-1), -1.0])
def test_minus_one_in_a_set_is_no_class_where_it_means_unlabelled(mark):
    for y in ([0, 1, {mark, 0}], [mark, {mark, 0, 1}, 0], [0, 1, {mark}]):
        with pytest.raises(DataError, match=r"is a set with -1, which means unlabelled"):
            row_targets(y, 3)
        with pytest.raises(DataError, match=r"is a set with -1, which means unlabelled"):
            tag_targets([y], as_sequences([["x", "y", "z"]]))


def test_a_mark_that_is_a_class_may_be_in_a_set():
    for classes, y in (([-1, 0, 1], [0, 1, {-1}]), (["", "a", "b"], ["a", "b", {""}])):
        found = row_targets(y, 3, classes)
        assert (found[1].tolist(), found[2]) == ([1, 2, 0], None)
        found = tag_targets([y], as_sequences([["x", "y", "z"]]), classes)
        assert (found[1].tolist(), found[2]) == ([1, 2, 0], None)
    assert row_targets([1, {-1}, 1], 3)[1].tolist() == [1, 0, 1]
    assert tag_targets([[1, {-1}, 1]], as_sequences([["x", "y", "z"]]))[1].tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("entry", "error", "message"),
    [
        (set(), DataError, r"y\[1\] is an empty set"),
        ({"a", None}, DataError, r"y\[1\] is a set with a missing value"),
        ({None}, DataError, r"y\[1\] is a set with a missing value.*None alone"),
        ({float("nan")}, DataError, r"y\[1\] is a set with a missing value"),
        ({"a", ""}, DataError, r"y\[1\] is a set with an empty text.*Leave it out.*classes="),
        ({""}, DataError, r"y\[1\] is a set with an empty text"),
        ({-1, 3}, DataError, r"y\[1\] is a set with -1, which means unlabelled.*Leave it out.*classes="),
        ({-1}, DataError, r"y\[1\] is a set with -1"),
        ({"a", "hocky"}, UnknownLabelError, r"y\[1\] is a set with the label 'hocky', which is not one of"),
        ({"a", ("b", "c")}, DataError, r"A label in y\[1\] is .* A label is a text, a number or a bool"),
        (["a", "b"], DataError, "A set means that the label is one of its members"),
        (("a", "b"), DataError, "Multi-label y is not supported"),
    ],
)
def test_bad_sets_of_rows_are_refused_by_name(entry, error, message):
    with pytest.raises(error, match=message):
        classifier().fit(X, ["b", entry, *[None] * 6])


def test_a_set_that_the_base_forbids_is_refused():
    base = np.full((8, 3), 0.25)
    base[3] = [0, 0, 1]
    with pytest.raises(DataError, match="probability 0 to every label of the set in row 3"):
        classifier(base=base).fit(X, Y)


def test_a_set_that_a_rule_leaves_nothing_of_is_refused():
    with pytest.raises(ConflictError, match=r"No label is left for row 3: 'sure' and what y says together"):
        classifier([expect("c", given=feature("row3")).exactly(1, name="sure")]).fit(X, Y)


# Sequences


def tagger(constraints=(), **options) -> TiltTagger:
    return TiltTagger(constraints, classes=["c", "n", "s"], tol=1e-9, **options)


TAGS = [["s", {"s", "n"}], [{"c", "n"}, None], ["s", "c", "n"]]


def test_token_sets_add_the_probability_of_all_labellings_within():
    found = tagger(gamma=0.5).fit(ADS, TAGS)
    within = [
        sum(
            p
            for path, p in found.predict_k_best([ad], k=27)[0]
            if all(_fits(a, b) for a, b in zip(path, tags, strict=True))
        )
        for ad, tags in zip(ADS, TAGS, strict=True)
    ]
    ridge = 0.5 * (np.sum(found.coef_**2) + np.sum(found.transitions_**2))
    value = -np.log(within) @ [0.5, 0.5, 1] + ridge
    assert found.objective_ == pytest.approx(value, rel=1e-8)


def _fits(label, tag) -> bool:
    return tag is None or label == tag or (isinstance(tag, set) and label in tag)


def test_a_token_set_is_the_hard_constraint_that_says_so():
    said = [expect("s", "n", given=word("room")).exactly(1), expect("c", "n", given=word("call")).exactly(1)]
    stated = tagger(said).fit(ADS[:2], [["s", None], None])
    in_y = tagger().fit(ADS[:2], [["s", {"s", "n"}], [{"n", "c"}, None]])
    np.testing.assert_allclose(in_y.coef_, stated.coef_, atol=1e-7)


def test_projections_of_sequences_stay_within_sets():
    found = tagger([expect("n", given=word("room")).about(0.9)]).fit(ADS, TAGS)
    q = found.project(ADS, TAGS)
    assert q[0][1, 0] == 0
    assert q[1][0, 2] == 0
    for path, tags in zip(found.project(ADS, TAGS, decode=True), TAGS, strict=True):
        assert all(_fits(a, b) for a, b in zip(path, tags, strict=True))
    paths = found.fit_predict(ADS, TAGS)
    assert paths[0][1] in {"s", "n"}
    assert found.score(ADS, [[paths[0][0], {"s", "n"}], None, None]) in (0.0, 1.0)


def test_the_labels_of_sets_are_classes_of_a_tagger():
    assert TiltTagger().fit(ADS, [[{"x", "y"}, "y"], None, None]).classes_.tolist() == ["x", "y"]


@pytest.mark.parametrize(
    ("entry", "error", "message"),
    [
        (set(), DataError, r"y\[0\]\[1\]\) is an empty set"),
        ({"c", float("nan")}, DataError, r"y\[0\]\[1\]\) is a set with a missing value"),
        ({None}, DataError, r"y\[0\]\[1\]\) is a set with a missing value"),
        ({"c", ""}, DataError, r"y\[0\]\[1\]\) is a set with an empty text.*Leave it out"),
        ({-1}, DataError, r"y\[0\]\[1\]\) is a set with -1, which means unlabelled"),
        ({"c", "sise"}, UnknownLabelError, r"y\[0\]\[1\]\) is a set with the label 'sise', which is not one of"),
        ({"c", ("n",)}, DataError, r"A label in Position 1 of sequence 0 \(y\[0\]\[1\]\) is \('n',\)"),
    ],
)
def test_bad_sets_of_tokens_are_refused_by_name(entry, error, message):
    with pytest.raises(error, match=message):
        tagger().fit(ADS, [["s", entry], None, None])


def test_a_set_that_well_formed_labels_leave_nothing_of_is_refused():
    with pytest.raises(ConflictError, match="No well-formed labelling"):
        TiltTagger(classes=["O", "B-x", "I-x", "I-y", "B-y"], valid_only=True).fit(
            [["a", "b"]], [["O", {"I-x", "I-y"}]]
        )


@pytest.mark.parametrize("text", ["nan", "NaN", "<NA>", "NaT", "None"])
def test_a_text_for_a_missing_value_is_a_class_with_a_warning(text: str) -> None:
    y = ["a", text, "b", text]
    with pytest.warns(TiltfitWarning, match=rf"the text '{text}' as a label, 2 times, first at .*: it is a class"):
        found = row_targets(y, 4)
    assert found.classes.tolist() == sorted({*y})
    assert row_targets(y, 4, classes=["a", "b", text]).labels.min() == 0  # named, so it is meant
    with pytest.raises(UnknownLabelError, match=f"the label '{text}'"):
        row_targets(y, 4, classes=["a", "b"])


def test_an_array_of_nan_and_texts_holds_texts() -> None:
    with pytest.warns(TiltfitWarning, match="the text 'nan' as a label"):
        row_targets(np.array(["a", np.nan, "b"]), 3)
    assert row_targets(np.array(["a", np.nan, "b"], dtype=object), 3).labels.tolist() == [0, -1, 1]


def test_many_classes_are_no_regression() -> None:
    assert len(row_targets([f"c{i % 30}" for i in range(300)], 300).classes) == 30
