"""The work of ``tiltfit check``: where each constraint applies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from tiltfit.cli.sequences import all_labels
from tiltfit.cli.tasks import Task
from tiltfit.errors import ConstraintError, UnknownLabelError, UnsupportedError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tiltfit import Constraint, ConstraintSet
    from tiltfit.data.inputs import Inputs
    from tiltfit.data.readers import Dataset, SequenceDataset
    from tiltfit.language.values import Label

Unit = Literal["documents", "tokens"]


@dataclass(frozen=True)
class Line:
    """One constraint: its sentence, and where it applies: on how many units, on what share of those it might apply to
    (None: not known)."""

    title: str
    sentence: str
    support: int | None = None
    coverage: float | None = None
    note: str | None = None


@dataclass(frozen=True)
class Result:
    """What ``check`` found. ``rows``: documents or tokens; ``covered``: those of which at least one conditional
    constraint speaks."""

    file: str
    classes: Sequence[Any] = ()
    lines: Sequence[Line] = ()
    errors: Sequence[str] = ()
    unit: Unit = "documents"
    rows: int | None = None
    covered: int | None = None

    @property
    def notes(self) -> list[str]:
        return [line.note for line in self.lines if line.note is not None]

    def document(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "file": self.file,
            "valid": not self.errors,
            "errors": list(self.errors),
            "warnings": self.notes,
            "classes": list(self.classes),
            "unit": self.unit,
            "rows": self.rows,
            "covered": self.covered,
            "constraints": [
                {"name": line.title, "sentence": line.sentence, "support": line.support, "coverage": line.coverage}
                for line in self.lines
            ],
        }


@dataclass(frozen=True)
class Units:
    """The documents or tokens that conditions look at. ``offsets``: where sequences start; ``labels``: those that are
    there, each once."""

    inputs: Inputs
    unit: Unit
    offsets: npt.NDArray[np.intp] | None = None
    labels: Sequence[Any] = ()

    @staticmethod
    def of_documents(rows: Dataset) -> Units:
        from tiltfit.data.inputs import TableInputs, TextInputs

        inputs: Inputs = TableInputs(rows.X) if isinstance(rows.X, dict) else TextInputs(rows.X)
        labels = [] if rows.y is None else [label for label in rows.y if label is not None]
        return Units(inputs, "documents", labels=list(dict.fromkeys(labels)))

    @staticmethod
    def of_sequences(rows: SequenceDataset) -> Units:
        from tiltfit.data.sequences import as_sequences

        sequences = as_sequences(rows.X)
        return Units(sequences.inputs(), "tokens", sequences.offsets, list(dict.fromkeys(all_labels(rows.y or ()))))


def check_file(path: str, constraints: ConstraintSet, task: Task) -> Result:
    """The constraints in words."""
    unit: Unit = "tokens" if task == "tag" else "documents"
    lines = [Line(_title(c, unit), _sentence(c, unit)) for c in constraints]
    return Result(
        path, constraints.classes or (), lines, [*_nothing(path, constraints), *_no_counts(constraints)], unit
    )


def check_on(path: str, constraints: ConstraintSet, units: Units) -> Result:
    """Where each constraint applies; a constraint that cannot be asked of such data is an error."""
    import numpy as np

    covered = np.zeros(units.inputs.n, dtype=np.bool_)
    lines: list[Line] = []
    errors: list[str] = [*_nothing(path, constraints), *_strange_labels(constraints, units)]
    for constraint in constraints:
        title, sentence = _title(constraint, units.unit), _sentence(constraint, units.unit)
        try:
            places, whole = _places(constraint, constraints, units)
        except (ConstraintError, UnsupportedError) as error:
            named = any(t in str(error) for t in (title, constraint.title))
            errors.append(str(error) if named else f"The constraint {title!r}: {error}")
            lines.append(Line(title, sentence))
            continue
        if constraint.given is not None:
            covered |= places
        n, note = int(places.sum()), _resting(constraint, units, places)
        if constraint.event.counts and constraint.of is None and n:
            n = whole  # a mean number per sequence: each sequence counts
        lines.append(Line(title, sentence, n, n / whole, note))
    return Result(path, constraints.classes or (), lines, errors, units.unit, units.inputs.n, int(covered.sum()))


def _nothing(path: str, constraints: ConstraintSet) -> list[str]:
    return [] if len(constraints) else [f"{path} states no constraint."]


def _no_counts(constraints: ConstraintSet) -> list[str]:
    """What ``train`` would say of statistics of whole sequences, whatever the data."""
    if not any(c.event.whole for c in constraints):
        return []
    from tiltfit.projections.expected import whole_statistic

    errors = []
    for constraint in constraints:
        try:
            whole_statistic(constraint, _known_classes(constraints), _title(constraint, "tokens"))
        except (ConstraintError, UnsupportedError) as error:
            errors.append(str(error))
    return errors


def _known_classes(constraints: ConstraintSet) -> list[Label]:
    return list(constraints.classes or dict.fromkeys(name for c in constraints for name in c.names))


def _strange_labels(constraints: ConstraintSet, units: Units) -> list[str]:
    """What ``train`` would say of labels that no data have, if nothing names the classes."""
    if constraints.classes is not None or not units.labels:
        return []
    try:
        constraints.check_labels(sorted(units.labels, key=str), units.unit)
    except UnknownLabelError as error:
        return [str(error)]
    return []


def _sentence(constraint: Constraint, unit: Unit) -> str:
    from tiltfit.language.sentences import describe

    return describe(constraint, unit)


def _title(constraint: Constraint, unit: Unit) -> str:
    from tiltfit.language.sentences import titled

    return titled(constraint, unit)


def _places(constraint: Constraint, constraints: ConstraintSet, units: Units) -> tuple[npt.NDArray[np.bool_], int]:
    """Where the constraint looks, and how many such places there would be without its condition."""
    import numpy as np

    from tiltfit.language.conditions import Column

    if isinstance(constraint.per, Column):
        units.inputs.column(constraint.per.name)
    if units.offsets is not None:
        return _places_in_sequences(constraint, constraints, units.inputs, units.offsets)
    from tiltfit.projections.grounding import refuse_for_documents

    refuse_for_documents(constraint)
    n = units.inputs.n
    return np.ones(n, dtype=np.bool_) if constraint.given is None else constraint.given.fires(units.inputs), n


def _places_in_sequences(
    constraint: Constraint, constraints: ConstraintSet, inputs: Inputs, offsets: npt.NDArray[np.intp]
) -> tuple[npt.NDArray[np.bool_], int]:
    """An edge stands at its second token, a start at the first token, an end at the last."""
    import numpy as np

    from tiltfit.inference.chain import Chains
    from tiltfit.language.event import Labels
    from tiltfit.projections.expected import whole_statistic
    from tiltfit.projections.occurrences import pieces

    classes = _known_classes(constraints)
    structure = Chains(offsets, np.zeros(inputs.n, dtype=np.int32), 1)
    among = constraint.of
    event = constraint.event if among is None else among.event
    where = constraint.given if among is None else among.given
    if whole_statistic(constraint, classes, _title(constraint, "tokens")) is not None:  # refuses what there is not
        return np.isin(np.arange(inputs.n), structure.first), len(structure)
    # A distribution has no event of its own: it speaks of all labels.
    found = pieces(event if event.names or event.is_sequence else Labels(tuple(classes)), classes, structure)
    if among is not None:
        pieces(constraint.event, classes, structure)  # refuses what cannot be trained
    could = np.logical_or.reduce([piece.at for piece in found])
    fires = could if where is None else could & where.fires(inputs)
    return fires, len(offsets) - 1 if event.counts and among is None else int(could.sum())


def _resting(constraint: Constraint, units: Units, places: npt.NDArray[np.bool_]) -> str | None:
    """What to say of a condition that never fires, wholly or in part: one misspelt word among many goes unnoticed."""
    if constraint.given is None:
        return None
    inputs = units.inputs
    idle = [part for part in constraint.given.leaves if not part.fires(inputs).any()]
    if places.any():
        if not idle:
            return None
        what = " and ".join(f"{units.unit} {part.clause(inputs.unit)}" for part in idle)
        head = f"The constraint {_title(constraint, units.unit)!r} also speaks of {what}, but there are none."
    else:
        head = f"The constraint {_title(constraint, units.unit)!r} never fires, so it has no effect."
    found = [guess for part in idle if (guess := part.suggest(inputs)) is not None]
    return f'{head} Did you mean "{found[0]}"?' if found else head
