"""The work of ``tiltfit train --online``: learn from a stream, write checkpoints, and resume an interrupted run.

What a chunk holds, and so what is learned from it, depends neither on checkpoints nor on interruptions.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from types import FrameType
from typing import TYPE_CHECKING, Any

import typer

from tiltfit.cli.checkpoint import Place, first, refuse_replacing, resume
from tiltfit.cli.fitting import Job, nothing_to_learn
from tiltfit.cli.online_options import Plan
from tiltfit.cli.render import count
from tiltfit.cli.stream_learner import ADVICE, StreamLearner
from tiltfit.cli.stream_output import Status, Watch, show_end
from tiltfit.cli.tasks import counts_of, noun_of
from tiltfit.cli.terminal import INTERRUPTED, TERMINATED, Terminal
from tiltfit.errors import DataFileError, TiltfitError, UnsupportedError
from tiltfit.storage.atomic import remove_leftovers

if TYPE_CHECKING:
    from tiltfit import TiltClassifier, TiltTagger
    from tiltfit.data.readers import Dataset, DocumentStream, SequenceDataset, SequenceStream


def learn(terminal: Terminal, job: Job, plan: Plan, options: Mapping[str, Any], columns: Sequence[str]) -> None:
    """Train and save. ``options``: those that must be the same when the run is resumed; ``columns``: those to read
    besides texts and tokens."""
    if not plan.resume and not plan.fresh:
        refuse_replacing(job.output)
    run = Run(job, plan, options, columns)
    if run.is_done:
        terminal.note(
            f"{job.output} is finished: nothing was read. To learn from new data, use --from {job.output} and another "
            "-o; to read these again, raise --passes."
        )
    elif run.place.taken or run.place.passes:
        terminal.status(f"Resuming the run of {job.output} after {run.so_far(run.place)}.")
    elif plan.resume:
        terminal.status(f"There is no {job.output} to resume: starting from the beginning.")
    start = time.perf_counter()
    with Watch(terminal, plan, noun_of(job.task)) as watch, terminable():
        try:
            while not run.is_done:
                run.one_pass(watch, terminal)
        except KeyboardInterrupt as interrupt:
            run.keep()
            terminal.error(run.interrupted())
            raise typer.Exit(getattr(interrupt, "code", INTERRUPTED)) from None
        except TiltfitError as error:
            with suppress(TiltfitError, OSError):  # if writing failed, that was said already
                run.keep()
            raise error.with_message(f"{str(error).rstrip()}{run.advice()}") from error
    show_end(terminal, job, run.model, run.place, time.perf_counter() - start, run.learned)


class Run:
    """A model and its place in the data. ``learned``: instances since the command was given."""

    def __init__(self, job: Job, plan: Plan, options: Mapping[str, Any], columns: Sequence[str]) -> None:
        self._job, self._plan, self._columns = job, plan, columns
        self._learner = StreamLearner(job, plan.on_error, None if plan.earlier is None else plan.earlier.model)
        self.place = Place(run=dict(options), size=plan.size)
        self._written: Place | None = None
        if plan.resume:
            remove_leftovers(job.output)
        if plan.resume and job.output.exists():
            self._learner.model, self.place = resume(job.output, options)
            self._written = self.place
        if self._learner.model is not None:
            self._learner.model.set_params(n_jobs=job.parameters.get("n_jobs"))
        self._malformed = self._is_another = False
        self.learned = 0

    @property
    def is_done(self) -> bool:
        return self.place.passes >= self._plan.passes

    @property
    def model(self) -> TiltClassifier | TiltTagger:
        if self._learner.model is None:
            raise DataFileError(
                f"Nothing could be learned from: all {self.place.left_out:,} records were left out. The first: "
                f"{self.place.problems[0]}"
            )
        return self._learner.model

    def one_pass(self, watch: Watch, terminal: Terminal) -> None:
        """Read the data from the place of this pass to their end."""
        if not self.place.taken:
            at = self.place
            self.place = Place(run=at.run, size=at.size, passes=at.passes, head=at.head)
            if self.place.passes:
                self.model.stream_.repeat()
        since = self.place.taken
        with self._job.data.chunks(
            self._job.task, self._job.sources, labels=not self._job.ignore_labels, columns=self._columns,
            size=self.place.size, on_error=self._plan.on_error, skip=since, step=self._live_step,
        ) as chunks:  # fmt: skip
            for rows in self._read(chunks):
                with undisturbed():
                    self._take(rows, chunks)
                del rows  # or two chunks would be held while the next is read
                self._say(terminal)
                watch.show(self._status(chunks))
                if self.place.taken - since >= self._plan.checkpoint and self._learner.model is not None:
                    self._write()
                    watch.checkpoint(self._status(chunks))
                    since = self.place.taken
        self._check_knowledge()
        with undisturbed():
            self.place = replace(self._met(chunks), passes=self.place.passes + 1, taken=0, digest="")
            self._write()
        if not self.is_done:
            watch.checkpoint(self._status(chunks))

    def keep(self) -> None:
        """Write what was learned before the run ends early."""
        if self._learner.model is not None and self.learned and self.place != self._written and self._knows:
            self._write()

    def interrupted(self) -> str:
        """Return the message for a user who interrupts."""
        if self._written is None:
            return "interrupted before anything was learned."
        return (
            f"interrupted after {self.so_far(self._written)}. {self._job.output} holds what was learned: continue with "
            "the same command and --resume."
        )

    def advice(self) -> str:
        """Return what to add to an error."""
        skip = f" {ADVICE}" if self._malformed else ""
        if self._written is None or self._is_another:
            return skip
        so_far = self.so_far(self._written)
        return f"{skip} {self._job.output} holds what was learned from {so_far}: --resume continues from there."

    def so_far(self, place: Place) -> str:
        """Return how far a run had come."""
        taken = count(place.taken, noun_of(self._job.task))
        passes = count(place.passes, "pass")
        return f"{passes} and {taken}" if place.passes and place.taken else passes if place.passes else taken

    @property
    def _live_step(self) -> int | None:
        """The number of instances that need not wait for others, so that slow data are learned from as they come. None
        if the whole first chunk is needed, to find the classes and the types of columns."""
        job = self._job
        known = self._learner.model is not None or (job.constraints is not None and job.constraints.classes is not None)
        return self._plan.step if known and not self._columns and not job.data.column else None

    def _read(self, chunks: DocumentStream | SequenceStream) -> Iterator[Dataset | SequenceDataset]:
        before, then = chunks.rejected, self.place
        try:
            for rows in chunks:
                before = chunks.rejected
                self._check_same(then, chunks)
                yield rows
                del rows
            self._check_same(then, chunks)
        except DataFileError:
            self._malformed = self._plan.on_error == "fail" and chunks.rejected > before
            raise

    def _check_same(self, then: Place, chunks: DocumentStream | SequenceStream) -> None:
        """Refuse data of the same name that are not those that the run has learned from."""
        known, now = (then.digest, chunks.passed) if then.taken else (then.head, chunks.head)
        if known and known != now:
            self._is_another = True
            begin, output = f"the first {then.taken or then.size:,} {chunks.what}", self._job.output
            raise UnsupportedError(
                f"{', '.join(chunks.sources)}: {begin} are not those that {output} has learned from. Give the data "
                "that the run was begun with, or say --fresh instead to begin again. To continue with new data, use "
                f"--from {output} and another -o."
            )

    def _take(self, rows: Dataset | SequenceDataset, chunks: DocumentStream | SequenceStream) -> None:
        """Learn from a chunk, and note the place after it."""
        taken = len(rows)
        rows, problems = self._learner.learn(rows)
        self.learned += taken
        at = self.place
        counts: dict[str, Any] = {k: getattr(at, k) + n for k, n in counts_of(self._job.task, rows).items()}
        self.place = replace(
            self._met(chunks),
            taken=chunks.taken,
            unfit=at.unfit + len(problems),
            unfit_problems=first([*at.unfit_problems, *problems]),
            **counts,
        )

    def _met(self, chunks: DocumentStream | SequenceStream) -> Place:
        return replace(
            self.place,
            malformed=chunks.rejected,
            malformed_problems=first(chunks.problems),
            digest=chunks.digest,
            head=chunks.head,
        )

    @property
    def _knows(self) -> bool:
        """True if a constraint or a label was about what was read."""
        return bool(self.place.labelled) or any(e.status != "rests" for e in self.model.constraint_report_)

    def _check_knowledge(self) -> None:
        if not self._knows:
            raise nothing_to_learn(self._job)

    def _write(self) -> None:
        with undisturbed():
            model = self.model
            model.stream_.place = self.place.document()
            model.save(self._job.output)
            self._written = self.place

    def _say(self, terminal: Terminal) -> None:
        while self._learner.hints:
            terminal.note(self._learner.hints.pop())

    def _status(self, chunks: DocumentStream | SequenceStream) -> Status:
        share = chunks.bytes_read / chunks.bytes_total if chunks.bytes_total else None
        model = self._learner.model
        return Status(self.place, self.learned, share, None if model is None else model.constraint_report_)


# Ctrl-C and SIGTERM, while a chunk is learned or the model is written.

_Handler = Callable[[int, FrameType | None], Any]


class Terminated(KeyboardInterrupt):
    """SIGTERM: somebody other than the user wants the command to end."""

    code = TERMINATED


@contextmanager
def terminable() -> Iterator[None]:
    """Let SIGTERM interrupt the block as Ctrl-C does."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise Terminated

    with _handling(stop, signal.SIGTERM):
        yield


@contextmanager
def undisturbed() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM wait until the block is done: a run cannot be resumed from half a chunk."""
    caught: list[int] = []
    with _handling(lambda number, frame: caught.append(number), signal.SIGINT, signal.SIGTERM):
        yield
    if caught:
        raise Terminated if caught[0] == signal.SIGTERM else KeyboardInterrupt


@contextmanager
def _handling(handler: _Handler, *numbers: signal.Signals) -> Iterator[None]:
    """Handle signals in this way, unless they are ignored (``nohup``, background jobs)."""
    before: dict[signal.Signals, Any] = {}
    try:
        for number in numbers:
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                before[number] = signal.signal(number, handler)
    except ValueError:  # not the main thread, which alone is interrupted
        yield
        return
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
