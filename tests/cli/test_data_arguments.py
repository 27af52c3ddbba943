"""Every command takes its data as arguments and with --data, and the shell completes commands and options."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.test_commands import CONSTRAINTS, document, documents, refused, run, write


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("arguments")
    rows = documents(40, 0)
    write(found / "a.jsonl", rows[:20])
    write(found / "b.jsonl", rows[20:])
    (found / "c.toml").write_text(CONSTRAINTS)
    data = [found / "a.jsonl", "--data", found / "b.jsonl"]
    code, _, err = run("train", *data, "-c", found / "c.toml", "-o", found / "m.tilt")
    assert code == 0, err
    return found


COMMANDS = {
    "check": ["c.toml"],
    "suggest": [],
    "evaluate": ["m.tilt"],
    "predict": ["m.tilt"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_arguments_and_options_mean_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(folder)
    first, *others = [
        document(name, *COMMANDS[name], *data)
        for data in (["a.jsonl", "b.jsonl"], ["-d", "a.jsonl", "--data", "b.jsonl"], ["a.jsonl", "-d", "b.jsonl"])
    ]
    assert all(other == first for other in others)


def test_reports(folder: Path, tmp_path: Path) -> None:
    for k, data in enumerate((["a.jsonl"], ["-d", "a.jsonl"])):
        base = ["report", folder / "m.tilt", *[folder / d if d != "-d" else d for d in data]]
        assert run(*base, "-o", tmp_path / f"{k}.html", "--title", "x")[0] == 0
    assert (tmp_path / "0.html").read_bytes() == (tmp_path / "1.html").read_bytes()


@pytest.mark.parametrize("name", ["train", "predict", "evaluate", "report", "suggest", "compare"])
def test_no_data_is_an_error(folder: Path, tmp_path: Path, name: str) -> None:
    more = {"train": ["-o", tmp_path / "o.tilt"], "report": [folder / "m.tilt", "-o", tmp_path / "o.html"],
            "compare": ["-c", folder / "c.toml"], "suggest": []}.get(name, [folder / "m.tilt"])  # fmt: skip
    assert "There are no data: name at least one file" in refused(name, *more)


@pytest.mark.parametrize(("words", "found"), [("tiltfit tr", "train"), ("tiltfit predict --pr", "--proba")])
def test_completion(words: str, found: str) -> None:
    environment = {**os.environ, "_TILTFIT_COMPLETE": "complete_bash", "COMP_WORDS": words}
    environment["COMP_CWORD"] = str(len(words.split()) - 1)
    code = "from tiltfit.cli.main import app; app(prog_name='tiltfit')"
    shell = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert found in shell.stdout.split()
