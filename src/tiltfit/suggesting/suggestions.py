"""The result: conditions worth stating, as values, as a page and as data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from tiltfit.data.inputs import Unit
from tiltfit.errors import DataError
from tiltfit.language.conditions import Condition
from tiltfit.language.constraint import Constraint, ConstraintSet
from tiltfit.language.expect import expect
from tiltfit.suggesting.knowledge import Source

About = Literal["labels", "changes"]


@dataclass(frozen=True)
class Suggestion:
    """A condition, and what is known of where it fires.

    ``about``: what to state there: which label, or how often the label changes. ``usefulness``: nats a position that
    the statement tells beyond those of the suggestions before it (``suggesting.usefulness``). ``count``, ``share``: of
    positions where it fires. ``label``, ``seen``: what labels or the model say about these; None if there are neither.
    ``target``: ``seen``, rounded. ``known``: the number of labelled positions behind it; None: the model's belief.
    ``topic``: the number of its topic. ``same``: conditions that fire in nearly the same places. ``examples``: some
    places, with the condition in brackets.
    """

    condition: Condition
    about: About
    usefulness: float
    count: int
    share: float
    label: Any = None
    seen: float | None = None
    target: float | None = None
    known: int | None = None
    topic: int | None = None
    same: tuple[Condition, ...] = ()
    examples: tuple[str, ...] = ()

    def constraint(self, label: Any = None, target: float | None = None) -> Constraint:
        """The statement "about ``target`` of ... are ``label``"; by default what labels or the model say."""
        label = self.label if label is None else label
        target = self.target if target is None else target
        if target is None or (label is None and self.about == "labels"):
            raise DataError(
                f"Nothing is known of {self.condition!r} yet: say the label and the share, constraint(label, target)."
            )
        stated = expect.change(given=self.condition) if self.about == "changes" else expect(label, given=self.condition)
        return stated.about(target)

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "given": self.condition.to_document(),
            "about": self.about,
            "usefulness": self.usefulness,
            "count": self.count,
            "share": self.share,
            "label": self.label,
            "seen": self.seen,
            "target": self.target,
            "known": self.known,
            "topic": self.topic,
            "same": [condition.to_document() for condition in self.same],
            "examples": list(self.examples),
        }


@dataclass(frozen=True)
class Suggestions:
    """Best first. ``source``: what they were ranked by; ``classes``: the labels, if they are known; ``topics``: the
    most telling conditions of each topic, by number; ``stated``: the constraints that there were already."""

    entries: tuple[Suggestion, ...]
    source: Source
    unit: Unit
    positions: int
    classes: tuple[Any, ...] = ()
    topics: dict[int, tuple[Condition, ...]] = field(default_factory=dict)
    stated: ConstraintSet = field(default_factory=ConstraintSet)

    def __iter__(self) -> Iterator[Suggestion]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, index: int) -> Suggestion:
        return self.entries[index]

    @property
    def constraints(self) -> ConstraintSet:
        """Statements of all suggestions that something is known of, as they stand: look at them before you use them."""
        told = tuple(s.constraint() for s in self if s.target is not None)
        return ConstraintSet(told, self.classes if len(self.classes) > 1 else None)

    def __str__(self) -> str:
        from tiltfit.suggesting.words import page

        return page(self)

    def to_toml(self) -> str:
        """A constraint file to fill in: valid as it stands, with what was stated already and every suggestion in
        comments."""
        from tiltfit.suggesting.skeleton import skeleton

        return skeleton(self)

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "source": self.source,
            "unit": self.unit,
            "positions": self.positions,
            "classes": list(self.classes),
            "stated": len(self.stated),
            "topics": {str(k): [c.to_document() for c in words] for k, words in self.topics.items()},
            "suggestions": [suggestion.to_dict() for suggestion in self],
        }
