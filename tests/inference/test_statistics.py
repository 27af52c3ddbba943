"""Statistics of label sequences: what they count, their registry, and the check of those that people write."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.inference.whole_cases import BIO, PLAIN, every_statistic

from tiltfit.errors import ConstraintError, DataError, UnknownLabelError
from tiltfit.inference import statistics as known
from tiltfit.inference.fields import Fields
from tiltfit.inference.segmental import Counted, Segmental
from tiltfit.inference.statistic import Statistic, check_statistic
from tiltfit.inference.statistics import REGISTRY, build, register_statistic


def counts(statistic, text, letters="abc"):
    return statistic.count(np.array([letters.index(c) for c in text]))


@pytest.mark.parametrize(
    ("statistic", "values"),
    [
        (known.segments(PLAIN), {"a": 1, "aab": 2, "abab": 4, "cccc": 1}),
        (known.segments(PLAIN, ["a", "b"]), {"c": 0, "aab": 2, "abcab": 4}),
        (known.repeats(PLAIN), {"a": 0, "aab": 0, "aba": 1, "abab": 2, "ababa": 3}),
        (known.repeats(PLAIN, ["b"]), {"aba": 0, "babab": 2}),
        (known.repeats(PLAIN, beyond=2), {"aba": 0, "ababa": 1}),
        (known.appears(PLAIN, ["a"]), {"bc": 0, "abaca": 1}),
        (known.appears(PLAIN, ["a", "b"]), {"c": 0, "a": 1, "ab": 1}),
        (known.missing(PLAIN), {"aa": 2, "abc": 0}),
        (known.distinct(PLAIN), {"aa": 1, "abcab": 3}),
        (known.distinct(PLAIN, ["a", "b"]), {"c": 0, "cab": 2}),
        (known.capped(PLAIN, ["a"], cap=2), {"b": 0, "aba": 2, "ababa": 2}),
        (known.capped(PLAIN, ["a", "b"], cap=3), {"ab": 2, "abab": 3}),
        (known.before(PLAIN, "a", "b"), {"ab": 1, "ba": 0, "cab": 1, "bab": 0, "a": 0, "b": 0, "c": 0}),
        (known.short(PLAIN), {"a": 1, "aab": 1, "abc": 3, "aabb": 0}),
        (known.short(PLAIN, ["a"], below=3), {"abbaab": 2, "aaa": 0}),
    ],
)
def test_what_they_count(statistic, values):
    assert {text: counts(statistic, text) for text in values} == values


def test_segments_of_tags_are_those_of_entities():
    tags = ["B-X", "I-X", "B-Y", "I-Y", "O"]
    labels = np.array([tags.index(tag) for tag in ["B-X", "I-X", "B-X", "O", "I-Y", "I-Y", "O", "O"]])
    assert [tuple(s) for s in BIO.segments(labels)] == [(0, 0, 2), (0, 2, 1), (-1, 3, 1), (1, 4, 2), (-1, 6, 2)]
    assert known.repeats(BIO).count(labels) == 1
    assert known.segments(BIO).count(labels) == 3
    assert known.short(BIO).count(labels) == 1


@pytest.mark.parametrize("fields", [PLAIN, BIO])
def test_built_in_ones_pass_the_check_of_written_ones(fields):
    for statistic in every_statistic(fields):
        check_statistic(statistic, fields.n_labels)


@settings(max_examples=60)
@given(labels=st.lists(st.integers(0, 4), min_size=1, max_size=8), fields=st.sampled_from([PLAIN, BIO]))
def test_counts_are_never_below_least_and_agree_with_a_naive_reading(labels, fields):
    labels = np.array(labels) % fields.n_labels
    begins = [not (t and fields.continues[labels[t - 1], labels[t]]) for t in range(len(labels))]
    found = [fields.field[y] for y, new in zip(labels, begins, strict=True) if new and fields.field[y] >= 0]
    n = np.array([found.count(f) for f in range(len(fields.names))])
    assert known.segments(fields).count(labels) == n.sum()
    assert known.repeats(fields).count(labels) == np.maximum(n - 1, 0).sum()
    assert known.distinct(fields).count(labels) + known.missing(fields).count(labels) == len(n)
    in_order = 0 in found and 1 in found and found.index(0) < found.index(1)
    assert known.before(fields, *fields.names[:2]).count(labels) == in_order
    lengths = [len(list(group)) for _, group in itertools.groupby(np.cumsum(begins))]
    kinds = [fields.field[y] for y, new in zip(labels, begins, strict=True) if new]
    assert known.short(fields).count(labels) == sum(k >= 0 and m < 2 for k, m in zip(kinds, lengths, strict=True))
    for statistic in every_statistic(fields):
        assert statistic.count(labels) >= statistic.least


def test_a_table_ends_in_a_straight_line():
    part = Counted((0,), (5.0, 1.0), 2.0)
    assert [part.at(n) for n in range(5)] == [5.0, 1.0, 3.0, 5.0, 7.0]
    assert part.least == 1.0
    assert Counted((0,), (0.0,), -1.0).least == -np.inf


def test_the_registry_builds_by_name():
    assert build("repeats", PLAIN, labels=["a"]).count(np.array([0, 1, 0])) == 1
    assert {"segments", "repeats", "appears", "missing", "distinct", "capped", "before", "short"} <= set(REGISTRY)


def test_an_unknown_statistic_is_named_with_the_nearest():
    with pytest.raises(ConstraintError, match=r"no statistic 'repaets'.*Did you mean \"repeats\""):
        build("repaets", PLAIN)


def test_options_that_do_not_fit_are_refused():
    with pytest.raises(ConstraintError, match='"before" cannot be made with no options: missing a required argument'):
        build("before", PLAIN)
    with pytest.raises(
        ConstraintError, match='"repeats" has no option "lables"; it takes labels, beyond. Did you mean "labels"'
    ):
        build("repeats", PLAIN, lables=["a"])
    with pytest.raises(ConstraintError, match="an integer of at least 1 as below, not 0"):
        build("short", PLAIN, below=0)
    with pytest.raises(ConstraintError, match="before itself"):
        build("before", PLAIN, first="a", then="a")


def test_an_unknown_field_is_named():
    with pytest.raises(UnknownLabelError, match='no field "titel".*Did you mean "title"'):
        known.appears(Fields.plain(["author", "title"]), ["titel"])


def test_a_name_is_registered_once():
    with pytest.raises(ConstraintError, match="a statistic 'repeats' already, tiltfit.inference.statistics.repeats"):
        register_statistic("repeats")(lambda fields: None)
    with pytest.raises(ConstraintError, match="'mine' needs a function builder"):
        register_statistic("mine")(3)


def test_fields_that_do_not_fit_are_refused():
    with pytest.raises(DataError, match="2 labels, but the table of what goes on has shape"):
        Fields(np.eye(3, dtype=bool), np.array([0, 1]), ("a", "b"))
    with pytest.raises(DataError, match="from −1 to 1"):
        Fields(np.eye(2, dtype=bool), np.array([0, 2]), ("a", "b"))
    with pytest.raises(DataError, match="Label 1 cannot go on with a segment of label 0"):
        Fields(np.ones((2, 2), dtype=bool), np.array([0, 1]), ("a", "b"))


class Palindrome(Statistic):
    name = "palindrome"
    least = 0.0

    def count(self, labels):
        return float(np.array_equal(labels, labels[::-1]))


def test_change_is_derived_from_count():
    check_statistic(Palindrome(), 3)
    assert Palindrome().change(np.array([0, 1, 1]), 2, 0) == 1.0


def test_a_wrong_change_is_found_and_named():
    class Wrong(Palindrome):
        def change(self, labels, t, label):
            return 0.0

    with pytest.raises(ConstraintError, match=r'"palindrome" change and count disagree: for the labels \[.*\], change'):
        check_statistic(Wrong(), 3)


def test_a_statistic_that_changes_the_labels_is_found():
    class Sorts(Palindrome):
        def change(self, labels, t, label):
            value = super().change(labels, t, label)
            labels.sort()
            return value

    with pytest.raises(ConstraintError, match='"palindrome" changed the labels it was given'):
        check_statistic(Sorts(), 3)


def test_counts_that_are_no_numbers_or_below_least_are_found():
    class Infinite(Palindrome):
        def count(self, labels):
            return np.inf

    class Below(Palindrome):
        def count(self, labels):
            return -1.0

    for wrong, message in ((Infinite, "it is inf"), (Below, "at least 0.0.*it is -1.0")):
        with pytest.raises(ConstraintError, match=f'"palindrome" must be a finite number.*{message}'):
            check_statistic(wrong(), 3)


def test_any_table_of_counts_is_a_statistic():
    twice = Segmental("author twice", PLAIN, (Counted((0,), (0.0, 0.0, 1.0), -1.0),))
    assert twice.name == "author twice"
    assert [counts(twice, text) for text in ("a", "aba", "ababa")] == [0.0, 1.0, 0.0]
