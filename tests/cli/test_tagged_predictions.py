"""Predicted tags on their way out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltfit.cli.predictions import Predictions, layout_of, write_predictions
from tiltfit.data.readers import read_sequences
from tiltfit.data.sequences import unfit
from tiltfit.errors import DataError, FileError

tokens = st.text(min_size=1, max_size=5).filter(lambda t: unfit(t) is None and not t.startswith("-DOC"))
sequences = st.lists(st.tuples(tokens, st.sampled_from(["B-x", "a b", "é"])), min_size=1, max_size=4)


@settings(max_examples=25)
@given(rows=st.lists(sequences, min_size=1, max_size=4))
def test_columns_are_read_back(rows: list[list[tuple[str, str]]], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("out") / "p.conll"
    words, tags = [[t for t, _ in row] for row in rows], [[y for _, y in row] for row in rows]
    write_predictions([Predictions(["i"] * len(rows), ["B-x", "a b", "é"], tags, tokens=words)], path, "conll")
    found = read_sequences(path)
    assert (found.tokens, found.y) == (words, tags)


def test_rows_of_json_keep_the_kinds_of_labels(tmp_path: Path) -> None:
    classes = [np.bool_(False), np.bool_(True)]
    proba = [np.array([[0.25, 0.75], [1.0, 1e-12]])]
    predictions = Predictions(["1"], classes, [classes], proba, tokens=[["é", "b"]])
    write_predictions([predictions], tmp_path / "p.jsonl", "jsonl")
    assert json.loads((tmp_path / "p.jsonl").read_text(encoding="utf-8")) == {
        "id": "1",
        "tokens": ["é", "b"],
        "tags": [False, True],
        "proba": [{"false": 0.25, "true": 0.75}, {"false": 1.0, "true": 1e-12}],
    }
    write_predictions([predictions], tmp_path / "p.conll", "conll")
    assert (tmp_path / "p.conll").read_text(encoding="utf-8") == "é\tfalse\nb\ttrue\n\n"


@pytest.mark.parametrize("label", ["a\tb", "a\nb", " a"])
def test_labels_that_columns_cannot_hold(tmp_path: Path, label: str) -> None:
    with pytest.raises(DataError, match="cannot stand in CoNLL columns"):
        write_predictions([Predictions(["1"], [label], [[label]], tokens=[["x"]])], tmp_path / "p", "conll")
    assert not list(tmp_path.iterdir())


def test_endings() -> None:
    assert layout_of(None, sequences=True) is None
    assert layout_of(Path("out.conll.gz"), sequences=True) == "conll"
    assert layout_of(Path("out.JSONL"), sequences=True, detailed=True) == "jsonl"
    with pytest.raises(FileError, match="no place for probabilities"):
        layout_of(Path("out.conll"), sequences=True, detailed=True)


@pytest.mark.parametrize("name", ["out.csv", "out.xlsx", "out.txt", "out", "out.gz"])
def test_other_endings_are_refused(name: str) -> None:
    with pytest.raises(FileError, match=rf"{name}: its ending .* CoNLL columns or JSONL"):
        layout_of(Path(name), sequences=True)
