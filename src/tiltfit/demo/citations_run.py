"""The demo on references: the gain from constraints (the paper's Table 2 and more) over 0, 5 and 20 labelled ones."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tiltfit.demo.citations import CONSTRAINTS, LABELS, Reference, facts, runs, split
from tiltfit.errors import TiltfitWarning
from tiltfit.estimators.tagger import TiltTagger
from tiltfit.language.constraint import ConstraintSet
from tiltfit.language.sentences import describe

LABELLED = (0, 5, 20)
SHOWN = 5  # the number of labelled references for which an example is shown
LENGTHS = range(20, 41)  # tokens of an example: enough to see, not too many to read
COLOURS = dict(
    zip(
        LABELS,
        (
            *("cyan", "magenta", "yellow", "bright_cyan", "bright_blue", "bright_magenta", "bright_yellow"),
            *("bright_black", "blue", "bright_green", "bright_red", "green", "red"),
        ),
        strict=True,
    )
)

_CAVEAT = (
    "Most of the gain comes from constraints beyond the paper's Table 2, above all from how many tokens each field "
    "takes. The constraints of Table 2 alone do little here; citations.toml has the numbers."
)


@dataclass(frozen=True)
class Job:
    """References to learn from, the first few labelled, and references to be judged on."""

    train: Sequence[Reference]
    test: Sequence[Reference]
    constraints: ConstraintSet

    @staticmethod
    def of(n_train: int = 300, n_test: int = 200, seed: int = 0) -> Job:
        return Job(*split(n_train, n_test, seed), ConstraintSet.of(CONSTRAINTS))


@dataclass(frozen=True)
class Result:
    """Token accuracy with some labelled references: from their labels alone (None: there are none), and with the
    constraints, which are about the other references."""

    labelled: int
    labels_only: float | None
    with_constraints: float
    seconds: float


@dataclass(frozen=True)
class Example:
    """A test reference and the labels that both models give its tokens."""

    tokens: Sequence[str]
    truth: Sequence[str]
    labels_only: Sequence[str]
    with_constraints: Sequence[str]


@dataclass(frozen=True)
class Outcome:
    """The results, one per number of labelled references."""

    results: Sequence[Result]
    example: Example
    seconds: float


def doing(console: Console | None, what: str) -> AbstractContextManager[object]:
    """Show what is being done, if there is a console."""
    return console.status(what) if console is not None else nullcontext()


def compute(job: Job, console: Console | None = None) -> Outcome:
    """Learn from few labels with and without constraints; ``console`` shows the progress."""
    start = time.perf_counter()
    with doing(console, "compiling what sequences need (only the first run takes long)"):
        _compile_kernels(job)
    results, example = [], None
    for labelled in LABELLED:
        with doing(console, f"tagging references: {labelled} labelled"):
            alone = _predictions(_labels_only(job, labelled), job.test) if labelled else None
            began = time.perf_counter()
            model = _with_constraints(job, labelled)
            seconds = time.perf_counter() - began
            tilted = _predictions(model, job.test)
        accuracy = None if alone is None else _accuracy(alone, job.test)
        results.append(Result(labelled, accuracy, _accuracy(tilted, job.test), seconds))
        if labelled == SHOWN and alone is not None:
            example = _example(job.test, alone, tilted)
    assert example is not None
    return Outcome(results, example, time.perf_counter() - start)


def document(job: Job, outcome: Outcome) -> dict[str, Any]:
    """Return this part of the demo for machines."""
    return {
        "train": len(job.train),
        "test": len(job.test),
        "classes": list(LABELS),
        "constraints": [str(constraint) for constraint in job.constraints],
        "results": [{**asdict(result), "seconds": round(result.seconds, 3)} for result in outcome.results],
        "example": asdict(outcome.example),
        "seconds": round(outcome.seconds, 3),
    }


def introduction(job: Job) -> Text:
    said = [c for c in job.constraints if c.name in ("pages", "years", "fields change on punctuation", "one title")]
    return Text.assemble(
        ("Fields of bibliographic references\n\n", "bold"),
        f"{len(job.train):,} references in {len(facts().styles)} styles, few of them labelled, and "
        f"{len(job.constraints)} things that somebody who has seen many would say, such as:\n\n",
        *((f"  - {describe(constraint, 'tokens')}\n", "italic") for constraint in said),
        f"\nIn {len(job.test):,} other references, how many tokens get the right one of {len(LABELS)} fields?\n",
    )


def account(outcome: Outcome) -> list[RenderableType]:
    return [_table(outcome.results), Padding(_CAVEAT, (1, 0, 0, 0)), *_shown(outcome.example)]


def _compile_kernels(job: Job) -> None:
    """Fit to a few references, so that compilation does not count as learning time."""
    few = replace(job, train=job.train[:30])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TiltfitWarning)  # not every word occurs there
        _predictions(_with_constraints(few, 5), few.train)


def _labels_only(job: Job, labelled: int) -> TiltTagger:
    some = job.train[:labelled]
    return TiltTagger(classes=LABELS).fit([list(r.tokens) for r in some], [list(r.labels) for r in some])


def _with_constraints(job: Job, labelled: int) -> TiltTagger:
    labels = [list(r.labels) if i < labelled else None for i, r in enumerate(job.train)]
    return TiltTagger(job.constraints).fit([list(r.tokens) for r in job.train], labels)


def _predictions(model: TiltTagger, references: Sequence[Reference]) -> list[list[str]]:
    return [[str(label) for label in labels] for labels in model.predict([list(r.tokens) for r in references])]


def _accuracy(predicted: Sequence[Sequence[str]], references: Sequence[Reference]) -> float:
    """Return the share of tokens with the right label."""
    right = sum(_right(labels, reference) for labels, reference in zip(predicted, references, strict=True))
    return right / sum(map(len, references))


def _right(predicted: Sequence[str], reference: Reference) -> int:
    return sum(a == b for a, b in zip(predicted, reference.labels, strict=True))


def _example(test: Sequence[Reference], alone: list[list[str]], tilted: list[list[str]]) -> Example:
    """Return the reference of moderate length for which the constraints help most."""
    gain = [
        (_right(b, r) - _right(a, r)) / len(r) if len(r) in LENGTHS else -1.0
        for r, a, b in zip(test, alone, tilted, strict=True)
    ]
    i = int(np.argmax(gain))
    return Example(test[i].tokens, test[i].labels, alone[i], tilted[i])


def _table(results: Sequence[Result]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    table.add_column("labelled references", min_width=20)
    for heading in ("labels only", "labels + constraints", "seconds"):
        table.add_column(heading, justify="right")
    for result in results:
        alone = "-" if result.labels_only is None else f"{result.labels_only:.1%}"
        both = Text(f"{result.with_constraints:.1%}", style="bold green")
        table.add_row(f"{result.labelled}" if result.labelled else "none", alone, both, f"{result.seconds:.1f}")
    return table


def _shown(example: Example) -> list[RenderableType]:
    parts: list[RenderableType] = []
    for what, labels in (("labels only", example.labels_only), ("labels + constraints", example.with_constraints)):
        right = sum(a == b for a, b in zip(labels, example.truth, strict=True))
        heading = f"The test reference that gains most, {SHOWN} labelled, {what}: {right} of {len(labels)} tokens right"
        parts.append(Padding(heading, (1, 0, 0, 0)))
        parts.append(Padding(_coloured(example.tokens, labels), (0, 0, 0, 2)))
    return parts


def _coloured(tokens: Sequence[str], labels: Sequence[str]) -> Text:
    """Return each field in its colour, after its name in brackets, since there may be no colours."""
    text = Text()
    for label, field in runs(tokens, labels):
        text.append(f"[{label}] ", style="dim")
        text.append(f"{field} ", style=f"bold {COLOURS[label]}")
    text.rstrip()
    return text
