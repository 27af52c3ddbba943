"""The work of ``tiltfit train --online``: learn from a stream, write checkpoints, and resume an interrupted run.

What a chunk holds, and so what is learned from it, depends neither on checkpoints nor on interruptions. An instance
that cannot be learned from ends the run or, with ``--on-error skip``, is left out and counted.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tiltfit.cli.checkpoint import EarlierRun, Place, first, refuse_replacing, resume
from tiltfit.cli.fitting import Job, declared_classes, estimator_of, nothing_to_learn
from tiltfit.cli.render import count
from tiltfit.cli.stream_output import Status, Watch, show_end
from tiltfit.cli.tasks import counts_of, labels_of, noun_of
from tiltfit.cli.terminal import INTERRUPTED, Terminal, class_name, terminable, undisturbed
from tiltfit.cli.training_options import CHECKPOINT, OnlineOptions
from tiltfit.errors import DataError, DataFileError, TiltfitError, UnsupportedError, did_you_mean
from tiltfit.storage.atomic import remove_leftovers

if TYPE_CHECKING:
    from tiltfit import TiltClassifier, TiltTagger
    from tiltfit.data.readers import Dataset, DocumentStream, SequenceDataset, SequenceStream
    from tiltfit.samples.task import Task

CHUNK = 1024  # instances that are read at a time; more if a step takes more
ADVICE = "--on-error skip leaves such records out, and counts them."
_ON_ERROR = ("fail", "skip")
_NAMES = 10  # of classes in a message


@dataclass(frozen=True)
class Plan:
    """How to read a stream, and when to write the model. ``size``: instances per chunk, in whole steps of ``step``
    instances."""

    passes: int = 1
    checkpoint: int = CHECKPOINT
    on_error: str = "fail"
    resume: bool = False
    fresh: bool = False
    verbose: bool = False
    size: int = CHUNK
    step: int = 1
    earlier: EarlierRun | None = None

    @staticmethod
    def of(given: OnlineOptions, task: Task, sources: Sequence[str], earlier: EarlierRun | None) -> Plan:
        """Return the plan that the options state; refuses numbers and words that make no sense."""
        from tiltfit.estimators.options import online_options

        passes = 1 if given.passes is None else given.passes
        checkpoint = CHECKPOINT if given.checkpoint is None else given.checkpoint
        for name, value in (("passes", passes), ("checkpoint", checkpoint)):
            if value < 1:
                raise DataError(f"--{name} {value} must be an integer of at least 1.")
        on_error = "fail" if given.on_error is None else given.on_error
        if on_error not in _ON_ERROR:
            raise DataError(f"--on-error {on_error!r} must be fail or skip.{did_you_mean(on_error, _ON_ERROR)}")
        _refuse_another_pass(passes, sources)
        online = online_options(given.learner) if earlier is None else earlier.model.stream_.learner.online
        step = online.size(sequences=task.is_sequences)
        size = step * -(-CHUNK // step)
        return Plan(passes, checkpoint, on_error, given.resume, given.fresh, given.verbose, size, step, earlier)


def _refuse_another_pass(passes: int, sources: Sequence[str]) -> None:
    for name in sources if passes > 1 else ():
        path = Path(name)
        if name == "-" or (path.exists() and not path.is_file() and not path.is_dir()):
            what = "standard input" if name == "-" else f"{name}, which is not a regular file,"
            raise UnsupportedError(
                f"--passes {passes}: {what} can be read only once. Use --passes 1, or put the data into a file."
            )


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
                while self._learner.hints:
                    terminal.note(self._learner.hints.pop())
                watch.show(self._status(chunks))
                if self.place.taken - since >= self._plan.checkpoint and self._learner.model is not None:
                    self._write()
                    watch.checkpoint(self._status(chunks))
                    since = self.place.taken
        if not self._knows:
            raise nothing_to_learn(self._job)
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

    def _write(self) -> None:
        with undisturbed():
            model = self.model
            model.stream_.place = self.place.document()
            model.fields_ = self._job.fields or model.fields_
            model.save(self._job.output)
            self._written = self.place

    def _status(self, chunks: DocumentStream | SequenceStream) -> Status:
        share = chunks.bytes_read / chunks.bytes_total if chunks.bytes_total else None
        model = self._learner.model
        return Status(self.place, self.learned, share, None if model is None else model.constraint_report_)


@dataclass
class StreamLearner:
    """A model that is given chunks. ``model`` is None until it has learned from one; ``hints``: notes about the
    first."""

    job: Job
    on_error: str
    model: TiltClassifier | TiltTagger | None = None
    hints: list[str] = field(default_factory=list)

    def learn(self, rows: Dataset | SequenceDataset) -> tuple[Dataset | SequenceDataset, list[str]]:
        """Learn from a chunk. Return the instances that could be learned from, and what was wrong with the others
        (which is raised unless they are to be skipped)."""
        problems: list[str] = []
        model, known = self.model, None if self.model is None else self.model.classes_.tolist()
        if model is None:
            _check_columns(self.job, rows)
            declared = self._declared(rows)
            known = declared if declared is not None or self.job.constraints is None else self.job.constraints.classes
            model = estimator_of(self.job)(self.job.constraints or (), classes=declared, **self.job.parameters)
        if known is not None:
            rows = self._without(rows, _strangers(self.job, rows, known), problems)
        while len(rows):
            try:
                model.partial_fit(rows.X, rows.y)
            except TiltfitError as error:
                bad_rows = [k for k in error.instances if k < len(rows)]
                if not bad_rows:
                    raise
                one, *others = bad_rows
                bad = {one: str(error)} | dict.fromkeys(others, "left out for the same reason.")
                rows = self._without(
                    rows, {k: error.with_message(f"{rows.origins[k]}: {why}") for k, why in bad.items()}, problems
                )
            else:
                self.model = model
                break
        return rows, problems

    def _declared(self, rows: Dataset | SequenceDataset) -> list[Any] | None:
        """Return the classes that ``--classes`` names; else there must be some in constraints or in the first chunk."""
        from tiltfit.language.values import exact

        job = self.job
        declared = declared_classes(job.task, job.classes, rows)
        if declared is not None or (job.constraints is not None and job.constraints.classes is not None):
            return declared
        named = {exact(name): name for constraint in job.constraints or () for name in constraint.names}
        shown = {exact(label): label for label in labels_of(job.task, rows.y)}
        where = f"the first {len(rows):,} {noun_of(job.task)}s"
        names = _listed(sorted({**named, **shown}.values(), key=str))
        if len(named | shown) < 2:
            only = f"only {names} is known" if names else "none is known"
            ignored = ", with the labels ignored," if job.ignore_labels else ""
            field = "--label-column or --tags" if job.task.is_sequences else "--label"
            field = "" if shown or job.ignore_labels else f" ({field} says where labels are.)"
            raise DataError(
                f"Which classes are there? From constraints and {where}{ignored} {only}, and a stream must know them "
                f"all when it begins. Name them with --classes A,B,..., or in the file of constraints.{field}"
            )
        if set(shown) - set(named):
            self.hints.append(
                f"The classes are those of {where}: {names}. If others come later, name them all with --classes."
            )
        return None

    def _without(
        self, rows: Dataset | SequenceDataset, bad: dict[int, TiltfitError], problems: list[str]
    ) -> Dataset | SequenceDataset:
        if bad and self.on_error == "fail":
            error = next(iter(bad.values()))
            raise error.with_message(f"{str(error).rstrip()} {ADVICE}")
        problems += map(str, bad.values())
        return _kept(rows, [i for i in range(len(rows)) if i not in bad]) if bad else rows


def _check_columns(job: Job, rows: Dataset | SequenceDataset) -> None:
    """Refuse a column that the first documents lack: it cannot be encoded, and is most likely misspelt."""
    from tiltfit.data.beside import apart
    from tiltfit.data.inputs import is_missing

    X = apart(rows.X).X
    for name, values in X.items() if isinstance(X, dict) and not job.task.is_sequences else ():
        if all(is_missing(value) for value in values):
            raise DataError(f"None of the first {len(rows):,} documents has a value in the field {name!r} (--column).")


def _strangers(job: Job, rows: Dataset | SequenceDataset, classes: Sequence[Any]) -> dict[int, TiltfitError]:
    """Return the instances with labels that are not classes, and the errors. −1 may mean "unlabelled"."""
    from tiltfit.language.values import exact

    known = {exact(c) for c in classes} | {exact(-1)}
    found: dict[int, TiltfitError] = {}
    for i, label in enumerate(rows.y if rows.y is not None else ()):
        for name in labels_of(job.task, [label]):
            if exact(name) not in known:
                found[i] = _stranger(rows.origins[i], name, classes)
                break
    return found


def _stranger(origin: str, label: Any, classes: Sequence[Any]) -> DataFileError:
    alike = next((c for c in classes if class_name(c) == class_name(label)), None)
    hint = did_you_mean(label, classes) if alike is None else f" {alike!r} and {label!r} are of different types."
    return DataFileError(
        f"{origin}: the label {label!r} is not one of the classes ({_listed(classes)}), and a stream "
        f"cannot get new ones later: --classes names them all from the start.{hint}"
    )


def _listed(classes: Sequence[Any]) -> str:
    names = [class_name(c) for c in classes]
    return ", ".join(names[:_NAMES]) + (f" and {len(names) - _NAMES} more" if len(names) > _NAMES else "")


def _kept(rows: Any, kept: Sequence[int]) -> Any:
    """Return a data set of these rows."""
    from tiltfit.data.beside import apart, together

    def chosen(values: Any) -> Any:
        if isinstance(values, dict):
            return {name: chosen(column) for name, column in values.items()}
        return [values[i] for i in kept] if isinstance(values, list) else values[list(kept)]

    given = apart(rows.X)
    X = together(chosen(given.X), None if given.evidence is None else chosen(given.evidence), None)
    y = None if rows.y is None else chosen(rows.y)
    return replace(rows, X=X, y=y, ids=chosen(rows.ids), origins=chosen(rows.origins))
