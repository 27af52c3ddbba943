"""TOML: exact round trips over the whole language, and nothing but documented complaints."""

from __future__ import annotations

import contextlib
import json
import tomllib
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.language.strategies import constraints, label_sets, labels, texts

import tiltfit.language.conditions as conditions_module
from tiltfit.errors import (
    ConflictError,
    ConstraintError,
    ConstraintFileError,
    TiltfitWarning,
    UnknownLabelError,
    UnsupportedError,
)
from tiltfit.language.conditions import Condition, column, when, word
from tiltfit.language.constraint import Constraint, ConstraintSet
from tiltfit.language.document import from_document, to_document
from tiltfit.language.events import Event
from tiltfit.language.expect import expect
from tiltfit.language.relations import Relation
from tiltfit.language.toml import _value, dumps, loads

NAMES = {**vars(conditions_module), "expect": expect, "inf": float("inf")}
slow_ok = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@slow_ok
@given(constraints())
def test_toml_reads_back_what_it_wrote(constraint: Constraint) -> None:
    original = ConstraintSet((constraint,))
    again = ConstraintSet.from_toml(original.to_toml())
    assert again == original
    assert hash(again) == hash(original)
    assert repr(again) == repr(original)  # order of labels and spelling of numbers too


@slow_ok
@given(constraints())
def test_json_reads_back_what_it_wrote(constraint: Constraint) -> None:
    again = from_document(json.loads(json.dumps(to_document(constraint))))
    assert again == constraint
    assert repr(again) == repr(constraint)


@slow_ok
@given(constraints())
def test_repr_is_code_that_rebuilds_it(constraint: Constraint) -> None:
    again = eval(repr(constraint), dict(NAMES))
    assert again == constraint
    assert repr(again) == repr(constraint)


@slow_ok
@given(label_sets())
def test_classes_keep_their_types(classes: tuple[str, ...]) -> None:
    again = ConstraintSet.from_toml(ConstraintSet((), classes).to_toml())
    assert again.classes is not None
    assert [(type(a), a) for a in again.classes] == [(type(c), c) for c in classes]


@given(texts)
def test_strings_survive_the_writer(value: str) -> None:
    assert tomllib.loads(f"x = {_value(value)}") == {"x": value}
    assert tomllib.loads(f"x = {_value({value: 1})}") == {"x": {value: 1}}


# Any value that TOML can hold, anywhere: only documented complaints.

MODIFIERS = ["given", "of", "penalty", "per", "on", "beta", "slack", "within", "name", "rationale", "column", "case"]
LEGAL_KEYS = [*Event.registry, *Condition.registry, *Relation.registry, *MODIFIERS]
scalars = st.one_of(labels, st.sampled_from([0.5, 1, 1.5, float("nan"), float("inf"), "l1", "sequence", "all", "a"]))
keys = st.one_of(st.sampled_from(LEGAL_KEYS), texts)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3)),
    max_leaves=8,
)


def _attempt(document: object) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TiltfitWarning)  # such as a beta that has no effect
        try:
            constraint = from_document(document)
        except ConstraintFileError:
            return
        assert str(constraint)
        assert from_document(to_document(constraint)) == constraint


@settings(slow_ok, max_examples=100)
@given(st.dictionaries(keys, values, max_size=5))
def test_random_documents_are_read_or_refused(document: dict[str, object]) -> None:
    _attempt(document)


@settings(slow_ok, max_examples=100)
@given(constraints(), st.data())
def test_mutated_documents_are_read_or_refused(constraint: Constraint, data: st.DataObject) -> None:
    document = to_document(constraint)
    place: object = document
    while isinstance(place, dict | list) and place:
        spots = list(place) if isinstance(place, dict) else list(range(len(place)))
        spot = data.draw(st.sampled_from(spots))
        action = data.draw(st.sampled_from(["deeper", "replace", "delete", "rename"]))
        if action == "deeper" and isinstance(place[spot], dict | list):
            place = place[spot]
            continue
        if action == "delete":
            del place[spot]
        elif action == "rename" and isinstance(place, dict):
            place[data.draw(keys)] = place.pop(spot)
        else:
            place[spot] = data.draw(values)
        break
    _attempt(document)


@settings(slow_ok, max_examples=100)
@given(constraints(), st.data())
def test_damaged_text_is_read_or_refused(constraint: Constraint, data: st.DataObject) -> None:
    text = dumps(ConstraintSet((constraint,)))
    at = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 6))
    patch = data.draw(
        st.one_of(st.text(max_size=4), st.sampled_from(["[", "]", "{", "}", '"', "=", "\n", "1979-05-27"]))
    )
    with contextlib.suppress(ConstraintFileError, ConstraintError):
        loads(text[:at] + patch + text[at + length :])


REFUSED = {
    "no relation": ('label = "a"', "says no relation; one of these keys is needed: about"),
    "two relations": ('label = "a"\nabout = 0.1\nexactly = 0.2', "says two relations, `about` and `exactly`"),
    "no event": ("about = 0.5", "says no event; one of these keys is needed: label, labels"),
    "two events": ('label = "a"\nstay = true\nabout = 0.5', "says two events, `label` and `stay`"),
    "unknown key": ('labl = "a"\nabout = 0.5', '`labl` is not a key that is known here. Did you mean "label"?'),
    "unknown condition": ('label = "a"\ngiven = { wrod = "x" }\nabout = 0.5', 'Did you mean "word"?'),
    "nested place": (
        'label = "a"\ngiven = { all = [{ word = "x" }, { word = 3 }] }\nabout = 0.5',
        "`given.all[1].word` must be a string, but is the number 3.",
    ),
    "two conditions": (
        'label = "a"\ngiven = { word = "x", regex = "y" }\nabout = 0.5',
        "two conditions, word and regex",
    ),
    "wrong modifier": ('label = "a"\ngiven = { regex = "y", case = true }\nabout = 0.5', "`given.case` is not a key"),
    "empty condition": ('label = "a"\ngiven = {}\nabout = 0.5', "`given` says no condition"),
    "empty group": ('label = "a"\ngiven = { all = [] }\nabout = 0.5', "must hold at least one table"),
    "no source": ('label = "a"\ngiven = { above = 3 }\nabout = 0.5', "needs either `column` or `feature`"),
    "column alone": (
        'label = "a"\ngiven = { column = "x" }\nabout = 0.5',
        "beside `column`: lexicon, near, word, words, ",
    ),
    "penalty elsewhere": (
        'label = "a"\nexactly = 0.5\npenalty = "l1"',
        "`penalty` goes with `about`, not with `exactly`",
    ),
    "unknown penalty": ('label = "a"\nabout = 0.5\npenalty = "l3"', "There is no penalty 'l3'; known are l1, l2"),
    "text for a number": (
        'label = "a"\nabout = "0.5"',
        "`about` must be a number, but is a string. Write 0.5, without quotes.",
    ),
    "percentage": ('label = "a"\nabout = "90%"', "`about` must be a number, but is a string. Write 0.9."),
    "words for a number": ('label = "a"\nabout = "most"', "`about` must be a number, but is a string."),
    "word for a condition": (
        'label = "a"\nabout = 0.5\ngiven = "puck"',
        '`given` must be a table, but is a string. Write { word = "puck" }.',
    ),
    "words for a condition": (
        'label = "a"\nabout = 0.5\ngiven = { not = "stanley cup" }',
        '`given.not` must be a table, but is a string. Write { phrase = "stanley cup" }.',
    ),
    "words in a group": (
        'label = "a"\nabout = 0.5\ngiven = { any = ["puck", "rink"] }',
        '`given.any[0]` must be a table, but is a string. Write { word = "puck" }.',
    ),
    "word for words": (
        'label = "a"\nabout = 0.5\ngiven = { words = "puck" }',
        '`given.words` must be an array, but is a string. Write ["puck"].',
    ),
    "path for a lexicon": (
        'label = "a"\nabout = 0.5\ngiven = { lexicon = "teams.txt" }',
        '`given.lexicon` must be a table, but is a string. Write { path = "teams.txt" } for a file, or',
    ),
    "bool for a number": ('label = "a"\nabout = true', "`about` must be a number, but is a bool."),
    "one bound": ('label = "a"\nbetween = [0.5]', "must be two numbers [low, high], but has 1"),
    "date for a label": ("label = 1979-05-27\nabout = 0.5", "but is a date or time"),
    "table for a label": ("label = { a = 1 }\nabout = 0.5", "but is a table"),
    "array for a label": ('label = ["a"]\nabout = 0.5', "but is an array"),
    "no labels": ("labels = []\nabout = 0.5", "must name at least one label"),
    "stay = false": ("stay = false\nabout = 0.5", "`stay` can only be true"),
    "short transition": ('transition = ["a"]\nabout = 0.5', "must be two labels [from, to], but has 1"),
    "bad pairs": ("distribution = [[1, 0.5], [2]]", "must be a table or pairs [label, share]"),
    "bad share": ('label = "a"\nabout = 90', "Write 0.9 for 90%"),
    "bad regex": ('label = "a"\ngiven = { regex = "(" }\nabout = 0.5', "not a valid pattern"),
    "unknown scope": ('label = "a"\nabout = 0.5\nper = "county"', "per='county' is unknown"),
    "bad group": ('label = "a"\nabout = 0.5\nper = { colum = "x" }', 'Did you mean "column"?'),
    "unknown part": ('label = "a"\nabout = 0.5\non = "some"', "on='some' is unknown"),
    "of is no table": ('label = "a"\nabout = 0.5\nof = "change"', "`of` must be a table, but is a string."),
    "text beta": ('label = "a"\nabout = 0.5\nbeta = "x"', "`beta` must be a number"),
    "text within": ('label = "a"\nabout = 0.5\nwithin = "x"', "`within` must be a number"),
    "bool within": ('label = "a"\nabout = 0.5\nwithin = true', "`within` must be a number, but is a bool."),
    "zero within": ('label = "a"\nabout = 0.5\nwithin = 0', "within must be positive"),
    "within of all": ('label = "a"\nabout = 0.5\nwithin = 1', "does not limit a share"),
    "within and beta": ('label = "a"\nabout = 0.5\nwithin = 0.1\nbeta = 0.1', "within= and beta= both say"),
    "within elsewhere": ('label = "a"\nexactly = 0.5\nwithin = 0.1', "`within` goes with `about`, not with `exactly`"),
    "within of a distribution": ("distribution = { a = 1 }\nwithin = 0.1", "not with `distribution`"),
    "number name": ('label = "a"\nabout = 0.5\nname = 3', "`name` must be a string"),
    "huge label": (f"label = {10**30}\nabout = 0.5", "must fit in 64 bits"),
    "position": ("stay = true\nabout = 0.5\ngiven = { position = 1.5 }", "must be a whole number"),
}


@pytest.mark.parametrize(("body", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_a_bad_constraint_is_refused_with_its_number(body: str, message: str) -> None:
    good = '[[constraint]]\nlabel = "a"\nabout = 0.5\n'
    with pytest.raises(ConstraintFileError) as caught:
        loads(f"{good}[[constraint]]\n{body}\n")
    assert str(caught.value).startswith("constraint 2")
    assert message in str(caught.value)


def test_a_complaint_names_constraint_and_file(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text('[[constraint]]\nname = "my rule"\nlabl = "a"\nabout = 0.5\n')
    with pytest.raises(ConstraintFileError, match=r'c\.toml: constraint 1 \("my rule"\): `labl`'):
        ConstraintSet.from_toml(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("version = 2", "`version` 2 is unknown; this release reads version 1"),
        ('version = "1"', "`version` must be a whole number"),
        ("version = true", "`version` must be a whole number"),
        ("constrain = []", 'Did you mean "constraint"?'),
        ("constraint = 3", "`constraint` must be an array"),
        ("[constraint]\nlabel = 'a'", "`constraint` must be an array, but is a table. Write [[constraint]]"),
        ("constraint = [1]", "constraint 1: it must be a table, but is the number 1"),
        ("classes = 'a'", "`classes` must be an array"),
        ("classes = [[1]]", "`classes` must be a label"),
        ("a = = 1", "this is not valid TOML"),
        (f"a = {'1' * 5000}", "this is not valid TOML"),
        (f"a = {'[' * 100_000}", "this is not valid TOML"),
    ],
)
def test_a_bad_file_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConstraintFileError) as caught:
        loads(text)
    assert message in str(caught.value)


def test_deep_nesting_is_refused() -> None:
    deep: dict[str, object] = {"word": "x"}
    for _ in range(100_000):
        deep = {"not": deep}
    with pytest.raises(ConstraintFileError, match="nested more than 50 deep"):
        from_document({"label": "a", "about": 0.5, "given": deep})
    text = "{ not = " * 80 + '{ word = "x" }' + " }" * 80
    with pytest.raises(ConstraintFileError, match="nested"):
        loads(f'[[constraint]]\nlabel = "a"\nabout = 0.5\ngiven = {text}')


def test_the_deepest_condition_can_be_written_and_read() -> None:
    condition = word("x")
    for i in range(49):
        condition = condition.before if i % 2 else word("y") & condition
    for constraint in (
        expect("a", given=condition).about(0.5),
        expect.stay(of=expect.change(given=condition)).about(0.5),
    ):
        again = loads(dumps(ConstraintSet((constraint,))))
        assert again == ConstraintSet((constraint,))
        assert str(constraint)
        assert repr(constraint)
    with pytest.raises(ConstraintError, match="nested more than 50 deep"):
        condition.before.before.before.before  # noqa: B018


def test_a_function_cannot_be_written_and_is_named() -> None:
    constraint = expect("a", given=when(str.isupper, "shouting") & word("x")).about(0.5, name="loud")
    with pytest.raises(UnsupportedError, match=r"'loud' cannot be saved: when\(shouting\)"):
        to_document(constraint)
    with pytest.raises(UnsupportedError, match="loud"):
        ConstraintSet((constraint,)).to_toml()


def test_the_examples_of_the_grammar() -> None:
    found = loads(
        """
        version = 1
        classes = ["baseball", "hockey", "journal", 1, true]
        [[constraint]]
        name  = "puck means hockey"
        label = "hockey"
        given = { word = "puck" }
        about = 0.9
        [[constraint]]
        segments = "journal"
        per = "sequence"
        at_most = 1
        [[constraint]]
        start = "hockey"
        at_least = 0.5
        [constraint.given]
        column = "age"
        above = 30
        [[constraint]]
        given.any = [{ phrase = "new york", case = false }, { column = "title", word = "x" }]
        distribution = { hockey = 0.5, baseball = 0.5 }
        [[constraint]]
        distribution = [[1, 0.25], [true, 0.75]]
        """
    )
    assert list(found) == [
        expect("hockey", given=word("puck")).about(0.9, name="puck means hockey"),
        expect.segments("journal", per="sequence").at_most(1),
        expect.start("hockey", given=column("age").above(30)).at_least(0.5),
        expect(
            given=conditions_module.phrase("new york", case=False) | column("title").word("x"),
        ).distributed_as({"hockey": 0.5, "baseball": 0.5}),
        expect().distributed_as([(1, 0.25), (True, 0.75)]),
    ]


def test_an_unknown_label_in_a_file_is_an_unknown_label() -> None:
    with pytest.raises(UnknownLabelError, match='Did you mean "hockey"'):
        loads('classes = ["hockey", "bat"]\n[[constraint]]\nlabel = "hokcey"\nabout = 0.5')


def test_a_contradiction_in_a_file_is_a_conflict() -> None:
    with pytest.raises(ConflictError):
        loads('[[constraint]]\nlabel = "a"\nat_least = 0.5\n[[constraint]]\nlabel = "a"\nat_most = 0.4')


def test_paths_and_texts_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text("\ufeff# by hand\r\n[[constraint]]\r\nlabel = 'a'\r\nabout = 0.5\r\n", encoding="utf-8")
    expected = ConstraintSet((expect("a").about(0.5),))
    assert ConstraintSet.from_toml(path) == expected
    assert ConstraintSet.from_toml(str(path)) == expected
    assert ConstraintSet.of(path) == expected
    assert ConstraintSet.of(str(path)) == expected
    assert ConstraintSet.from_toml("") == ConstraintSet()


@pytest.mark.parametrize("name", ["missing.toml", "nul\0.toml", "."])
def test_a_file_that_cannot_be_opened(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConstraintFileError, match="cannot be read"):
        ConstraintSet.from_toml(tmp_path / name)


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConstraintFileError, match="not UTF-8"):
        ConstraintSet.from_toml(path)
