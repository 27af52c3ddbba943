"""The data that constraints are checked on, the places where each constraint applies, its words that occur nowhere, and
the places where constraints meet.

A constraint points to a label where its condition fires, if it expects more than half there to have its labels (as it
votes, ``methods.votes``). Two constraints dispute a position if both point there and no label suits both:

    Jaccard(a, b) = |a fires and b fires| / |a fires or b fires|
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tiltfit.arrays import BoolArray
from tiltfit.data.inputs import Unit, is_missing
from tiltfit.errors import ConstraintError, DataError, UnknownLabelError, UnsupportedError
from tiltfit.inference.chain import Chains
from tiltfit.language.conditions import Column
from tiltfit.language.constraint import Constraint, ConstraintSet
from tiltfit.language.event import Labels
from tiltfit.language.sentences import describe, titled
from tiltfit.language.values import Label, exact
from tiltfit.methods.votes import majority_vote
from tiltfit.projections.components import whole_statistic
from tiltfit.projections.grounding import refuse_for_documents
from tiltfit.samples.labels import is_list
from tiltfit.samples.sample import Sample, make_sample
from tiltfit.samples.task import task_of

_EXAMPLES = 3
_SHOWN = 3  # of what never fires
_ANY = ("a", "b")  # where nothing names a class: constraints on changes need to know none


@dataclass(frozen=True, eq=False)
class Data:
    """``sample``: inputs, classes and labels. ``unit``: what messages call its positions. ``errors``: what is wrong
    with y; then no label is known."""

    sample: Sample
    unit: Unit
    errors: tuple[str, ...] = ()

    @staticmethod
    def of(
        constraints: ConstraintSet,
        X: Any,
        y: Any = None,
        feature_names: Iterable[str] | None = None,
        unit: Unit | None = None,
    ) -> Data:
        """Documents or rows; sequences if X or y holds lists of tokens or labels, or a constraint is about them."""
        if y is not None and not is_list(y):
            raise DataError(f"y must be a list of labels, one per row of X, but is {y!r}.", parameter="y")
        task = task_of(X, y, constraints)
        inputs = task.read(X, feature_names, allow_empty=False)
        named = [name for c in constraints for name in c.names]
        errors: tuple[str, ...] = ()
        try:
            shown = [] if y is None else task.targets(y, inputs, constraints.classes, named or _ANY, 1).classes.tolist()
            sample = make_sample(task, inputs, y, classes=_classes(constraints, shown or named))
        except UnknownLabelError as error:
            errors = (str(error),)
            sample = make_sample(task, inputs, classes=_classes(constraints, named))
        return Data(sample, task.unit or unit or inputs.unit, errors)

    @property
    def n(self) -> int:
        return self.sample.n

    @property
    def is_sequences(self) -> bool:
        return self.sample.is_sequences

    @property
    def open_positions(self) -> BoolArray:
        """Positions whose label is to be decided; all of them where every one is known."""
        unknown = self.sample.open_positions
        return unknown if unknown.any() else ~unknown


def _classes(constraints: ConstraintSet, found: list[Any]) -> list[Any]:
    """The classes that the constraints declare, else those found, in order; one more where only one is known: something
    is not that class."""
    if constraints.classes is not None:
        return list(constraints.classes)
    distinct = list({exact(label): label for label in found}.values())
    if not distinct:
        return list(_ANY)
    if len(distinct) == 1:
        return [distinct[0], _another(distinct[0])]
    return sorted(distinct) if len({type(label) for label in distinct}) == 1 else distinct


def _another(label: Label) -> Label:
    if isinstance(label, bool):
        return not label
    return f"not {label}" if isinstance(label, str) else label + 1


@dataclass(frozen=True)
class Support:
    """One constraint: on how many documents, rows, tokens, transitions or sequences it looks, and on what share of
    those it might look at (None: it cannot be asked of these data). ``note``: what of it never fires."""

    title: str
    sentence: str
    support: int | None = None
    coverage: float | None = None
    note: str | None = None


@dataclass(frozen=True)
class Supports:
    """``covered``: of ``rows`` documents or tokens, those where some condition fires; likewise for the sequences.
    ``usable``: the numbers of the constraints that can be asked of these data."""

    entries: tuple[Support, ...]
    errors: tuple[str, ...]
    usable: tuple[int, ...]
    rows: int
    covered: int
    sequences: int | None = None
    sequences_covered: int | None = None


def find_supports(constraints: ConstraintSet, data: Data) -> Supports:
    """Look up every constraint; what cannot be asked of such data is an error and has no support."""
    covered = np.zeros(data.n, dtype=np.bool_)
    entries: list[Support] = []
    errors: list[str] = []
    usable: list[int] = []
    for number, constraint in enumerate(constraints):
        title, sentence = titled(constraint, data.unit), describe(constraint, data.unit)
        try:
            ConstraintSet((constraint,)).check_labels(data.sample.classes, data.unit)
            places, whole = places_of(constraint, data)
        except (ConstraintError, UnsupportedError) as error:
            errors.append(str(error) if error.constraint is not None else f"The constraint {title!r}: {error}")
            entries.append(Support(title, sentence))
            continue
        usable.append(number)
        if constraint.given is not None:
            covered |= places
        n, note = int(places.sum()), _idle(constraint, data, places)
        if constraint.event.counts and constraint.of is None and n:
            n = whole  # a mean number per sequence: each sequence counts
        entries.append(Support(title, sentence, n, n / whole if whole else 0.0, note))
    sequences = len(data.sample.structure) if data.is_sequences else None
    reached = len(np.unique(data.sample.instance[covered])) if data.is_sequences else None
    found = int(covered.sum())
    return Supports(tuple(entries), tuple(errors), tuple(usable), data.n, found, sequences, reached)


def places_of(constraint: Constraint, data: Data) -> tuple[BoolArray, int]:
    """The places that the constraint looks at, and how many there would be without its condition."""
    sample = data.sample
    if isinstance(sample.structure, Chains):
        places, whole = _places_in_sequences(constraint, data, sample.structure)
    else:
        refuse_for_documents(constraint)
        places, whole = sample.fires(constraint.given), data.n
    if isinstance(constraint.per, Column):
        values = sample.inputs.column(constraint.per.name)
        missing = [int(i) for i in np.flatnonzero(places) if is_missing(values[i])]
        if missing:
            title = titled(constraint, data.unit)
            raise ConstraintError(
                f"The constraint {title!r} is stated per {constraint.per.name!r}, but that column is missing in "
                f"{len(missing)} {data.unit} where it applies ({sample.inputs.place(missing[0])} first). Fill it in, "
                "or add a condition that leaves them out.",
                constraint=title,
            )
    return places, whole


def _places_in_sequences(constraint: Constraint, data: Data, structure: Chains) -> tuple[BoolArray, int]:
    """An edge stands at its second token, a start at the first token, an end at the last."""
    classes: list[Any] = list(data.sample.classes)
    among = constraint.of
    event = constraint.event if among is None else among.event
    where = constraint.given if among is None else among.given
    if whole_statistic(constraint, classes, titled(constraint, "tokens")) is not None:  # refuses what there is not
        return np.isin(np.arange(data.n), structure.first), len(structure)
    # A distribution has no event: it is about all labels.
    found = (event if event.names or event.is_sequence else Labels(tuple(classes))).terms(classes, structure)
    if among is not None:
        constraint.event.tables(classes)  # refuses what cannot be trained
    could = np.logical_or.reduce([term.at for term in found])
    fires = could & data.sample.fires(where)
    return fires, len(structure) if event.counts and among is None else int(could.sum())


def _idle(constraint: Constraint, data: Data, places: BoolArray) -> str | None:
    """A note on a condition that never fires, wholly or in part: one misspelt word among many goes unnoticed."""
    if constraint.given is None:
        return None
    inputs, title = data.sample.inputs, titled(constraint, data.unit)
    idle = [part for part in constraint.given.leaves if not part.fires(inputs).any()]
    if places.any():
        if not idle:
            return None
        what = " and ".join(f"{data.unit} {part.clause(inputs.unit)}" for part in idle[:_SHOWN])
        what += f" and {len(idle) - _SHOWN:,} more" if len(idle) > _SHOWN else ""
        head = f"The constraint {title!r} also names {what}, but there are none."
    else:
        head = f"The constraint {title!r} never fires, so it has no effect."
    hint = next((hint for part in idle if (hint := part.hint(inputs)) is not None), None)
    if hint is None:
        return head
    return f"{head} {hint[0].upper()}{hint[1:]}{'' if hint.endswith('?') else '.'}"


@dataclass(frozen=True)
class Dispute:
    """Two constraints (by number) that point to different labels on ``overlap`` positions. ``examples``: the first few
    of these, as (position, text)."""

    first: int
    second: int
    overlap: int
    jaccard: float
    examples: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True)
class Overlap:
    """``pointed``: positions where some constraint points to a label; ``shared``: where two or more do; ``disputed``:
    where two of them dispute. ``disputes``: those that meet most often first."""

    pointed: int = 0
    shared: int = 0
    disputed: int = 0
    disputes: tuple[Dispute, ...] = ()


def find_disputes(constraints: ConstraintSet, data: Data, usable: tuple[int, ...]) -> Overlap:
    """Only of the usable constraints."""
    votes = majority_vote([constraints[k] for k in usable], data.sample.inputs, data.sample.classes)
    fires = votes.fires.tocsc()
    number = np.array(usable, dtype=np.intp)[votes.source] if len(usable) else votes.source
    together = (fires.T @ fires).toarray()
    size = together.diagonal()
    apart = (votes.elected.astype(np.intp) @ votes.elected.T) == 0
    disputed = np.zeros(data.n, dtype=np.bool_)
    found: list[Dispute] = []
    for a, b in np.argwhere(np.triu((together > 0) & apart, 1)):
        mine, other = (fires.indices[fires.indptr[k] : fires.indptr[k + 1]] for k in (a, b))
        both = np.intersect1d(mine, other)
        disputed[both] = True
        n = len(both)
        pair = int(number[a]), int(number[b])
        words = [w for k in pair if (given := constraints[k].given) is not None for w in given.words]
        shown = tuple((int(i), data.sample.inputs.excerpt(int(i), words)) for i in both[:_EXAMPLES])
        found.append(Dispute(*pair, n, n / float(size[a] + size[b] - n), shown))
    voices = np.asarray(np.diff(votes.fires.indptr))
    ordered = sorted(found, key=lambda d: (-d.overlap, -d.jaccard, d.first, d.second))
    return Overlap(int(np.sum(voices > 0)), int(np.sum(voices > 1)), int(disputed.sum()), tuple(ordered))
