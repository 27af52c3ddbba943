"""Errors name the instance of X that is at fault, by its index there, and the parameter that is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sklearn.base import clone

from tiltfit import TiltClassifier, TiltTagger, column, constraints_from_labels, expect, word
from tiltfit.errors import ConflictError, DataError, InactiveConstraintWarning, TiltfitError

GAP: dict[str, list[object]] = {"tokens": [["c"], [], ["a"]], "k": ["x", "x", None]}
"""Sequences of which one, in the middle, is empty and left out of the work."""
TAGS = ["O", "B-x", "I-x"]


def _tagger(*constraints: Any, X: list[list[str]], classes: list[str], **parameters: Any) -> TiltTagger:
    return TiltTagger(list(constraints), classes=classes, **parameters).fit({"tokens": X, "k": ["x"] * len(X)})


def _column_is_missing() -> None:
    constraint = expect("O", given=word("a"), per=column("k")).at_least(0.5)
    _tagger(constraint, X=[["a"], ["c"]], classes=TAGS).project(GAP)


def _rule_and_label() -> None:
    constraint = expect("O", given=word("a"), on="all").exactly(1)
    tagger = _tagger(constraint, X=[["a"], ["c"]], classes=TAGS)
    tagger.project(GAP | {"tokens": [["a"], [], ["a"]]}, [[None], [], ["B-x"]])


def _share_and_label() -> None:
    constraint = expect("O", given=word("a"), on="all", per="sequence").at_least(0.5)
    _tagger(constraint, X=[["a"], ["c"]], classes=TAGS).project(GAP, [[None], [], ["B-x"]])


def _share_and_set() -> None:
    constraint = expect("O", given=word("a"), per="sequence").at_least(0.5)
    _tagger(constraint, X=[["a"], ["c"]], classes=TAGS).project(GAP, [["O"], [], [{"B-x", "I-x"}]])


def _rule_and_set() -> None:
    _tagger(expect("O", given=word("a")).exactly(1), X=[["a"], ["c"]], classes=TAGS).project(
        GAP, [["O"], [], [{"B-x", "I-x"}]]
    )


def _rule_and_scheme() -> None:
    constraint = expect("I-x", given=word("a")).exactly(1)
    _tagger(constraint, X=[["c", "a"], ["c"]], classes=TAGS, valid_only=True).project(GAP)


def _counted() -> None:
    constraint = expect.segments("B-x", per="sequence", on="all").at_most(0)
    _tagger(constraint, X=[["c", "a"], ["c"]], classes=TAGS).project(GAP, [[None], [], ["B-x"]])


REFUSED = [
    _column_is_missing, _rule_and_label, _share_and_label, _share_and_set, _rule_and_set, _rule_and_scheme, _counted
]  # fmt: skip


@pytest.mark.parametrize("refused", REFUSED)
def test_empty_sequences_count(refused: Callable[[], None]) -> None:
    with pytest.raises(TiltfitError, match="sequence 2") as error:
        refused()
    assert error.value.instance == 2


def test_values_that_an_hmm_does_not_generate_are_placed_in_their_sequence() -> None:
    X = [[{"a": 1.0}, {"b": 1.0}], [{"a": 1.0}]]
    bad = [[{"a": 1.0}, {"b": 1.0}], [], [{"a": 1.0}, {"a": -1.0}]]
    tagger = TiltTagger(model="hmm").fit(X, [["P", "Q"], ["P"]])
    for attempt, k in ((lambda: tagger.predict(bad), 2), (lambda: clone(tagger).fit(bad[::2], [["P", "Q"], None]), 1)):
        with pytest.raises(DataError, match=rf"'a' of X is -1 in position 1 of sequence {k}\.") as error:
            attempt()
        assert (error.value.parameter, error.value.instances) == ("X", (k,))


def test_errors_in_dev_name_dev_and_no_instance_of_x() -> None:
    with pytest.raises(TiltfitError, match=r"In dev=\(X_dev, y_dev\): ") as error:
        TiltClassifier().fit(["a", "b"], ["x", "y"], dev=(["a", "b"], ["x", "zz"]))
    assert (error.value.parameter, error.value.instance, error.value.instances) == ("dev", None, ())


def test_warnings_and_conflicts_name_their_constraint() -> None:
    puck = expect("h", given=word("puck")).about(0.9, name="puck")
    idle = expect("b", given=word("bat")).about(0.9, name="idle")
    with pytest.warns(InactiveConstraintWarning) as found:
        TiltClassifier([puck, idle], classes=["h", "b"]).fit(["a puck", "a ball"])
    assert [w.message.constraint for w in found if isinstance(w.message, InactiveConstraintWarning)] == ["idle"]
    rule = expect("h", given=word("puck")).exactly(1, name="rule")
    with pytest.raises(ConflictError) as error:
        TiltClassifier([rule, expect("b", given=word("puck")).exactly(1)], classes=["h", "b"]).fit(["a puck", "a"])
    assert error.value.constraint == "rule"
    with pytest.raises(ConflictError) as error:
        _rule_and_set()
    assert error.value.constraint == 'exactly 100% of tokens reading "a" are O'


TEXTS, TAGGED = ["a b", "b c", "c d"], [["a", "b"], ["b", "c"]]


@pytest.mark.parametrize(
    ("refused", "parameter"),
    [
        (lambda: TiltClassifier(vectorizer=3).fit(TEXTS, ["x", "y", "x"]), "vectorizer"),
        (lambda: TiltClassifier(feature_names=["a"]).fit([[1.0, 0.0], [0.0, 1.0]], ["x", "y"]), "feature_names"),
        (lambda: TiltClassifier(random_state="now", n_init=2).fit(TEXTS, ["x", "y", "x"]), "random_state"),
        (lambda: TiltClassifier(init="random").partial_fit(TEXTS, ["x", "y", "x"]), "init"),
        (lambda: TiltClassifier().partial_fit(TEXTS, ["x", "y", "x"], classes="xy"), "classes"),
        (lambda: TiltClassifier().fit(TEXTS, ["x", "y", "x"]).predict([[1.0]]), "X"),
        (lambda: TiltTagger(features=3).fit(TAGGED, TAGGED), "features"),
        (lambda: TiltTagger(transitions=3).fit(TAGGED, TAGGED), "transitions"),
        (lambda: TiltTagger(model="hmm", weights="observed").fit(TAGGED, TAGGED), "weights"),
        (lambda: TiltTagger(valid_only=True).fit(TAGGED, TAGGED), "valid_only"),
        (lambda: constraints_from_labels(TEXTS, ["x", "y", "x"], templates="segments"), "templates"),
        (lambda: constraints_from_labels(TEXTS, ["x", "y", "x"], templates=[3]), "templates"),
    ],
)
def test_an_error_about_a_parameter_names_it(refused: Callable[[], object], parameter: str) -> None:
    with pytest.raises(TiltfitError) as error:
        refused()
    assert error.value.parameter == parameter


ABOUT = expect("h", given=word("a")).about(0.9, name="x")


def _of(*constraints: Any, **parameters: Any) -> TiltClassifier:
    return TiltClassifier(list(constraints) or [ABOUT], classes=["h", "b"], **parameters)


@pytest.mark.parametrize(
    ("make", "parameter"),
    [
        (lambda: _of().fit([]), "X"),
        (lambda: _of().fit("a text"), "X"),
        (lambda: _of().fit(["!", "?"]), "X"),
        (lambda: _of(vectorizer="hashing").fit(["!", "?"]), "X"),
        (lambda: _of().fit(["a", "b"], ["h"]), "y"),
        (lambda: TiltTagger([ABOUT], classes=["h", "b"]).fit([]), "X"),
        (lambda: TiltTagger([ABOUT], classes=["h", "b"]).fit("a text"), "X"),
        (lambda: _of(method="vote", solver="joint").fit(["a", "b"]), "solver"),
        (lambda: _of(method="vote", solver="online").fit(["a", "b"]), "solver"),
        (lambda: _of(method="ge", model="naive_bayes").fit(["a", "b"]), "method"),
    ],
)
def test_errors_carry_the_parameter(make: Callable[[], object], parameter: str) -> None:
    with pytest.raises(TiltfitError) as caught:
        make()
    assert caught.value.parameter == parameter


@pytest.mark.parametrize(
    "make",
    [
        lambda: _of(expect("h", given=word("a")).at_least(0.9, name="x"), method="ge").fit(["a", "b"]),
        lambda: _of(expect("h", given=column("age").above(3)).about(0.9, name="x")).fit(["a", "b"]),
        lambda: _of(ABOUT, expect("b").about(0.5, name="x")).fit(["a", "b"]),
    ],
    ids=["cannot be taken", "no such column", "equal names"],
)
def test_errors_carry_the_constraint(make: Callable[[], object]) -> None:
    with pytest.raises(TiltfitError) as caught:
        make()
    assert caught.value.constraint == "x"
