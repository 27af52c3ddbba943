"""Constraints as sentences that people can read back.

>>> from tiltfit.language.expect import expect
>>> from tiltfit.language.conditions import punctuation, word
>>> print(expect("hockey", given=word("puck")).between(0.7, 0.95))
between 70% and 95% of documents with the word "puck" are hockey
>>> print(expect.change(given=punctuation.before, of=expect.change()).at_least(0.9))
of all field changes, at least 90% come after punctuation
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tiltfit.language.prose import amount, percent, show

if TYPE_CHECKING:
    from tiltfit.data.inputs import Unit
    from tiltfit.language.constraint import Constraint


def describe(constraint: Constraint, unit: Unit = "documents") -> str:
    """The constraint as a sentence about documents, rows or tokens; what only tokens can do is said of tokens."""
    unit = "tokens" if constraint.is_sequence else unit
    if constraint.of is not None:
        body = _in_each(constraint, unit) + _share_among(constraint, unit)
    elif constraint.relation.shares:
        body = _distribution(constraint, unit)
    elif constraint.event.counts:
        body = _count(constraint)
    else:
        body = _share(constraint, unit)
    if constraint.on == "unlabelled":
        return body
    return f"{body} (labelled {'sequences' if unit == 'tokens' else unit} included)"


def titled(constraint: Constraint, unit: Unit = "documents") -> str:
    """The name of a constraint in messages: its own, or its sentence."""
    return constraint.name if constraint.name is not None else describe(constraint, unit)


def event_subject(constraint: Constraint, unit: Unit = "documents") -> str | None:
    """The event at one place, as a clause: ``a document with the word "puck" is hockey``. None for counts, shares of
    other events and distributions, which have no such place or no such event.

    >>> from tiltfit.language.expect import expect
    >>> event_subject(expect.change().at_most(0.2))
    'a transition changes the label'
    """
    unit = "tokens" if constraint.is_sequence else unit
    if constraint.of is not None or constraint.event.counts or constraint.relation.shares:
        return None
    event = constraint.event
    return f"a {event.support(constraint.given, unit, plural=False)} {event.predicate(plural=False)}"


def _share(constraint: Constraint, unit: Unit) -> str:
    event, words = constraint.event, constraint.relation.words(percent)
    if _is_probability(constraint, unit):
        subject = event.support(constraint.given, unit, plural=False)
        return f"each {subject} {event.predicate(plural=False)} with a probability of {words}"
    subject = event.support(constraint.given, unit, plural=True)
    return f"{_in_each(constraint, unit)}{words} of {subject} {event.predicate(plural=True)}"


def _distribution(constraint: Constraint, unit: Unit) -> str:
    shares = constraint.relation.words(percent)
    if _is_probability(constraint, unit):
        return f"each {constraint.event.support(constraint.given, unit, plural=False)} is {shares}"
    return f"{_in_each(constraint, unit)}{constraint.event.support(constraint.given, unit, plural=True)} are {shares}"


def _count(constraint: Constraint) -> str:
    each = constraint.is_local
    subject = "each sequence" if each else "a sequence"
    words, one = constraint.relation.words(amount), set(constraint.relation.numbers) == {1.0}
    sentence = constraint.event.quantity(words, one, constraint.given, subject)
    return sentence if each else f"{_in_each(constraint, 'tokens')}{sentence}"


def _share_among(constraint: Constraint, unit: Unit) -> str:
    event, given, of = constraint.event, constraint.given, constraint.of
    assert of is not None
    verbs = [] if event == of.event else [event.is_among()]
    verbs += [] if given is None or given == of.given else [event.located(given, unit)]
    return f"of all {of.event.among(of.given, unit)}, {constraint.relation.words(percent)} {' and '.join(verbs)}"


def _in_each(constraint: Constraint, unit: Unit) -> str:
    """The scope, said first: ``in each county, ``."""
    if constraint.per_column is not None:
        return f"in each {show(constraint.per_column)}, "
    if constraint.per == "dataset":
        return ""
    return f"in each {'sequence' if unit == 'tokens' else unit.removesuffix('s')}, "


def _is_probability(constraint: Constraint, unit: Unit) -> bool:
    """True if the event can happen only once per instance: then its share there is a probability."""
    return constraint.is_local and (constraint.event.per_sequence or unit != "tokens")
