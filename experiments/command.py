"""One experiment is one command: ``python -m experiments.<name> [--quick] [--page] [--fresh] [--jobs N]``.

An experiment is a list of *cells*, each measured alone and kept when it is finished, so that a run can be interrupted
and goes on; a *page* is made of finished cells, and of nothing else.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Protocol

from benchmarks.corpora import data_root
from threadpoolctl import threadpool_limits

from experiments.kept import Kept

ROOT = Path(__file__).resolve().parents[1]
DOCS, KEPT = ROOT / "docs", ROOT / ".experiments"
JOBS = 2
SOURCES = "sources"
"""Under this name a kept cell says with which sources it was measured."""

Finished = Mapping[str, Any]
"""The measurements, by the keys of cells."""


class Cell(Protocol):
    """A frozen value that says all that matters of one measurement. Equal keys mean equal measurements."""

    @property
    def key(self) -> str: ...

    def measure(self) -> dict[str, Any]:
        """Plain data (JSON). One thread: cells run beside each other."""


Stage = Callable[[Finished], Sequence[Cell]]
"""The cells to measure, given those of the stages before: the choice on development data decides what is run on
test data, and nothing else can."""


@dataclass(frozen=True)
class Experiment:
    """``folders``: those of the data that it reads; ``page``: Markdown, without its head; ``summary``: what others show
    of it (the README's tables), beside the cells in the JSON file; ``plot`` writes the figure; ``missed``: which
    figures that must be reached are not; ``stem``: the name of its files, if it is another one; ``package``: where the
    command is."""

    name: str
    title: str
    folders: tuple[str, ...]
    stages: tuple[Stage, ...]
    page: Callable[[Finished], str]
    summary: Callable[[Finished], dict[str, Any]] = lambda _: {}
    plot: Callable[[Finished, Path], object] | None = None
    missed: Callable[[Finished], Sequence[str]] = lambda _: ()
    stem: str = ""
    package: str = "experiments"

    @property
    def command(self) -> str:
        return f"python -m {self.package}.{self.name} --page"

    @property
    def files(self) -> str:
        """The name of its files, without their endings."""
        return self.stem or self.name

    def text(self, found: Finished) -> str:
        """The whole page. Its head says which command made it."""
        told = f"Written by `{self.command}`; all cells as JSON: [{self.files}.json]({self.files}.json)."
        return f"# {self.title}\n\n{told}\n\n{self.page(found)}"

    @property
    def absent(self) -> list[str]:
        root = data_root()
        return [name for name in self.folders if root is None or not (root / name).is_dir()]


def run(full: Experiment, quick: Experiment, arguments: Sequence[str] | None = None) -> int:
    """The command. ``--quick`` runs another, small experiment and keeps nothing, so that it shows what the sources do
    now; data that are not on the machine are then no failure."""
    given = _arguments(full, arguments)
    experiment = quick if given.quick else full
    if experiment.absent:
        print(f"Not on this machine: {', '.join(experiment.absent)} (TILTFIT_DATA names their folder)", file=sys.stderr)
        return 0 if given.quick else 1
    with _kept(given, experiment) as path:
        cells = (finished if given.so_far else complete)(experiment, Kept(path), given.jobs)
    print(experiment.text(cells))
    if given.page:
        write(experiment, cells, given.docs)
    missed = experiment.missed(cells)
    if missed:
        print("Missed: " + "; ".join(missed), file=sys.stderr)
    return 0


def complete(experiment: Experiment, kept: Kept, jobs: int = 1) -> dict[str, Any]:
    """Measure the cells that are not kept yet, stage by stage; all cells of the experiment by key, in its order."""
    now = sources()
    found: dict[str, Any] = {}
    for stage in experiment.stages:
        cells = {cell.key: cell for cell in stage(found)}
        missing = [cell for key, cell in cells.items() if key not in kept]
        for number, (cell, figures) in enumerate(measured(missing, jobs), start=1):
            kept[cell.key] = {**figures, SOURCES: now}
            print(f"{number}/{len(missing)} {cell.key}: {_brief(figures)}", file=sys.stderr, flush=True)
        found |= {key: dict(kept[key]) for key in cells}
    older = sum(figures.pop(SOURCES, None) != now for figures in found.values())
    if older:
        told = "finished cells were measured with other sources than these; --fresh measures anew."
        print(f"{older} of {len(found)} {told}", file=sys.stderr)
    return found


def finished(experiment: Experiment, kept: Kept, jobs: int = 1) -> dict[str, Any]:
    """The cells that are kept, without measuring the others: for pages that can say what is missing."""
    found: dict[str, Any] = {}
    for stage in experiment.stages:
        found |= {cell.key: dict(kept[cell.key]) for cell in stage(found) if cell.key in kept}
    for figures in found.values():
        figures.pop(SOURCES, None)
    return found


def sources() -> str:
    """A digest of all that a cell may depend on: the library, the benchmarks that prepare data, and the experiments."""
    digest = sha256()
    for folder in ("src", "benchmarks", "experiments"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def as_json(command: str, summary: Mapping[str, Any], cells: Finished) -> str:
    """One line per cell: people can read it, and a change of one is a change of one line."""

    def dump(value: object) -> str:
        return json.dumps(value, ensure_ascii=False)

    lines = ",\n".join(f"  {dump(key)}: {dump(value)}" for key, value in cells.items())
    return f'{{\n "command": {dump(command)},\n "summary": {dump(summary)},\n "cells": {{\n{lines}\n }}\n}}\n'


def write(experiment: Experiment, cells: Finished, docs: Path) -> None:
    """docs/<stem>.md, docs/<stem>.json, docs/figures/<stem>.png."""
    stem = experiment.files
    (docs / f"{stem}.md").write_text(experiment.text(cells), encoding="utf-8")
    text = as_json(experiment.command, experiment.summary(cells), cells)
    (docs / f"{stem}.json").write_text(text, encoding="utf-8")
    if experiment.plot is not None:
        (docs / "figures").mkdir(exist_ok=True)
        experiment.plot(cells, docs / "figures" / f"{stem}.png")


def measured(cells: Sequence[Cell], jobs: int) -> Iterator[tuple[Cell, dict[str, Any]]]:
    """Cells as they are finished. Fresh processes: a fork of one that has compiled kernels with threads may hang."""
    if jobs == 1 or len(cells) < 2:
        yield from ((cell, _measure(cell)) for cell in cells)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(_measure, cell): cell for cell in cells}
        try:
            for done in as_completed(running):
                yield running[done], done.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _measure(cell: Cell) -> dict[str, Any]:
    with threadpool_limits(1):
        return cell.measure()


def _brief(figures: Mapping[str, Any]) -> str:
    shown = [f"{name} {value:.3g}" for name, value in figures.items() if isinstance(value, float)]
    return ", ".join(shown[:4])


@contextmanager
def _kept(given: argparse.Namespace, experiment: Experiment) -> Iterator[Path]:
    """The file of finished cells; of a quick run, one that is gone afterwards."""
    if given.quick:
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder) / "cells.json"
        return
    path = given.kept / f"{experiment.name}.json"
    if given.fresh:
        path.unlink(missing_ok=True)
    yield path


def _arguments(experiment: Experiment, arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m {experiment.package}.{experiment.name}")
    parser.add_argument("--quick", action="store_true", help="a small part, measured anew")
    parser.add_argument("--page", action="store_true", help="write the page, the JSON and the figure")
    parser.add_argument("--so-far", action="store_true", help="measure nothing more: the page of what is finished")
    parser.add_argument("--fresh", action="store_true", help="forget finished cells")
    parser.add_argument("--jobs", type=int, default=JOBS, help="how many cells to measure beside each other")
    parser.add_argument("--kept", type=Path, default=KEPT, help="the folder of finished cells")
    parser.add_argument("--docs", type=Path, default=DOCS, help="the folder of pages")
    return parser.parse_args(arguments)


def write_between(page: Path, command: str, found: str) -> int:
    """Put what a command has found between its marks in a page that people write. Returns 1 if it has no place."""
    begin, end = f"<!-- written by {command} -->\n", "<!-- end -->"
    text = page.read_text(encoding="utf-8")
    new, n = re.subn(f"(?s){re.escape(begin)}.*?{end}", lambda _: f"{begin}{found}\n{end}", text)
    if n != 1:
        print(f"{page} has no place for the table.", file=sys.stderr)
        return 1
    page.write_text(new, encoding="utf-8")
    return 0
