"""``tiltfit convert``: what is written is what the other commands read."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.cli.ads import document, refused, run

from tiltfit import ConstraintSet
from tiltfit.data.readers import read, read_sequences

MALLET = "# sports\npuck hockey:0.9 baseball:0.1\nbat baseball:0.7,0.95\n"
TAGGED = "Bill CAPITALIZED noun\nslept non-noun\n\nhere non-noun\n"
VOTES = "puck,bat\n1,-1\n-1,0\n1,-1\n-1,0\n-1,-1\n"
TEXTS = ["a puck on ice", "a bat", "the puck", "bat and ball", "rain"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.txt").write_text(MALLET)
    (tmp_path / "t.txt").write_text(TAGGED)
    (tmp_path / "v.csv").write_text(VOTES)
    np.save(tmp_path / "v.npy", np.array([[1, -1], [-1, 0], [1, -1], [-1, 0], [-1, -1]]))
    (tmp_path / "d.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_constraints_of_mallet() -> None:
    code, out, err = run("convert", "mallet-constraints", "m.txt")
    assert (code, err) == (0, "")
    assert len(ConstraintSet.from_toml(out)) == 2
    assert run("convert", "mallet-constraints", "-", stdin=MALLET.encode())[1] == out
    code, said, _ = run("convert", "mallet-constraints", "m.txt", "-o", "c.toml")
    assert (code, said) == (0, "Wrote c.toml: 2 constraints.\n")
    assert ConstraintSet.from_toml("c.toml") == ConstraintSet.from_toml(out)
    assert run("check", "c.toml")[0] == 0


@pytest.mark.usefixtures("folder")
def test_sequences_of_simple_tagger() -> None:
    code, out, err = run("convert", "simple-tagger", "t.txt")
    assert (code, out) == (0, "Bill\tnoun\nslept\tnon-noun\n\nhere\tnon-noun\n\n")
    assert "keeps the other features" in err
    found = document("convert", "simple-tagger", "t.txt", "-o", "t.jsonl")
    assert found == {"output": "t.jsonl", "sequences": 2, "tokens": 3}
    assert read_sequences("t.jsonl").X == [["Bill", "slept"], ["here"]]
    assert run("convert", "simple-tagger", "-", "--no-labels", stdin=b"a\n\nb c\n")[1] == "a\n\nb\n\n"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("output", ["o.jsonl", "o.csv", "o.csv.gz"])
@pytest.mark.parametrize("named", [(), ("--classes", "baseball,hockey")])
@pytest.mark.parametrize("votes", ["v.csv", "v.npy"])
def test_votes_of_snorkel_end_to_end(output: str, named: tuple[str, ...], votes: str) -> None:
    code, out, err = run("convert", "snorkel", votes, "--data", "d.jsonl", "-o", output, "-c", "c.toml", *named)
    assert (code, err) == (0, "")
    rules = ["puck", "bat"] if votes == "v.csv" else ["rule_0", "rule_1"]
    columns = [word for rule in rules for word in ("--column", rule)]
    assert f"Next: tiltfit check c.toml --data {output} {' '.join(columns)}" in " ".join(out.split())
    assert read(output).X == TEXTS
    found = document("check", "c.toml", "--data", output, *columns)
    assert (found["valid"], found["warnings"]) == (True, [])
    assert [c["support"] for c in found["constraints"]] == [2, 2]
    assert found["covered"] == 4


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("data", "named"), [("o.jsonl", ("--classes", "baseball,hockey")), ("o.csv", ())])
def test_a_classifier_from_votes(data: str, named: tuple[str, ...]) -> None:
    run("convert", "snorkel", "v.csv", "-d", "d.jsonl", "-o", data, "-c", "c.toml", *named)
    columns = ["--column", "puck", "--column", "bat"]
    code, _, err = run("train", data, "-c", "c.toml", *columns, "-o", "m.tilt")
    assert code == 0, err
    code, out, err = run("predict", "m.tilt", data)
    assert code == 0, err
    labels = [json.loads(line)["label"] for line in out.splitlines()]
    assert labels[:4] == (["hockey", "baseball"] * 2 if named else ["1", "0"] * 2)


@pytest.mark.usefixtures("folder")
def test_a_rule_that_never_votes() -> None:
    code, out, err = run("convert", "snorkel", "-", "--classes", "a,b", stdin=b"one,two\n0,-1\n1,-1\n")
    assert code == 0
    assert [json.loads(line) for line in out.splitlines()][1] == {"id": "1", "one": "b", "two": None}
    assert "The rule 'two' never votes" in err


@pytest.mark.usefixtures("folder")
def test_refusals() -> None:
    Path("bad.txt").write_text("puck hockey:0.9\nbat\n")
    Path("empty.txt").write_text("")
    assert 'Did you mean "snorkel"' in refused("convert", "snorkle", "v.csv")
    assert "bad.txt, line 2: no label follows" in refused("convert", "mallet-constraints", "bad.txt")
    assert "empty.txt: no constraints" in refused("convert", "mallet-constraints", "empty.txt")
    assert "none.txt" in refused("convert", "simple-tagger", "none.txt")
    assert "Name it .conll or .jsonl" in refused("convert", "simple-tagger", "t.txt", "-o", "t.csv")
    assert "Name it .jsonl or .csv" in refused("convert", "snorkel", "v.csv", "-o", "o.jsonl.xz")
    assert "Name it .jsonl or .csv" in refused("convert", "snorkel", "v.csv", "-o", "o")
    assert "--data is for snorkel" in refused("convert", "simple-tagger", "t.txt", "--data", "d.jsonl")
    assert "--labels is for simple-tagger" in refused("convert", "snorkel", "v.csv", "--no-labels")
    assert "is also an input" in refused("convert", "snorkel", "v.csv", "-o", "v.csv")
    assert "are the same file" in refused("convert", "snorkel", "v.csv", "-o", "o.csv", "-c", "o.csv")
    code, out, err = run("convert", "mallet-constraints", "m.txt", "--json")
    assert code == 2
    assert "needs --output" in out + err
    assert "only once" in refused("convert", "snorkel", "-", "--data", "-", stdin=b"0,1\n")
    Path("few.jsonl").write_text('{"text": "x"}\n')
    said = refused("convert", "snorkel", "v.csv", "--data", "few.jsonl", "-o", "o.jsonl", "-c", "c.toml")
    assert "few.jsonl: 1 documents, but v.csv has votes on 5" in said
    assert not Path("o.jsonl").exists()
    assert not Path("c.toml").exists()
