"""Attributes of the edge into each position."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltfit.data.sequences import as_sequences
from tiltfit.errors import DataError
from tiltfit.features.edges import PUNCTUATION, EdgeTemplates

SIGNS = {",": "comma", ".": "full stop", "``": "quote", "--": "dash", "!?": "other punctuation", "(": "opening bracket"}


def described(templates: EdgeTemplates, sequences: list[Any]) -> list[set[str]]:
    flat = as_sequences(sequences)
    edges = templates.kinds(flat.items, flat.offsets)
    rows = edges.rows().toarray()
    assert rows.shape == (flat.n, len(edges.names))
    assert np.all(rows[:, 0] == 1)
    assert len(np.unique(edges.attributes.toarray(), axis=0)) == edges.attributes.shape[0]
    return [{edges.names[j] for j in np.flatnonzero(row)} - {"transition"} for row in rows]


@settings(deadline=None, max_examples=50)
@given(st.lists(st.lists(st.sampled_from(["a", "1", *SIGNS]), max_size=5), max_size=4))
def test_by_default_the_punctuation_before_counts(sequences: list[list[str]]) -> None:
    wanted = []
    for sequence in sequences:
        for before in [None, *sequence[:-1]] if sequence else []:
            wanted.append({f"before: {SIGNS[before]}"} if before in SIGNS else set())
    assert described(EdgeTemplates(), sequences) == wanted


def test_kinds_are_few() -> None:
    sequences = as_sequences([[*"abc", ",", "d", ".", ",", "e"] * 50])
    edges = EdgeTemplates().kinds(sequences.items, sequences.offsets)
    assert edges.attributes.shape == (3, 1 + len(PUNCTUATION))


def test_both_tokens_of_an_edge_can_count_and_the_first_class_wins() -> None:
    templates = EdgeTemplates(before={"comma": ",", "sign": r"\W"}, at={"year": r"\d{4}"})
    assert described(templates, [["1999", ",", "1999", "!", "a"]]) == [
        set(),
        set(),
        {"before: comma", "at: year"},
        set(),
        {"before: sign"},
    ]


def test_edges_can_be_plain() -> None:
    assert described(EdgeTemplates(before={}), [["a", ",", "b"]]) == [set()] * 3


def test_chosen_attributes_weight_transitions() -> None:
    items = [[["x", "y"], {"x": 2.0}, ["y"]], [["x"]]]
    flat = as_sequences(items)
    edges = EdgeTemplates(attributes=("x", "never")).kinds(flat.items, flat.offsets)
    assert edges.names == ("transition", "x", "never")
    assert edges.rows().toarray().tolist() == [[1, 0, 0], [1, 2, 0], [1, 0, 0], [1, 0, 0]]
    assert described(EdgeTemplates(), items) == [set()] * 4


def test_attributes_with_many_values_are_refused() -> None:
    flat = as_sequences([[{"x": float(i)} for i in range(5000)]])
    with pytest.raises(DataError, match=r"'x'.*different edges"):
        EdgeTemplates(attributes=("x",)).kinds(flat.items, flat.offsets)


def test_edge_templates_survive_json() -> None:
    templates = EdgeTemplates(at={"year": r"\d{4}"}, attributes=("x",))
    assert EdgeTemplates.from_document(json.loads(json.dumps(templates.to_document()))) == templates


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: EdgeTemplates(before=["a"]), "before= must be a mapping"),  # type: ignore[arg-type]
        (lambda: EdgeTemplates(at={"a": "("}), "'a'.*not valid"),
        (lambda: EdgeTemplates(attributes=("a", "a")), "different names"),
        (lambda: EdgeTemplates.from_document({"after": {}}), "after"),
    ],
)
def test_bad_edge_templates_are_refused(make: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        make()
