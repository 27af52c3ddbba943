"""Conditions, events and penalties of other packages: what works with the least code, and what is refused by name."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from tiltfit import (
    Condition,
    ConstraintSet,
    Event,
    Statistic,
    TiltClassifier,
    TiltTagger,
    expect,
    load,
    register_condition,
    register_event,
    register_method,
    register_model,
    register_penalty,
    word,
)
from tiltfit.errors import (
    ConstraintError,
    ConstraintFileError,
    ModelFileError,
    NotSavedWarning,
    TiltfitWarning,
    UnknownLabelError,
    UnsupportedError,
)
from tiltfit.language.schema import constraint_schema
from tiltfit.language.sentences import describe
from tiltfit.methods.catalogue import METHODS
from tiltfit.methods.method import Method
from tiltfit.models.registry import MODELS, model_names
from tiltfit.penalties.interval import Interval, l1, l2
from tiltfit.penalties.penalty import PENALTIES
from tiltfit.testing import check_condition, check_event, check_penalty

TEXTS = ["a", "a b", "a b c", "b"]
TAGGED = [["a", "b", "c"], ["c", "a"]]


@pytest.fixture(autouse=True)
def nothing_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Registries are afterwards as they were before."""
    for registry in (Condition.registry, Event.registry, PENALTIES, METHODS, MODELS):
        monkeypatch.setattr(registry, "_entries", dict(registry.loaded))
        monkeypatch.setattr(registry, "_origins", dict(registry._origins))


class _LongerThan(Condition):
    """What a user writes, before the decorators."""

    key = "longer_than"

    def fires(self, inputs: Any) -> Any:
        return np.array([len(text.split()) > self.n for text in inputs.texts()], dtype=bool)  # type: ignore[attr-defined]

    def clause(self, unit: str, negated: bool = False) -> str:
        return f"of {'at most' if negated else 'more than'} {self.n} words"  # type: ignore[attr-defined]


def longer_than() -> Any:
    @register_condition
    @dataclass(frozen=True)
    class LongerThan(_LongerThan):
        n: int

    return LongerThan


@dataclass(frozen=True)
class Into(Event):
    """A token has the label, and the token before it has another."""

    label: str
    least: int = 1
    key = "into"
    plural = "entries"

    @property
    def names(self) -> tuple[Any, ...]:
        return (self.label,)

    def tables(self, classes: Any) -> Any:
        return [("edge", np.array([[b == self.label != a for b in classes] for a in classes]))]


# Conditions


def test_a_condition_with_the_least_code() -> None:
    kind = longer_than()
    both = ConstraintSet((expect("x", given=kind(1) & ~word("c")).about(0.9), expect("y", given=~kind(1)).about(0.5)))
    assert str(both[0]) == 'about 90% of documents of more than 1 words and without the word "c" are x'
    assert str(both[1]) == "about 50% of documents of at most 1 words are y"
    assert 'given = { all = [{ longer_than = 1 }, { not = { word = "c" } }] }' in both.to_toml()
    assert ConstraintSet.from_toml(both.to_toml()) == both
    assert (kind(1) == kind(1), kind(1) == kind(2), hash(kind(1)) == hash(kind(1))) == (True, False, True)
    fitted = TiltClassifier(both).fit(TEXTS)
    assert [entry.support for entry in fitted.constraint_report_] == [1, 2]
    schemas = constraint_schema()["$defs"]["condition"]["oneOf"]
    assert {"longer_than": {"type": "integer"}} in [schema["properties"] for schema in schemas]


def test_a_value_in_a_file_has_the_type_of_its_field() -> None:
    longer_than()
    text = '[[constraint]]\nlabel = "a"\nabout = 0.5\ngiven = {{ {} }}\n'
    for value in ('"x"', "true", "1.5"):
        with pytest.raises(ConstraintFileError, match=r"`given.longer_than` must be"):
            ConstraintSet.from_toml(text.format(f"longer_than = {value}"))
    with pytest.raises(ConstraintFileError, match=r'`given.longer_then` is not .* Did you mean "longer_than"\?'):
        ConstraintSet.from_toml(text.format("longer_then = 3"))


def _given(value: str) -> str:
    return f'[[constraint]]\nlabel = "a"\nabout = 0.5\ngiven = {{ {value} }}\n'


def _with_fields(**annotations: Any) -> Any:
    """A registered condition with these fields; a default stands behind the type, in a tuple."""
    given = {name: kind if isinstance(kind, tuple) else (kind,) for name, kind in annotations.items()}
    attributes = {name: default for name, (_, *defaults) in given.items() for default in defaults}
    types = {name: kind for name, (kind, *_) in given.items()}
    made = type("Mine", (_LongerThan,), {"__annotations__": types, "key": "mine", "n": 0, **attributes})
    return register_condition(dataclass(frozen=True)(made))


@pytest.mark.parametrize(
    ("kind", "entry", "right", "wrong"),
    [
        ("tuple[str, ...]", {"type": "string"}, '["a", "b"]', ['"abc"', "[1]", '[["a"]]', "[{ x = 2 }]", "true"]),
        (tuple[str, ...], {"type": "string"}, '["a"]', ['"abc"', "[1]"]),
        ("tuple[int, ...]", {"type": "integer"}, "[1, 2]", ["1", "[1.5]", "[true]", "[[1, 2]]"]),
        (tuple[float, ...], {"type": "number"}, "[1.5, 2]", ["1.5", '["a"]', "[[1, 2]]", "[1.5, nan]"]),
        ("tuple[bool, ...]", {"type": "boolean"}, "[true]", ["true", "[1]"]),
        ("tuple", {"type": ["string", "number", "boolean"]}, '["a", 1, true]', ['"a"', "[[1]]"]),
    ],
)
def test_a_tuple_in_a_file_has_entries_of_its_type(kind: Any, entry: Any, right: str, wrong: list[str]) -> None:
    cls = _with_fields(ws=kind)
    said = ConstraintSet.from_toml(_given(f"mine = {right}"))
    assert isinstance(said[0].given.ws, tuple)  # type: ignore[union-attr]
    assert ConstraintSet.from_toml(said.to_toml()) == said
    assert cls.keys == {"mine": {"type": "array", "items": entry}}
    for value in wrong:
        with pytest.raises(ConstraintFileError, match=r"`given\.mine(\[\d\])?` must (be|not be nan)"):
            ConstraintSet.from_toml(_given(f"mine = {value}"))


def test_a_field_of_any_other_type_is_a_scalar_or_an_array_of_scalars() -> None:
    cls = _with_fields(ws="str | list[int]")
    for value in ('"a"', "1", "[1, 2]", '["a"]'):
        said = ConstraintSet.from_toml(_given(f"mine = {value}"))
        assert ConstraintSet.from_toml(said.to_toml()) == said
    for value in ("[[1, 2]]", "[{ x = 2 }]", "{ x = 2 }", "1979-05-27"):
        with pytest.raises(ConstraintFileError, match=r"`given\.mine.* must be a string, a number or a bool, but is"):
            ConstraintSet.from_toml(_given(f"mine = {value}"))
    one = {"type": ["string", "number", "boolean"]}
    assert cls.keys == {"mine": {"anyOf": [one, {"type": "array", "items": one}]}}


def test_a_number_in_a_file_is_not_nan() -> None:
    cls = _with_fields(x=float)
    with pytest.raises(ConstraintFileError, match=r"`given\.mine` must not be nan"):
        ConstraintSet.from_toml(_given("mine = nan"))
    with pytest.raises(UnsupportedError, match=r"Mine\(x=nan\) cannot be written to a file"):
        cls(float("nan")).to_document()


def test_a_field_with_a_default_factory_may_be_left_out() -> None:
    cls = _with_fields(x=int, ws=("tuple[str, ...]", field(default_factory=lambda: ("a", "b"))))
    assert cls.keys["mine"]["required"] == ["x"]
    said = ConstraintSet.from_toml(_given("mine = { x = 1 }"))
    assert said[0].given == cls(1, ("a", "b"))
    assert "ws" not in said.to_toml()


def test_a_subclass_of_a_registered_class_is_not_registered() -> None:
    @dataclass(frozen=True)
    class Longer(longer_than()):  # type: ignore[misc]
        least: int = 2

    with pytest.raises(UnsupportedError, match=r"cannot be written to a file: Longer is not registered"):
        ConstraintSet((expect("x", given=Longer(1)).about(0.5),)).to_toml()


def test_a_class_whose_schema_fails_is_not_registered() -> None:
    class Odd(_LongerThan):
        key = "odd"

    Odd.__annotations__ = {"n": int}
    broken = dataclass(frozen=True)(Odd)
    broken.__dataclass_fields__["n"].type = _Fails()
    with pytest.raises(RuntimeError):
        register_condition(broken)
    assert "odd" not in Condition.registry.loaded


class _Fails:
    @property
    def __name__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("found", "seen"),
    [
        ([True], r"type bool and shape \(1,\)"),
        ([0, 1, 1, 1], r"type int64 and shape \(4,\)"),
        ([[True] * 4], r"shape \(1, 4\)"),
        (None, "type object"),
    ],
)
def test_a_condition_that_fires_in_the_wrong_shape(found: Any, seen: str) -> None:
    @register_condition
    @dataclass(frozen=True)
    class Odd(_LongerThan):
        n = 0
        key = "odd"

        def fires(self, inputs: Any) -> Any:
            return found

    with pytest.raises(ConstraintError, match=rf"fires of .*Odd\(\) must return 4 bools, one per document.*{seen}"):
        TiltClassifier([expect("x", given=~Odd()).about(0.5)], classes=["x", "y"]).fit(TEXTS)
    with pytest.raises(ConstraintError, match="must return 4 bools"):
        check_condition(Odd(), TEXTS)


def test_a_condition_that_fails_is_named() -> None:
    @register_condition
    @dataclass(frozen=True)
    class Fails(_LongerThan):
        n = 0
        key = "fails"

        def fires(self, inputs: Any) -> Any:
            raise KeyError("thing")

    with pytest.raises(ConstraintError, match=r"fires of .*Fails\(\) failed: KeyError: 'thing'"):
        TiltClassifier([expect("x", given=Fails()).about(0.5)], classes=["x", "y"]).fit(TEXTS)


def test_a_condition_that_is_not_registered_cannot_be_saved() -> None:
    @dataclass(frozen=True)
    class Loose(_LongerThan):
        n: int

    with pytest.raises(UnsupportedError, match=r"Loose\(n=1\) cannot be written to a file: Loose is not registered"):
        ConstraintSet((expect("x", given=Loose(1)).about(0.5),)).to_toml()


def _plain() -> Any:
    class Plain(_LongerThan):
        pass

    return Plain


def _field(name: str, **attributes: Any) -> Any:
    return dataclass(frozen=True)(type("Mine", (_LongerThan,), {"__annotations__": {name: int}, **attributes}))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: 3, "takes a subclass of tiltfit.Condition, but got 3"),
        (lambda: int, "takes a subclass of tiltfit.Condition"),
        (_plain, "Plain must be a frozen dataclass"),
        (lambda: dataclass(_plain()), "Plain must be a frozen dataclass"),
        (lambda: _field("n", key=""), "Mine needs the key that files use for it"),
        (lambda: _field("n", key="two words"), "Mine needs the key"),
        (lambda: _field("n", key="word"), "There is a condition key 'word' already, tiltfit.language.texts.Word"),
        (lambda: _field("n", key="column"), "'column' of Mine has another meaning"),
        (lambda: _field("words"), r"The field 'words' of Mine hides Condition\.words: rename it"),
        (lambda: _field("n", fires=Condition.fires), r"Mine must define fires\(inputs\)"),
        (lambda: _field("n", clause=Condition.clause), r"Mine must define clause"),
    ],
)
def test_what_is_no_condition_is_refused(make: Any, message: str) -> None:
    with pytest.raises(ConstraintError, match=message):
        register_condition(make())


def test_a_definition_that_runs_again_replaces_itself() -> None:
    first, second = longer_than(), longer_than()
    assert first is not second
    said = ConstraintSet.from_toml('[[constraint]]\nlabel = "a"\nabout = 0.5\ngiven = { longer_than = 1 }\n')
    assert said[0].given == second(1)

    @dataclass(frozen=True)
    class Other(_LongerThan):
        n: int

    with pytest.raises(ConstraintError, match="There is a condition key 'longer_than' already, .*LongerThan: register"):
        register_condition(Other)


# Events


def test_an_event_with_the_least_code() -> None:
    event = register_event(Into)("x")
    check_event(event, ["x", "y"])
    said = ConstraintSet((expect.event(event, given=word("b")).at_most(0.3), expect.event(event).about(0.5)))
    assert str(said[0]) == 'at most 30% of transitions into tokens reading "b" are entries'
    assert repr(said[1]) == "expect.event(Into(label='x', least=1)).about(0.5)"
    assert 'into = { label = "x" }' in said.to_toml()  # a default is left out
    assert ConstraintSet.from_toml(said.to_toml()) == said
    assert "into" in constraint_schema()["$defs"]["constraint"]["properties"]
    fitted = TiltTagger(said, classes=["x", "y"]).fit(TAGGED)
    assert [entry.support for entry in fitted.constraint_report_] == [1, 3]
    with pytest.raises(UnknownLabelError, match="names the label 'z'"):
        TiltTagger([expect.event(Into("z")).about(0.5)], classes=["x", "y"]).fit(TAGGED)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ([("edge", np.ones(2))], r'for "edge" must hold numbers and have the shape \(2, 2\), but has the shape \(2,\)'),
        ([("all", np.ones((2, 2)))], r"must hold numbers and have the shape \(2,\)"),
        ([("all", ["x", "y"])], "must hold numbers"),
        ([("middle", np.ones(2))], "place one of all, first, last, edge"),
        (np.ones(2), "must return a list of"),
        ([], r"tables of .*Odd\(\) must return at least one \(place, table\), but returned none"),
        ([("all", np.array([0.0, 2.0]))], r'table of .*Odd\(\) for "all" must hold only 0 and 1, .* but holds 2'),
        ([("all", np.array([0.0, 0.5]))], r'table of .*Odd\(\) for "all" must hold only 0 and 1, .* but holds 0\.5'),
        ([("all", np.array([-1.0, 0.0]))], "must hold only 0 and 1, .* but holds -1"),
        ([("all", np.array([np.nan, 0.0]))], "must hold only 0 and 1, .* but holds nan"),
        (
            [("all", np.array([1, 0])), ("first", np.array([1, 0]))],
            r"The tables of .*Odd\(\) add up to 2 at one token of sequence 0, but a share",
        ),
        ([("last", np.array([1, 0])), ("edge", np.ones((2, 2)))], r"Odd\(\) add up to 2 at one token of sequence 0"),
    ],
)
def test_an_event_with_a_wrong_table(tables: Any, message: str) -> None:
    @register_event
    @dataclass(frozen=True)
    class Odd(Event):
        key = "odd"

        def tables(self, classes: Any) -> Any:
            return tables

    with pytest.raises(ConstraintError, match=message):
        TiltTagger([expect.event(Odd()).about(0.5)], classes=["x", "y"]).fit(TAGGED)
    with pytest.raises(AssertionError, match=message):
        check_event(Odd(), ["x", "y"])


def tabled(*tables: Any, **attributes: Any) -> Any:
    """An event with these tables."""
    body = {"key": "tabled", "tables": lambda self, classes: list(tables), **attributes}
    return register_event(dataclass(frozen=True)(type("Tabled", (Event,), body)))()


X, Y = np.array([1, 0, 0]), np.array([0, 1, 0])


def test_first_and_last_are_one_place_in_documents() -> None:
    event = tabled(("first", X), ("last", Y), is_sequence=False, names=("x", "y"))
    for per in ("instance", "dataset"):
        mine, usual = (
            TiltClassifier([said.exactly(0.9)], classes=["x", "y", "z"]).fit(TEXTS)
            for said in (expect.event(event, per=per), expect("x", "y", per=per))
        )
        np.testing.assert_allclose(mine.predict_proba(TEXTS), usual.predict_proba(TEXTS), atol=1e-12)
        assert mine.constraint_report_[0].projected == pytest.approx(0.9, abs=1e-3)


def test_tables_that_meet_together_make_certain() -> None:
    event = tabled(("all", X), ("all", Y))
    fitted = TiltTagger([expect.event(event).exactly(1)], classes=["x", "y", "z"]).fit(TAGGED)
    assert fitted.constraint_report_[0].status == "rules"
    both = [expect.event(event).at_most(0.5), expect.event(tabled(("all", X), ("all", 1 - X), key="any")).at_most(0.6)]
    with pytest.raises(ConstraintError, match="names every class"):
        TiltTagger(both, classes=["x", "y", "z"]).fit(TAGGED)


def test_one_token_that_is_first_and_last_counts_once_in_a_share() -> None:
    event = tabled(("first", X), ("last", X))
    said, classes = [expect.event(event).about(0.5)], ["x", "y", "z"]
    TiltTagger(said, classes=classes).fit(TAGGED)
    with pytest.raises(ConstraintError, match=r"Tabled\(\) add up to 2 at one token of sequence 2, but a share"):
        TiltTagger(said, classes=classes).fit([*TAGGED, ["a"]])
    with pytest.raises(AssertionError, match="add up to 2 at document 0"):
        check_event(tabled(("first", X), ("last", X), is_sequence=False, key="mine"), classes)
    counted = tabled(("first", X), ("last", 0.5 * X), counts=True, key="counted")
    TiltTagger([expect.event(counted).about(0.5)], classes=classes).fit([*TAGGED, ["a"]])


def test_labels_show_the_share_of_an_event_with_several_tables() -> None:
    said = ConstraintSet((expect.event(tabled(("first", X), ("last", Y))).about(0.5),), ("x", "y", "z"))
    found = said.check(TAGGED, [["x", "x", "z"], ["z", "y"]])
    assert "50%" in str(found)


class _Wrong(Statistic):
    least = 0.0

    def count(self, labels: Any) -> float:
        return float(len(labels))

    def change(self, labels: Any, t: int, label: int) -> float:
        return 1.0


@pytest.mark.parametrize(
    ("found", "message"),
    [(3, "must return a tiltfit.Statistic, but returned 3"), (_Wrong(), "change and count disagree")],
)
def test_an_event_with_a_wrong_statistic(found: Any, message: str) -> None:
    @register_event
    @dataclass(frozen=True)
    class Odd(Event):
        key = "odd"

        def statistic(self, classes: Any) -> Any:
            return found

    assert (Odd.whole, Odd.counts) == (True, True)
    with pytest.raises(ConstraintError, match=message):
        TiltTagger([expect.event(Odd()).about(0.5)], classes=["x", "y"]).fit(TAGGED)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"key": "mine"}, "it defines neither"),
        ({"key": "mine", "tables": lambda *_: [], "statistic": lambda *_: None}, "it defines tables and statistic"),
        (
            {"key": "stay", "tables": lambda *_: []},
            "There is an event key 'stay' already, tiltfit.language.events",
        ),
        ({"key": "given", "tables": lambda *_: []}, "'given' of Mine has another meaning"),
    ],
)
def test_what_is_no_event_is_refused(attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConstraintError, match=message):
        register_event(dataclass(frozen=True)(type("Mine", (Event,), attributes)))
    with pytest.raises(ConstraintError, match="takes a subclass of tiltfit.Event"):
        register_event(int)  # type: ignore[type-var]
    with pytest.raises(ConstraintError, match=r"expect.event takes an event like ChangesBack\(\), but got 'x'"):
        expect.event("x")  # type: ignore[arg-type]


# Penalties


def test_a_penalty_by_its_name() -> None:
    register_penalty("soft", lambda target, beta: Interval(target, target, beta, 0.004 / beta))
    said = ConstraintSet((expect("x", given=word("a")).about(0.9, penalty="soft"),), ("x", "y"))
    assert ConstraintSet.from_toml(said.to_toml()) == said
    assert "soft" in constraint_schema()["$defs"]["constraint"]["properties"]["penalty"]["enum"]
    mine, usual = (
        TiltClassifier(s, classes=["x", "y"], beta=0.05, penalize_intercept=True).fit(TEXTS)
        for s in (said, [expect("x", given=word("a")).about(0.9)])
    )
    assert mine.constraint_report_[0].price < usual.constraint_report_[0].price  # its slope is bounded
    with pytest.raises(
        ConstraintError, match=r'There is no penalty \'sofd\'; known are l1, l2, soft. Did you mean "soft"'
    ):
        expect("x").about(0.5, penalty="sofd")


@dataclass(frozen=True, eq=False)
class Scaled(Interval):
    """A penalty with a field that is the same for all rows."""

    scale: float = 1.0


def test_a_method_that_needs_the_slope_of_a_penalty_says_so() -> None:
    class Rough(Interval):
        def grad(self, m: Any) -> None:
            return None

    register_penalty("rough", lambda target, beta: Rough(target, target, beta, np.full(len(beta), np.inf)))
    with pytest.raises(UnsupportedError, match=r"its penalty rough has no grad\(m\). Use penalty='l2'"):
        TiltClassifier([expect("x").about(0.9, penalty="rough")], method="ge", classes=["x", "y"]).fit(TEXTS)


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (3, {}, r"needs a function make\(target, beta\), but got 3"),
        (lambda target, beta: None, {}, "must return a tiltfit.Penalty with one row per target"),
        (lambda target, beta: l2(target[:1], beta[:1]), {}, "with one row per target"),
        (lambda target: l2(target, target), {}, "cannot be made for the targets 0.25 and 0.75: TypeError"),
        (
            lambda target, beta: Scaled(target, target, beta, beta, 2.0),
            {},
            "Every field of Scaled must be an array with one entry per row",
        ),
        (l2, {"power": 3}, "power=3 of the penalty 'mine' must be 1 or 2"),
    ],
)
def test_what_is_no_penalty_is_refused(make: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConstraintError, match=message):
        register_penalty("mine", make, **options)
    assert "mine" not in PENALTIES.loaded


def test_a_penalty_name_is_taken_once() -> None:
    with pytest.raises(ConstraintError, match="There is a penalty 'l2' already, tiltfit.penalties.interval.l2"):
        register_penalty("l2", l1)
    with pytest.raises(ConstraintError, match="must be a non-empty string, but is 3"):
        register_penalty(3, l1)  # type: ignore[arg-type]


def test_a_penalty_that_breaks_a_law_is_named() -> None:
    class Wrong(Interval):
        def conjugate(self, eta: Any) -> Any:
            return super().conjugate(eta) + 0.01 * eta**2

    right = l2([0.3], [0.5])
    with pytest.raises(AssertionError, match="Fenchel–Young"):
        check_penalty(Wrong(right.low, right.high, right.slack, right.slope))


# Installed extensions


def test_an_extension_that_cannot_be_loaded_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import metadata

    broken = metadata.EntryPoint("extras", "no_such_module", "tiltfit.extensions")
    monkeypatch.setattr(metadata, "entry_points", lambda **_: [broken])
    monkeypatch.setattr("tiltfit.registry._loaded", False)
    with (
        pytest.warns(TiltfitWarning, match=r"The extension 'extras' \(no_such_module\) cannot be loaded"),
        pytest.raises(ConstraintError, match="There is no penalty 'huber'"),
    ):
        expect("x").about(0.5, penalty="huber")


class _Slow:
    """An entry point whose extension takes its time, and then registers a penalty, a method and a model."""

    name, value = "slow", "slow_extension"

    def load(self) -> None:
        time.sleep(0.1)
        register_penalty("slow", l2)
        register_method(Method("slow", "slow", _never))
        register_model("slow", _never)


def _never(*_: Any) -> Any:
    raise AssertionError


@pytest.fixture
def slow_extension(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: [_Slow()])
    monkeypatch.setattr("tiltfit.registry._loaded", False)


@pytest.mark.usefixtures("slow_extension")
def test_threads_wait_for_an_extension_that_another_one_loads() -> None:
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: "slow" in PENALTIES, range(4))) == [True] * 4


@pytest.mark.parametrize(
    "look",
    [
        lambda: METHODS.get("slow"),
        lambda: "slow" in METHODS,
        lambda: "slow" in list(METHODS),
        lambda: "slow" in model_names(sequences=False),
    ],
)
@pytest.mark.usefixtures("slow_extension")
def test_every_way_to_look_up_a_name_loads_extensions(look: Any) -> None:
    assert look()


# A process without the package


def saved(tmp_path: Any, constraints: list[Any], **parameters: Any) -> Any:
    """A model file whose extension is then removed."""
    path = tmp_path / "m.tilt"
    TiltClassifier(constraints, classes=["x", "y"], **parameters).fit(TEXTS, [None, None, "x", "y"]).save(path)
    return path


def unregistered() -> Any:
    return dataclass(frozen=True)(type("Longer", (_LongerThan,), {"__annotations__": {"n": int}}))


def forget(**names: str) -> None:
    known = {"penalty": PENALTIES, "condition": Condition.registry, "event": Event.registry, "method": METHODS}
    for kind, name in names.items():
        known[kind].remove(name)


def as_vector(training: Any, start: Any, run: Any) -> Any:
    return METHODS["ap"].fit(training, start, run)


def test_a_model_file_names_the_extension_that_is_missing(tmp_path: Any) -> None:
    LongerThan = register_condition(unregistered())
    register_penalty("near", l2)
    register_method(Method("descend", "descent", as_vector))

    @register_event
    @dataclass(frozen=True)
    class Is(Event):
        key = "is_x"
        is_sequence = False

        def tables(self, classes: Any) -> Any:
            return [("all", np.array([1.0, 0.0]))]

    given = expect("x", given=word("a"))
    cases: dict[tuple[str, str], tuple[list[Any], dict[str, Any]]] = {
        ("penalty", "near"): ([given.about(0.9, penalty="near")], {}),
        ("condition", "longer_than"): ([expect("x", given=word("a") & ~LongerThan(1)).about(0.9)], {}),
        ("event", "is_x"): ([expect.event(Is()).about(0.9)], {}),
        ("method", "descend"): ([given.about(0.9)], {"method": "descend"}),
    }
    paths = {}
    for k, (what, (said, parameters)) in enumerate(cases.items()):
        (tmp_path / str(k)).mkdir()
        paths[what] = saved(tmp_path / str(k), said, **parameters)
        load(paths[what])
    for what in cases:
        forget(**dict([what]))
        kind, name = what
        with pytest.raises(ModelFileError, match=rf"m\.tilt needs the {kind} '{name}', which no installed") as caught:
            load(paths[what])
        assert caught.value.missing == what
        assert "damaged" not in str(caught.value)


@pytest.mark.parametrize(
    ("line", "missing"),
    [
        ('label = "x"\ngiven = { longer_than = 3 }\nabout = 0.9', ("condition", "longer_than")),
        ('label = "x"\ngiven = { not = { longer_than = 3 } }\nabout = 0.9', ("condition", "longer_than")),
        ('label = "x"\nabout = 0.9\npenalty = "pseudo_huber"', ("penalty", "pseudo_huber")),
        ("changes_back = true\nabout = 0.9", ("event", "changes_back")),
        ('label = "x"\nof = { changes_back = true }\nabout = 0.9', ("event", "changes_back")),
    ],
)
def test_a_constraint_file_says_that_an_extension_may_be_missing(line: str, missing: tuple[str, str]) -> None:
    with pytest.raises(ConstraintFileError, match="If it is from an extension, install the package") as caught:
        ConstraintSet.from_toml(f"[[constraint]]\n{line}\n")
    assert caught.value.missing == missing


def test_what_is_not_registered_is_called_by_its_name_when_it_is_not_saved(tmp_path: Any) -> None:
    Plain = unregistered()
    found = TiltClassifier([expect("x", given=Plain(1)).about(0.9)], classes=["x", "y"]).fit(TEXTS)
    name = Plain.__name__
    with pytest.warns(
        NotSavedWarning, match=rf"of more than 1 words are x', whose condition {name} is not reg"
    ) as caught:
        found.save(tmp_path / "m.tilt")
    assert "when(" not in str(caught[0].message)
    again = load(tmp_path / "m.tilt")
    assert again.predict(TEXTS).tolist() == found.predict(TEXTS).tolist()
    with pytest.raises(UnsupportedError, match=f"could not hold the constraint .* condition {name} is not registered"):
        again.project(TEXTS)
    with pytest.warns(NotSavedWarning, match=f"condition {name} is not registered"):  # and not in the next file either
        again.save(tmp_path / "n.tilt")


def test_a_share_of_transitions_is_called_one() -> None:
    @register_event
    @dataclass(frozen=True)
    class Rises(Event):
        key = "rises"
        plural = "rises"

        def tables(self, classes: Any) -> Any:
            return [("edge", np.triu(np.ones((len(classes),) * 2), 1))]

    @register_event
    @dataclass(frozen=True)
    class Needs(Event):
        key = "needs"
        plural = "steps to b"

        def tables(self, classes: Any) -> Any:
            classes.index("b")
            return [("edge", np.zeros((len(classes),) * 2))]

    assert describe(expect.event(Rises()).at_most(0.2), "tokens") == "at most 20% of transitions are rises"
    said = describe(expect.event(Rises(), given=word("a")).at_most(0.2), "tokens")
    assert said == 'at most 20% of transitions into tokens reading "a" are rises'
    # An event that does not name the labels it needs has no tables before there are classes.
    assert describe(expect.event(Needs()).at_most(0.2), "tokens") == "at most 20% of tokens are steps to b"
