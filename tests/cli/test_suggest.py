"""``tiltfit suggest``: every source of suggestions, the skeleton, standard input, refusals."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
from tests.suggesting.test_suggest import BASEBALL, HOCKEY, documents, sequences
from typer.testing import CliRunner

from tiltfit import ConstraintSet, TiltClassifier, expect, word
from tiltfit.cli.main import app


def run(*arguments: str, **options: bytes) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["suggest", *arguments], **options)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    texts, labels = documents(120)
    rows = [{"text": t, "label": y if i < 40 else None} for i, (t, y) in enumerate(zip(texts, labels, strict=True))]
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    X, y = sequences(20)
    columns = ("".join(f"{a}\t{b}\n" for a, b in zip(*pair, strict=True)) for pair in zip(X, y, strict=True))
    (tmp_path / "d.conll").write_text("\n".join(columns))
    (tmp_path / "c.toml").write_text('[[constraint]]\nlabel = "hockey"\ngiven = { word = "puck" }\nabout = 0.9\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def words(out: str) -> list[str]:
    return [entry["given"].get("word") for entry in json.loads(out)["suggestions"]]


def test_labels_and_a_skeleton(folder: Path) -> None:
    code, out, err = run("--data", "d.jsonl", "--top", "8", "-o", "s.toml")
    assert (code, err) == (0, "")
    assert "8 suggestions from 120 documents, by what the labels say that there are." in out
    assert "Wrote s.toml" in out
    skeleton = (folder / "s.toml").read_text()
    assert len(ConstraintSet.from_toml(folder / "s.toml")) == 0
    (folder / "s.toml").write_text(re.sub(r"(?m)^#(?=[^ ])", "", skeleton.split("# Also")[0]))
    found = ConstraintSet.from_toml(folder / "s.toml")
    assert len(found) == 8
    assert {c.given.words[0] for c in found} == {*HOCKEY, *BASEBALL}


def test_json_from_packed_standard_input_with_what_is_stated(folder: Path) -> None:
    packed = gzip.compress((folder / "d.jsonl").read_bytes())
    code, out, _ = run("--data", "-", "-c", "c.toml", "--json", "--top", "3", input=packed)
    assert code == 0
    assert "puck" not in words(out)
    assert (json.loads(out)["stated"], json.loads(out)["source"], len(words(out))) == (1, "labels", 3)


@pytest.mark.usefixtures("folder")
def test_labels_can_be_ignored_and_classes_named() -> None:
    options = ("--ignore-labels", "--topics", "2", "--longest", "1", "--classes", "baseball,hockey")
    code, out, _ = run("--data", "d.jsonl", *options, "--top", "4", "--json")
    assert code == 0
    assert set(words(out)) <= {*HOCKEY, *BASEBALL}
    assert json.loads(out)["source"] == "topics"
    assert json.loads(out)["classes"] == ["baseball", "hockey"]


def test_model(folder: Path) -> None:
    texts, _ = documents(120)
    said = [expect("hockey", given=word("puck")).about(0.9), expect("baseball", given=word("bat")).about(0.9)]
    TiltClassifier(said).fit(texts).save(folder / "m.tilt")
    code, out, _ = run("--data", "d.jsonl", "--ignore-labels", "-m", "m.tilt", "--top", "3", "--json")
    assert code == 0
    assert json.loads(out)["source"] == "model"
    assert not {"puck", "bat"} & set(words(out))


@pytest.mark.usefixtures("folder")
def test_tags() -> None:
    code, out, _ = run("--data", "d.conll", "--top", "6")
    assert code == 0
    assert "changes after punctuation" in out
    code, out, _ = run("--data", "d.conll", "--task", "tag", "--ignore-labels", "--topics", "2", "--json")
    assert code == 0
    assert json.loads(out)["unit"] == "tokens"


def test_refusals(folder: Path) -> None:
    for arguments, message in {
        (): "There are no data",
        ("d.jsonl", "--top", "0"): "--top 0 must be",
        ("--data", "no.jsonl"): "no.jsonl",
        ("--data", "d.jsonl", "--top", "0"): "--top 0 must be",
        ("--data", "d.jsonl", "-o", "d.jsonl"): "also an input",
        ("--data", "d.jsonl", "-c", "c.toml", "-o", "c.toml"): "also an input",
        ("--data", "d.jsonl", "-m", "c.toml"): "c.toml",
        ("--data", "d.jsonl", "--min-support", "1000"): "Nothing to suggest",
        ("--data", "d.jsonl", "--encoder", "statik"): "statik",
    }.items():
        code, out, err = run(*arguments)
        assert message in (err if code else out), (arguments, err)
        assert code in (0, 2)
    assert sorted(p.name for p in folder.iterdir()) == ["c.toml", "d.conll", "d.jsonl"]
