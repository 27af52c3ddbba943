"""The condition on what a source says, of votes that come beside X."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tiltfit.arrays import BoolArray
from tiltfit.errors import ConstraintError
from tiltfit.language.condition import Condition
from tiltfit.language.prose import show
from tiltfit.language.values import Label, label, text
from tiltfit.language.written import LABEL, TEXT, Document, Table

if TYPE_CHECKING:
    from tiltfit.data.inputs import Inputs, Unit


@dataclass(frozen=True, eq=False, repr=False)
class Witness(Condition):
    """A source says a label (None: anything). Where it is silent, it does not say so."""

    source: str
    says: Label | None = None
    keys = {"witness": TEXT}
    modifiers = {"says": LABEL}

    def __post_init__(self) -> None:
        self._set(source=text(self.source, "The source of witness(...)"))
        if self.says is not None:
            self._set(says=label(self.says, f"says= of witness({self.source!r})"))

    def fires(self, inputs: Inputs) -> BoolArray:
        if inputs.votes is None:
            raise ConstraintError(
                f"{self!r} looks at votes, but there are none. Pass them beside X: fit(X, votes=...), project(X, "
                "votes=...), or WithEvidence(X, votes=...) where there is no votes=."
            )
        return inputs.votes.fires(self.source, self.says)

    def __repr__(self) -> str:
        return f"witness({self.source!r})" if self.says is None else f"witness({self.source!r}, says={self.says!r})"

    def to_document(self) -> Document:
        return {"witness": self.source} if self.says is None else {"witness": self.source, "says": self.says}

    @classmethod
    def from_table(cls, table: Table, key: str) -> Condition:
        return cls(table.text(key), table.label("says") if "says" in table else None)

    def clause(self, unit: Unit, negated: bool = False) -> str:
        if self.says is None:
            return f"where {show(self.source)} says {'nothing' if negated else 'something'}"
        return f"where {show(self.source)} {'does not say' if negated else 'says'} {show(self.says)}"
