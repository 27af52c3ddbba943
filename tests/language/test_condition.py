"""Logic, neighbours and places in a sequence."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.language.strategies import conditions

from tiltfit.data.inputs import TextInputs
from tiltfit.data.sequences import as_sequences
from tiltfit.errors import ConstraintError, UnsupportedError
from tiltfit.language.conditions import (
    AllOf,
    Condition,
    first,
    last,
    phrase,
    position,
    punctuation,
    regex,
    when,
    word,
)

a, b, c = word("a"), word("b"), word("c")
TOKENS = as_sequences([["a", ",", "b"], [], ["c"], ["a", "b", "--", "?!", "b"]])


def where(condition: Condition) -> list[int]:
    return np.flatnonzero(condition.fires(TOKENS)).tolist()


def test_groups_are_sets_without_nesting() -> None:
    assert a & b & c == c & (b & a)
    assert hash(a & b) == hash(b & a)
    assert a & b != a | b
    assert (a & a) is a
    assert (a | b | a).parts == (a, b)
    assert ~~a is a
    assert a.before != a.after


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (punctuation, [1, 6, 7]),
        (first, [0, 3, 4]),
        (last, [2, 3, 8]),
        (position(1), [1, 5]),
        (position(-2), [1, 7]),
        (position(7), []),
        (a.before, [1, 5]),
        (b.after, [1, 4, 7]),
        (punctuation.before, [2, 7, 8]),
        (punctuation.before.before, [8]),
        (~punctuation.before, [0, 1, 3, 4, 5, 6]),
        ((~punctuation).before, [1, 5, 6]),
        (~(~punctuation).before, [0, 2, 3, 4, 7, 8]),
        (first.before, [1, 5]),
        (regex("^[ab]$") & ~first, [2, 5, 8]),
    ],
)
def test_tokens(condition: Condition, expected: list[int]) -> None:
    assert where(condition) == expected


@pytest.mark.parametrize(
    "condition", [punctuation, first, last, position(0), a.before, a.after, ~punctuation.before & a]
)
def test_conditions_on_tokens_refuse_documents(condition: Condition) -> None:
    assert condition.is_sequence
    with pytest.raises(UnsupportedError, match="looks at the tokens of a sequence, but X holds documents"):
        condition.fires(TextInputs(["a b"]))


@settings(deadline=None)
@given(
    st.recursive(
        st.sampled_from([a, b, c]),
        lambda s: st.one_of(
            s.map(lambda x: ~x), st.tuples(s, s).map(lambda p: p[0] & p[1]), st.tuples(s, s).map(lambda p: p[0] | p[1])
        ),
        max_leaves=10,
    )
)
def test_logic_agrees_with_python(condition: Condition) -> None:
    texts = [" ".join(w for w, bit in zip("abc", f"{i:03b}", strict=True) if bit == "1") for i in range(8)]

    def holds(part: Condition, text: str) -> bool:
        code = repr(part).replace("~", " not ").replace("&", " and ").replace("|", " or ")
        return bool(eval(code, {"word": lambda w: w in text.split()}))

    assert condition.fires(TextInputs(texts)).tolist() == [holds(condition, t) for t in texts]


def test_python_logic_words_are_refused() -> None:
    with pytest.raises(ConstraintError, match="Combine conditions with &"):
        a and b  # noqa: B018
    with pytest.raises(ConstraintError):
        not a  # noqa: B018
    with pytest.raises(TypeError):
        a & "b"


def test_nesting_is_limited() -> None:
    deep = a
    for _ in range(49):
        deep = deep.before
    assert deep.depth == 50
    for deeper in (lambda: deep.after, lambda: ~deep, lambda: deep & a, lambda: a | deep):
        with pytest.raises(ConstraintError, match="nested more than 50 deep"):
            deeper()
    with pytest.raises(ConstraintError, match="at least two"):
        AllOf((a, a))
    with pytest.raises(ConstraintError, match="Only conditions"):
        AllOf((a, "b"))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(conditions)
def test_conditions_can_be_copied_and_pickled(condition: Condition) -> None:
    assert copy.deepcopy(condition) == condition
    assert pickle.loads(pickle.dumps(condition)) == condition


def test_when() -> None:
    shout = when(str.isupper)
    assert shout.fires(TextInputs(["A", "b"])).tolist() == [True, False]
    assert shout == when(str.isupper)
    assert shout != when(str.islower, "isupper")
    assert repr(shout) == "when(isupper)"
    assert repr(when(lambda t: True)) == "when(<lambda>)"
    with pytest.raises(ConstraintError, match="needs a function"):
        when("puck")


def test_an_error_in_a_function_says_where() -> None:
    inverse = when(lambda text: 1 / len(text), "inverse")
    with pytest.raises(
        ConstraintError, match=r"when\(inverse\) failed at document 1 of X with ZeroDivisionError: divis"
    ):
        inverse.fires(TextInputs(["x", ""]))
    short = when(lambda token: {"a": 1}[token], "short")
    tokens = as_sequences([["a", "a"], ["a", "b"]])
    with pytest.raises(ConstraintError, match=r"position 1 of sequence 1 \(X\[1\]\[1\]\) with KeyError: 'b'") as caught:
        short.fires(tokens)
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize("k", [1.5, True, "1", 2**40])
def test_bad_positions(k: object) -> None:
    with pytest.raises(ConstraintError, match="position"):
        position(k)  # type: ignore[arg-type]


def test_repr_has_the_parentheses_it_needs() -> None:
    for code in [
        "~(word('a') & word('b'))",
        "(word('a') | word('b')) & word('c')",
        "word('a') & word('b') | word('c')",
        "(~word('a')).before",
        "(word('a') | word('b')).after",
        "~phrase('x y').before",
    ]:
        assert repr(eval(code, {"word": word, "phrase": phrase})) == code
