"""The result: conditions worth stating, as values, as text, as data and as a constraint file to fill in.

The file is valid before anything is filled in: what is stated stands as it is, what is suggested stands in comments.
Remarks begin with ``# ``; the lines of a suggested constraint begin with ``#`` alone, so that taking away the first
character of each makes them a constraint.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from tiltfit.data.inputs import Unit
from tiltfit.errors import DataError, UnsupportedError
from tiltfit.language.conditions import Condition
from tiltfit.language.constraint import Constraint, ConstraintSet
from tiltfit.language.document import to_document
from tiltfit.language.expect import expect
from tiltfit.language.prose import rough_percent
from tiltfit.language.toml import VERSION, entry_lines
from tiltfit.report.entries import Entries
from tiltfit.suggesting.context import printable
from tiltfit.suggesting.knowledge import Source
from tiltfit.suggesting.meaning import Alike

About = Literal["labels", "changes"]

USUAL = 0.9
"""The share to begin with where nothing is known: nine of ten, as in the experiments of Druck et al. (2008)."""

_SAME = 3  # conditions named that say much the same
_MOST = 12  # classes in a remark
_RANKED_BY = {
    "labels": "what the labels say that there are",
    "model": "what would teach the model most",
    "topics": "the topics that they tell apart; there are neither labels nor a model",
}
_HOW = """\
# For each suggestion that you know something about: take the # away from the four lines from #[[constraint]] on, fill
# in the label, and put your own estimate of the share after "about". Leave the others as they are."""


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
        found = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "condition"}
        same = [condition.to_document() for condition in self.same]
        return {"given": self.condition.to_document(), **found, "same": same, "examples": list(self.examples)}

    def what(self, unit: Unit) -> str:
        """The subject of a statement: ``documents with the word "puck"``."""
        if self.about == "changes":
            return f"changes {self.condition.place()}"
        return f"{unit} {self.condition.clause(unit)}"

    def figures(self, unit: Unit) -> str:
        """The frequency, and what is known about it."""
        often = f"{self.count:,} ({rough_percent(self.share)})"
        same = ", ".join(_short(c, unit) for c in self.same[:_SAME])
        return ", ".join(filter(None, [often, self._belief, f"much the same: {same}" if same else ""]))

    @property
    def _belief(self) -> str:
        """The share that labels or the model show; empty if nothing is known."""
        if self.seen is None:
            return ""
        label = str(self.label).lower() if isinstance(self.label, bool) else str(self.label)
        what = "changes" if self.about == "changes" else label
        if self.known is None:
            return f"the model believes {self.seen:.0%} {what}"
        return f"{round(self.seen * self.known):,} of {self.known:,} labelled: {what}"


@dataclass(frozen=True)
class Suggestions(Entries[Suggestion]):
    """Best first. ``source``: what they were ranked by; ``classes``: the labels, if they are known; ``topics``: the
    most telling conditions of each topic, by number; ``stated``: the constraints that there were already."""

    source: Source
    unit: Unit
    positions: int
    classes: tuple[Any, ...] = ()
    topics: dict[int, tuple[Condition, ...]] = field(default_factory=dict)
    stated: ConstraintSet = field(default_factory=ConstraintSet)
    alike: dict[Condition, Alike] = field(default_factory=dict)

    @property
    def constraints(self) -> ConstraintSet:
        """Statements of all suggestions that something is known of, as they stand: look at them before you use them."""
        told = tuple(s.constraint() for s in self if s.target is not None)
        return ConstraintSet(told, self.classes if len(self.classes) > 1 else None)

    @property
    def headline(self) -> str:
        """The number of suggestions, and how they are ranked."""
        if not self.entries:
            return (
                f"Nothing to suggest in {self.positions:,} {self.unit}: no condition fires often enough and divides "
                "them."
            )
        number = "1 suggestion" if len(self) == 1 else f"{len(self)} suggestions"
        return f"{number} from {self.positions:,} {self.unit}, by {_RANKED_BY[self.source]}."

    def groups(self) -> Iterator[tuple[int, str, list[tuple[int, Suggestion]]]]:
        """Suggestions with their places, topic by topic if they have topics; the topic of the best comes first."""
        order: dict[int | None, list[tuple[int, Suggestion]]] = {}
        for place, suggestion in enumerate(self, start=1):
            order.setdefault(suggestion.topic, []).append((place, suggestion))
        for number, (topic, suggestions) in enumerate(order.items()):
            words = ", ".join(_short(c, self.unit) for c in self.topics.get(topic, ())) if topic is not None else ""
            yield number, "" if topic is None else f"Topic {number + 1}: {words}", suggestions

    def __str__(self) -> str:
        lines = [self.headline]
        for number, heading, suggestions in self.groups():
            lines += ["", heading] if heading else [""] if number == 0 else []
            for place, suggestion in suggestions:
                lines.append(f"{place:>3}. {suggestion.what(self.unit)}: {suggestion.figures(self.unit)}")
                lines += [f"       {example}" for example in suggestion.examples]
                lines += [f"     {line}" for line in self.questions(suggestion.condition)]
        for condition in self.stated_alike:
            lines += ["", f"Stated: {self.unit} {condition.clause(self.unit)}"]
            lines += [f"     {line}" for line in self.questions(condition)]
        return "\n".join(lines)

    def questions(self, condition: Condition) -> list[str]:
        """What else could be stated, since it is close in meaning; nothing if no encoder was asked."""
        return list(self.alike[condition].lines) if condition in self.alike else []

    @property
    def stated_alike(self) -> list[Condition]:
        """The stated conditions that something is close to."""
        suggested = {suggestion.condition for suggestion in self}
        return [condition for condition in self.alike if condition not in suggested and self.questions(condition)]

    def to_toml(self) -> str:
        """A constraint file to fill in: valid as it stands, with what was stated already and every suggestion in
        comments."""
        lines = [f"version = {VERSION}", *_classes(self), "", f"# {printable(self.headline)}", *_HOW.split("\n")]
        lines += _stated(self.stated)
        for _, heading, suggestions in self.groups():
            lines += ["", f"# ---- {printable(heading)}"] if heading else []
            for place, suggestion in suggestions:
                lines += ["", *_entry(place, suggestion, self)]
        for condition in self.stated_alike:
            lines += ["", f"# Stated: {printable(f'{self.unit} {condition.clause(self.unit)}')}"]
            lines += _remarks(self, condition)
        lines += _standing(self)
        return "\n".join(lines) + "\n"

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
            "alike": [{"given": c.to_document(), **alike.to_dict()} for c, alike in self.alike.items()],
        }


def _short(condition: Condition, unit: Unit) -> str:
    """A condition in as few words as possible: its own, or those of a sentence about it."""
    return getattr(condition, "text", None) or condition.clause(unit)


def _classes(found: Suggestions) -> list[str]:
    if len(found.classes) > 1:
        return entry_lines({"classes": list(found.classes)})
    return ['#classes = ["…", "…"]  # all labels that there are: one that is named nowhere is never predicted']


def _stated(stated: ConstraintSet) -> Iterator[str]:
    for constraint in stated:
        try:
            lines = entry_lines(to_document(constraint))
        except UnsupportedError as error:  # a Python function
            yield from ("", f"# {printable(str(error))}")
            continue
        yield from ("", "[[constraint]]", *lines)


def _entry(place: int, suggestion: Suggestion, found: Suggestions) -> Iterator[str]:
    yield f"# {place}. {printable(f'{suggestion.what(found.unit)}: {suggestion.figures(found.unit)}')}"
    for example in suggestion.examples:
        yield f"#      {printable(example)}"
    yield from _remarks(found, suggestion.condition)
    yield "#[[constraint]]"
    given = entry_lines({"given": suggestion.condition.to_document()})[0]
    if suggestion.about == "changes":
        yield "#change = true"
    elif suggestion.label is not None:
        (line,) = entry_lines({"label": suggestion.label})
        yield f"#{line}{_choice(found, but=suggestion.label)}"
    else:
        yield f"#label ={_choice(found)}"
    yield f"#{given}"
    (line,) = entry_lines({"about": USUAL if suggestion.target is None else suggestion.target})
    yield f"#{line}"


def _remarks(found: Suggestions, condition: Condition) -> Iterator[str]:
    """What is close in meaning, and the condition as a line to put in the place of ``given``."""
    yield from (f"#    {printable(line)}" for line in found.questions(condition))
    alike = found.alike.get(condition)
    if alike is not None and alike.near is not None and alike.apart:
        yield f"#    {entry_lines({'given': alike.near.to_document()})[0]}"


def _choice(found: Suggestions, but: object = None) -> str:
    """The other labels, as a remark."""
    names = [entry_lines({"x": label})[0].removeprefix("x = ") for label in found.classes if label != but]
    if not names:
        return ""
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return f"  # {'one of' if but is None else 'or'}: {', '.join(names[:_MOST])}{more}"


def _standing(found: Suggestions) -> Iterator[str]:
    """Statements that suit any collection: they have no condition, so they are not ranked."""
    yield from ("", "# Also worth a statement, whatever the words:")
    if found.unit == "tokens":
        yield from ("", "# How often does a label go on from one token to the next?")
        yield from ("#[[constraint]]", "#stay = true", f"#about = {USUAL}")
        yield from ("", "# Where may a sequence begin?")
        yield from ("#[[constraint]]", f"#start ={_choice(found)}", f"#at_least = {USUAL}")
    else:
        yield from ("", f"# How large is the share of a label among all {found.unit}?")
        yield from ("#[[constraint]]", f"#label ={_choice(found)}", "#about =")
