"""What a check tells besides conflicts: supports, overlaps, labels, words; and what it refuses."""

from __future__ import annotations

import json
import math
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from tiltfit import Constraint, ConstraintSet, TiltClassifier, column, expect, feature, word
from tiltfit.check.check import MOST
from tiltfit.errors import DataError, UnmetConstraintWarning

TEXTS = ["a puck", "the puck and a bat", "the pitcher", "nothing", "a bat"]
PUCK = expect("hockey", given=word("puck")).about(0.9, name="puck")
BAT = expect("baseball", given=word("bat")).at_least(0.6, name="bat")


def said(*constraints: Constraint) -> ConstraintSet:
    return ConstraintSet(constraints, ("baseball", "hockey", "other"))


def test_supports_coverage_and_words_that_look_misspelt() -> None:
    found = said(PUCK, BAT, expect("hockey", given=word("pitchr")).about(0.5, name="p")).check(TEXTS)
    assert [entry.support for entry in found] == [2, 2, 0]
    assert [entry.coverage for entry in found] == [0.4, 0.4, 0.0]
    assert (found.supports.covered, found.supports.rows) == (3, 5)
    assert found.warnings == ("The constraint 'p' never fires, so it has no effect. Did you mean \"pitcher\"?",)
    assert "1 constraint that never fires" in found.verdict
    assert (len(found), found[0].title) == (3, "puck")


def test_disputes() -> None:
    weak = expect("other", given=word("a")).about(0.4)  # points nowhere
    agrees = expect("hockey", "other", given=word("the")).at_least(0.7, name="the")
    found = said(PUCK, BAT, weak, agrees).check(TEXTS).overlap
    assert (found.pointed, found.shared, found.disputed) == (4, 1, 1)
    assert [(d.first, d.second, d.overlap) for d in found.disputes] == [(0, 1, 1), (1, 3, 1)]
    assert found.disputes[0].jaccard == pytest.approx(1 / 3)
    assert found.disputes[0].examples == ((1, "the puck and a bat"),)


def test_those_that_meet_most_often_come_first_and_the_rest_is_counted() -> None:
    words = [f"w{k}" for k in range(12)]
    texts = ["puck " + " ".join(words[: k + 1]) for k in range(12)]
    others = [expect("other", given=word(w)).about(0.9, name=w) for w in words]
    found = said(PUCK, *others).check(texts)
    assert [d.overlap for d in found.overlap.disputes] == list(range(12, 0, -1))
    assert f"and {12 - MOST} more" in str(found)


def test_training_warns_of_a_conflict_and_not_after_the_change_that_was_found() -> None:
    texts = ["puck a", "puck b", "puck bat", "bat", "x bat", "bat c", "bat puck", "zz"]
    puck, bat = expect("hockey", given=word("puck")), expect("baseball", given=word("bat"))
    hard = ConstraintSet((puck.at_least(0.9, name="puck"), bat.at_least(0.9, name="bat")), ("baseball", "hockey"))
    with pytest.warns(UnmetConstraintWarning, match=r"ConstraintSet\.check"):
        TiltClassifier(hard).fit(texts)
    (change,) = hard.check(texts).feasibility.relaxation
    assert (change.number, change.interval[0]) == (1, 0.68)  # 0.6 of the 2 shared texts is hockey, the rest of 5 is not
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TiltClassifier([hard[0], bat.at_least(0.68)]).fit(texts)


def test_labels_against_targets() -> None:
    texts = ["puck"] * 12 + ["bat"] * 2
    labels = ["hockey"] * 9 + ["baseball"] * 3 + [None, None]
    found = said(expect("hockey", given=word("puck")).about(0.95, name="p"), BAT).check(texts, labels)
    (evidence,) = found.evidence
    n, k, z = 12, 9, 1.959963984540054
    centre, half = (k + z * z / 2) / (n + z * z), z * math.sqrt(k * (n - k) / n + z * z / 4) / (n + z * z)
    assert (evidence.low, evidence.high) == pytest.approx((centre - half, centre + half), abs=1e-12)
    assert evidence.gap == pytest.approx(0.95 - (centre + half))
    assert evidence.sentence == "you said about 95%, 12 labelled documents say 47–91%"
    assert "p: you said about 95%" in str(found)
    assert "1 target that the labels contradict" in found.verdict


def test_labels_against_bounds_distributions_and_counts() -> None:
    least = expect("hockey", given=word("puck")).at_least(0.2)
    spread = expect(given=word("puck")).distributed_as([("hockey", 0.1), ("baseball", 0.9)])
    found = said(least, spread).check(["puck"] * 20, ["hockey"] * 20)
    assert [(e.number, e.component, e.gap > 0) for e in found.evidence] == [
        (1, "hockey", True),
        (1, "baseball", True),
        (0, None, False),
    ]
    assert found.evidence[1].sentence == "you said 90% baseball, 20 labelled documents say 0–16%"
    tags = ConstraintSet((expect.segments("x").at_most(1, name="s"), expect.start("y").about(0.9)), ("x", "y"))
    shown = tags.check([["a", "b", "c"]] * 10, [["x", "y", "x"]] * 10).evidence
    assert [e.number for e in shown] == [0, 1]
    assert shown[1].sentence == "you said about 90%, 10 labelled sequences say 0–28%"
    assert shown[0].counts
    assert shown[0].value == 2


def test_json_holds_everything() -> None:
    found = said(PUCK, BAT, expect("hockey").at_most(0.9, name="most")).check(TEXTS, ["hockey", *[None] * 4])
    document = json.loads(json.dumps(found.to_dict()))
    assert document["valid"] is True
    assert [c["name"] for c in document["constraints"]] == ["puck", "bat", "most"]
    assert document["overlap"]["disputes"][0]["first"] == "puck"
    assert document["evidence"][0]["name"] in {"puck", "most"}
    assert document["verdict"] == found.verdict


def test_one_class_alone_has_an_opposite() -> None:
    lonely = ConstraintSet((expect("spam", given=word("puck")).at_most(0.2), expect("spam").at_least(0.9)))
    assert not lonely.check(TEXTS).is_valid
    assert not lonely.check(TEXTS, ["spam", *[None] * 4]).is_valid
    one = ConstraintSet((expect(1).at_least(0.9),))
    assert [e.value for e in one.check(TEXTS, [1.0, *[np.nan] * 4]).evidence] == [1.0]  # 1 and 1.0 are one class


def test_nothing_need_be_named() -> None:
    stays = ConstraintSet((expect.stay().at_least(0.9),))
    for y in (None, [None, None]):
        found = stays.check([["a", "b"], ["c"]], y)
        assert (found[0].support, found.not_covered) == (1, (0,))
    assert ConstraintSet().check(TEXTS).verdict == "No error. Nothing to object to."


def test_kinds_of_input() -> None:
    on_column = said(expect("hockey", given=column("age").above(3)).about(0.5))
    assert on_column.check({"text": np.array(["x", "y"]), "age": np.array([2, 5])})[0].support == 1
    on_feature = said(expect("hockey", given=feature("f")).about(0.5))
    assert on_feature.check(sparse.csr_array(np.eye(3)), feature_names=["e", "f", "g"])[0].support == 1
    on_tokens = said(PUCK).check({"tokens": [["a", "puck"], ["b"]], "n": [1, 2]})
    assert (on_tokens.unit, on_tokens.supports.sequences, on_tokens.supports.sequences_covered) == ("tokens", 2, 1)
    assert "1 of 3 tokens (33%), in 1 of 2 sequences (50%)" in str(on_tokens)


@pytest.mark.parametrize(
    ("constraint", "X", "y", "message"),
    [
        (expect.stay().about(0.9, name="stay"), TEXTS, None, "is about sequences"),
        (expect("hockey", given=column("age").above(3)).about(0.5), TEXTS, None, "needs a data frame"),
        (PUCK, TEXTS, ["hocky", *[None] * 4], 'Did you mean "hockey"'),
        (
            expect("hockey", per=column("c")).about(0.5),
            {"text": np.array(["x", "y"]), "c": np.array(["k", None], dtype=object)},
            None,
            "that column is missing in 1 rows",
        ),
    ],
)
def test_what_cannot_be_asked_of_the_data_is_an_error_in_the_check(
    constraint: Constraint, X: Any, y: Any, message: str
) -> None:
    found = said(constraint, expect("other").at_most(0.9)).check(X, y)
    assert not found.is_valid
    assert message in found.errors[0]
    assert found.verdict.startswith("Not as it stands: 1 error.")
    assert found[1].support is not None  # the others are checked all the same


def test_unknown_labels_of_a_set_without_classes() -> None:
    found = ConstraintSet((expect("hocky", given=word("puck")).about(0.9),)).check(["puck", "bat"], ["hockey", "bat"])
    assert 'Did you mean "hockey"?' in found.errors[0]


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ("one text", None, "single text"),
        ([], None, "no rows"),
        (TEXTS, ["hockey"], "different lengths"),
        (TEXTS, 3, "y must be a list"),
        (TEXTS, "hockey", "y must be a list"),
        ([["a"], ["b"]], [["hockey"]], "1"),
        ([[]], [[]], "is empty"),
        (3, None, "neither a list of texts"),
        (TEXTS, [["hockey"]] + [None] * 4, "where a list of tokens is expected"),
    ],
)
def test_data_that_cannot_be_used_are_refused(X: Any, y: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        said(PUCK).check(X, y)


def test_names_of_columns_belong_to_matrices() -> None:
    with pytest.raises(DataError, match="Leave it out"):
        said(PUCK).check([["puck"]], feature_names=["a"])
