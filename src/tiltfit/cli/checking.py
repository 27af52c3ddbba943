"""What ``tiltfit check`` tells: the constraints in words, and with data what ``ConstraintSet.check`` finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tiltfit.cli.tasks import Task
from tiltfit.errors import ConstraintError, UnsupportedError

if TYPE_CHECKING:
    from tiltfit import ConstraintSet
    from tiltfit.check.check import Check
    from tiltfit.data.inputs import Unit


@dataclass(frozen=True)
class Result:
    """A file of constraints. ``check``: what was found on data, if there were any; ``errors``: what is wrong without
    looking at data."""

    file: str
    constraints: ConstraintSet | None = None
    check: Check | None = None
    errors: Sequence[str] = ()
    unit: Unit = "documents"

    @property
    def problems(self) -> list[str]:
        return [*self.errors, *(() if self.check is None else self.check.problems)]

    @property
    def notes(self) -> list[str]:
        return [] if self.check is None else list(self.check.warnings)

    @property
    def classes(self) -> Sequence[Any]:
        return () if self.constraints is None else self.constraints.classes or ()

    @property
    def sentences(self) -> list[str]:
        from tiltfit.language.sentences import describe

        return [describe(c, self.unit) for c in self.constraints or ()]

    def document(self) -> dict[str, Any]:
        """For ``--json``."""
        head = {"file": self.file, "valid": not self.problems, "errors": self.problems, "warnings": self.notes}
        if self.check is not None:
            return head | {key: value for key, value in self.check.to_dict().items() if key not in head}
        from tiltfit.language.sentences import titled

        said = [
            {"name": titled(c, self.unit), "sentence": sentence, "support": None, "coverage": None}
            for c, sentence in zip(self.constraints or (), self.sentences, strict=True)
        ]
        nowhere = {"unit": self.unit, "rows": None, "covered": None}
        return head | {"classes": list(self.classes)} | nowhere | {"constraints": said}


def check_file(path: str, constraints: ConstraintSet, task: Task) -> Result:
    """The constraints in words."""
    errors = [*_nothing(path, constraints), *_no_counts(constraints)]
    return Result(path, constraints, errors=errors, unit="tokens" if task == "tag" else "documents")


def check_on(path: str, constraints: ConstraintSet, X: Any, y: Any, task: Task) -> Result:
    """Where each constraint applies, and how they get on with each other and with labels."""
    from tiltfit.check.check import check

    unit: Unit = "tokens" if task == "tag" else "documents"
    found = check(constraints, X, y, unit=unit)
    return Result(path, constraints, found, _nothing(path, constraints), unit)


def _nothing(path: str, constraints: ConstraintSet) -> list[str]:
    return [] if len(constraints) else [f"{path} states no constraint."]


def _no_counts(constraints: ConstraintSet) -> list[str]:
    """What ``train`` would say of statistics of whole sequences, whatever the data."""
    if not any(c.event.whole for c in constraints):
        return []
    from tiltfit.language.sentences import titled
    from tiltfit.projections.expected import whole_statistic

    classes = list(constraints.classes or dict.fromkeys(name for c in constraints for name in c.names))
    errors = []
    for constraint in constraints:
        try:
            whole_statistic(constraint, classes, titled(constraint, "tokens"))
        except (ConstraintError, UnsupportedError) as error:
            errors.append(str(error))
    return errors
