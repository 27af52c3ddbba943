"""``tiltfit check``: validity, supports, warnings, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tiltfit.cli.main import app

CONSTRAINTS = """
version = 1
classes = ["baseball", "hockey"]
[[constraint]]
name = "puck"
label = "hockey"
given = { word = "puck" }
about = 0.9
[[constraint]]
label = "baseball"
given = { any = [{ word = "bat" }, { word = "picher" }] }
about = 0.8
[[constraint]]
label = "hockey"
at_least = 0.2
"""
TEXTS = ["the puck", "a puck and a bat", "the pitcher", "nothing"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "c.toml").write_text(CONSTRAINTS)
    (tmp_path / "d.jsonl").write_text("".join(json.dumps({"text": t, "age": len(t)}) + "\n" for t in TEXTS))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["check", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.usefixtures("folder")
def test_sentences_without_data() -> None:
    code, out, err = run("c.toml")
    assert code == 0
    assert "3 constraints, 2 classes: baseball, hockey. Valid." in out
    assert 'about 90% of documents with the word "puck" are hockey' in out
    assert err == ""


@pytest.mark.usefixtures("folder")
def test_supports_and_coverage() -> None:
    code, out, err = run("c.toml", "--data", "d.jsonl", "--json")
    found = json.loads(out)
    assert code == 0
    assert err == ""
    assert [c["support"] for c in found["constraints"]] == [2, 1, 4]
    assert [c["coverage"] for c in found["constraints"]] == [0.5, 0.25, 1.0]
    assert (found["rows"], found["covered"], found["valid"]) == (4, 2, True)
    assert found["constraints"][0]["name"] == "puck"
    (warning,) = found["warnings"]
    assert warning.endswith('also names documents with the word "picher", but there are none. Did you mean "pitcher"?')


@pytest.mark.usefixtures("folder")
def test_table_and_notes_for_people() -> None:
    code, out, err = run("c.toml", "--data", "d.jsonl")
    assert code == 0
    assert any(line.split()[-2:] == ["2", "50%"] for line in out.splitlines())
    assert "At least one condition fires on 2 of 4 documents (50%)." in out
    assert err.startswith("note: ")
    assert err.count("\n") == 1


def test_constraint_that_never_fires_names_the_nearest_word(folder: Path) -> None:
    (folder / "c.toml").write_text(CONSTRAINTS.replace('"puck" }', '"pukc" }'))
    code, out, _ = run("c.toml", "--data", "d.jsonl", "--json")
    assert code == 0
    assert 'never fires, so it has no effect. Did you mean "puck"?' in json.loads(out)["warnings"][0]


BAD = {
    "unknown label": ('label = "baseball"', 'label = "basball"', 'Did you mean "baseball"?'),
    "share": ("at_least = 0.2", "at_least = 2", "2"),
    "unknown key": ("at_least = 0.2", "at_lest = 0.2", 'Did you mean "at_least"?'),
    "not toml": ("version = 1", "version = = 1", "line 2"),
    "conflict": ("at_least = 0.2", 'at_least = 0.9\n[[constraint]]\nlabel="hockey"\nat_most=0.1', "cannot both hold"),
}


@pytest.mark.parametrize("name", BAD)
def test_invalid_file_exits_1(folder: Path, name: str) -> None:
    old, new, message = BAD[name]
    (folder / "c.toml").write_text(CONSTRAINTS.replace(old, new))
    code, out, err = run("c.toml")
    assert code == 1
    assert err.startswith("error: ")
    assert message in err
    assert err.count("\n") == (3 if name == "not toml" else 1)  # with the line and a caret
    assert out == ""
    code, out, err = run("c.toml", "--json")
    assert (code, err) == (1, "")
    assert json.loads(out)["valid"] is False
    assert message in json.loads(out)["errors"][0]


def test_constraint_on_sequences_cannot_be_asked_of_documents(folder: Path) -> None:
    (folder / "c.toml").write_text(CONSTRAINTS + '[[constraint]]\nname = "stays"\nstay = true\nabout = 0.9\n')
    assert run("c.toml")[0] == 0
    code, _, err = run("c.toml", "--data", "d.jsonl")
    assert code == 1
    assert "error: The constraint 'stays' is about sequences" in err


def test_column_conditions_need_the_column(folder: Path) -> None:
    extra = '[[constraint]]\nname = "long"\nlabel = "hockey"\ngiven = { column = "age", above = 10 }\nabout = 0.9\n'
    (folder / "c.toml").write_text(CONSTRAINTS + extra)
    assert "error: The constraint 'long': column('age') needs a data frame" in run("c.toml", "--data", "d.jsonl")[2]
    code, out, _ = run("c.toml", "--data", "d.jsonl", "--column", "age", "--json")
    assert code == 0
    assert json.loads(out)["constraints"][3]["support"] == 2


@pytest.mark.usefixtures("folder")
def test_missing_files() -> None:
    code, out, err = run("c.toml", "--data", "e.jsonl")
    assert (code, out) == (2, "")
    assert err == 'error: e.jsonl: there is no such file. Did you mean "d.jsonl"?\n'
    code, out, err = run("e.toml")
    assert (code, out) == (1, "")
    assert err.startswith("error: ")
    assert "e.toml" in err


def test_what_train_would_refuse_is_an_error_here(tmp_path: Path) -> None:
    data = tmp_path / "d.jsonl"
    data.write_text('{"text": "a puck"}\n{"text": "a bat"}\n')
    head = 'version = 1\nclasses = ["a", "b"]\n[[constraint]]\nname = "s"\nlabel = "a"\nabout = 0.5\n'
    share, groups = head + 'of = { labels = ["a", "b"] }\n', head + 'per = { column = "county" }\n'
    for text, message in ((share, "'s'"), (groups, "county"), ("version = 1\n", "no constraint")):
        (tmp_path / "c.toml").write_text(text)
        code, out, _ = run(str(tmp_path / "c.toml"), "--data", str(data), "--json")
        assert code == 1
        assert message in json.loads(out)["errors"][0]


UNKNOWN = """
version = 1
[[constraint]]
label = "hocky"
given = { word = "puck" }
about = 0.9
"""


def test_labels_that_no_data_have_are_named_as_in_training(folder: Path) -> None:
    (folder / "u.toml").write_text(UNKNOWN)
    (folder / "l.jsonl").write_text('{"text": "the puck", "label": "hockey"}\n{"text": "a bat", "label": "baseball"}\n')
    (folder / "t.conll").write_text("the\tO\npuck\thockey\n")
    said = "names the label 'hocky', which is not one of the classes"
    for data, unit in (("l.jsonl", 'documents with the word "puck"'), ("t.conll", 'tokens reading "puck"')):
        code, _, err = run("u.toml", "--data", data)
        assert code == 1
        assert f"about 90% of {unit} are hocky" in err
        assert said in err
        trained = CliRunner().invoke(app, ["train", data, "-c", "u.toml", "-o", "m.tilt"])
        assert said in trained.stderr
    assert run("u.toml", "--data", "t.conll", "--label-column", "none")[0] == 0
    assert run("u.toml", "--data", "d.jsonl")[0] == 0  # nothing is labelled


CONFLICT = """
version = 1
classes = ["baseball", "hockey"]
[[constraint]]
name = "puck"
label = "hockey"
given = { word = "puck" }
at_least = 0.9
[[constraint]]
name = "few"
label = "hockey"
at_most = 0.2
"""


def test_hard_constraints_that_cannot_hold_on_the_data(folder: Path) -> None:
    (folder / "c.toml").write_text(CONFLICT)
    assert run("c.toml")[0] == 0  # nothing is wrong with them as such
    code, out, err = run("c.toml", "--data", "d.jsonl")
    assert code == 1
    assert err == "error: 'puck' and 'few' cannot both hold on these data.\n"
    assert "few: at most 45% instead of at most 20%" in out
    assert out.splitlines()[-1].startswith("Not as it stands: 1 set of hard constraints")
    document = json.loads(run("c.toml", "--data", "d.jsonl", "--json")[1])
    assert (document["valid"], document["conflicts"]) == (False, [["puck", "few"]])
    assert document["relaxation"][0] | {"by": 0.25} == {
        "name": "few", "said": "at most 20%", "to": "at most 45%", "by": 0.25,
    }  # fmt: skip


def test_disputes_and_labels_are_told(folder: Path) -> None:
    texts = [*TEXTS, *["a puck"] * 9]
    labels = [None, None, None, None, *["baseball"] * 9]
    rows = ({"text": t, "label": y} for t, y in zip(texts, labels, strict=True))
    (folder / "l.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, out, _ = run("c.toml", "--data", "l.jsonl")
    assert code == 0
    assert "puck: you said about 90%, 9 labelled documents say 0–30%" in out
    assert "both fire on 1 (Jaccard" in out


def test_long_tables_are_cut(folder: Path) -> None:
    more = "".join(f'[[constraint]]\nname="{k}"\nlabel="hockey"\ngiven={{word="x{k}"}}\nabout=0.5\n' for k in range(30))
    (folder / "c.toml").write_text(CONSTRAINTS + more)
    out = run("c.toml", "--data", "d.jsonl")[1]
    assert "and 13 more that fire more often" in out
    assert len(json.loads(run("c.toml", "--data", "d.jsonl", "--json")[1])["constraints"]) == 33


def test_an_unknown_label_names_the_file_and_no_python(folder: Path) -> None:
    (folder / "bad.toml").write_text(CONSTRAINTS.replace('label = "hockey"', 'label = "hokcey"', 1))
    code, _, err = run("bad.toml")
    shown = " ".join(err.split())
    assert code == 1
    assert "bad.toml: The constraint 'puck' names the label 'hokcey'" in shown
    assert "Correct it, or add it to `classes`" in shown
    assert "classes=" not in shown


def test_a_known_key_is_listed_once(folder: Path) -> None:
    (folder / "bad.toml").write_text(CONSTRAINTS.replace("{ word =", "{ wrd =", 1))
    _, _, err = run("bad.toml")
    keys = " ".join(err.split()).split("Known keys: ")[1].rstrip(".").split(", ")
    assert "feature" in keys
    assert len(set(keys)) == len(keys)


def test_a_file_without_statements_says_what_to_do(folder: Path) -> None:
    (folder / "rules.toml").write_text('version = 1\n#[[constraint]]\n#label = "a"\n#about = 0.9\n')
    code, _, err = run("rules.toml")
    assert code == 1
    assert "in a file of tiltfit suggest, take the # away" in " ".join(err.split())


@pytest.mark.usefixtures("folder")
def test_a_constraint_file_is_no_model() -> None:
    result = CliRunner().invoke(app, ["predict", "c.toml", "d.jsonl"])
    assert result.exit_code != 0
    assert "c.toml looks like a constraint file, not a model" in " ".join(result.stderr.split())
