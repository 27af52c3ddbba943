"""What ``tiltfit train --online`` shows: a live line, a line at every checkpoint, and what came out in the end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from tiltfit.cli.checkpoint import Place
from tiltfit.cli.fitting import Job, show_report, told
from tiltfit.cli.online_options import Plan
from tiltfit.cli.output import class_name
from tiltfit.cli.render import count, size
from tiltfit.cli.terminal import Terminal, one_line
from tiltfit.language.prose import rough_percent

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from tiltfit import TiltClassifier, TiltTagger
    from tiltfit.report.constraints import ConstraintReport
    from tiltfit.report.entry import Entry

_NAMED = 5  # constraints in a note
_TITLE = 30  # characters of a constraint's name in a line


@dataclass(frozen=True)
class Pulse:
    """How a run is doing. ``learned``: instances since the command was given; ``share``: of this pass, if known."""

    place: Place
    learned: int
    share: float | None
    report: ConstraintReport | None


class Watch:
    """The live line, on a terminal, and a line at every checkpoint. Silent under ``--quiet``."""

    def __init__(self, terminal: Terminal, plan: Plan, *, tagged: bool) -> None:
        self._terminal, self._plan, self._noun = terminal, plan, "sequence" if tagged else "document"
        self._start = time.perf_counter()
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        if self._terminal.quiet or not self._terminal.err.is_terminal:
            return self
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), BarColumn(bar_width=16), TextColumn("{task.description}"), TimeElapsedColumn())
        self._bar = Progress(*columns, console=self._terminal.err, transient=True)
        self._bar.start()
        self._task = self._bar.add_task("reading", total=None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def show(self, pulse: Pulse) -> None:
        """After every chunk."""
        if self._bar is not None and self._task is not None:
            total = None if pulse.share is None else 1.0
            completed = min(
                0.999, pulse.share or 0.0
            )  # what is complete stops its clock, and there may be another pass
            self._bar.update(self._task, description=self._line(pulse, short=True), completed=completed, total=total)

    def checkpoint(self, pulse: Pulse) -> None:
        """When the model has been written."""
        self._terminal.status(self._line(pulse))
        if self._plan.verbose and pulse.report is not None:
            for line in str(pulse.report).splitlines():
                self._terminal.status(f"  {line}")

    def _line(self, pulse: Pulse, *, short: bool = False) -> str:
        place = pulse.place
        rate = pulse.learned / max(1e-9, time.perf_counter() - self._start)
        out = f", {place.left_out:,} left out" if place.left_out else ""
        parts = [*self._where(pulse), f"{rate:,.0f}/s{out}"]
        worst = _worst(pulse.report)
        if worst is not None:
            parts.append(f'"{_shortened(worst.title)}" off by {worst.miss}')
        return ", ".join(parts) if short else f"{', '.join(parts)}; saved"

    def _where(self, pulse: Pulse) -> Iterator[str]:
        place, passes = pulse.place, self._plan.passes
        if not place.taken:
            yield f"pass {place.passes} of {passes} done"
            yield count(place.rows, self._noun)
            return
        if pulse.share is not None:
            of = f" of pass {place.passes + 1}/{passes}" if passes > 1 else ""
            yield f"{rough_percent(min(1.0, pulse.share))}{of}"
        yield count(place.taken, self._noun)


def _worst(report: ConstraintReport | None) -> Entry | None:
    """The constraint that is missed most; None if all hold, or none can be told."""
    unmet = [] if report is None else [entry for entry in report if entry.status in ("missed", "learning", "violated")]
    return max(unmet, key=lambda entry: entry.violation, default=None)


def _shortened(title: str) -> str:
    title = one_line(title)
    return title if len(title) <= _TITLE else title[: _TITLE - 1] + "…"


def show_end(
    terminal: Terminal, job: Job, model: TiltClassifier | TiltTagger, place: Place, seconds: float, learned: int
) -> None:
    """What was learned from what, and what the constraints came to. ``learned``: instances since the command was given,
    in so many seconds."""
    counts = place.counts(tagged=job.is_tagging)
    report, is_all = model.constraint_report_, learned >= place.passes * place.rows
    terminal.document(
        {
            "task": job.task,
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
    speed = f", {'in' if is_all else f'{learned:,} of them now in'} {seconds:.1f} s ({learned / seconds:,.0f} a second)"
    terminal.show(f"Learned from {told(counts)}{passes}{speed if learned else ''}.")
    _show_left_out(terminal, place)
    show_report(terminal, report)
    state = "Saved" if learned else "The run was complete, nothing was left to learn:"
    terminal.show("", f"{state} {job.output} ({size(job.output)}).")
    _note_resting(terminal, report)


def _show_left_out(terminal: Terminal, place: Place) -> None:
    if not place.left_out:
        return
    terminal.show(f"Left out {count(place.left_out, 'record')}:", *(f"  {problem}" for problem in place.problems))
    more = place.left_out - len(place.problems)
    if more > 0:
        terminal.show(f"  and {more:,} more")


def _note_resting(terminal: Terminal, report: Any) -> None:
    resting = [repr(entry.title) for entry in report if entry.status == "rests"]
    if resting:
        more = f" and {len(resting) - _NAMED} more" if len(resting) > _NAMED else ""
        terminal.note(
            f"{count(len(resting), 'constraint')} found nothing unlabelled to speak of, and had no effect: "
            f"{', '.join(resting[:_NAMED])}{more}. Is a word misspelt?"
        )
