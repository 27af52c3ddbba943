"""The demo as a whole: who wins, what is printed, and whether the commands it names work."""

from __future__ import annotations

import io
import json
import os
import shlex
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

import tiltfit.demo.run as demo
from tiltfit import ConstraintSet, expect, phrase, regex, word
from tiltfit.cli.main import app
from tiltfit.demo import citations_run
from tiltfit.demo.run import CONTESTANTS, Contestant, Job, Mentioned, Outcome, compete, compute, next_steps, run
from tiltfit.demo.tickets import Tickets
from tiltfit.errors import InactiveConstraintWarning


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    return compute(Job.of())


@pytest.fixture(scope="module")
def references() -> tuple[citations_run.Job, citations_run.Outcome]:
    job = citations_run.Job.of(n_train=30, n_test=30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InactiveConstraintWarning)  # thirty references lack some of the words
        return job, citations_run.compute(job)


@pytest.fixture
def computed(
    outcome: Outcome,
    references: tuple[citations_run.Job, citations_run.Outcome],
    monkeypatch: pytest.MonkeyPatch,
) -> Outcome:
    """The demo without the wait: it shows what was computed once, and fewer references."""
    monkeypatch.setattr(demo, "compute", lambda job, console=None: outcome)
    monkeypatch.setattr(citations_run.Job, "of", lambda: references[0])
    monkeypatch.setattr(citations_run, "compute", lambda job, console=None: references[1])
    return outcome


def printed(width: int) -> str:
    out = io.StringIO()
    assert run(console=Console(file=out, width=width)) == 0
    return out.getvalue()


def test_constraints_win_without_labels_and_labels_win_over_all(outcome: Outcome) -> None:
    tilt, vote, mentioned, supervised = outcome.results
    assert [r.labels for r in outcome.results] == [0, 0, 0, 1600]
    assert vote.accuracy + 0.03 < tilt.accuracy < supervised.accuracy < 0.97
    assert vote.macro_f1 + 0.03 < tilt.macro_f1 < supervised.macro_f1
    assert mentioned.accuracy + 0.1 < tilt.accuracy


def test_the_better_score_is_not_luck_of_one_seed() -> None:
    job = Job.of(n=1200, seed=5)
    tilt, vote = (compete(c, job.train, job.test, job.constraints) for c in CONTESTANTS[:2])
    assert vote.accuracy + 0.02 < tilt.accuracy


@pytest.mark.filterwarnings("ignore::tiltfit.errors.InactiveConstraintWarning")
@pytest.mark.parametrize("contestant", CONTESTANTS[:3], ids=lambda c: c.key)
def test_nothing_is_learned_from_labels_where_it_says_none(contestant: Contestant) -> None:
    job = Job.of(n=240)
    reversed_labels = Tickets(job.train.texts, job.train.labels[::-1])
    one, other = (contestant.learn(part, job.constraints) for part in (job.train, reversed_labels))
    np.testing.assert_array_equal(one.predict(job.test.texts), other.predict(job.test.texts))


def test_examples_are_of_four_kinds(outcome: Outcome) -> None:
    better, rare, easy, wrong = outcome.examples
    assert better.predicted == better.truth != better.voted
    assert rare.predicted == rare.truth == "security"
    assert easy.predicted == easy.truth == easy.voted
    assert wrong.predicted != wrong.truth


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_the_page_fits_the_terminal(computed: Outcome, width: int) -> None:
    page = printed(width)
    commands = {command for _, command in next_steps()}
    assert all(len(line) <= width for line in page.splitlines() if line not in commands)
    assert commands <= set(page.splitlines())


def test_the_page_shows_every_contestant_constraint_and_example(computed: Outcome) -> None:
    page = " ".join(printed(100).split())
    for result in computed.results:
        assert f"{result.accuracy:.1%} {result.macro_f1:.1%}" in page
    for entry in computed.report:
        assert entry.sentence in page
    for example in computed.examples:
        assert " ".join(example.text.split()) in page


def test_the_page_shows_references_with_and_without_constraints(
    computed: Outcome, references: tuple[citations_run.Job, citations_run.Outcome]
) -> None:
    page, (_, found) = " ".join(printed(100).split()), references
    assert [result.labelled for result in found.results] == [0, 5, 20]
    for result in found.results:
        alone = "-" if result.labels_only is None else f"{result.labels_only:.1%}"
        assert f"{alone} {result.with_constraints:.1%}" in page
    assert "Most of the gain comes from constraints beyond the paper's Table 2" in page
    assert "The test reference that gains most, 5 labelled, labels only" in page


def test_constraints_help_few_labels(references: tuple[citations_run.Job, citations_run.Outcome]) -> None:
    _, five, twenty = references[1].results
    assert five.labels_only is not None
    assert five.labels_only + 0.05 < five.with_constraints
    assert twenty.labels_only is not None
    assert twenty.labels_only - 0.02 < twenty.with_constraints  # of so few references, it depends on which


def test_json_is_one_document(computed: Outcome, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(as_json=True) == 0
    document = json.loads(capsys.readouterr().out)
    assert [row["key"] for row in document["results"]] == [
        "constraints",
        "majority_vote",
        "mentioned_only",
        "supervised",
    ]
    assert document["results"][0]["accuracy"] == computed.results[0].accuracy
    assert len(document["constraints"]) == 12
    assert len(document["examples"]) == 4
    assert (document["train"], document["test"]) == (1600, 800)
    assert [row["labelled"] for row in document["references"]["results"]] == [0, 5, 20]


def test_the_next_steps_work(outcome: Outcome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    told = {}
    for _, command in next_steps():
        arguments = shlex.split(command, posix=os.name == "posix")
        if "tiltfit.demo" in command:
            subprocess.run(arguments, check=True, capture_output=True)
            continue
        arguments = arguments[3:] if arguments[1] == "-m" else arguments[1:]
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, result.output
        told[arguments[0], arguments[1].split("/")[0]] = result.output
    accuracy = outcome.results[0].accuracy
    assert f"{accuracy:.3f}" in told["evaluate", "tickets"] or f"{accuracy:.1%}" in told["evaluate", "tickets"]
    assert "0.92" in told["evaluate", "refs"]  # as README has it


def test_programs_are_called_the_short_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = tmp_path / "env" / "bin" / "python"
    python.parent.mkdir(parents=True)
    for program in (python, python.with_name("tiltfit")):
        program.touch(mode=0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setenv("PATH", "")
    monkeypatch.chdir(tmp_path)
    assert {command.split()[0] for _, command in next_steps()} == {
        os.path.join("env", "bin", "python"),
        os.path.join("env", "bin", "tiltfit"),
    }
    monkeypatch.setenv("PATH", str(python.parent))
    assert {command.split()[0] for _, command in next_steps()} == {"python", "tiltfit"}


def test_the_restricted_model_sees_only_what_is_mentioned() -> None:
    said = [
        expect("a", given=word("red") | phrase("deep blue")).about(0.9),
        expect("b", given=word("red") & ~regex("gr[ae]y")).about(0.9),
        expect("b").at_least(0.1),
    ]
    vectorizer = Mentioned(ConstraintSet(tuple(said)))
    assert vectorizer.get_feature_names_out() == [repr(word("red")), repr(phrase("deep blue")), repr(regex("gr[ae]y"))]
    seen = vectorizer.fit_transform(["a red car", "deep blue, then grey", "blue and deep"])
    assert seen.tolist() == [[1, 0, 0], [0, 1, 1], [0, 0, 0]]
