"""Predictions on their way out: whole files or none."""

from __future__ import annotations

import csv
import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest

from tiltfit.cli.options import check_output
from tiltfit.cli.predict import Predictions, write_predictions
from tiltfit.errors import FileError

PREDICTIONS = Predictions(["a", "b,c"], ["x", "é"], ["é", "x"], np.array([[0.25, 0.75], [1 - 1e-12, 1e-12]]))


def test_jsonl(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    write_predictions(PREDICTIONS, path)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert rows == [
        {"id": "a", "label": "é", "proba": {"x": 0.25, "é": 0.75}},
        {"id": "b,c", "label": "x", "proba": {"x": 1.0, "é": 1e-12}},
    ]


def test_csv_gzipped_the_same_each_time(tmp_path: Path) -> None:
    for name in ["a.csv.gz", "b.csv.gz"]:
        write_predictions(PREDICTIONS, tmp_path / name)
    data = (tmp_path / "a.csv.gz").read_bytes()
    assert data == (tmp_path / "b.csv.gz").read_bytes()
    rows = list(csv.reader(gzip.decompress(data).decode().splitlines()))
    assert rows == [["id", "label", "proba:x", "proba:é"], ["a", "é", "0.25", "0.75"], ["b,c", "x", "1.0", "1e-12"]]


def test_labels_keep_their_kind_in_json(tmp_path: Path) -> None:
    classes = [np.bool_(False), np.bool_(True)]
    write_predictions(Predictions(["1"], classes, [classes[1]], np.array([[0.5, 0.5]])), tmp_path / "o.jsonl")
    assert (tmp_path / "o.jsonl").read_text() == '{"id": "1", "label": true, "proba": {"false": 0.5, "true": 0.5}}\n'


@pytest.mark.parametrize("name", ["out.jsonl", "out.csv", "out.csv.gz"])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("old")
    broken = Predictions(["a", "b"], ["x"], ["x", "x"], np.array([[1.0]]))  # a row of probabilities is missing
    with pytest.raises(IndexError):
        write_predictions(broken, tmp_path / name)
    assert [p.name for p in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "old"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_device_is_written_to_not_replaced() -> None:
    write_predictions(PREDICTIONS, Path(os.devnull))
    assert not Path(os.devnull).is_file()


def test_outputs_are_refused_before_work(tmp_path: Path) -> None:
    data = tmp_path / "d.csv"
    data.write_text("text\n")
    check_output(tmp_path / "new.jsonl", [data, "-", None])
    with pytest.raises(FileError, match="does not exist"):
        check_output(tmp_path / "no" / "out.jsonl", [])
    with pytest.raises(FileError, match="is a folder"):
        check_output(tmp_path, [])
    with pytest.raises(FileError, match="also an input"):
        check_output(tmp_path / "." / "d.csv", [str(data)])
