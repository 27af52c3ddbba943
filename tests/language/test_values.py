"""Labels keep their types; bad values are refused with what they are."""

from __future__ import annotations

import enum
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from tests.language.strategies import labels

from tiltfit.errors import ConstraintError
from tiltfit.language.events import Labels, Transition
from tiltfit.language.values import exact, label, match, real, text, threshold

LOOKALIKES = [1, True, 1.0, "1", "True", "1.0"]


class Colour(str, enum.Enum):  # noqa: UP042 - the kind whose str() is not its value
    RED = "red"


def test_lookalike_labels_are_different() -> None:
    assert len({Labels((value,)) for value in LOOKALIKES}) == len(LOOKALIKES)
    assert len({Transition(value, 0) for value in LOOKALIKES}) == len(LOOKALIKES)
    assert Labels(tuple(LOOKALIKES)).labels == tuple(LOOKALIKES)


def test_label_sets_have_no_order() -> None:
    assert Labels(("a", 1, True)) == Labels((True, "a", 1))
    assert hash(Labels(("a", 1))) == hash(Labels((1, "a")))
    assert Transition("a", "b") != Transition("b", "a")


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (np.str_("a"), "a"),
        (np.int8(3), 3),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (Colour.RED, "red"),
        (np.array(["x"], dtype=object)[0], "x"),
    ],
)
def test_wrapped_labels_lose_their_wrapping(given: object, kept: object) -> None:
    assert type(label(given)) is type(kept)
    assert label(given) == kept


@given(labels)
def test_plain_labels_stay_as_they_are(value: object) -> None:
    assert exact(label(value)) == exact(value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "must be a string, a number or a bool"),
        (b"a", "must be a string, a number or a bool"),
        (["a", "b"], "one by one"),
        (float("nan"), "must not be nan"),
        (float("inf"), "must not be inf"),
        (2**63, "64 bits"),
        ("\ud800", "lone surrogate"),
    ],
)
def test_bad_labels(value: object, message: str) -> None:
    with pytest.raises(ConstraintError, match=message):
        label(value)


def test_the_same_label_twice() -> None:
    with pytest.raises(ConstraintError, match="names the label 'a' twice"):
        Labels(("a", "b", "a"))


def test_match_finds_numbers_but_not_lookalikes() -> None:
    assert match(1, np.array([0.0, 1.0])) == 1
    assert match(1.0, np.array([0, 1])) == 1
    assert match(True, np.array([False, True])) == 1
    assert match("1", ["0", "1"]) == 1
    assert match(1, [True, "1"]) is None
    assert match(True, [1, "True"]) is None
    assert match("b", ["a"]) is None
    assert match(1, [1.0, 1]) == 1  # the exact one first


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (True, "must be a number"),
        ("0.9", "must be a number"),
        (None, "must be a number"),
        (1j, "must be a number"),
        (float("nan"), "must be finite"),
        (float("-inf"), "must be finite"),
        (10**400, "must be finite"),
    ],
)
def test_bad_numbers(value: object, message: str) -> None:
    with pytest.raises(ConstraintError, match=message):
        real(value, "u")


def test_numbers_of_every_kind() -> None:
    assert real(np.float32(0.5), "u") == real(Fraction(1, 2), "u") == real(0.5, "u")
    assert str(real(-0.0, "u")) == "0.0"


def test_thresholds_have_one_spelling() -> None:
    assert exact(threshold(30.0, "t")) == exact(threshold(30, "t")) == exact(threshold(np.int64(30), "t")) == (int, 30)
    assert threshold(2**60 + 1, "t") == 2**60 + 1
    with pytest.raises(ConstraintError, match="must be a number"):
        threshold(True, "t")


@pytest.mark.parametrize(("value", "message"), [("", "empty"), (3, "must be a string"), ("\udfff", "surrogate")])
def test_bad_texts(value: object, message: str) -> None:
    with pytest.raises(ConstraintError, match=message):
        text(value, "A name")
