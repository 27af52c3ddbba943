"""The output of ``tiltfit train --online``: a live line, a line at every checkpoint, and the result."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from tiltfit.cli.checkpoint import Place
from tiltfit.cli.fitting import Job, in_words, show_report
from tiltfit.cli.render import count, size
from tiltfit.cli.terminal import Terminal, class_name, one_line
from tiltfit.language.prose import rough_percent

if TYPE_CHECKING:
    from rich.progress import Progress

    from tiltfit import TiltClassifier, TiltTagger
    from tiltfit.cli.online import Plan
    from tiltfit.report.constraints import ConstraintReport, Entry

_NAMED = 5  # constraints in a note
_TITLE = 30  # characters of a constraint's name in a line


@dataclass(frozen=True)
class Status:
    """The state of a run. ``learned``: instances since the command was given; ``share``: of this pass, if known."""

    place: Place
    learned: int
    share: float | None
    report: ConstraintReport | None


class Watch:
    """The live line, on a terminal, and a line at every checkpoint. Silent under ``--quiet``."""

    def __init__(self, terminal: Terminal, plan: Plan, noun: str) -> None:
        self._terminal, self._plan, self._noun = terminal, plan, noun
        self._start = time.perf_counter()
        self._bar: Progress | None = None

    def __enter__(self) -> Self:
        if self._terminal.quiet or not self._terminal.err.is_terminal:
            return self
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), BarColumn(bar_width=16), TextColumn("{task.description}"), TimeElapsedColumn())
        self._bar = Progress(*columns, console=self._terminal.err, transient=True)
        self._bar.start()
        self._bar.add_task("reading", total=None)
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def show(self, status: Status) -> None:
        """Show the live line, after every chunk."""
        if self._bar is not None:
            total = None if status.share is None else 1.0
            completed = min(0.999, status.share or 0.0)  # a complete bar stops its clock, and may have another pass
            line = self._line(status, short=True)
            self._bar.update(self._bar.task_ids[0], description=line, completed=completed, total=total)

    def checkpoint(self, status: Status) -> None:
        """Print a line when the model has been written."""
        self._terminal.status(self._line(status))
        if self._plan.verbose and status.report is not None:
            for line in str(status.report).splitlines():
                self._terminal.status(f"  {line}")

    def _line(self, status: Status, *, short: bool = False) -> str:
        place = status.place
        rate = status.learned / max(1e-9, time.perf_counter() - self._start)
        out = f", {place.left_out:,} left out" if place.left_out else ""
        parts = [*self._where(status), f"{rate:,.0f}/s{out}"]
        worst = _worst(status.report)
        if worst is not None:
            parts.append(f'"{_shortened(worst.title)}" off by {worst.miss}')
        return ", ".join(parts) if short else f"{', '.join(parts)}; saved"

    def _where(self, status: Status) -> Iterator[str]:
        place, passes = status.place, self._plan.passes
        if not place.taken:
            yield f"pass {place.passes} of {passes} done"
            yield count(place.rows, self._noun)
            return
        if status.share is not None:
            of = f" of pass {place.passes + 1}/{passes}" if passes > 1 else ""
            yield f"{rough_percent(min(1.0, status.share))}{of}"
        yield count(place.taken, self._noun)


def _worst(report: ConstraintReport | None) -> Entry | None:
    """Return the constraint that is missed most; None if all hold or nothing is known."""
    unmet = [] if report is None else [entry for entry in report if entry.status in ("missed", "learning", "violated")]
    return max(unmet, key=lambda entry: entry.violation, default=None)


def _shortened(title: str) -> str:
    title = one_line(title)
    return title if len(title) <= _TITLE else title[: _TITLE - 1] + "…"


def show_end(
    terminal: Terminal, job: Job, model: TiltClassifier | TiltTagger, place: Place, seconds: float, learned: int
) -> None:
    """Show what was learned from and the constraints. ``learned``: instances since the command was given, in so many
    seconds."""
    counts = place.counts(tagged=job.task.is_sequences)
    report, is_all = model.constraint_report_, learned >= place.passes * place.rows
    terminal.document(
        {
            "task": job.task.name,
            "model": str(job.output),
            **counts,
            "passes": place.passes,
            "malformed": place.malformed,
            "unfit": place.unfit,
            "problems": place.problems,
            "classes": [class_name(c) for c in model.classes_],
            "learned_now": learned,
            "seconds": round(seconds, 3),
            "constraints": report.to_dicts(),
        }
    )
    passes = f", {place.passes} times" if place.passes > 1 else ""
    speed = (
        f", {'in' if is_all else f'{learned:,} of them now in'} {seconds:.1f} s ({learned / seconds:,.0f} per second)"
    )
    terminal.show(f"Learned from {in_words(counts)}{passes}{speed}.")
    _show_left_out(terminal, place)
    show_report(terminal, report)
    state = "Saved" if learned else "The run was complete, nothing was left to learn:"
    terminal.show("", f"{state} {job.output} ({size(job.output)}).")
    _note_inactive(terminal, report)


def _show_left_out(terminal: Terminal, place: Place) -> None:
    if not place.left_out:
        return
    terminal.show(f"Left out {count(place.left_out, 'record')}:", *(f"  {problem}" for problem in place.problems))
    more = place.left_out - len(place.problems)
    if more > 0:
        terminal.show(f"  and {more:,} more")


def _note_inactive(terminal: Terminal, report: Any) -> None:
    inactive = [repr(entry.title) for entry in report if entry.status == "rests"]
    if inactive:
        more = f" and {len(inactive) - _NAMED} more" if len(inactive) > _NAMED else ""
        terminal.note(
            f"{count(len(inactive), 'constraint')} never fired on unlabelled data and had no effect: "
            f"{', '.join(inactive[:_NAMED])}{more}. Is a word misspelt?"
        )
