"""The demo: learn support tickets from a dozen statements and no labels, and compare that with other ways to learn,
from the same constraints or from all labels."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score, f1_score

from tiltfit.data.inputs import TextInputs
from tiltfit.demo import citations_run
from tiltfit.demo.tickets import CONSTRAINTS, Tickets, generate, split
from tiltfit.estimators.classifier import TiltClassifier
from tiltfit.language.condition import Condition
from tiltfit.language.conditions import word
from tiltfit.language.constraint import ConstraintSet
from tiltfit.language.expect import expect
from tiltfit.report.constraints import ConstraintReport

WIDTH = 96  # longer lines are hard to read
EXCERPT = 320  # characters of an example ticket
SURE = 0.6  # examples of right answers are not lucky guesses


@dataclass(frozen=True)
class Contestant:
    """A way to learn: ``make`` gives the classifier for some constraints."""

    key: str
    name: str
    uses_labels: bool
    make: Callable[[ConstraintSet], TiltClassifier]

    def learn(self, train: Tickets, constraints: ConstraintSet) -> TiltClassifier:
        """Fit to the tickets, and to their labels only if ``uses_labels``."""
        return self.make(constraints).fit(train.texts, train.labels if self.uses_labels else None)


@dataclass(frozen=True, eq=False)
class Result:
    """The scores of a contestant on the test tickets; ``seconds`` are those of learning."""

    contestant: Contestant
    labels: int
    model: Any
    predicted: npt.NDArray[Any]
    accuracy: float
    macro_f1: float
    seconds: float


def compete(contestant: Contestant, train: Tickets, test: Tickets, constraints: ConstraintSet) -> Result:
    """Learn on ``train``, judge on ``test``."""
    start = time.perf_counter()
    model = contestant.learn(train, constraints)
    seconds = time.perf_counter() - start
    predicted = model.predict(test.texts)
    return Result(
        contestant,
        len(train) if contestant.uses_labels else 0,
        model,
        predicted,
        float(accuracy_score(test.labels, predicted)),
        float(f1_score(test.labels, predicted, average="macro")),
        seconds,
    )


def compile_kernels() -> None:
    """Fit something tiny, so that compilation does not count as learning time."""
    said = [expect("a", given=word("x")).about(0.9), expect("b").at_least(0.4)]
    TiltClassifier(said, classes=["a", "b"]).fit(["x", "y", "x z"]).predict(["x"])


class Mentioned(BaseEstimator):  # type: ignore[misc]
    """A vectorizer that sees only whether each word, phrase or pattern of the constraints occurs in a text."""

    def __init__(self, constraints: ConstraintSet) -> None:
        self.constraints = constraints

    def fit_transform(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        return self.transform(texts)

    def transform(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        inputs = TextInputs(texts)
        return np.column_stack([leaf.fires(inputs) for leaf in self._leaves()]).astype(np.float64)

    def get_feature_names_out(self) -> list[str]:
        return [repr(leaf) for leaf in self._leaves()]

    def _leaves(self) -> list[Condition]:
        stated = [c.given for c in self.constraints if c.given is not None]
        return list(dict.fromkeys(leaf for condition in stated for leaf in condition.leaves))


def _mentioned_only(constraints: ConstraintSet) -> TiltClassifier:
    return TiltClassifier(constraints, vectorizer=Mentioned(constraints))


CONTESTANTS = (
    Contestant("constraints", "constraints, no labels", False, TiltClassifier),
    Contestant("majority_vote", "majority vote, then regression", False, partial(TiltClassifier, method="vote")),
    Contestant("mentioned_only", "constraints, their own words only", False, _mentioned_only),
    Contestant("supervised", "all labels (supervised)", True, lambda said: TiltClassifier(classes=said.classes)),
)


@dataclass(frozen=True)
class Job:
    """The data to learn from and to be judged on."""

    train: Tickets
    test: Tickets
    constraints: ConstraintSet

    @staticmethod
    def of(n: int = 2400, seed: int = 0) -> Job:
        return Job(*split(generate(n, seed)), ConstraintSet.from_toml(CONSTRAINTS))


@dataclass(frozen=True)
class Example:
    """A test ticket; ``probability`` is that of the predicted label, ``voted`` the label of the vote's regression."""

    text: str
    truth: str
    predicted: str
    probability: float
    voted: str


@dataclass(frozen=True, eq=False)
class Outcome:
    """The results, one per contestant."""

    results: Sequence[Result]
    examples: Sequence[Example]
    seconds: float

    @property
    def report(self) -> ConstraintReport:
        report: ConstraintReport = self.results[0].model.constraint_report_
        return report


def run(*, as_json: bool = False, console: Console | None = None) -> int:
    """Run the demo and print it (or, with ``as_json``, one JSON document); return the exit code."""
    job, references = Job.of(), citations_run.Job.of()
    if as_json:
        found = document(job, compute(job))
        found["references"] = citations_run.document(references, citations_run.compute(references))
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
        return 0
    console = console if console is not None else Console()
    _print(console, [_introduction(job)])
    _print(console, _account(compute(job, console)))
    _print(console, [Padding(citations_run.introduction(references), (1, 0, 0, 0))])
    _print(console, [*citations_run.account(citations_run.compute(references, console)), _heading("What to try next")])
    for what, command in next_steps():
        console.print(Text(f"# {what}", style="dim"))
        console.print(Text(command), soft_wrap=True)  # a command that is broken into lines cannot be copied
    return 0


def compute(job: Job, console: Console | None = None) -> Outcome:
    """Let every contestant learn; ``console`` shows which one is learning."""
    start = time.perf_counter()
    with citations_run.doing(console, "compiling (only the first run takes long)"):
        compile_kernels()
    results = []
    for contestant in CONTESTANTS:
        with citations_run.doing(console, f"learning: {contestant.name}"):
            results.append(compete(contestant, job.train, job.test, job.constraints))
    return Outcome(results, _examples(job.test, results), time.perf_counter() - start)


def document(job: Job, outcome: Outcome) -> dict[str, Any]:
    """Return the demo for machines."""
    return {
        "train": len(job.train),
        "test": len(job.test),
        "classes": list(job.constraints.classes or ()),
        "results": [
            {
                "key": result.contestant.key,
                "name": result.contestant.name,
                "labels": result.labels,
                "accuracy": result.accuracy,
                "macro_f1": result.macro_f1,
                "seconds": round(result.seconds, 3),
            }
            for result in outcome.results
        ],
        "constraints": outcome.report.to_dicts(),
        "examples": [asdict(example) for example in outcome.examples],
        "seconds": round(outcome.seconds, 3),
    }


def next_steps() -> list[tuple[str, str]]:
    """Return commands that continue where the demo ends and run in this shell: (what it does, command)."""
    python, script = _spelling(Path(sys.executable)), Path(sys.executable).with_name("tiltfit")
    tiltfit = _spelling(script) if script.exists() else f"{python} -m tiltfit"
    learn = f"{tiltfit} train tickets/train.jsonl -c tickets/tickets.toml --ignore-labels"
    tag = f"{tiltfit} train refs/labelled.conll refs/unlabelled.conll -c refs/citations.toml"
    return [
        ("write the tickets and the constraints to files", f"{python} -m tiltfit.demo.tickets tickets"),
        (
            "edit tickets/tickets.toml, then check it",
            f"{tiltfit} check tickets/tickets.toml --data tickets/train.jsonl",
        ),
        ("learn without labels", f"{learn} -o tickets/model.tilt"),
        ("see how well it does", f"{tiltfit} evaluate tickets/model.tilt tickets/test.jsonl"),
        ("the same for references", f"{python} -m tiltfit.demo.citations refs"),
        ("learn from a few labelled ones", f"{tag} -o refs/model.tilt"),
        ("see how well it does, field by field", f"{tiltfit} evaluate refs/model.tilt refs/test.conll"),
    ]


def _spelling(program: Path) -> str:
    """Return the shortest way to call a program from here."""
    found = shutil.which(program.name)
    if found is not None and os.path.abspath(found) == os.path.abspath(program):
        return program.name
    return str(program.relative_to(Path.cwd())) if program.is_relative_to(Path.cwd()) else str(program)


def _print(console: Console, parts: Sequence[RenderableType]) -> None:
    for part in parts:
        console.print(part, width=min(console.width, WIDTH))


def _introduction(job: Job) -> Text:
    classes = list(job.constraints.classes or ())
    shares = ", ".join(f"{name} ({job.train.labels.count(name) / len(job.train):.0%})" for name in classes)
    short = sorted(map(str, job.constraints), key=len)[:3]
    return Text.assemble(
        ("Learning from what people know\n\n", "bold"),
        f"A shop has {len(job.train):,} support tickets, none of them labelled, and somebody who has read many of them "
        f"and says {len(job.constraints)} things, such as:\n\n",
        *((f"  - {sentence}\n", "italic") for sentence in short),
        f"\nHow well can {len(job.test):,} other tickets be sorted into {shares}?\n",
    )


def _account(outcome: Outcome) -> list[RenderableType]:
    return [
        _table(outcome.results),
        _verdict(outcome.results),
        _heading("The statements, and the result of each"),
        *_report(outcome.report),
        _heading("Some test tickets"),
        *map(_example, outcome.examples),
    ]


def _table(results: Sequence[Result]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    table.add_column("learned from", min_width=34)
    for heading in ("labels", "accuracy", "macro-F1", "seconds"):
        table.add_column(heading, justify="right", no_wrap=True)
    for result in results:
        numbers = (f"{result.accuracy:.1%}", f"{result.macro_f1:.1%}", f"{result.seconds:.1f}")
        style = "bold green" if result is results[0] else ""
        table.add_row(result.contestant.name, f"{result.labels:,}" if result.labels else "none", *numbers, style=style)
    return table


def _verdict(results: Sequence[Result]) -> Padding:
    ours, vote, mentioned, supervised = (f"{result.accuracy:.0%}" for result in results)
    text = (
        f"Words that no constraint mentions are learned from the company they keep: without them, {mentioned} instead "
        f"of {ours}. A vote gives every statement the same weight, whether it is true nearly always or half of the "
        f"time, and knows nothing about rare classes: {vote}. A label for every ticket would give {supervised}."
    )
    return Padding(text, (1, 0, 0, 0))


def _report(report: ConstraintReport) -> list[RenderableType]:
    """Return the report in words: each statement, and its numbers indented below it."""
    lines = [
        Padding(Text(line.strip(), style="dim"), (0, 0, 0, 4)) if line.startswith(" ") else Text(line)
        for line in str(report).splitlines()
    ]
    legend = (
        "model: the share that the learned model gives. predicted: the share among the labels that it predicts. "
        "projected: the share after the constraints have tilted it. pull: how hard a constraint has to pull in all, "
        "price: at one ticket, in log-odds. support: the tickets it is about."
    )
    return [*lines, Padding(legend, (1, 0, 0, 0))]


def _heading(text: str) -> Padding:
    return Padding(Text(text, style="bold"), (1, 0))


def _example(example: Example) -> Padding:
    right = example.predicted == example.truth
    said = "right" if example.voted == example.truth else f"wrong ({example.voted})"
    verdict = Text.assemble(
        (example.text, "italic"),
        "\n-> ",
        (example.predicted, "bold green" if right else "bold red"),
        f" {example.probability:.0%}, filed under {example.truth}; vote and regression: {said}",
    )
    return Padding(verdict, (0, 0, 1, 2))


def _examples(test: Tickets, results: Sequence[Result]) -> list[Example]:
    """Return the first short ticket of each kind: right where the vote is wrong, rare and right, easy, wrong."""
    ours, voted, truth = results[0].predicted, results[1].predicted, np.asarray(test.labels)
    probability = results[0].model.predict_proba(test.texts).max(axis=1)
    rare = truth == min(set(test.labels), key=lambda label: (test.labels.count(label), label))
    right = (ours == truth) & (probability >= SURE)
    kinds = [right & (voted != truth) & ~rare, right & rare, right & (voted == truth) & ~rare, ours != truth]
    short = np.array([len(text) <= EXCERPT for text in test.texts])
    rows = [int(np.argmax(kind & short)) for kind in kinds if np.any(kind & short)]
    return [Example(test.texts[i], test.labels[i], str(ours[i]), float(probability[i]), str(voted[i])) for i in rows]
