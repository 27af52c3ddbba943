"""``-`` is standard input wherever a command reads data, plain or compressed."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest
from tests.cli.ads import refused, run

CONSTRAINTS = """
classes = ["baseball", "hockey"]
[[constraint]]
label = "hockey"
given = { word = "puck" }
about = 0.9
[[constraint]]
label = "baseball"
given = { word = "bat" }
about = 0.9
"""
ROWS = [{"text": "a puck on ice", "label": "hockey"}, {"text": "a bat and a ball", "label": "baseball"}] * 6
JSONL = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
CONLL = b"a X\nb Y\n\nb Y\na X\n\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "c.toml").write_text(CONSTRAINTS)
    (tmp_path / "d.jsonl").write_bytes(JSONL)
    return tmp_path


@pytest.mark.parametrize("pack", [bytes, lzma.compress])
def test_documents_in_every_command(folder: Path, pack: object) -> None:
    data = pack(JSONL)  # type: ignore[operator]
    model, said = folder / "m.tilt", folder / "c.toml"
    commands: list[list[object]] = [
        ["train", "-", "-c", said, "-o", model],
        ["predict", model, "-"],
        ["evaluate", model, "-"],
        ["check", said, "--data", "-"],
        ["compare", "-", "-c", said, "--test", folder / "d.jsonl", "--methods", "supervised", "--in-process"],
        ["compare", folder / "d.jsonl", "-c", said, "--test", "-", "--methods", "supervised", "--in-process"],
    ]
    for command in commands:
        code, out, err = run(*command, stdin=data)
        assert code == 0, (command, err)
        assert out


def test_sequences(folder: Path) -> None:
    model = folder / "m.tilt"
    for command in (["train", "-", "--task", "tag", "-o", model], ["predict", model, "-"], ["evaluate", model, "-"]):
        code, _, err = run(*command, stdin=CONLL)
        assert code == 0, (command, err)


def test_refusals(folder: Path) -> None:
    train = ["train", "-", "-c", folder / "c.toml", "-o", folder / "m.tilt"]
    assert "standard input: no rows" in refused(*train, stdin=b"")
    assert "standard input: the xz data are damaged or cut off" in refused(*train, stdin=lzma.compress(JSONL)[:-9])
    assert "standard input: cannot tell its format" in refused(*train, stdin=b"text,label\nx,a\n")
    assert "once only" in refused("train", "-", "-", "-o", folder / "m.tilt", stdin=JSONL)
