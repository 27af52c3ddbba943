"""Messages of the library in the words of a command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.ads import refused, run

from tiltfit.cli.terminal import in_options

OPTIONS = {name: f"--{name.replace('_', '-')}" for name in ("text", "label", "min_count", "valid_only", "init", "beta")}


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("min_count=3 drops all.", "--min-count 3 drops all."),
        ("Say which field to use with text=.", "Say which field to use with --text."),
        ("init='zeros', beta=0.5", "--init 'zeros', --beta 0.5"),
        ("Leave out valid_only=True.", "Leave out --valid-only."),
        ("online min_count=0", "--min-count 0"),
        ("The ridge alpha= is strong (or beta= is soft).", "The ridge alpha= is strong (or --beta is soft)."),
        ("The constraint 'text=5' and \"label=\" stay", "The constraint 'text=5' and \"label=\" stay"),
        ("the matrix's text=5", "the matrix's --text 5"),
        ("context=5, --text=5, a.text=5", "context=5, --text=5, a.text=5"),
    ],
)
def test_parameters_become_options(message: str, said: str) -> None:
    assert in_options(message, OPTIONS) == said
    assert in_options(message, {}) == message


def test_commands_speak_of_their_options(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text('{"txt": "a"}\n')
    (tmp_path / "d.csv").write_text("a;b\n1;2\n")
    for online in ([], ["--online"]):
        said = refused("train", tmp_path / "d.jsonl", *online, "-o", tmp_path / "m.tilt")
        assert "Say which field to use with --text, or mend this record" in said
        given = ("train", tmp_path / "d.csv", *online, "-o", tmp_path / "m.tilt", "--text", "b")
        assert "Pass --delimiter." in refused(*given)


def test_programs_get_the_option_at_fault(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text('{"text": "a b", "label": "x"}\n{"text": "b c", "label": "y"}\n')
    code, out, _ = run("train", tmp_path / "d.jsonl", "-o", tmp_path / "m.tilt", "--max-iter", 0, "--json")
    assert code == 2
    found = json.loads(out)
    assert (found["kind"], found["option"]) == ("DataError", "--max-iter")
    assert found["error"].startswith("--max-iter 0 must be")


@pytest.mark.parametrize(
    ("typed", "option"),
    [
        (["--online", "--batch-size", 0], "--batch-size"),
        (["--method", "codl", "--method-option", "tau=-1"], "--method-option"),
        (["--method", "codl", "--method-option", "tau"], "--method-option"),
    ],
)
def test_programs_get_the_nested_option_at_fault(tmp_path: Path, typed: list[object], option: str) -> None:
    (tmp_path / "d.jsonl").write_text('{"text": "a b", "label": "x"}\n{"text": "b c", "label": "y"}\n')
    code, out, _ = run("train", tmp_path / "d.jsonl", "-o", tmp_path / "m.tilt", *typed, "--json")
    assert (code, json.loads(out)["option"]) == (2, option)
