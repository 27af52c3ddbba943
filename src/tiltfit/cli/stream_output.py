"""What ``tiltfit train --online`` shows: a live line, a line at every checkpoint, and what came out in the end."""

from __future__ import annotations

import time
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from tiltfit.cli.checkpoint import Place
from tiltfit.cli.fitting import Job, show_report, told
from tiltfit.cli.online_options import Plan
from tiltfit.cli.output import class_name
from tiltfit.cli.render import count, percent, size
from tiltfit.cli.terminal import Terminal, one_line

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from tiltfit import TiltClassifier, TiltTagger
    from tiltfit.report.constraints import ConstraintReport

_NAMED = 5  # constraints in a note
_TITLE = 40  # characters of a constraint's name in a line


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
            self._bar.update(self._task, description=self._line(pulse), completed=pulse.share or 0.0, total=total)

    def checkpoint(self, pulse: Pulse) -> None:
        """When the model has been written."""
        self._terminal.status(f"{self._line(pulse)}; written")
        if self._plan.verbose and pulse.report is not None:
            for line in str(pulse.report).splitlines():
                self._terminal.status(f"  {line}")

    def _line(self, pulse: Pulse) -> str:
        place, many = pulse.place, self._plan.passes > 1
        rate = pulse.learned / max(1e-9, time.perf_counter() - self._start)
        if many and not place.taken:
            head = f"pass {place.passes} of {self._plan.passes} done, {count(place.rows, self._noun)}"
        else:
            share = "" if pulse.share is None else f"{percent(min(1.0, pulse.share))} "
            of = f"of pass {place.passes + 1} of {self._plan.passes}, " if many else ""
            head = f"{share}{of}".strip().removesuffix(",")
            head = f"{head}{', ' if head else ''}{count(place.taken, self._noun)}"
        out = f", {place.left_out:,} left out" if place.left_out else ""
        return f"{head}, {rate:,.0f} a second{out}{_worst(pulse.report)}"


def _worst(report: ConstraintReport | None) -> str:
    """How many constraints hold, and which is missed most."""
    spoken = [] if report is None else [entry for entry in report if entry.status not in ("rests", "rules")]
    if not spoken or report is None:
        return ""
    unmet = [entry for entry in spoken if entry.status != "met"]
    if not unmet:
        return "; all constraints met"
    worst = max(unmet, key=lambda entry: entry.violation)
    title = one_line(worst.title)
    short = title if len(title) <= _TITLE else title[: _TITLE - 1] + "…"
    return f'; {len(spoken) - len(unmet)} of {len(spoken)} constraints met, "{short}" is off by {worst.miss}'


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
