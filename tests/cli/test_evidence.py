"""--evidence and --votes: files, beside what the model learns from, do what evidence= and votes= do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.ads import refused, run

from tiltfit import TiltClassifier, TiltTagger, load
from tiltfit.data.beside import WithEvidence
from tiltfit.data.readers import read, read_sequences, stream_sequences
from tiltfit.data.readers.votes import read_votes
from tiltfit.errors import DataFileError
from tiltfit.language.toml import read as read_constraints

TEXTS = ["the puck hit the goalie", "a bat and a ball", "goalie saves the puck", "the pitcher has a bat"]
SOURCES = ["nhl", "mlb", "nhl", None]
DOCUMENTS = """
[[constraint]]
label = "hockey"
given = { column = "src", equals = "nhl" }
about = 0.9
[[constraint]]
label = "baseball"
given = { witness = "gpt", says = "baseball" }
about = 0.8
"""
VOTES = "gpt,rule\nhockey,-1\nbaseball,0\n,1\n0,abstain\n"
TOKENS = [["Ann", "met", "Bob"], ["in", "Oslo"], ["Ann"]]
POS = [["NNP", "VBZ", "NNP"], ["IN", "NNP"], ["NNP"]]
TAGS = [["who", "O", None], [None, None], [None]]
SEQUENCES = """
classes = ["O", "where", "who"]
[[constraint]]
label = "who"
given = { column = "pos", equals = "NNP" }
about = 0.9
[[constraint]]
label = "where"
given = { before = { column = "pos", equals = "IN" } }
about = 0.8
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = [{"text": t, "src": s} for t, s in zip(TEXTS, SOURCES, strict=True)]
    (tmp_path / "d.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "d.csv").write_text("text,src\n" + "".join(f"{r['text']},{r['src'] or ''}\n" for r in rows))
    (tmp_path / "d.toml").write_text(DOCUMENTS)
    (tmp_path / "v.csv").write_text(VOTES)
    triples = [zip(*row, strict=True) for row in zip(TOKENS, POS, TAGS, strict=True)]
    columns = "\n".join("".join(f"{token}\t{pos}\t{tag or '?'}\n" for token, pos, tag in row) for row in triples)
    (tmp_path / "s.conll").write_text(columns)
    lists = [{"tokens": t, "pos": p, "tags": y} for t, p, y in zip(TOKENS, POS, TAGS, strict=True)]
    (tmp_path / "s.jsonl").write_text("\n".join(map(json.dumps, lists)))
    (tmp_path / "s.toml").write_text(SEQUENCES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def train(*arguments: str) -> Any:
    code, _, err = run("train", *arguments, "-o", "m.tilt")
    assert code == 0, err
    return load("m.tilt")


def weights(estimator: Any) -> np.ndarray:
    return np.concatenate([estimator.coef_.ravel(), getattr(estimator, "transitions_", np.empty(0)).ravel()])


@pytest.mark.parametrize("data", ["d.jsonl", "d.csv"])
def test_documents(folder: Path, data: str) -> None:
    beside = ["--evidence", "src", "--votes", "v.csv"]
    found = train(data, "-c", "d.toml", *beside)
    votes = {"gpt": ["hockey", "baseball", None, "baseball"]}
    here = TiltClassifier(read_constraints("d.toml")).fit(TEXTS, evidence={"src": SOURCES}, votes=votes)
    np.testing.assert_allclose(weights(found), weights(here))
    assert run("predict", "m.tilt", data)[0] == 0  # the model alone
    out = run("predict", "m.tilt", data, "--project", "--proba", *beside)[1]
    proba = [list(json.loads(line)["proba"].values()) for line in out.splitlines()]
    np.testing.assert_allclose(proba, here.project(TEXTS, evidence={"src": SOURCES}, votes=votes), atol=1e-5)
    assert "column('src') needs a data frame" in refused("predict", "m.tilt", data, "--project", "--votes", "v.csv")
    assert "looks at votes, but there are none" in refused("predict", "m.tilt", data, "--project", *beside[:2])
    assert "Valid" in run("check", "d.toml", "-d", data, *beside)[1]
    assert run("report", "m.tilt", "-d", data, *beside, "-o", "r.html")[0] == 0
    assert "where gpt says baseball" in (folder / "r.html").read_text()


@pytest.mark.parametrize(
    ("data", "named"), [("s.conll", ["--evidence", "pos=1"]), ("s.jsonl", []), ("s.jsonl", ["--evidence", "pos"])]
)
def test_sequences(folder: Path, data: str, named: list[str]) -> None:
    labels = ["--unlabelled", "?"] if data == "s.conll" else []
    found = train(data, "-c", "s.toml", *labels, *named)
    here = TiltTagger(read_constraints("s.toml")).fit(TOKENS, TAGS, evidence={"pos": POS})
    np.testing.assert_allclose(weights(found), weights(here))
    assert run("predict", "m.tilt", data)[0] == 0
    assert run("evaluate", "m.tilt", data, *labels)[0] == 0
    assert run("predict", "m.tilt", data, "--project", *named, "-o", "p.jsonl")[0] == 0
    tags = [json.loads(line)["tags"] for line in (folder / "p.jsonl").read_text().splitlines()]
    assert tags == here.project(TOKENS, evidence={"pos": POS}, decode=True)
    assert run("report", "m.tilt", "-d", data, *labels, *named, "-o", "r.html")[0] == 0
    online = train(data, "-c", "s.toml", *labels, *named, "--online")
    assert len(online.constraint_report_) == 2
    assert online.constraint_report_[0].support == 3  # open tokens


def test_readers_put_evidence_beside(folder: Path) -> None:
    rows = read("d.jsonl", evidence=["src"])
    assert isinstance(rows.X, WithEvidence)
    assert rows.X.X == TEXTS
    assert rows.X.evidence["src"].tolist() == SOURCES
    sequences = read_sequences("s.conll", numbers={"pos": 1}, unlabelled="?")
    assert sequences.tokens == TOKENS
    assert list(sequences.X.evidence["pos"]) == POS
    chunks = list(stream_sequences("s.jsonl", size=2, columns=["pos"]))
    assert [list(chunk.X.evidence["pos"]) for chunk in chunks] == [POS[:2], POS[2:]]
    assert read_votes("v.csv") == {"gpt": ["hockey", "baseball", None, 0], "rule": [-1, 0, 1, "abstain"]}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["d.jsonl", "-c", "d.toml", "--evidence", "srk", "--votes", "v.csv"], "there is no column field 'srk'"),
        (["d.jsonl", "-c", "d.toml", "--evidence", "src", "--votes", "w.csv"], "w.csv: there is no such file"),
        (
            ["d.jsonl", "-c", "d.toml", "--evidence", "src", "--votes", "v.csv", "--online"],
            "--votes needs all documents",
        ),
        (["s.conll", "-c", "s.toml"], "CoNLL columns have no names. Say the number of 'pos'"),
        (["s.conll", "-c", "s.toml", "--evidence", "pos=x"], "--evidence 'pos=x' must be a field, or NAME=N"),
        (["s.conll", "-c", "s.toml", "--evidence", "pos=7"], "there is no column 7 for the column 'pos'"),
        (["s.conll", "-c", "s.toml", "--evidence", "pos=1", "--votes", "v.csv"], "--votes is to label documents"),
        (["short.jsonl", "-c", "s.toml"], "short.jsonl, line 1: 2 tokens, but 1 values of 'pos'"),
        (["mixed.jsonl", "-c", "s.toml"], "the column 'pos' is text here, but a list with a value for each token in"),
    ],
)
def test_what_is_refused(folder: Path, arguments: list[str], why: str) -> None:
    (folder / "short.jsonl").write_text('{"tokens": ["a", "b"], "pos": ["x"]}')
    (folder / "mixed.jsonl").write_text('{"tokens": ["a"], "pos": ["x"]}\n{"tokens": ["a"], "pos": "x"}')
    assert why in refused("train", *arguments, "-o", "m.tilt")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no votes"),
        ("a,b\n", "no votes"),
        ("a,a\nx,y\n", "line 1: two sources are called 'a'"),
        ("a,\nx,y\n", "line 1: column 2 has no name"),
        ("a,b\nx\n", "line 2: the row has 1 cells, but there are 2 sources"),
        ('a,b\n"x,y\n', "not CSV"),
    ],
)
def test_votes_that_are_refused(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "v.csv"
    path.write_text(text)
    with pytest.raises(DataFileError, match=why):
        read_votes(path)
