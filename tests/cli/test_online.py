"""``train --online``: from a stream to a model, and what it says on the way."""

from __future__ import annotations

import gzip
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from tests.cli.ads import document, run
from tests.cli.streams import CHUNK, N, documents, folder_of, lines, trained

from tiltfit import ConstraintSet, TiltClassifier, TiltTagger, load
from tiltfit.cli.checkpoint import Place
from tiltfit.cli.online import Plan
from tiltfit.cli.stream_output import Status, Watch
from tiltfit.cli.terminal import Terminal
from tiltfit.data.readers import chunks
from tiltfit.report.constraints import ConstraintReport, Entry


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_of(tmp_path_factory.mktemp("online"))


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tiltfit.cli.online.CHUNK", CHUNK)


def test_it_learns_what_partial_fit_learns(folder: Path, tmp_path: Path) -> None:
    trained(folder, "-o", tmp_path / "m.tilt")
    rows = documents()
    classifier = TiltClassifier(ConstraintSet.from_toml(folder / "c.toml"), vectorizer="hashing")
    classifier.partial_fit([row["text"] for row in rows], [row.get("label") for row in rows])
    assert np.array_equal(load(tmp_path / "m.tilt").coef_, classifier.coef_)


def test_it_says_what_it_did(folder: Path, tmp_path: Path) -> None:
    out, err = trained(folder, "-o", tmp_path / "m.tilt", "--checkpoint", 100)
    n = sum("label" in row for row in documents())
    assert re.search(rf"^Learned from 300 documents, {n} labelled, in [\d.]+ s \([\d,]+ per second\)\.$", out, re.M)
    assert "drift" in out
    assert "Saved" in out
    assert err.count("saved\n") == 2  # after 128 and 256, which whole chunks make of 100 and 200
    assert re.search(r"^\d+%, 128 documents, [\d,]+/s, ", err, re.M)


def test_verbose_shows_all_constraints_at_every_checkpoint(folder: Path, tmp_path: Path) -> None:
    _, err = trained(folder, "-o", tmp_path / "m.tilt", "--checkpoint", CHUNK, "--verbose")
    assert err.count('about 90% of documents with the word "puck" are hockey') == 4
    assert err.count("drift") == 8


def test_quiet_is_silent(folder: Path, tmp_path: Path) -> None:
    again = ("--fresh", "--checkpoint", CHUNK, "--quiet", "--verbose")
    assert trained(folder, "-o", tmp_path / "m.tilt", *again) == ("", "")


def test_json(folder: Path, tmp_path: Path) -> None:
    found = document("train", "--online", folder / "d.jsonl", "-c", folder / "c.toml", "-o", tmp_path / "m.tilt")
    assert (found["rows"], found["passes"], found["malformed"], found["unfit"]) == (N, 1, 0, 0)
    assert found["classes"] == ["baseball", "hockey"]
    assert [c["name"] for c in found["constraints"]] == ["puck", "bat"]
    assert all(c["drift"] is not None for c in found["constraints"])
    assert found["learned_now"] == N


def test_the_same_from_standard_input_gzip_csv_and_two_files(folder: Path, tmp_path: Path) -> None:
    rows = documents()
    trained(folder, "-o", tmp_path / "m.tilt")
    wanted = load(tmp_path / "m.tilt").coef_
    (folder / "packed.jsonl.gz").write_bytes(gzip.compress(lines(rows).encode()))
    (folder / "d.csv").write_text("label,text\n" + "".join(f'{row.get("label", "")},"{row["text"]}"\n' for row in rows))
    (folder / "one.jsonl").write_text(lines(rows[:100]))
    (folder / "two.jsonl").write_text(lines(rows[100:]))
    trained(folder, "-o", tmp_path / "stdin.tilt", stdin=lines(rows).encode())
    trained(folder, "-o", tmp_path / "gzip.tilt", data="packed.jsonl.gz")
    trained(folder, "-o", tmp_path / "csv.tilt", data="d.csv")
    trained(folder, folder / "two.jsonl", "-o", tmp_path / "both.tilt", data="one.jsonl")
    for name in ("stdin", "gzip", "csv", "both"):
        assert np.array_equal(load(tmp_path / f"{name}.tilt").coef_, wanted), name


def test_sequences(folder: Path, tmp_path: Path) -> None:
    out, _ = trained(folder, "-o", tmp_path / "m.tilt", "--alpha", 0.1, data="s.conll")
    assert re.search(r"^Learned from 300 sequences of 2,\d{3} tokens, \d+ labelled \(\d+ tokens\), in ", out, re.M)
    tagger = load(tmp_path / "m.tilt")
    assert tagger.coef_.shape[1] == 2**18
    trained(folder, "-o", tmp_path / "s.tilt", "--alpha", 0.1, data="s.conll", stdin=(folder / "s.conll").read_bytes())
    assert np.array_equal(load(tmp_path / "s.tilt").coef_, tagger.coef_)
    assert tagger.predict([["big", "room", "call", "Ann"]]) == [["size", "size", "contact", "contact"]]
    trained(folder, "-o", tmp_path / "h.tilt", "--hashing", 1024, data="s.conll")
    assert load(tmp_path / "h.tilt").coef_.shape[1] == 1024


def test_the_model_predicts(folder: Path, tmp_path: Path) -> None:
    trained(folder, "-o", tmp_path / "m.tilt", "--passes", 3)
    (tmp_path / "new.jsonl").write_text(lines(documents(40, seed=1, labelled=1.0)))
    assert document("evaluate", tmp_path / "m.tilt", tmp_path / "new.jsonl")["accuracy"] > 0.9


def test_options_reach_the_learner(folder: Path, tmp_path: Path) -> None:
    how = ("--steps", "printed", "--eta0", 0.5, "--batch-size", 7, "--horizon", 1000, "--gamma", 0.5, "--seed", 3)
    trained(folder, "-o", tmp_path / "m.tilt", *how)
    learner = load(tmp_path / "m.tilt").stream_.learner
    assert (learner.online.steps, learner.online.eta0, learner.online.batch_size) == ("printed", 0.5, 7)
    assert (learner.online.horizon, learner.gamma) == (1000, 0.5)
    trained(folder, "-o", tmp_path / "plain.tilt", "--batch-size", 7)
    assert load(tmp_path / "plain.tilt").stream_.place["size"] == 70  # whole steps, and no less than a chunk


def test_passes_come_nearer_to_the_batch_solution(folder: Path, tmp_path: Path) -> None:
    same = ("--beta", 0.05)  # by default streams have squares, and other fits an L1 penalty
    batch = ("train", folder / "d.jsonl", "-c", folder / "c.toml", "--vectorizer", "hashing", "-o", tmp_path / "b.tilt")
    assert run(*batch, *same)[0] == 0
    trained(folder, "-o", tmp_path / "one.tilt", "--batch-size", 16, *same)
    out, err = trained(folder, "-o", tmp_path / "many.tilt", "--batch-size", 16, "--passes", 10, *same)
    assert ", 10 times, in " in out
    assert "pass 9 of 10 done" in err
    wanted, once, often = (load(tmp_path / f"{name}.tilt") for name in ("b", "one", "many"))
    assert often.stream_.learner.seen == 10 * N
    assert often.stream_.learner.n == once.stream_.learner.n == N  # the same data, not ten times as many
    # 0.03 against 0.18.
    assert np.linalg.norm(often.coef_ - wanted.coef_) < 0.5 * np.linalg.norm(once.coef_ - wanted.coef_)


@pytest.mark.parametrize("data", ["d.jsonl", "s.conll"])
def test_what_comes_slowly_is_learned_from_as_it_comes(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: str
) -> None:
    """From standard input, step by step where each comes late, with the same result; files are never waited for."""
    monkeypatch.setattr("tiltfit.cli.online.CHUNK", 256)
    text = (folder / data).read_bytes()
    sizes: list[int] = []
    for kind in (TiltClassifier, TiltTagger):
        monkeypatch.setattr(kind, "partial_fit", _counted(kind.partial_fit, sizes))
    trained(folder, "-o", tmp_path / "whole.tilt", data=data, stdin=text)
    assert sizes == [256, 44]
    sizes.clear()
    monkeypatch.setattr(chunks, "WAIT", -1.0)
    trained(folder, "-o", tmp_path / "live.tilt", data=data, stdin=text)
    step = 64 if data == "d.jsonl" else 16
    assert sizes == [step] * (N // step) + [N % step]
    assert (tmp_path / "live.tilt").read_bytes() == (tmp_path / "whole.tilt").read_bytes()
    sizes.clear()
    trained(folder, "-o", tmp_path / "file.tilt", data=data)
    assert sizes == [256, 44]


def test_the_first_chunk_is_waited_for_where_it_decides(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the classes are, or whether a column holds numbers."""
    sizes: list[int] = []
    monkeypatch.setattr(TiltClassifier, "partial_fit", _counted(TiltClassifier.partial_fit, sizes))
    monkeypatch.setattr("tiltfit.cli.online.CHUNK", 256)
    monkeypatch.setattr(chunks, "WAIT", -1.0)
    text = (folder / "d.jsonl").read_bytes()
    trained(folder, "-o", tmp_path / "m.tilt", "--column", "season", stdin=text)
    assert run("train", "--online", "-", "-o", tmp_path / "n.tilt", stdin=text)[0] == 0
    assert sizes == [256, 44] * 2


def _counted(plain: Callable[..., Any], sizes: list[int]) -> Callable[..., Any]:
    def partial_fit(self: Any, X: Any, y: Any) -> Any:
        sizes.append(len(y))
        return plain(self, X, y)

    return partial_fit


def test_classes_of_the_first_chunk_are_told(folder: Path, tmp_path: Path) -> None:
    code, _, err = run("train", "--online", folder / "d.jsonl", "-o", tmp_path / "m.tilt")
    assert code == 0
    assert "The classes are those of the first 64 documents: baseball, hockey." in err


def test_classes_may_be_named(folder: Path, tmp_path: Path) -> None:
    rows = [{"text": "a b", "label": 1}] * 100 + [{"text": "c d", "label": 2}] * 100
    (tmp_path / "n.jsonl").write_text(lines(rows))
    out = document("train", "--online", tmp_path / "n.jsonl", "--classes", "1,2", "-o", tmp_path / "m.tilt")
    assert (out["classes"], out["labelled"]) == (["1", "2"], 200)
    assert load(tmp_path / "m.tilt").classes_.tolist() == [1, 2]


def test_a_constraint_that_never_fires_is_named(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text((folder / "c.toml").read_text().replace('word = "bat"', 'word = "bta"'))
    code, _, err = run("train", "--online", folder / "d.jsonl", "-c", tmp_path / "c.toml", "-o", tmp_path / "m.tilt")
    assert code == 0
    assert "1 constraint never fired on unlabelled data and had no effect: 'bat'." in err


def test_going_on_from_a_model_with_new_data(folder: Path, tmp_path: Path) -> None:
    rows = documents()
    (tmp_path / "first.jsonl").write_text(lines(rows[:128]))
    (tmp_path / "rest.jsonl").write_text(lines(rows[128:]))
    code, _, err = run(
        "train", "--online", tmp_path / "first.jsonl", "-c", folder / "c.toml", "-o", tmp_path / "first.tilt"
    )
    assert code == 0, err
    out = document(
        "train", "--online", tmp_path / "rest.jsonl", "--from", tmp_path / "first.tilt", "-o", tmp_path / "m.tilt"
    )
    assert out["rows"] == N - 128
    trained(folder, "-o", tmp_path / "whole.tilt")
    assert np.array_equal(load(tmp_path / "m.tilt").coef_, load(tmp_path / "whole.tilt").coef_)


def test_columns(folder: Path, tmp_path: Path) -> None:
    trained(folder, "-o", tmp_path / "m.tilt", "--column", "season")
    assert set(load(tmp_path / "m.tilt").columns_in_) == {"text", "season"}
    out = document(
        "train", "--online", folder / "d.jsonl", "--from", tmp_path / "m.tilt", "-o", tmp_path / "more.tilt"
    )  # the column need not be named again
    assert out["rows"] == N


# what is shown ---------------------------------------------------------------------------------------------------


def entry(name: str, violation: float, status: str) -> Entry:
    return Entry(name, name, None, 9, 1, 0.5, 0.5, 0.1, violation, status)


def drawn(status: Status, *, is_terminal: bool, quiet: bool = False, passes: int = 1) -> str:
    err = io.StringIO()
    console = Console(file=err, force_terminal=is_terminal, width=100, color_system=None)
    with Watch(Terminal(Console(file=io.StringIO()), console, quiet=quiet), Plan(passes), "document") as watch:
        watch.show(status)
    return err.getvalue()


STATUS = Status(
    Place(run={}, size=64, taken=1280, malformed=2, unfit=1),
    1280,
    0.25,
    ConstraintReport((entry("puck", 0.1, "missed"), entry("x" * 50, 0.2, "learning"), entry("rest", 0.9, "rests"))),
)


def test_the_live_line() -> None:
    text = drawn(STATUS, is_terminal=True)
    for part in ("25%, 1,280 documents, ", "/s, 3 left out", f'"{"x" * 29}…" off by 20.0%'):
        assert part in text
    assert "25% of pass 1/2" in drawn(STATUS, is_terminal=True, passes=2)


@pytest.mark.parametrize(("is_terminal", "quiet"), [(False, False), (True, True)])
def test_no_live_line_where_nobody_looks(is_terminal: bool, quiet: bool) -> None:
    assert drawn(STATUS, is_terminal=is_terminal, quiet=quiet) == ""


def test_a_place_is_what_it_was_written_as() -> None:
    place = Place(run={"DATA": ["a"]}, size=64, taken=7, malformed_problems=("a", "b"))
    assert Place.of(json.loads(json.dumps(place.document()))) == place
