"""Options of methods on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.ads import document, refused

from tiltfit import load
from tiltfit.cli.terminal import in_options
from tiltfit.cli.training_options import method_options, options_of_methods
from tiltfit.errors import DataError

TEXTS = {"h": ["a puck on ice", "the goalie", "ice and a goalie"], "b": ["a bat and a ball", "the pitcher", "a ball"]}
SAID = """
version = 1
classes = ["b", "h"]
[[constraint]]
name = "puck"
label = "h"
given = { word = "puck" }
about = 0.9
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("options")
    rows = [{"text": text, "label": y} for y, texts in TEXTS.items() for text in texts]
    (path / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    rows = [row if k % 2 else {"text": row["text"]} for k, row in enumerate(rows * 3)]
    (path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (path / "c.toml").write_text(SAID)
    return path


@pytest.mark.parametrize(
    ("typed", "value"),
    [("1", 1), ("0.5", 0.5), ("1e-3", 1e-3), (".5", 0.5), ("-1", -1), ("true", True), ("False", False), ("none", None),
     ("word", "word"), ('{"a": 0.5, "b": 0.5}', {"a": 0.5, "b": 0.5})],
)  # fmt: skip
def test_values(typed: str, value: object) -> None:
    found = method_options([f"name={typed}"])["name"]
    assert (found, type(found)) == (value, type(value))


def test_they_reach_the_method(folder: Path, tmp_path: Path) -> None:
    base = ["train", folder / "d.jsonl", "-c", folder / "c.toml", "-o", tmp_path / "m.tilt", "--method", "codl"]
    document(*base, "--method-option", "tau=0.5", "--method-option", "max_rounds=3")
    assert load(tmp_path / "m.tilt").method_options == {"tau": 0.5, "max_rounds": 3}
    said = refused(*base, "--method-option", "taw=0.5")
    assert "--method-option taw=... is unknown. Did you mean" in said
    assert "knows ['top_k', 'tau', 'rho', 'beam', 'max_rounds']" in said
    assert "--method-option tau=2 must be a number between 0" in refused(*base, "--method-option", "tau=2")
    assert "--method-option 'tau' must be NAME=VALUE" in refused(*base, "--method-option", "tau")
    assert "names 'tau' twice" in refused(*base, "--method-option", "tau=1", "--method-option", "tau=0")
    assert "is not a JSON object" in refused(*base, "--method-option", "rho={no")
    assert "knows none" in refused(*base[:-1], "vote", "--method-option", "tau=0.5")


def test_each_of_the_compared_has_its_own(folder: Path) -> None:
    base = ["compare", folder / "d.jsonl", "-c", folder / "c.toml", "--test", folder / "test.jsonl", "--bootstrap", 0,
            "--in-process", "--methods", "supervised,codl,self_training"]  # fmt: skip
    found = document(*base, "--method-option", "codl.tau=1", "--method-option", "self_training.threshold=0.7")
    assert [row["parameters"] for row in found["rows"]] == [
        {}, {"method_options": {"tau": 1}}, {"method_options": {"threshold": 0.7}},
    ]  # fmt: skip
    figures = [row["figures"] for row in found["rows"]]
    assert figures[1]["log_loss"]["value"] == pytest.approx(figures[0]["log_loss"]["value"])  # nothing but labels
    assert "must say whose it is" in refused(*base, "--method-option", "tau=1")
    assert "not compared (supervised, codl, self_training)" in refused(*base, "--method-option", "ge.tau=1")


def test_a_model_behind_a_slash() -> None:
    assert options_of_methods(["codl/hmm.tau=0.5"], ["codl/hmm"]) == {"codl/hmm": {"tau": 0.5}}
    with pytest.raises(DataError, match="must say whose it is"):
        options_of_methods([".tau=0.5"], ["codl"])


def test_messages_speak_of_what_is_typed() -> None:
    options = {"method_options": "--method-option"}
    for said, typed in (
        ("method_options={'tau': 2} must be less.", "--method-option tau=2 must be less."),
        ("method_options={'rho': {'puck': None}} must be", "--method-option rho={'puck': None} must be"),
        ("Raise method_options={'max_rounds': 10}.", "Raise --method-option max_rounds=10."),
    ):
        assert in_options(said, options) == typed
        assert in_options(said, {"text": "--text"}) == said
