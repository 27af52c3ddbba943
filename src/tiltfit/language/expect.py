"""``expect``: the word that starts every constraint.

>>> from tiltfit.language.conditions import word
>>> expect("hockey", given=word("puck")).about(0.9)
expect('hockey', given=word('puck')).about(0.9)
>>> print(expect("hockey", given=word("puck")).about(0.9))
about 90% of documents with the word "puck" are hockey
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack, cast

from tiltfit.errors import ConstraintError
from tiltfit.language.conditions import Column, Condition
from tiltfit.language.constraint import Among, Constraint, check_given, expectation_code
from tiltfit.language.events import (
    Change,
    End,
    Event,
    Labels,
    Repeats,
    Segments,
    Start,
    Statistic,
    Stay,
    Transition,
)
from tiltfit.language.relations import (
    About,
    AtLeast,
    AtMost,
    Between,
    DistributedAs,
    Exactly,
    Relation,
    shares_of,
)
from tiltfit.language.values import Exact, Label


@dataclass(frozen=True, eq=False)
class Expectation(Exact):
    """An event and where it is looked at, still without what is expected of it: one of the methods below says that.

    m is the share of the places where the condition fires (of counts: the mean number a sequence), u the target. All
    relations take ``name=`` and ``rationale=``, which reports and files keep.
    """

    event: Event
    given: Condition | None = None
    of: Expectation | Among | None = None  # kept as Among
    per: str | Column = "dataset"
    on: str = "unlabelled"
    unfinished = "about"  # the relation that messages propose

    def __post_init__(self) -> None:
        if isinstance(self.of, Expectation):
            self._set(of=self.of._as_among())
        elif self.of is not None and not isinstance(self.of, Among):
            raise ConstraintError(f"of must be an event, like of=expect.change(), but is {self.of!r}.")
        check_given(self.given)

    def about(
        self,
        target: float,
        *,
        within: float | None = None,
        penalty: str | None = None,
        beta: float | None = None,
        name: str | None = None,
        rationale: str | None = None,
    ) -> Constraint:
        """Near the target: w·abs(m − u), a pull that never exceeds w. With ``within``, ``beta`` or the estimator's
        ``beta``: (m − u)²/2β, or abs(m − u)/β with ``penalty="l1"``.

        Parameters
        ----------
        target : float
            u, from 0 to 1; of counts, any number that is not negative.
        within : float, optional
            "Give or take so much": the deviation from the target that costs half a nat (times ``gamma``), instead of
            ``beta``. ``about(0.8, within=0.05)`` is about 80%, give or take 5 points: beta = within², or 2·within with
            ``penalty="l1"``. Twice the deviation costs four times as much (``"l1"``: twice as much). It is that of the
            constraint, not of each firing: with ``scale="support"``, too, it does not depend on how often the condition
            fires. Of shares below 1; of counts, any positive number.
        penalty : {"l2", "l1"} or a registered name, optional
            How being off is counted (``register_penalty``). Default: ``"l1"``, whose pull is bounded, and ``"l2"`` if
            a softness is stated.
        beta : float, optional
            Softness of this constraint; default: that of the estimator. Not together with ``within``.
        name, rationale : str, optional
            What reports call it, and why it is stated.

        Examples
        --------
        >>> from tiltfit import expect, word
        >>> print(expect("hockey", given=word("puck")).about(0.8, within=0.05))
        about 80% (give or take 5 points) of documents with the word "puck" are hockey
        """
        return self._finish(About(target, penalty, within), beta, None, name, rationale)

    def between(
        self,
        low: float,
        high: float,
        *,
        beta: float | None = None,
        slack: float | None = None,
        name: str | None = None,
        rationale: str | None = None,
    ) -> Constraint:
        """low ≤ m ≤ high. Hard, unless ``slack`` > 0: then (distance)²/(2·slack) outside of the interval.

        It pulls no further than it must: m ends at the edge that is nearest to where the model would be without this
        constraint, or inside if it would be there anyway. A model that starts from uniform comes from there: of
        ``between(0.7, 0.9)`` it meets 0.7. To ask for the middle, use ``about``.
        """
        return self._finish(Between(low, high), beta, slack, name, rationale)

    def at_least(
        self,
        target: float,
        *,
        beta: float | None = None,
        slack: float | None = None,
        name: str | None = None,
        rationale: str | None = None,
    ) -> Constraint:
        """m ≥ target. Hard, unless ``slack`` > 0: then (distance)²/(2·slack) below the target."""
        return self._finish(AtLeast(target), beta, slack, name, rationale)

    def at_most(
        self,
        target: float,
        *,
        beta: float | None = None,
        slack: float | None = None,
        name: str | None = None,
        rationale: str | None = None,
    ) -> Constraint:
        """m ≤ target. Hard, unless ``slack`` > 0: then (distance)²/(2·slack) above the target."""
        return self._finish(AtMost(target), beta, slack, name, rationale)

    def exactly(
        self,
        target: float,
        *,
        beta: float | None = None,
        slack: float | None = None,
        name: str | None = None,
        rationale: str | None = None,
    ) -> Constraint:
        """m = target. Hard, unless ``slack`` > 0: then (m − target)²/(2·slack)."""
        return self._finish(Exactly(target), beta, slack, name, rationale)

    def distributed_as(
        self,
        shares: Mapping[Label, float] | Iterable[tuple[Label, float]],
        *,
        within: None = None,
        beta: float | None = None,
        name: str | None = None,
        rationale: str | None = None,
    ) -> Constraint:
        """The shares of all classes are near these (generalised KL divergence); a class that is left out has share 0.

        Parameters
        ----------
        shares : dict
            Label → share; they sum to one.
        within : None
            Not for distributions: their divergence counts a deviation of a small share as more than the same of a large
            one. State ``about(share, within=...)`` for each class, or ``beta``.
        beta : float, optional
            Softness of this constraint; default: that of the estimator.
        name, rationale : str, optional
            What reports call it, and why it is stated.
        """
        if within is not None:
            raise ConstraintError(
                "distributed_as(...) takes no within=: its divergence has no one deviation for all shares. Use beta=, "
                "or state each class: expect('hockey').about(0.7, within=0.05)."
            )
        return self._finish(DistributedAs(shares_of(shares)), beta, None, name, rationale)

    def _finish(
        self, relation: Relation, beta: float | None, slack: float | None, name: str | None, rationale: str | None
    ) -> Constraint:
        of = cast(Among | None, self.of)
        return Constraint(self.event, relation, self.given, of, self.per, self.on, beta, slack, name, rationale)

    def _as_among(self) -> Among:
        if self.of is not None or self.per != "dataset" or self.on != "unlabelled":
            raise ConstraintError(f"of={self!r} can only say an event and given=.")
        return Among(self.event, self.given)

    def __repr__(self) -> str:
        return expectation_code(self.event, self.given, self.of, self.per, self.on)


class _Scope(TypedDict, total=False):
    given: Condition | None
    of: Expectation | Among | None
    per: str | Column
    on: str


class _Expect:
    """Starts a constraint: ``expect("hockey")`` is about labels, ``expect.change()`` and the others about sequences.

    All of them take ``given``, ``of``, ``per`` and ``on``. A condition on a transition looks at its second token.

    Parameters
    ----------
    *labels
        The label is one of these. None of them: for ``distributed_as``, which names all.
    given : condition, optional
        Where it is looked at: ``word("puck")``. Without it: everywhere.
    of : expectation, optional
        A share among the instances of another event: ``of=expect.change()``.
    per : {"dataset", "instance", "sequence"} or ``column(name)``
        One expectation for all the data, for each row or sequence, or for each value of a column.
    on : {"unlabelled", "all"}
        Whether labelled rows count as well.
    """

    def __call__(
        self,
        *labels: Label,
        given: Condition | None = None,
        of: Expectation | Among | None = None,
        per: str | Column = "dataset",
        on: str = "unlabelled",
    ) -> Expectation:
        """The label is one of these."""
        return Expectation(Labels(labels), given=given, of=of, per=per, on=on)

    def stay(self, **scope: Unpack[_Scope]) -> Expectation:
        """A token has the label of the token before it."""
        return Expectation(Stay(), **scope)

    def change(self, **scope: Unpack[_Scope]) -> Expectation:
        """A token has a different label from the token before it."""
        return Expectation(Change(), **scope)

    def transition(self, before: Label, after: Label, **scope: Unpack[_Scope]) -> Expectation:
        """A token labelled ``before`` is followed by one labelled ``after``."""
        return Expectation(Transition(before, after), **scope)

    def start(self, *labels: Label, **scope: Unpack[_Scope]) -> Expectation:
        """A sequence's first token has one of these labels."""
        return Expectation(Start(labels), **scope)

    def end(self, *labels: Label, **scope: Unpack[_Scope]) -> Expectation:
        """A sequence's last token has one of these labels."""
        return Expectation(End(labels), **scope)

    def segments(self, label: Label, **scope: Unpack[_Scope]) -> Expectation:
        """The number of segments of a label in a sequence."""
        return Expectation(Segments(label), **scope)

    def repeats(self, *labels: Label, **scope: Unpack[_Scope]) -> Expectation:
        """The number of times that a field comes back in a sequence: one of these, or any."""
        return Expectation(Repeats(labels), **scope)

    def appears(self, *labels: Label, **scope: Unpack[_Scope]) -> Expectation:
        """A field, any of these, occurs in a sequence at all."""
        return self.statistic("appears", {"labels": labels}, **scope)

    def before(self, first: Label, then: Label, **scope: Unpack[_Scope]) -> Expectation:
        """Both fields occur in a sequence, and ``first`` comes first."""
        return self.statistic("before", {"first": first, "then": then}, **scope)

    def distinct(self, *labels: Label, **scope: Unpack[_Scope]) -> Expectation:
        """The number of different fields in a sequence: of these, or of all."""
        return self.statistic("distinct", {"labels": labels} if labels else None, **scope)

    def short(self, *labels: Label, below: int, **scope: Unpack[_Scope]) -> Expectation:
        """The number of segments of fewer than ``below`` tokens: of these fields, or of all."""
        return self.statistic("short", {"below": below} | ({"labels": labels} if labels else {}), **scope)

    def event(self, event: Event, **scope: Unpack[_Scope]) -> Expectation:
        """An event that is made by its class, as those of extensions are: ``expect.event(ChangesBack())``."""
        if not isinstance(event, Event):
            raise ConstraintError(f"expect.event takes an event like ChangesBack(), but got {event!r}.")
        return Expectation(event, **scope)

    def statistic(self, name: str, options: Mapping[str, Any] | None = None, **scope: Any) -> Expectation:
        """A statistic of the whole sequence by its name: one that comes with the library, or a registered one.

        Options may also be given by name: ``expect.statistic("missing", labels=["author", "title"])``.
        """
        if options is not None and not isinstance(options, Mapping):
            raise ConstraintError(
                f"The options of a statistic are a mapping like {{'labels': [...]}}, not {options!r}."
            )
        inner = {key: scope.pop(key) for key in _Scope.__annotations__ if key in scope}
        return Expectation(Statistic(name, tuple({**(options or {}), **scope}.items())), **inner)

    def __repr__(self) -> str:
        return "expect"


expect = _Expect()
