"""Constraints from the labelled data itself (paper §3): what labels show, with a margin, for unlabelled data to follow.

For every candidate, the labels give a share (or a mean count) and an interval around it; the interval is stated.
Only the most confident ones are worth stating: those whose interval lies furthest from what holds everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tiltfit.data.inputs import is_missing
from tiltfit.errors import ConstraintError, DataError, TiltfitWarning, UnsupportedError, did_you_mean, warn_user
from tiltfit.estimators.label_statistics import LabelStatistics, Mean, Share
from tiltfit.estimators.options import check_share, whole_parameter
from tiltfit.language.conditions import Condition, Word, punctuation
from tiltfit.language.constraint import Constraint, ConstraintSet
from tiltfit.language.event import Labels
from tiltfit.language.expect import Expectation, expect
from tiltfit.language.scheme import entities
from tiltfit.language.values import Label
from tiltfit.samples.labels import is_list, is_tagged
from tiltfit.samples.sample import Sample, make_sample
from tiltfit.samples.task import DOCUMENTS, SEQUENCES

_DIGITS = 1000  # ends of intervals are rounded outwards to thousandths


def constraints_from_labels(
    X: Any,
    y: Any,
    *,
    templates: Any = None,
    confidence: float = 0.95,
    top: int | None = None,
    min_support: int = 5,
    slack: float | None = None,
    classes: Iterable[object] | None = None,
    feature_names: Iterable[str] | None = None,
) -> ConstraintSet:
    """State about unlabelled data what the labels in y show: ``between(low, high)``, or one of its sides.

    Shares get Wilson's interval, counts Student's; tokens of one sequence count as the fewer the more alike they are
    (``estimators.label_statistics``). A share under a condition is stated only if its interval excludes the share
    without it. The ``rationale`` of each says what was seen: "12 of 13 labelled tokens".

    Parameters
    ----------
    X, y
        As for ``fit``; sequences if y holds lists of labels.
    templates : families, conditions or expectations, one or a list of them, optional
        What is tried. Families: ``"words"`` (every label given every word; if something in X is unlabelled, every word
        that occurs there), ``"proportions"`` (of labels); for sequences also ``"punctuation"`` (labels of
        punctuation), ``"changes"`` (of the field, after punctuation and elsewhere), ``"starts"`` (the first label),
        ``"segments"``, ``"repeats"`` and ``"appears"`` (of every field).
        Default: all but the last two, which look at whole sequences and make q costlier to infer.
        A condition, as ``regex("^[0-9]+$")``: every label given it. An expectation without a relation, as
        ``expect.end("title")``: stated whatever its interval.
    confidence : float
        Of each interval; the higher, the wider.
    top : int, optional
        For each label, at most so many statements with a condition (those whose interval is furthest from the share
        without it), and so many without (those with the narrowest interval).
    min_support : int
        The least number of labelled documents, tokens or sequences behind a statement (in at least two sequences).
    slack : float, optional
        Softens all statements: intervals miss in a share 1 − confidence of all cases.
    classes, feature_names
        As for ``TiltClassifier``.

    Examples
    --------
    >>> from tiltfit import constraints_from_labels
    >>> texts = ["puck on ice", "the puck", "a puck", "bat and ball", "the bat", "a bat", "puck or bat", "who knows"]
    >>> labels = ["hockey"] * 3 + ["baseball"] * 3 + [None, None]
    >>> for constraint in constraints_from_labels(texts, labels, templates="words", min_support=3, confidence=0.8):
    ...     print(f"{constraint} ({constraint.rationale})")
    at least 64.6% of documents with the word "bat" are baseball (3 of 3 labelled documents)
    at least 64.6% of documents with the word "puck" are hockey (3 of 3 labelled documents)
    """
    if top is not None:
        whole_parameter("top", top)
    confidence, min_support = check_share("confidence", confidence), whole_parameter("min_support", min_support)
    here = _labelled(X, y, classes, feature_names)
    asked = _Asked(here, confidence, min_support)
    found = [statement for family in _families(templates, here) for statement in family(asked)]
    kept = [s.constraint(slack) for s in (found if top is None else _best(found, int(top)))]
    constraints = list(dict.fromkeys(c for c in kept if c is not None))
    if not constraints:
        warn_user(
            f"The labels show nothing with enough confidence: lower min_support= (now {min_support}) or confidence= "
            f"(now {confidence}).",
            TiltfitWarning,
        )
    return ConstraintSet(tuple(constraints), tuple(here.classes))


def _labelled(X: Any, y: Any, classes: Iterable[object] | None, feature_names: Iterable[str] | None) -> Sample:
    """Documents or rows, or sequences if y holds lists of labels; refused if y has no label."""
    rows = y if is_list(y) else ()
    if not any(any(not is_missing(v) for v in row) if is_list(row) else not is_missing(row) for row in rows):
        raise DataError("constraints_from_labels needs labels, but nothing in y has one.", parameter="y")
    task = SEQUENCES if is_tagged(y) else DOCUMENTS
    inputs = task.read(X, None if task.is_sequences else feature_names, allow_empty=not task.is_sequences)
    here = make_sample(task, inputs, y, classes=classes)
    if not np.any(here.labels >= 0):
        raise DataError(
            "constraints_from_labels needs labels, but all of y is -1, which is not a class, or a set.", parameter="y"
        )
    return here


@dataclass(frozen=True, eq=False)
class _Statement:
    """An expectation and its interval. ``rank``: the higher, the more confident; None if it was asked for by name."""

    expectation: Expectation
    evidence: Share | Mean
    low: float
    high: float
    rank: float | None

    def constraint(self, slack: float | None) -> Constraint | None:
        """The constraint; None if every value is allowed."""
        low, high = math.floor(self.low * _DIGITS) / _DIGITS, math.ceil(self.high * _DIGITS) / _DIGITS
        state, why = self.expectation, str(self.evidence)
        no_more = high >= self.evidence.most
        if low <= 0:
            return None if no_more else state.at_most(high, slack=slack, rationale=why)
        if no_more:
            return state.at_least(low, slack=slack, rationale=why)
        return state.between(low, high, slack=slack, rationale=why)

    @property
    def group(self) -> tuple[object, ...]:
        """The group of which only the best statements are kept."""
        return self.expectation.event.names, self.expectation.given is not None


def _best(found: list[_Statement], top: int) -> Iterator[_Statement]:
    groups: dict[tuple[object, ...], list[_Statement]] = {}
    for statement in found:
        if statement.rank is not None:
            groups.setdefault(statement.group, []).append(statement)
    kept = {id(s) for g in groups.values() for s in sorted(g, key=lambda s: -(s.rank or 0.0))[:top]}
    return (s for s in found if s.rank is None or id(s) in kept)


@dataclass(frozen=True, eq=False)
class _Asked:
    """Statements about labelled data, at a confidence."""

    here: Sample
    confidence: float
    min_support: int

    @cached_property
    def counted(self) -> LabelStatistics:
        return LabelStatistics(self.here)

    def stated(self, expectation: Expectation) -> Iterator[_Statement]:
        """One expectation, whatever its interval; a warning if there are too few labels for it."""
        ConstraintSet((expectation.at_least(0.0),), tuple(self.here.classes))  # refuses unknown labels
        evidence = self._evidence(expectation)
        if evidence is None:
            self._warn(expectation)
        else:
            yield _Statement(expectation, evidence, *evidence.interval(self.confidence), None)

    def given(self, condition: Condition) -> Iterator[_Statement]:
        """All labels under one condition; a warning if there is nothing to state."""
        found = list(self.labels_given(condition, np.flatnonzero(condition.fires(self.here.inputs))))
        if not found:
            self._warn(condition)
        yield from found

    def labels_given(self, condition: Condition, positions: Any) -> Iterator[_Statement]:
        """Every label whose share at ``positions``, where the condition fires, is not its share elsewhere."""
        if not self._is_enough(positions):
            return
        shares, bases = self.counted.label_shares(positions), self._bases
        for label, share, base in zip(self.here.classes, shares, bases, strict=True):
            low, high = share.interval(self.confidence)
            margin = max(low - base, base - high)
            # Of two classes, the share of one says what the other's is.
            if margin > 0 and (len(self.here.classes) > 2 or share.value > base):
                yield _Statement(expect(label, given=condition), share, low, high, margin)

    def words(self) -> Iterator[_Statement]:
        inputs = self.here.inputs
        for column in inputs.word_columns:
            index = inputs.index(column)
            for text in sorted(index.words):
                try:
                    condition = Word(text, False if text != text.lower() else None, column)
                    positions = index.positions(text, case=False)
                except ConstraintError:  # a few words are not words once their case is folded
                    continue
                if self._is_of_use(positions):
                    yield from self.labels_given(condition, positions)

    def unconditional(self, expectations: Iterable[Expectation], *, both: bool = True) -> Iterator[_Statement]:
        """The narrowest first. ``both=False``: of two classes, only the more frequent one."""
        for expectation in expectations:
            evidence = self._evidence(expectation)
            if evidence is not None and (both or len(self.here.classes) > 2 or evidence.value > 0.5):
                low, high = evidence.interval(self.confidence)
                yield _Statement(expectation, evidence, low, high, low - high)

    def conditional(self, expectation: Expectation) -> Iterator[_Statement]:
        """If its interval excludes the share without the condition."""
        evidence, base = self._evidence(expectation), self.counted.share(expectation.event, None)
        if evidence is not None and base is not None:
            low, high = evidence.interval(self.confidence)
            margin = max(low - base.value, base.value - high)
            if margin > 0:
                yield _Statement(expectation, evidence, low, high, margin)

    @property
    def fields(self) -> list[Label]:
        """The labels that have segments: entities of BIO labels, else all labels."""
        return list(entities(self.here.classes) or self.here.classes)

    @cached_property
    def _bases(self) -> list[float]:
        return [share.value for share in self.counted.label_shares(np.arange(self.here.inputs.n))]

    def _evidence(self, expectation: Expectation) -> Share | Mean | None:
        event, given = expectation.event, expectation.given
        evidence = self.counted.mean(event, given) if event.counts else self.counted.share(event, given)
        if evidence is None or evidence.n < self.min_support:
            return None
        return evidence

    def _is_of_use(self, positions: Any) -> bool:
        """False for a word that occurs at labelled positions only: its constraint would be inactive."""
        return bool(np.any(self.here.labels[positions] < 0)) or bool(np.all(self.here.labels >= 0))

    def _is_enough(self, positions: Any) -> bool:
        if len(positions) < self.min_support:
            return False
        known = positions[self.here.labels[positions] >= 0]
        apart = not self.here.is_sequences or len(np.unique(self.here.instance[known])) > 1
        return len(known) >= self.min_support and apart

    def _warn(self, template: Condition | Expectation) -> None:
        warn_user(
            f"The labels show nothing about {template!r} that is worth stating: too few of them are seen there "
            f"(min_support={self.min_support}), or it makes no difference.",
            TiltfitWarning,
        )


Family = Callable[[_Asked], Iterator[_Statement]]

_FAMILIES: dict[str, Family] = {
    "words": _Asked.words,
    "punctuation": lambda asked: asked.labels_given(punctuation, np.flatnonzero(punctuation.fires(asked.here.inputs))),
    "proportions": lambda asked: asked.unconditional((expect(label) for label in asked.here.classes), both=False),
    "changes": lambda asked: (
        statement
        for given in (~punctuation.before, punctuation.before)
        for statement in asked.conditional(expect.change(given=given))
    ),
    "starts": lambda asked: asked.unconditional((expect.start(label) for label in asked.here.classes), both=False),
    "segments": lambda asked: asked.unconditional(expect.segments(field) for field in asked.fields),
    "repeats": lambda asked: asked.unconditional(expect.repeats(field) for field in asked.fields),
    "appears": lambda asked: asked.unconditional(expect.appears(field) for field in asked.fields),
}
_DOCUMENTS = ("words", "proportions")
_TOKENS = ("words", "punctuation", "proportions", "changes", "starts", "segments")
_ATTRIBUTES = ("proportions", "starts", "segments")


def _families(templates: Any, here: Sample) -> list[Family]:
    """What ``templates=`` asks for: functions that make statements."""
    if templates is None:
        templates = _DOCUMENTS if not here.is_sequences else _TOKENS if here.inputs.has_texts else _ATTRIBUTES
    one = isinstance(templates, str) or not np.iterable(templates)
    return [_family(template, here) for template in ([templates] if one else templates)]


def _family(template: object, here: Sample) -> Family:
    holds = f"templates= holds {template!r}"
    match template:
        case str():
            if template not in _FAMILIES:
                known = ", ".join(map(repr, _FAMILIES))
                hint = did_you_mean(template, _FAMILIES)
                raise ConstraintError(f"templates= names {template!r}: known are {known}.{hint}", parameter="templates")
            if not here.is_sequences and template not in _DOCUMENTS:
                raise _unsupported(f"templates={template!r} is about sequences, but y has one label per document.")
            return _FAMILIES[template]
        case Constraint():
            raise ConstraintError(
                f"{holds}, which says its target already: leave the relation out.", parameter="templates"
            )
        case Condition():
            return lambda asked: asked.given(template)
        case Expectation(event=event, given=given):
            if template.of is not None or template.per != "dataset":
                raise _unsupported(f"{holds}: of= and per= cannot be estimated from labels.")
            if event == Labels():
                return _FAMILIES["proportions"] if given is None else lambda asked: asked.given(given)
            if event.is_sequence and not here.is_sequences:
                raise _unsupported(f"{holds}, which is about sequences, but y has one label per document.")
            if event.whole and given is not None:
                raise _unsupported(f"{holds}: what whole sequences have cannot be looked up by given=.")
            return lambda asked: asked.stated(template)
        case _:
            raise ConstraintError(
                f"{holds}, which is neither the name of a family, a condition nor an expectation.",
                parameter="templates",
            )


def _unsupported(message: str) -> UnsupportedError:
    return UnsupportedError(message, parameter="templates")
