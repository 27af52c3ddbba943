"""Suggestions as text: one per line, with what is known about it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tiltfit.data.inputs import Unit
from tiltfit.language.conditions import Condition
from tiltfit.language.prose import rough_percent
from tiltfit.suggesting.suggestions import Suggestion, Suggestions

_SAME = 3

RANKED_BY = {
    "labels": "what the labels say that there are",
    "model": "what would teach the model most",
    "topics": "the topics that they tell apart; there are neither labels nor a model",
}


def page(found: Suggestions) -> str:
    """Everything."""
    lines = [headline(found)]
    for number, heading, suggestions in groups(found):
        lines += ["", heading] if heading else [""] if number == 0 else []
        for place, suggestion in suggestions:
            lines.append(f"{place:>3}. {what(suggestion, found.unit)}: {figures(suggestion, found.unit)}")
            lines += [f"       {example}" for example in suggestion.examples]
    return "\n".join(lines)


def headline(found: Suggestions) -> str:
    """The number of suggestions, and how they are ranked."""
    if not found.entries:
        return (
            f"Nothing to suggest in {found.positions:,} {found.unit}: no condition fires often enough and divides them."
        )
    number = "1 suggestion" if len(found) == 1 else f"{len(found)} suggestions"
    return f"{number} from {found.positions:,} {found.unit}, by {RANKED_BY[found.source]}."


def groups(found: Suggestions) -> Iterator[tuple[int, str, list[tuple[int, Suggestion]]]]:
    """Suggestions with their places, topic by topic if they have topics; the topic of the best comes first."""
    order: dict[int | None, list[tuple[int, Suggestion]]] = {}
    for place, suggestion in enumerate(found, start=1):
        order.setdefault(suggestion.topic, []).append((place, suggestion))
    for number, (topic, suggestions) in enumerate(order.items()):
        heading = "" if topic is None else f"Topic {number + 1}: {topic_words(found, topic)}"
        yield number, heading, suggestions


def topic_words(found: Suggestions, topic: int) -> str:
    """The words of a topic, with commas."""
    return ", ".join(short(condition, found.unit) for condition in found.topics.get(topic, ()))


def short(condition: Condition, unit: Unit) -> str:
    """A condition in as few words as possible: its own, or those of a sentence about it."""
    return getattr(condition, "text", None) or condition.clause(unit)


def what(suggestion: Suggestion, unit: Unit) -> str:
    """The subject of a statement: ``documents with the word "puck"``."""
    if suggestion.about == "changes":
        return f"changes {suggestion.condition.place()}"
    return f"{unit} {suggestion.condition.clause(unit)}"


def figures(suggestion: Suggestion, unit: Unit) -> str:
    """The frequency, and what is known about it."""
    often = f"{suggestion.count:,} ({rough_percent(suggestion.share)})"
    told = belief(suggestion)
    same = ", ".join(short(c, unit) for c in suggestion.same[:_SAME])
    return ", ".join([often, *([told] if told else []), *([f"much the same: {same}"] if same else [])])


def belief(suggestion: Suggestion) -> str:
    """The share that labels or the model show; empty if nothing is known."""
    if suggestion.seen is None:
        return ""
    what = "changes" if suggestion.about == "changes" else name(suggestion.label)
    if suggestion.known is None:
        return f"the model believes {suggestion.seen:.0%} {what}"
    return f"{round(suggestion.seen * suggestion.known):,} of {suggestion.known:,} labelled: {what}"


def name(label: Any) -> str:
    """A label as text."""
    return str(label).lower() if isinstance(label, bool) else str(label)
