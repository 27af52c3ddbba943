"""tiltfit compare, from files to a table, a JSON document and a plot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.ads import document, refused, run

from tiltfit import Comparison
from tiltfit.methods.catalogue import METHODS

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
TEXTS = {"hockey": ["a puck on ice", "the goalie and the puck", "ice and a goalie"],
         "baseball": ["a bat and a ball", "the pitcher has a bat", "a ball to the pitcher"]}  # fmt: skip


def rows(n: int, *, labels: bool = True) -> str:
    found = [{"text": texts[i % 3]} | ({"label": y} if labels else {}) for i in range(n) for y, texts in TEXTS.items()]
    return "".join(json.dumps(row) + "\n" for row in found)


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("texts")
    (folder / "train.jsonl").write_text(rows(20))
    (folder / "test.jsonl").write_text(rows(10))
    (folder / "unlabelled.jsonl").write_text(rows(10, labels=False))
    (folder / "test.csv").write_text("text,label\n" + "".join(f"{t},{y}\n" for y, ts in TEXTS.items() for t in ts))
    (folder / "c.toml").write_text(CONSTRAINTS)
    return folder


def command(folder: Path, *more: object, test: str = "test.jsonl", train: str = "train.jsonl") -> list[object]:
    return ["compare", folder / train, "-c", folder / "c.toml", "--test", folder / test, "--bootstrap", 50, *more]


def test_documents_end_to_end(texts: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    code, out, err = run(*command(
        texts, "--methods", "ap,supervised", "--labelled", 4, "--seed", 1, "--beta", 0.02, "--in-process",
        "-o", tmp_path / "r.json", "--plot", tmp_path / "r.png",
    ))  # fmt: skip
    assert code == 0, err
    assert "40 documents to learn from, 4 labelled; 20 to be judged on" in out
    assert "difference to ap" in out
    assert err.splitlines()[:2] == ["1 of 2: ap", "2 of 2: supervised"]
    assert all(len(line) <= 100 for line in out.splitlines() if "r.json" not in line and "r.png" not in line)
    found = Comparison.from_json(tmp_path / "r.json")
    assert [row.status for row in found] == ["ok", "ok"]
    assert found["ap"].parameters == {"beta": 0.02}
    assert (found.seed, found.n_bootstrap) == (1, 50)
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="memory is read from /proc")
def test_each_in_a_process_of_its_own(texts: Path) -> None:
    (row,) = document(*command(texts, "--methods", "supervised"))["rows"]
    assert (row["status"], row["memory"] is None) == ("ok", False), "not known of one process"


def test_data_to_learn_from_need_no_field_of_labels(texts: Path, tmp_path: Path) -> None:
    test = tmp_path / "test.csv"
    test.write_text((texts / "test.csv").read_text().replace("text,label", "text,kind"))
    base = command(texts, "--methods", "ap", "--in-process", "--label", "kind", train="unlabelled.jsonl")
    found = document(*(test if part == texts / "test.jsonl" else part for part in base))
    assert (found["rows"][0]["status"], found["test"]) == ("ok", 6)
    assert "'kind'" in refused(*base)  # but those to judge on do


def test_json_on_standard_output_and_all_methods_by_default(texts: Path) -> None:
    found = document(*command(texts, "--in-process", test="test.csv"))
    assert [row["name"] for row in found["rows"]] == list(METHODS)
    assert found["rows"][0]["memory"] is None
    assert found["test"] == 6
    assert Comparison.from_dict(found).task == "classify"


def test_tags_end_to_end(tagging: Path) -> None:
    code, out, err = run(
        "compare", tagging / "train.conll", "-c", tagging / "c.toml", "--test", tagging / "test.jsonl", "--methods",
        "ap,supervised", "--labelled", 3, "--bootstrap", 20, "--in-process", "--max-iter", 30,
    )  # fmt: skip
    assert code == 0, err
    assert "60 sequences to learn from, 3 labelled; 20 to be judged on" in out
    assert "segment" in out


def test_a_refused_method_is_told_and_the_others_go_on(texts: Path) -> None:
    code, out, _ = run(*command(texts, "--in-process", "--methods", "supervised,ap", train="unlabelled.jsonl"))
    assert code == 0
    assert "supervised refused: method='supervised' learns from labels" in out


def test_if_no_method_ran_that_is_an_error(texts: Path) -> None:
    code, out, err = run(*command(texts, "--in-process", "--methods", "supervised", train="unlabelled.jsonl"))
    assert code == 2
    assert "learns from labels" in out
    assert "error: No method could be compared" in err


def test_quiet(texts: Path) -> None:
    code, out, err = run(*command(texts, "--in-process", "--methods", "ap", "--quiet"))
    assert (code, out, err) == (0, "", "")


def test_bad_input_one_by_one(texts: Path, tmp_path: Path) -> None:
    assert "Give --test DATA" in refused("compare", texts / "train.jsonl", "-c", texts / "c.toml")
    assert "both learned from and judged on" in refused(*command(texts, test="train.jsonl"))
    assert "nothing is labelled" in refused(*command(texts, test="unlabelled.jsonl"))
    assert "no method 'app'" in refused(*command(texts, "--methods", "app"))
    assert "commas between them" in refused(*command(texts, "--methods", "ap,"))
    assert "only 40 of the training data have labels" in refused(*command(texts, "--labelled", 99))
    assert "n_bootstrap=-1" in refused(*command(texts, "--bootstrap", -1))
    assert "--seed -1" in refused(*command(texts, "--seed", -1))
    assert "no task 'clasify'" in refused(*command(texts, "--task", "clasify"))
    assert "--vectorizer is to label documents" in refused(*command(texts, "--task", "tag", "--vectorizer", "tfidf"))
    assert "does not exist" in refused(*command(texts, "-o", tmp_path / "no" / "r.json"))
    assert "is also an input" in refused(*command(texts, "-o", texts / "test.jsonl"))
    assert "the same file" in refused(*command(texts, "-o", tmp_path / "r.png", "--plot", tmp_path / "r.png"))
    assert "There is nothing" not in refused(*command(texts, test="absent.jsonl"))


def test_a_plot_of_an_unknown_kind_is_refused_before_the_work(texts: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert "a plot is written as" in refused(*command(texts, "--plot", tmp_path / "r.txt"))
