"""``tiltfit report``: a page for a model and data, written whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tiltfit import TiltClassifier, expect, load, report_page, word
from tiltfit.cli.main import app

TEXTS = ["the puck", "a puck and a bat", "the bat", "<script>alert(1)</script> puck"]
LABELS = ["hockey", "hockey", "baseball", None]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("model") / "m.tilt"
    said = [expect("hockey", given=word("puck")).about(0.9), expect("baseball").at_least(0.2)]
    TiltClassifier(said, classes=["baseball", "hockey"]).fit(TEXTS).save(path)
    return path.read_bytes()


@pytest.fixture
def folder(model: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = [{"text": t, "label": y} for t, y in zip(TEXTS, LABELS, strict=True)]
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "m.tilt").write_bytes(model)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["report", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def test_the_page_is_that_of_the_library(folder: Path) -> None:
    code, out, err = run("m.tilt", "--data", "d.jsonl", "-o", "r.html")
    assert (code, err) == (0, "")
    assert out.startswith("Wrote r.html (")
    assert "Constraints, Disputed examples" in out
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert page == report_page(load("m.tilt"), TEXTS, LABELS, title="Constraint report: m.tilt").html
    assert "<script>" not in page


@pytest.mark.usefixtures("folder")
def test_stdout_and_title() -> None:
    code, out, _ = run("m.tilt", "--data", "d.jsonl", "-o", "-", "--title", "A <b>")
    assert code == 0
    assert out.startswith("<!doctype html>")
    assert "<h1>A &lt;b&gt;</h1>" in out
    assert not Path("-").exists()


@pytest.mark.usefixtures("folder")
def test_json_tells_what_was_written() -> None:
    code, out, _ = run("m.tilt", "-d", "d.jsonl", "-o", "r.html", "--json")
    told = json.loads(out)
    assert code == 0
    assert (told["output"], told["data"]) == ("r.html", ["d.jsonl"])
    assert "Calibration" in told["sections"]


@pytest.mark.usefixtures("folder")
def test_refusals_leave_nothing_behind() -> None:
    before = sorted(p.name for p in Path().iterdir())
    for arguments, said in [
        (["m.tilt", "--data", "d.jsonl", "-o", "-", "--json"], "cannot both go to stdout"),
        (["m.tilt", "--data", "d.jsonl", "-o", "nowhere/r.html"], "does not exist"),
        (["m.tilt", "--data", "d.jsonl", "-o", "d.jsonl"], "is also an input"),
        (["m.tilt", "--data", "d.jsonl", "-o", "m.tilt"], "is also an input"),
        (["m.tilt", "--data", "d.jsonl", "-o", "."], "is a folder"),
        (["m.tilt", "--data", "none.jsonl", "-o", "r.html"], "none.jsonl"),
        (["none.tilt", "--data", "d.jsonl", "-o", "r.html"], "none.tilt"),
        (["m.tilt", "--data", "d.jsonl", "-o", "r.html", "--tokens", "t"], "--tokens is to label tokens"),
    ]:
        code, out, err = run(*arguments)
        assert code == 2, arguments
        assert said in err, err
        assert out == "" or "--json" in arguments
    assert sorted(p.name for p in Path().iterdir()) == before


@pytest.mark.usefixtures("folder")
def test_data_and_output_are_required() -> None:
    assert run("m.tilt", "-o", "r.html")[0] == 2
    assert run("m.tilt", "--data", "d.jsonl")[0] == 2


def test_a_tagger(tagging: Path, tmp_path: Path) -> None:
    code, out, err = run(tagging / "m.tilt", "--data", tagging / "test.conll", "-o", tmp_path / "r.html")
    assert code == 0, err
    assert "Tagged sequences" in out
    assert '<span class="run t' in (tmp_path / "r.html").read_text(encoding="utf-8")
