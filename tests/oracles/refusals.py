"""The refusal table: what every combination of options does, fitted or refused, and for which reason.

``refusals.txt`` beside this file holds the table. ``tests/test_product.py`` compares it with the library. After an
intended change, ``python -m tests.oracles.refusals`` writes it again; the diff shows each cell that changed. With
``--table`` it prints the summary of docs/rivals.md ("What goes together") instead.

A cell is tried on tiny data up to the point where its method is called, because refusals come before that; the methods
of ``LATE``, which look for something to learn from when they are called, go on to their first iteration.
"""

from __future__ import annotations

import itertools
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NoReturn
from unittest.mock import patch

from tests.oracles.product import Cell, Refused, fit, refusing, world_of
from tests.oracles.statements import NAME, RELATIONS, SCOPES
from tests.oracles.tiny import DOCUMENTS, MODELS, SEQUENCES, data, estimator

from tiltfit import column, expect, feature, first, last, phrase, position, punctuation, regex, when, word
from tiltfit.methods.catalogue import METHODS
from tiltfit.methods.method import Method

FILE = Path(__file__).with_suffix(".txt")
FITTED = "."

REASONS: dict[str, tuple[str, str]] = {
    "l": ("the language: distributed_as names its labels itself", r"distributed_as names the labels"),
    "t": ("the statement or condition needs a tagger", r"meant for a tagger|of a sequence, but X holds"),
    "p": ("phrase needs texts, not tokens", r"looks inside a text"),
    "a": ("feature needs attributes, not tokens", r"needs attributes"),
    "g": ("the method cannot train a generative model", r"cannot train model=.* p\(y\|x\)"),
    "m": ("the method cannot train a conditional model", r"cannot train model="),
    "c": ("the method takes no constraints", r"takes no constraints"),
    "h": ("the method takes no hard constraints", r"cannot take .*hard"),
    "k": ("the method takes no penalty with a kink", r"cannot take .*kink"),
    "w": ("the method cannot count in whole sequences", r"cannot take .*whole sequences"),
    "d": ("the method takes no share of the data set", r"cannot take .*share of all the data"),
    "n": ("the statement says nothing about a single instance", r"cannot take .*single instance"),
    "v": ("the method finds nothing to learn from", r"learns from (votes|constraints)"),
    "f": ("the solver moves weights freely", r"moves weights freely"),
    "o": ("this cannot be learned online", r"cannot learn online|which online learning does not"),
    "s": ("the method does not have this solver", r"has no solver"),
    "x": ("known labels contradict the constraint", r"rule out all of them|rules out the label|cannot hold"),
}
"""Letter → what it means, and what the message contains. The first that fits counts."""

LATE = ("ge", "vote", "label_model")
SOLVERS = sorted({solver for method in METHODS.values() for solver in method.solvers} - {"auto"})
STATEMENTS = (("none", "none"), ("given", "about"), ("given", "at_least"), ("all", "about"))

EVENTS: dict[str, Callable[..., Any]] = {
    "label": lambda **scope: expect("a", **scope),
    "any label": lambda **scope: expect("a", "b", **scope),
    "stay": expect.stay,
    "change": expect.change,
    "transition": lambda **scope: expect.transition("a", "b", **scope),
    "start": lambda **scope: expect.start("a", **scope),
    "end": lambda **scope: expect.end("a", **scope),
    "segments": lambda **scope: expect.segments("a", **scope),
    "repeats": lambda **scope: expect.repeats("a", **scope),
    "appears": lambda **scope: expect.appears("a", **scope),
    "before": lambda **scope: expect.before("a", "b", **scope),
    "distinct": expect.distinct,
    "short": lambda **scope: expect.short("a", below=2, **scope),
}


def _conditions(model: str) -> dict[str, Any]:
    """One of each kind, true somewhere in the data of this model."""
    rows = model in DOCUMENTS
    plain = column("puck").above(0) if rows else word("x")
    other = column("bat").above(0) if rows else word("y")
    return {
        "plain": plain,
        "regex": plain if rows else regex("x|y"),
        "phrase": plain if rows else phrase("x y"),
        "column": column("county").above(0),
        "feature": feature("puck" if rows else "lower=x"),
        "when": when((lambda row: row["puck"] > 0) if rows else (lambda token: token == "x"), "a function"),
        "not": ~plain,
        "and": plain & ~other,
        "or": plain | other,
        "first": first,
        "last": last,
        "position": position(1),
        "before": plain.before,
        "after": plain.after,
        "punctuation": plain if rows else punctuation | plain,
    }


LOOKS = ("first", "last", "position(", ".before", ".after", "phrase(", "feature(")  # conditions that messages name


class _Reached(Exception):
    """The method would have been called."""


def _reached(*_: object) -> NoReturn:
    raise _Reached


SOON = {"init": "zeros", "max_iter": 1, "callback": _reached}


@cache
def _unfitted() -> dict[str, Method]:
    return {name: replace(method, fit=_reached) for name, method in METHODS.items() if name not in LATE}


@contextmanager
def _before_solving() -> Iterator[None]:
    """Methods raise ``_Reached`` instead of solving."""
    with patch.dict(METHODS.loaded, _unfitted()):
        yield


def letter(refusal: Refused) -> str:
    """The letter of a refusal's reason; raises AssertionError for a reason that is not listed."""
    found = [key for key, (_, pattern) in REASONS.items() if re.search(pattern, str(refusal), re.DOTALL)]
    assert found, f"no reason of the refusal table, see REASONS: {refusal}"
    return found[0]


def outcome(attempt: Callable[[], object]) -> str:
    """``FITTED`` or a letter."""
    try:
        with _before_solving(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            attempt()
    except _Reached:
        return FITTED
    except Refused as refusal:
        return letter(refusal)
    return FITTED


def of_cell(cell: Cell) -> str:
    quick = {"online": {"passes": 1, "batch_size": 4}} if cell.solver == "online" else {}
    return outcome(lambda: fit(cell, **SOON, **quick))


@dataclass(frozen=True)
class Stated:
    """A combination with an event of each kind, or with a label under a condition of each kind."""

    model: str
    method: str
    kind: str
    name: str

    def expectation(self) -> Any:
        if self.kind == "event":
            return EVENTS[self.name]()
        return expect("a", given=_conditions(self.model)[self.name])

    def fit(self) -> None:
        world = world_of(self.model)
        with refusing(NAME, repr(self.method), repr(self.model), *LOOKS):
            constraint = self.expectation().about(0.4 if self.kind == "event" else 0.8, name=NAME)
            estimator(world, [constraint], method=self.method, **SOON).fit(*data(world))


def of(one: Cell | Stated) -> str:
    return of_cell(one) if isinstance(one, Cell) else outcome(one.fit)


def grid(method: str, model: str, inference: str = "auto") -> list[str]:
    """One letter per relation, in one line per group of scopes that have the same letters."""
    alike: dict[str, list[str]] = {}
    if inference == "auto":
        alike[of_cell(Cell(model, method))] = ["none"]
    for scope in SCOPES:
        if inference == "auto" or SCOPES[scope].whole:
            letters = [of_cell(Cell(model, method, scope, relation, inference)) for relation in RELATIONS]
            alike.setdefault("".join(letters), []).append(scope)
    return [f"{letters:16}{' '.join(scopes)}" for letters, scopes in alike.items()]


def of_method(method: str) -> str:
    """The part of the table on one method."""
    blocks: dict[tuple[str, ...], list[str]] = {}
    for model in MODELS:
        blocks.setdefault(tuple(grid(method, model)), []).append(model)
    for inference in ("exact", "sampled"):
        for model in SEQUENCES:
            blocks.setdefault(tuple(grid(method, model, inference)), []).append(f"{model} ({inference})")
    lines = []
    for block, models in blocks.items():
        lines += [f"{method}: {', '.join(models)}", *(f"    {line}" for line in block), ""]
    lines.append(f"{method}: solvers, events, conditions")
    for model in MODELS:
        solvers = [
            "".join(of_cell(Cell(model, method, scope, relation, solver=solver)) for scope, relation in STATEMENTS)
            for solver in SOLVERS
        ]
        events = "".join(of(Stated(model, method, "event", event)) for event in EVENTS)
        asked = _conditions(model)
        conditions = "".join(of(Stated(model, method, "condition", condition)) for condition in asked)
        lines.append(f"    {model:24}{' '.join(solvers)}  {events}  {conditions}")
    return "\n".join([*lines, ""])


def legend() -> str:
    lines = [f'"{FITTED}" is fitted. A letter is refused:']
    lines += [f"    {key}  {meaning}" for key, (meaning, _) in REASONS.items()]
    lines += [
        "",
        "Columns, from left to right:",
        f"    relations   {', '.join(RELATIONS)}",
        f"    solvers     {', '.join(SOLVERS)}; each with no constraint, given-about, given-at_least, all-about",
        f"    events      {', '.join(EVENTS)}",
        f"    conditions  {', '.join(_conditions('maxent'))}",
        "",
    ]
    return "\n".join(lines)


def whole() -> str:
    return "\n".join([legend(), *map(of_method, METHODS)])


def pinned() -> dict[Cell | Stated, str]:
    """The outcome of each cell of the walk over all combinations, as the file has it."""
    found: dict[Cell | Stated, str] = {}
    header: list[tuple[str, str, str]] = []  # method, model, inference
    for line in FILE.read_text(encoding="utf-8").partition("\n\n")[2].partition("\n\n")[2].splitlines():
        method, colon, models = line.partition(": ")
        if line and not line.startswith(" ") and colon:
            header = [(method, *_parsed(model)) for model in models.split(", ")]
        elif line and header[0][1] in MODELS:
            letters, *scopes = line.split()
            relations = ["none"] if scopes == ["none"] else list(RELATIONS)
            for (method_, model, inference), scope in itertools.product(header, scopes):
                cells = [Cell(model, method_, scope, relation, inference) for relation in relations]
                found |= dict(zip(cells, letters, strict=True))
        elif line:
            model, *solvers, events, conditions = line.split()
            method = header[0][0]
            for solver, letters in zip(SOLVERS, solvers, strict=True):
                cells = [Cell(model, method, scope, relation, solver=solver) for scope, relation in STATEMENTS]
                found |= dict(zip(cells, letters, strict=True))
            found |= dict(zip([Stated(model, method, "event", event) for event in EVENTS], events, strict=True))
            asked = [Stated(model, method, "condition", condition) for condition in _conditions(model)]
            found |= dict(zip(asked, conditions, strict=True))
    return found


def _parsed(model: str) -> tuple[str, str]:
    name, _, inference = model.partition(" ")
    return name, inference.strip("()") or "auto"


BLIND = ("supervised", "entropy", "self_training", "label_regularization")  # to constraints, but for their report

_RELATIONS = {
    "`about`": "about",
    '`about`, `penalty="l1"`': "about-l1",
    "`at_least`": "at_least",
    "`at_most`": "at_most",
    "`between`, `exactly`": "between",
    "`at_least` with `slack=`": "at_least-slack",
    "`at_most` with `slack=`": "at_most-slack",
    "hard 0 or 1 (`at_most(0)`)": "never",
    "hard 0 or 1 (`at_least(1)`)": "always",
    "`distributed_as`": "distributed_as",
}
_SCOPES = {
    "no condition (a proportion)": "share",
    '`per="instance"`': "instance",
    "`per=column(...)`": "column",
    '`on="all"`': "all",
    "transitions (`stay`, `change`)": "stay",
    "`start`, `end`": "start",
    "`of=` another event": "of",
    "`segments`": "segments",
    "whole sequences (`repeats`)": "repeats",
}


def table() -> str:
    """Which models each method trains, and what it does with constraints, in Markdown: a summary of the file."""
    expected = pinned()

    def works(cell: Cell) -> bool:
        return expected[cell] == FITTED

    lines = [f"| method | {' | '.join(f'`{model}`' for model in MODELS)} |", "|---" * (1 + len(MODELS)) + "|"]
    trains = {
        (method, model): works(Cell(model, method)) or works(Cell(model, method, "given", "about"))
        for method in METHODS
        for model in MODELS
    }
    for method in METHODS:
        lines.append(f"| `{method}` | {' | '.join('✓' if trains[method, model] else '–' for model in MODELS)} |")
    lines += ["", f"| constraint | {' | '.join(f'`{method}`' for method in METHODS)} |"]
    lines.append("|---" * (1 + len(METHODS)) + "|")
    asked = {name: ("given", relation) for name, relation in _RELATIONS.items()}
    asked |= {name: (scope, "about") for name, scope in _SCOPES.items()}
    for name, (scope, relation) in asked.items():
        marks = []
        for method in METHODS:
            taken = works(Cell("crf" if trains[method, "crf"] else "hmm", method, scope, relation))
            marks.append("–" if not taken else "·" if method in BLIND else "✓")
        lines.append(f"| {name} | {' | '.join(marks)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    if sys.argv[1:] == ["--table"]:
        print(table())
    else:
        FILE.write_text(whole(), encoding="utf-8")
