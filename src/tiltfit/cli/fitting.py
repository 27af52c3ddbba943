"""The work of ``tiltfit train``: read, fit, save, and show the result."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiltfit.cli.options import DataOptions
from tiltfit.cli.render import count, progress_bar, proportions, size
from tiltfit.cli.tasks import counts_of, labels_of, located
from tiltfit.cli.terminal import Terminal, class_name
from tiltfit.errors import DataError

if TYPE_CHECKING:
    from tiltfit import Constraint, ConstraintSet, TiltClassifier, TiltTagger
    from tiltfit.data.readers import Dataset, SequenceDataset
    from tiltfit.report.constraints import ConstraintReport
    from tiltfit.samples.task import Task

_WIDE = 110  # characters that the table of constraints needs


@dataclass(frozen=True)
class Job:
    """What to train, and from what. ``parameters``: those of the estimator that the user gave. ``from_labels``: the
    number of statements per label to derive from labels. ``fields``: the names of fields that the user gave."""

    task: Task
    sources: Sequence[str]
    data: DataOptions
    constraints: ConstraintSet | None
    classes: str | None
    ignore_labels: bool
    parameters: dict[str, Any]
    output: Path
    from_labels: int | None
    fields: dict[str, Any]


def fit(terminal: Terminal, job: Job, columns: Sequence[str]) -> None:
    """Train and save. ``columns``: those that constraints on sequences look at."""
    rows = job.data.read(job.task, job.sources, labels=not job.ignore_labels, columns=columns)
    _check_knowledge(job, rows)
    start = time.perf_counter()
    with progress_bar(terminal) as update:
        classes = declared_classes(job.task, job.classes, rows)
        estimator = estimator_of(job)(
            _constraints(job, rows, classes), classes=classes, callback=update, **job.parameters
        )
        with located(job.task, rows):
            estimator.fit(rows.X, rows.y)
    seconds = time.perf_counter() - start
    estimator.set_params(callback=None)  # belongs to this terminal, not to the model
    estimator.fields_ = job.fields or None
    estimator.save(job.output)
    _show(terminal, job, estimator, rows, seconds)


def read_constraints(path: Path | None) -> ConstraintSet | None:
    """Return the constraints of a file, if there is one."""
    from tiltfit import ConstraintSet

    return None if path is None else ConstraintSet.read(path)


def estimator_of(job: Job) -> type[TiltClassifier] | type[TiltTagger]:
    """Return the class of the estimator to train."""
    from tiltfit import TiltClassifier, TiltTagger

    return TiltTagger if job.task.is_sequences else TiltClassifier


def _constraints(job: Job, rows: Dataset | SequenceDataset, classes: list[Any] | None) -> Sequence[Constraint]:
    """Return the constraints that were given and those that labels show."""
    given = job.constraints or ()
    if job.from_labels is None:
        return given
    from tiltfit import ConstraintSet, constraints_from_labels

    declared = classes if classes is not None or job.constraints is None else job.constraints.classes
    shown = constraints_from_labels(rows.X, rows.y, top=job.from_labels, classes=declared)
    return ConstraintSet((*given, *shown), shown.classes)


def _check_knowledge(job: Job, rows: Dataset | SequenceDataset) -> None:
    from tiltfit.methods.catalogue import METHODS

    if job.constraints or rows.labelled.any():
        return
    method = METHODS.get(job.parameters.get("method", "ap"))
    if method is not None and method.unaided:
        if job.classes is None:
            raise DataError(
                f"--method {method.name} finds clusters where nothing is labelled, but how many? Name them: "
                "--classes A,B,... ."
            )
        return
    raise nothing_to_learn(job)


def nothing_to_learn(job: Job) -> DataError:
    """Return the error for data without labels where there are no constraints."""
    why = "the labels are ignored" if job.ignore_labels else f"no {job.task.position} has a label"
    if job.task.is_sequences and job.data.label_column == "none" and not job.ignore_labels:
        why = "--label-column none leaves out all labels, those of JSONL also,"
    where = "--label-column or --tags says where they are" if job.task.is_sequences else "--label names their field"
    return DataError(
        f"There is nothing to learn from: {why} and there are no constraints. "
        f"Give --constraints FILE, or data with labels ({where}); or find clusters with --method em --model "
        f"{'hmm' if job.task.is_sequences else 'naive_bayes'} --classes A,B,... ."
    )


def declared_classes(task: Task, names: str | None, rows: Dataset | SequenceDataset) -> list[Any] | None:
    """Return ``--classes a,b`` as labels of the type that the data have: in JSON, 1 and "1" are two labels."""
    if names is None:
        return None
    classes: list[Any] = [name.strip() for name in names.split(",")]
    if not all(classes) or len(set(classes)) < len(classes):
        raise DataError(f"--classes {names!r} must be different names with commas between them, such as a,b.")
    known = {class_name(label): label for label in labels_of(task, rows.y)}
    if not known or str in map(type, known.values()):
        return classes
    for k, name in enumerate(classes):
        with suppress(ValueError):
            classes[k] = known[name] if name in known else int(name)
    return classes


def in_words(counts: dict[str, int]) -> str:
    """Return the numbers of what was read as text."""
    labelled = f"{counts['labelled']:,}" if counts["labelled"] else "none"
    if "tokens" not in counts:
        return f"{count(counts['rows'], 'document')}, {labelled} labelled"
    tokens = f" ({count(counts['labelled_tokens'], 'token')})" if counts["labelled"] else ""
    return f"{count(counts['rows'], 'sequence')} of {count(counts['tokens'], 'token')}, {labelled} labelled{tokens}"


def _show(
    terminal: Terminal,
    job: Job,
    estimator: TiltClassifier | TiltTagger,
    rows: Dataset | SequenceDataset,
    seconds: float,
) -> None:
    report, second = estimator.constraint_report_, estimator.refinement_
    names = [class_name(c) for c in estimator.classes_]
    predicted = Counter(class_name(label) for label in labels_of(job.task, estimator.predict(rows.X)))
    total = sum(predicted.values())
    terminal.document(
        {
            "task": job.task.name,
            "model": str(job.output),
            **counts_of(job.task, rows),
            "classes": names,
            "proportions": {name: predicted[name] / total for name in names},
            "rounds": estimator.n_iter_,
            "converged": estimator.converged_,
            "objective": estimator.objective_,
            "seconds": round(seconds, 3),
            **({} if second is None else {"refinement": {**second.to_document(), "kept": second.is_kept}}),
            "constraints": report.to_dicts() if report is not None else [],
        }
    )
    terminal.show(
        f"Read {in_words(counts_of(job.task, rows))}.",
        f"{'Converged' if estimator.converged_ else 'Stopped'} after {count(estimator.n_iter_, 'round')} in "
        f"{seconds:.1f} s, {_objective(estimator.objective_)}.",
        *([] if second is None else [f"{str(second).capitalize()}."]),
        "",
        proportions(names, predicted, job.task.unit or "documents"),
    )
    if report is not None:
        show_report(terminal, report)
    terminal.show("", f"Saved {job.output} ({size(job.output)}).")


def show_report(terminal: Terminal, report: ConstraintReport) -> None:
    """Show the constraints, if there are any, after an empty line."""
    if len(report):
        from rich.text import Text

        # In a narrow terminal the table would be mostly line breaks.
        wide = terminal.out.width >= _WIDE
        terminal.show("", *([report.to_table()] if wide else str(replace(report, note="")).splitlines()))
        if report.note:
            terminal.show("", Text(f"{report.note[:1].upper()}{report.note[1:]}."))


def _objective(value: float) -> str:
    return f"objective {value:,.4g}" if math.isfinite(value) else "objective unknown, since q was sampled"
