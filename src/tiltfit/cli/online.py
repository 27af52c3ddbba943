"""The work of ``tiltfit train --online``: learn from a stream, write checkpoints, and take up a run that was cut off.

What a chunk holds, and so what is learned from it, depends neither on checkpoints nor on where a run was cut off.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer

from tiltfit.cli.checkpoint import Place, first, refuse_replacing, take_up
from tiltfit.cli.fitting import Job, labels_of, nothing_to_learn
from tiltfit.cli.interrupts import Terminated, terminable, undisturbed
from tiltfit.cli.lessons import ADVICE, Pupil
from tiltfit.cli.online_options import Plan
from tiltfit.cli.render import count
from tiltfit.cli.sequences import n_tokens
from tiltfit.cli.stream_output import Pulse, Watch, show_end
from tiltfit.cli.terminal import INTERRUPTED, TERMINATED, Terminal
from tiltfit.errors import DataFileError, TiltfitError, UnsupportedError
from tiltfit.storage.atomic import remove_leftovers

if TYPE_CHECKING:
    from tiltfit import TiltClassifier, TiltTagger
    from tiltfit.data.readers import Dataset, DocumentStream, SequenceDataset, SequenceStream


def learn(terminal: Terminal, job: Job, plan: Plan, options: Mapping[str, Any], columns: Sequence[str]) -> None:
    """Train and save. ``options``: those that must be the same when the run is taken up again; ``columns``: what is
    read besides texts and tokens."""
    if not plan.resume and not plan.fresh:
        refuse_replacing(job.output)
    run = Run(job, plan, options, columns)
    if run.is_done:
        terminal.note(
            f"{job.output} is finished: nothing was read. To learn from new data, use --from {job.output} and another "
            "-o; to pass over these again, raise --passes."
        )
    elif run.place.taken or run.place.passes:
        terminal.status(f"Taking up the run of {job.output} after {run.so_far(run.place)}.")
    elif plan.resume:
        terminal.status(f"There is no {job.output} to take up: starting from the beginning.")
    start = time.perf_counter()
    with Watch(terminal, plan, tagged=job.is_tagging) as watch, terminable():
        try:
            while not run.is_done:
                run.one_pass(watch, terminal)
        except KeyboardInterrupt as signal:
            run.keep()
            terminal.error(run.cut_off())
            raise typer.Exit(TERMINATED if isinstance(signal, Terminated) else INTERRUPTED) from None
        except TiltfitError as error:
            with suppress(TiltfitError, OSError):  # if writing is what failed, that was said already
                run.keep()
            raise type(error)(f"{str(error).rstrip()}{run.advice()}") from error
    show_end(terminal, job, run.model, run.place, time.perf_counter() - start, run.learned)


class Run:
    """A model on its way through the data. ``learned``: instances since the command was given."""

    def __init__(self, job: Job, plan: Plan, options: Mapping[str, Any], columns: Sequence[str]) -> None:
        self._job, self._plan, self._columns = job, plan, columns
        self._pupil = Pupil(job, plan.on_error, None if plan.begun is None else plan.begun.model)
        self.place = Place(run=dict(options), size=plan.size)
        self._written: Place | None = None
        if plan.resume:
            remove_leftovers(job.output)
        if plan.resume and job.output.exists():
            self._pupil.model, self.place = take_up(job.output, options)
            self._written = self.place
        if self._pupil.model is not None:
            self._pupil.model.set_params(n_jobs=job.parameters.get("n_jobs"))
        self._malformed = self._is_another = False
        self.learned = 0

    @property
    def is_done(self) -> bool:
        return self.place.passes >= self._plan.passes

    @property
    def model(self) -> TiltClassifier | TiltTagger:
        if self._pupil.model is None:
            raise DataFileError(
                f"Nothing could be learned from: all {self.place.left_out:,} records were left out. The first: "
                f"{self.place.problems[0]}"
            )
        return self._pupil.model

    def one_pass(self, watch: Watch, terminal: Terminal) -> None:
        """Read the data from where this pass is to their end."""
        if not self.place.taken:
            at = self.place
            self.place = Place(run=at.run, size=at.size, passes=at.passes, head=at.head)
            if self.place.passes:
                self.model._stream.repeat()
        since = self.place.taken
        with self._job.data.chunks(
            self._job.sources, tagged=self._job.is_tagging, labels=not self._job.ignore_labels, columns=self._columns,
            size=self.place.size, on_error=self._plan.on_error, skip=since, step=self._live_step,
        ) as chunks:  # fmt: skip
            for rows in self._read(chunks):
                with undisturbed():
                    self._take(rows, chunks)
                del rows  # or two chunks would be held while the next is read
                self._say(terminal)
                watch.show(self._pulse(chunks))
                if self.place.taken - since >= self._plan.checkpoint and self._pupil.model is not None:
                    self._write()
                    watch.checkpoint(self._pulse(chunks))
                    since = self.place.taken
        self._check_knowledge()
        with undisturbed():
            self.place = replace(self._met(chunks), passes=self.place.passes + 1, taken=0, digest="")
            self._write()
        if not self.is_done:
            watch.checkpoint(self._pulse(chunks))

    def keep(self) -> None:
        """Write what was learned before the run ends early."""
        if self._pupil.model is not None and self.learned and self.place != self._written and self._knows:
            self._write()

    def cut_off(self) -> str:
        """What to say when the user interrupts."""
        if self._written is None:
            return "interrupted before anything was learned."
        return (
            f"interrupted after {self.so_far(self._written)}. {self._job.output} holds what was learned: go on with "
            "the same command and --resume."
        )

    def advice(self) -> str:
        """What to say after an error."""
        skip = f" {ADVICE}" if self._malformed else ""
        if self._written is None or self._is_another:
            return skip
        so_far = self.so_far(self._written)
        return f"{skip} {self._job.output} holds what was learned from {so_far}: --resume goes on from there."

    def so_far(self, place: Place) -> str:
        """How far a run had come."""
        taken = count(place.taken, "sequence" if self._job.is_tagging else "document")
        passes = count(place.passes, "pass")
        return f"{passes} and {taken}" if place.passes and place.taken else passes if place.passes else taken

    @property
    def _live_step(self) -> int | None:
        """How many instances need not wait for others, where what comes slowly is learned from as it comes: None if the
        first chunk has more to say than they do, which are the classes and what columns hold."""
        job = self._job
        known = self._pupil.model is not None or (job.constraints is not None and job.constraints.classes is not None)
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
        """Refuse data of the same name that are not those which the run has learned from."""
        known, now = (then.digest, chunks.passed) if then.taken else (then.head, chunks.head)
        if known and known != now:
            self._is_another = True
            begin, output = f"the first {then.taken or then.size:,} {chunks.what}", self._job.output
            raise UnsupportedError(
                f"{', '.join(chunks.sources)}: {begin} are not those that {output} has learned from. Give the data "
                "that the run was begun with, or say --fresh instead to begin again. To go on with new data, use "
                f"--from {output} and another -o."
            )

    def _take(self, rows: Dataset | SequenceDataset, chunks: DocumentStream | SequenceStream) -> None:
        """Learn from a chunk, and note where that leads."""
        taken = len(rows)
        rows, problems = self._pupil.learn(rows)
        self.learned += taken
        at = self.place
        of_tokens: dict[str, Any] = {}
        if self._job.is_tagging:
            of_tokens = {
                "tokens": at.tokens + n_tokens(rows),  # type: ignore[arg-type]
                "labelled_tokens": at.labelled_tokens + sum(1 for _ in labels_of(self._job, rows.y)),
            }
        self.place = replace(
            self._met(chunks),
            taken=chunks.taken,
            rows=at.rows + len(rows),
            labelled=at.labelled + int(rows.labelled.sum()),
            unfit=at.unfit + len(problems),
            unfit_problems=first([*at.unfit_problems, *problems]),
            **of_tokens,
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
        """Whether something spoke of what was read: a constraint, or a label."""
        return bool(self.place.labelled) or any(e.status != "rests" for e in self.model.constraint_report_)

    def _check_knowledge(self) -> None:
        if not self._knows:
            raise nothing_to_learn(self._job)

    def _write(self) -> None:
        with undisturbed():
            model = self.model
            model._stream.place = self.place.document()
            model.save(self._job.output)
            self._written = self.place

    def _say(self, terminal: Terminal) -> None:
        while self._pupil.hints:
            terminal.note(self._pupil.hints.pop())

    def _pulse(self, chunks: DocumentStream | SequenceStream) -> Pulse:
        share = chunks.bytes_read / chunks.bytes_total if chunks.bytes_total else None
        model = self._pupil.model
        return Pulse(self.place, self.learned, share, None if model is None else model.constraint_report_)
