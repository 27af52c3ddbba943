from __future__ import annotations

import sys
import tracemalloc
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltfit.errors import ModelFileError, UnsupportedError
from tiltfit.storage import strict_json

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUES = st.recursive(LEAVES, lambda v: st.lists(v, max_size=4) | st.dictionaries(TEXT, v, max_size=4), max_leaves=20)
DOCUMENTS = st.dictionaries(TEXT, VALUES, max_size=5)


def same(a: Any, b: Any) -> bool:
    """Equal, of the same types, in the same order: 1, 1.0 and True differ, as do 0.0 and -0.0."""
    return repr(a) == repr(b)


@given(DOCUMENTS)
@settings(deadline=None)
def test_what_is_encoded_is_decoded_equal(document: dict[str, Any]) -> None:
    data = strict_json.encode(document, name="document")
    data.decode("utf-8")
    assert same(strict_json.decode(data, name="document"), document)


def test_order_of_keys_is_kept() -> None:
    assert list(strict_json.decode(strict_json.encode({"b": 1, "a": 2}, name="d"), name="d")) == ["b", "a"]


def test_tuples_and_mappings_become_lists_and_dicts() -> None:
    data = strict_json.encode(MappingProxyType({"a": (1, MappingProxyType({"b": ()}))}), name="d")
    assert data == b'{"a":[1,{"b":[]}]}'


def test_numpy_floats_and_strings_are_floats_and_strings() -> None:
    assert strict_json.encode({"a": np.float64(0.5), "b": np.str_("x")}, name="d") == b'{"a":0.5,"b":"x"}'


CYCLE: list[Any] = []
CYCLE.append(CYCLE)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (float("nan"), r"document\['a'\]\[1\] is nan, which JSON does not have\. Put .* in an array"),
        (float("inf"), r"is inf"),
        (np.float64("-inf"), r"inf"),
        ({1: 2}, r"has the key 1 \(a int\)\. Use strings"),
        (np.int64(3), r"is a numpy\.int64"),
        (np.bool_(True), r"is a numpy\.bool"),
        (np.zeros(2), r"is a numpy\.ndarray"),
        (b"bytes", r"is a bytes"),
        ({1, 2}, r"is a set"),
        (object(), r"is a object"),
        ("\ud83d", r"half a character"),
        ({"\ud83d": 1}, r"half a character"),
        (CYCLE, r"nested deeper than 64"),
        (1 << 20_000, r"digits"),
    ],
    ids=lambda v: type(v).__name__,
)
def test_what_json_cannot_hold_is_refused_by_place(value: Any, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        strict_json.encode({"a": [0, value]}, name="document")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b'{"a":1} x', "not valid JSON"),
        (b"[]", "must be a JSON object, not a list"),
        (b"null", "must be a JSON object"),
        (b'{"a":"\xff"}', "not valid JSON"),
        (b'\xef\xbb\xbf{"a":1}', "not valid JSON"),
        ('{"a":1}'.encode("utf-16"), "not valid JSON"),
        (b'{"a":NaN}', "contains NaN"),
        (b'{"a":-Infinity}', "contains -Infinity"),
        (b'{"a":[1e999]}', r"\['a'\]\[0\] is inf"),
        (b'{"a":{"b":1,"c":2,"b":1}}', "repeats the key 'b'"),
        (b'{"a":"\\ud83d"}', "half a character"),
        (b'{"a":' + b"9" * 5000 + b"}", "not valid JSON"),
        (b'{"a":' * 64 + b"[]" + b"}" * 64, "deeper than 64"),
        (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "deeper than 64"),
        (b'{"a":' * 100_000, "deeper than 64"),
    ],
    ids=range(17),
)
def test_bad_text_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(ModelFileError, match=message):
        strict_json.decode(data, name="document.json")


def test_nesting_up_to_the_limit_is_read() -> None:
    data = b'{"a":' * 63 + b"[]" + b"}" * 63
    assert strict_json.encode(strict_json.decode(data, name="d"), name="d") == data


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="sizes of objects measured on Python 3.11 and 3.12")
@pytest.mark.parametrize("unit", ['{"":0}', "[[[[]]]]", "[" * 60 + "]" * 60, '{"a":' * 60 + "0" + "}" * 60, '"ab"'])
def test_parsed_json_takes_less_memory_than_it_is_charged_for(unit: str) -> None:
    # The first string makes Python hold the whole text in four bytes a character.
    text = '{"a":["\U0001f600",' + ",".join([unit] * (50_000 // len(unit))) + "]}"
    data = text.encode()
    tracemalloc.start()
    strict_json.decode(data, name="d")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < strict_json.MEMORY_PER_BYTE * len(data)
