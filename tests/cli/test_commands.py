"""Train, predict and evaluate, from files to files."""

from __future__ import annotations

import csv
import gzip
import json
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tiltfit import load
from tiltfit.cli.main import app
from tiltfit.features.vectors import ENCODERS, STATIC, named_encoder

CONSTRAINTS = """
version = 1
classes = ["baseball", "hockey"]
[[constraint]]
name = "puck"
label = "hockey"
given = { word = "puck" }
about = 0.9
[[constraint]]
name = "bat"
label = "baseball"
given = { word = "bat" }
about = 0.9
"""
WORDS = {
    "hockey": ["puck", "goalie", "ice", "rink", "skate"],
    "baseball": ["bat", "pitcher", "inning", "base", "glove"],
}


def documents(n: int, seed: int) -> list[dict[str, Any]]:
    """Four words of the class, one of the other (never puck or bat: the constraints are true), two of neither."""
    rng = random.Random(seed)
    rows = []
    for i in range(n):
        label = ["hockey", "baseball"][i % 2]
        other = ["baseball", "hockey"][i % 2]
        words = rng.choices(WORDS[label], k=4) + rng.choices(WORDS[other][1:], k=1) + rng.choices(["game", "team"], k=2)
        rows.append({"id": f"doc{i}", "text": " ".join(words), "label": label, "season": i // 2 % 2})
    return rows


def write(path: Path, rows: list[dict[str, Any]], *without: str) -> None:
    path.write_text("".join(json.dumps({k: v for k, v in row.items() if k not in without}) + "\n" for row in rows))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data, constraints and a model trained on them without labels."""
    folder = tmp_path_factory.mktemp("trained")
    write(folder / "train.jsonl", documents(120, 0), "label")
    write(folder / "test.jsonl", documents(40, 1))
    (folder / "c.toml").write_text(CONSTRAINTS)
    code, out, err = run("train", folder / "train.jsonl", "-c", folder / "c.toml", "-o", folder / "m.tilt")
    assert code == 0, err
    (folder / "train.out").write_text(out)
    return folder


def run(*arguments: object, stdin: bytes | None = None) -> tuple[int, str, str]:
    result = CliRunner(env={"COLUMNS": "100"}).invoke(app, [str(a) for a in arguments], input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    return result.exit_code, result.stdout, result.stderr


def document(*arguments: object) -> Any:
    code, out, err = run(*arguments, "--json")
    assert code == 0, err
    return json.loads(out)


def refused(*arguments: object) -> str:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    return err


# train ----------------------------------------------------------------------------------------------------------


def test_training_without_labels_says_what_it_did(trained: Path) -> None:
    out = (trained / "train.out").read_text()
    assert "120 documents, none labelled" in out
    assert "hockey" in out
    assert "puck" in out
    assert "Saved" in out
    assert all(len(line) <= 100 for line in out.splitlines() if "Saved" not in line and "Read" not in line)
    assert "Sharpness 1 (a factor of all scores): too little to choose it by" in out


def test_notes_are_below_wide_tables_too(trained: Path, tmp_path: Path) -> None:
    arguments = ["train", trained / "train.jsonl", "-c", trained / "c.toml", "-o", tmp_path / "m.tilt"]
    out = CliRunner(env={"COLUMNS": "160"}).invoke(app, [str(a) for a in arguments]).stdout
    assert "Sharpness 1 (a factor of all scores): too little to choose it by" in out


def test_train_json(trained: Path, tmp_path: Path) -> None:
    found = document("train", trained / "train.jsonl", "-c", trained / "c.toml", "-o", tmp_path / "m.tilt")
    assert (found["rows"], found["labelled"], found["classes"]) == (120, 0, ["baseball", "hockey"])
    assert sum(found["proportions"].values()) == pytest.approx(1)
    assert 0.3 < found["proportions"]["hockey"] < 0.7
    assert len(found["constraints"]) == 2
    assert found["rounds"] >= 1
    assert (tmp_path / "m.tilt").is_file()


def test_training_with_labels_only(tmp_path: Path) -> None:
    write(tmp_path / "d.jsonl", documents(60, 0))
    found = document("train", tmp_path / "d.jsonl", "-o", tmp_path / "m.tilt")
    assert (found["labelled"], found["constraints"]) == (60, [])
    assert document("evaluate", tmp_path / "m.tilt", tmp_path / "d.jsonl")["accuracy"] > 0.9


def test_labelled_and_unlabelled_files_together(trained: Path, tmp_path: Path) -> None:
    found = document(
        "train", trained / "train.jsonl", trained / "test.jsonl", "-c", trained / "c.toml", "-o", tmp_path / "m.tilt"
    )
    assert (found["rows"], found["labelled"]) == (160, 40)


def test_options_reach_the_estimator(trained: Path, tmp_path: Path) -> None:
    base = ["train", trained / "train.jsonl", "-c", trained / "c.toml", "-o", tmp_path / "m.tilt"]
    found = document(*base, "--max-iter", 1, "--alpha", 100, "--seed", 1, "--jobs", 1)
    assert found["rounds"] == 1
    assert "solver" in refused(*base, "--solver", "alternatin")


def test_a_second_stage(trained: Path, tmp_path: Path) -> None:
    base = ["train", trained / "train.jsonl", "-c", trained / "c.toml", "-o", tmp_path / "m.tilt"]
    found = document(*base, "--refine")["refinement"]
    assert found["kept"] is True
    assert found["views"] == ["words", "pairs", "characters"]
    assert load(tmp_path / "m.tilt").refinement_.rounds == found["rounds"] > 0
    assert document("evaluate", tmp_path / "m.tilt", trained / "test.jsonl")["accuracy"] > 0.9
    assert "refinement" not in document(*base, "--no-refine")
    assert load(tmp_path / "m.tilt").refine is None
    code, out, _ = run(*base, "--refine")
    assert code == 0
    assert "Refined with words, pairs, characters (" in out
    assert "--refine is to label documents" in refused(*base, "--task", "tag", "--refine")


def test_words_can_be_hashed(trained: Path, tmp_path: Path) -> None:
    base = ["train", trained / "train.jsonl", "-c", trained / "c.toml", "-o", tmp_path / "m.tilt"]
    document(*base, "--vectorizer", "hashing")
    assert document("evaluate", tmp_path / "m.tilt", trained / "test.jsonl")["accuracy"] > 0.9
    assert "'hashing', 'words+meaning', 'words+sentences', a scikit-learn" in refused(*base, "--vectorizer", "hashed")
    code, out, _ = run("train", "--help")
    assert code == 0
    assert "hashing" in out


def test_words_and_meaning(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Letters:
        def encode(self, texts: list[str]) -> list[list[float]]:
            return [[text.count("a") + 1.0, float(text.count("i"))] for text in texts]

    base = ["train", trained / "train.jsonl", "-c", trained / "c.toml", "-o", tmp_path / "m.tilt"]
    with monkeypatch.context() as inside:
        inside.setitem(ENCODERS._entries, STATIC, Letters)
        named_encoder.cache_clear()
        document(*base, "--vectorizer", "words+meaning")
        assert document("evaluate", tmp_path / "m.tilt", trained / "test.jsonl")["accuracy"] > 0.9
    assert load(tmp_path / "m.tilt").names_[-2:] == ["meaning 0", "meaning 1"]
    named_encoder.cache_clear()
    monkeypatch.setitem(sys.modules, "wordllama", None)
    assert "tiltfit[embeddings]" in refused(*base, "--vectorizer", "words+meaning")


def test_nothing_to_learn_from(trained: Path, tmp_path: Path) -> None:
    base = ["train", "-o", tmp_path / "m.tilt"]
    assert "no row has a label and there are no constraints" in refused(*base, trained / "train.jsonl")
    assert "the labels are ignored" in refused(*base, trained / "test.jsonl", "--ignore-labels")
    assert list(tmp_path.iterdir()) == []


def test_clusters_need_only_names(trained: Path, tmp_path: Path) -> None:
    base = ["train", trained / "test.jsonl", "--ignore-labels", "-o", tmp_path / "m.tilt", "--method", "em"]
    found = document(*base, "--model", "naive_bayes", "--classes", "a,b", "--seed", 1)
    assert (found["labelled"], found["classes"]) == (0, ["a", "b"])
    assert 0.2 < found["proportions"]["a"] < 0.8  # the two kinds of documents there are
    assert "Name them: --classes A,B" in refused(*base, "--model", "naive_bayes")
    assert "cannot train --model 'maxent'" in refused(*base, "--classes", "a,b")
    assert "--method em --model naive_bayes --classes" in refused(*base[:-2])
    assert "takes no constraints, but there are 2" in refused(*base, "--model", "naive_bayes", "-c", trained / "c.toml")


def test_ignored_labels_change_nothing(trained: Path, tmp_path: Path) -> None:
    write(tmp_path / "d.jsonl", documents(120, 0))
    found = document(
        "train", tmp_path / "d.jsonl", "-c", trained / "c.toml", "-o", tmp_path / "m.tilt", "--ignore-labels"
    )
    assert found["labelled"] == 0
    one, other = (
        run("predict", folder / "m.tilt", trained / "test.jsonl", "--proba")[1] for folder in (trained, tmp_path)
    )
    assert one == other


def test_output_is_refused_before_training(trained: Path, tmp_path: Path) -> None:
    base = ["train", trained / "train.jsonl", "-c", trained / "c.toml", "-o"]
    assert "does not exist" in refused(*base, tmp_path / "no" / "m.tilt")
    assert "also an input" in refused(*base, trained / "train.jsonl")


def test_unknown_labels_and_classes(trained: Path, tmp_path: Path) -> None:
    base = ["train", trained / "train.jsonl", "-c", trained / "c.toml", "-o", tmp_path / "m.tilt"]
    assert "hockey" in refused(*base, "--classes", "hokey,baseball")
    assert "--classes" in refused(*base, "--classes", "a,,b")
    write(tmp_path / "d.jsonl", [*documents(2, 0), {"text": "x", "label": "cricket"}, *documents(4, 0)])
    err = refused("train", tmp_path / "d.jsonl", "-c", trained / "c.toml", "-o", tmp_path / "m.tilt")
    assert "the label 'cricket'" in err
    assert f"Document 2 is at {tmp_path / 'd.jsonl'}, line 3." in err
    assert not (tmp_path / "m.tilt").exists()


def test_misspelt_word_is_a_note(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(CONSTRAINTS.replace('word = "bat"', 'word = "batt"'))
    code, out, err = run("train", trained / "train.jsonl", "-c", tmp_path / "c.toml", "-o", tmp_path / "m.tilt")
    assert code == 0
    assert "note: " in err
    assert '"bat"' in err
    assert "note: " not in out


def test_whole_number_labels(tmp_path: Path) -> None:
    rows = [{**row, "label": int(row["label"] == "hockey")} for row in documents(40, 0)]
    write(tmp_path / "d.jsonl", rows)
    document("train", tmp_path / "d.jsonl", "-o", tmp_path / "m.tilt", "--classes", "0,1")
    predictions = document("predict", tmp_path / "m.tilt", tmp_path / "d.jsonl")["predictions"]
    assert {type(p["label"]) for p in predictions} == {int}
    with (tmp_path / "d.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    scores = [document("evaluate", tmp_path / "m.tilt", tmp_path / name)["accuracy"] for name in ("d.csv", "d.jsonl")]
    assert scores[0] == scores[1] > 0.9


def test_columns(trained: Path, tmp_path: Path) -> None:
    given = '{ all = [{ column = "text", word = "puck" }, { column = "season", above = 0 }] }'
    (tmp_path / "c.toml").write_text(CONSTRAINTS.replace('{ word = "puck" }', given))
    base = ["train", trained / "train.jsonl", "-c", tmp_path / "c.toml", "-o", tmp_path / "m.tilt"]
    assert "column('text') needs a data frame" in refused(*base)
    found = document(*base, "--column", "season")
    assert found["constraints"][0]["support"] < found["constraints"][1]["support"]
    # The model remembers its columns.
    assert document("evaluate", tmp_path / "m.tilt", trained / "test.jsonl")["accuracy"] > 0.8


# predict --------------------------------------------------------------------------------------------------------


def test_predictions_as_jsonl_on_stdout(trained: Path) -> None:
    code, out, err = run("predict", trained / "m.tilt", trained / "test.jsonl", "--proba")
    rows = [json.loads(line) for line in out.splitlines()]
    assert (code, err) == (0, "")
    assert [row["id"] for row in rows] == [f"doc{i}" for i in range(40)]
    for row in rows:
        assert sum(row["proba"].values()) == pytest.approx(1, abs=1e-5)
        assert row["label"] == max(row["proba"], key=row["proba"].get)
    truth = [row["label"] for row in documents(40, 1)]
    assert sum(row["label"] == t for row, t in zip(rows, truth, strict=True)) >= 36


def test_predictions_in_files(trained: Path, tmp_path: Path) -> None:
    base = ["predict", trained / "m.tilt", trained / "test.jsonl", "-o"]
    code, out, _ = run(*base, tmp_path / "out.csv")
    assert code == 0
    assert "Wrote 40 rows" in out
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    found = document(*base, tmp_path / "out.jsonl.gz", "--proba")
    assert (found["rows"], found["output"]) == (40, str(tmp_path / "out.jsonl.gz"))
    lines = gzip.decompress((tmp_path / "out.jsonl.gz").read_bytes()).decode().splitlines()
    assert [row["label"] for row in rows] == [json.loads(line)["label"] for line in lines]
    assert list(rows[0]) == ["id", "text", "input_label", "season", "label", "confidence", "p_baseball", "p_hockey"]
    given = documents(40, 1)
    assert [(row["id"], row["text"], row["input_label"]) for row in rows] == [
        (row["id"], row["text"], row["label"]) for row in given
    ]
    assert all(0.5 <= float(row["confidence"]) <= 1 for row in rows)


def test_predictions_with_their_causes(trained: Path, tmp_path: Path) -> None:
    base = ["predict", trained / "m.tilt", trained / "test.jsonl", "--why"]
    for options in ([], ["--project"]):
        rows = document(*base, *options)["predictions"]
        for row in rows:
            why = row["why"]
            assert why["rival"] not in (None, row["label"])
            assert sum(part["amount"] for part in why["parts"]) == pytest.approx(why["log_odds"], abs=1e-4)
            assert why["sentence"].startswith(f"{row['label']} rather than {why['rival']} (")
        puck = next(row for row in rows if "puck" in {part["name"] for part in row["why"]["tilts"]})
        assert puck["why"]["tilts"][0]["kind"] == "statement"
    out = tmp_path / "out.csv"
    assert run(*base, "-o", out, "--proba")[0] == 0
    first, *others = list(csv.reader(out.read_text().splitlines()))
    assert first[-5:] == ["label", "confidence", "p_baseball", "p_hockey", "why"]
    assert all(" rather than " in row[-1] for row in others)


def test_projection_moves_predictions_towards_the_constraints(trained: Path) -> None:
    plain = document("predict", trained / "m.tilt", trained / "test.jsonl", "--proba")["predictions"]
    tilted = document("predict", trained / "m.tilt", trained / "test.jsonl", "--proba", "--project")["predictions"]
    with_puck = [i for i, row in enumerate(documents(40, 1)) if "puck" in row["text"].split()]
    shares = [sum(rows[i]["proba"]["hockey"] for i in with_puck) / len(with_puck) for rows in (plain, tilted)]
    assert abs(shares[1] - 0.9) <= abs(shares[0] - 0.9)
    assert plain != tilted


def test_standard_input(trained: Path) -> None:
    code, out, _ = run("predict", trained / "m.tilt", "-", stdin=b'{"text": "puck goalie ice"}\n')
    assert code == 0
    found = json.loads(out)
    assert found.pop("confidence") > 0.5
    assert found == {"id": "1", "text": "puck goalie ice", "label": "hockey"}
    code, out, _ = run("predict", trained / "m.tilt", "-", "--format", "csv", stdin=b"id,text\n7,bat pitcher\n")
    assert json.loads(out) | {"confidence": 1} == {
        "id": "7", "text": "bat pitcher", "label": "baseball", "confidence": 1
    }  # fmt: skip


def test_predict_refusals(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.tilt").write_bytes(b"not a model")
    assert "bad.tilt" in refused("predict", tmp_path / "bad.tilt", trained / "test.jsonl")
    assert "none.tilt" in refused("predict", tmp_path / "none.tilt", trained / "test.jsonl")
    assert "c.toml, line 2" in refused("predict", trained / "m.tilt", trained / "c.toml", "--format", "jsonl")
    assert "does not exist" in refused(
        "predict", trained / "m.tilt", trained / "test.jsonl", "-o", tmp_path / "a" / "b"
    )


# evaluate -------------------------------------------------------------------------------------------------------


def test_evaluate(trained: Path, tmp_path: Path) -> None:
    rows = documents(40, 1)
    write(tmp_path / "d.jsonl", [*rows, {"text": "x", "label": None}, {"text": "y"}])
    found = document("evaluate", trained / "m.tilt", tmp_path / "d.jsonl")
    assert (found["rows"], found["unlabelled"]) == (40, 2)
    assert found["accuracy"] >= 0.9
    assert found["log_loss"] > 0
    assert found["classes"]["hockey"]["support"] == 20
    code, out, _ = run("evaluate", trained / "m.tilt", tmp_path / "d.jsonl")
    assert code == 0
    assert "40 labelled documents (2 without a label left out)" in out
    assert f"accuracy {found['accuracy']:.3f}" in out


def test_evaluate_refusals(trained: Path, tmp_path: Path) -> None:
    assert "No row has a label" in refused("evaluate", trained / "m.tilt", trained / "train.jsonl")
    write(tmp_path / "d.jsonl", [{"text": "x", "label": "hokey"}])
    assert 'Did you mean "hockey"?' in refused("evaluate", trained / "m.tilt", tmp_path / "d.jsonl")


# The real command -----------------------------------------------------------------------------------------------


def test_python_m_tiltfit(trained: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "tiltfit",
        "evaluate",
        str(trained / "m.tilt"),
        str(trained / "test.jsonl"),
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"] == 40
    assert done.stderr == ""


def test_version_help_and_wrong_usage() -> None:
    assert run("--version")[:2] == (0, "tiltfit 0.1.0\n")
    for command in ["train", "predict", "evaluate", "check", "demo"]:
        assert command in run("--help")[1]
        assert run(command, "--help")[0] == 0
    code, out, err = run("train")
    assert (code, out) == (2, "")
    assert "Usage" in err


@pytest.mark.parametrize(("option", "value"), [("method", "ge"), ("model", "naive_bayes"), ("method", "vote")])
def test_another_method_or_model(trained: Path, tmp_path: Path, option: str, value: str) -> None:
    code, _, err = run(
        "train", trained / "train.jsonl", "-c", trained / "c.toml", "-o", tmp_path / "m.tilt", f"--{option}", value
    )
    assert code == 0, err
    assert getattr(load(tmp_path / "m.tilt"), option) == value
    assert document("evaluate", tmp_path / "m.tilt", trained / "test.jsonl")["accuracy"] > 0.8


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--method", "gee"], "--method 'gee' is not supported.*'ge'"),
        (["--model", "hmm"], "--model 'hmm' is not supported"),
        (["--method", "ge", "--online"], "--method 'ge' cannot learn online.*--method 'ap'"),
    ],
)
def test_a_method_or_model_that_is_not_there(trained: Path, tmp_path: Path, options: list[str], said: str) -> None:
    code, _, err = run("train", trained / "train.jsonl", "-c", trained / "c.toml", "-o", tmp_path / "m.tilt", *options)
    assert code == 2
    assert re.search(said, " ".join(err.split())), err
