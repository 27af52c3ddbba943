"""Learning from a stream chunk by chunk, and leaving out the instances that cannot be learned from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tiltfit.cli.fitting import Job, declared_classes, estimator_of
from tiltfit.cli.predictions import class_name
from tiltfit.cli.tasks import labels_of, noun_of
from tiltfit.errors import DataError, DataFileError, TiltfitError, did_you_mean

if TYPE_CHECKING:
    from tiltfit import TiltClassifier, TiltTagger
    from tiltfit.data.readers import Dataset, SequenceDataset

ADVICE = "--on-error skip leaves such records out, and counts them."
_NAMES = 10  # of classes in a message


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
                first, *others = bad_rows
                bad = {first: str(error)} | dict.fromkeys(others, "left out for the same reason.")
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
        declared = declared_classes(job, rows)
        if declared is not None or (job.constraints is not None and job.constraints.classes is not None):
            return declared
        named = {exact(name): name for constraint in job.constraints or () for name in constraint.names}
        shown = {exact(label): label for label in labels_of(job.task, rows.y)}
        where = f"the first {len(rows):,} {noun_of(job.task)}s"
        names = _listed(sorted({**named, **shown}.values(), key=str))
        if len(named | shown) < 2:
            only = f"only {names} is known" if names else "none is known"
            ignored = ", with the labels ignored," if job.ignore_labels else ""
            field = "--label-column or --tags" if job.is_tagging else "--label"
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
    from tiltfit.data.inputs import is_missing

    for name, values in rows.X.items() if isinstance(rows.X, dict) and not job.is_tagging else ():
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

    def chosen(values: Any) -> Any:
        return [values[i] for i in kept] if isinstance(values, list) else values[list(kept)]

    X = {name: chosen(column) for name, column in rows.X.items()} if isinstance(rows.X, dict) else chosen(rows.X)
    y = None if rows.y is None else chosen(rows.y)
    return replace(rows, X=X, y=y, ids=chosen(rows.ids), origins=chosen(rows.origins))
