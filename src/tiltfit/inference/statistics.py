"""The statistics that come with the library, and the registry by which files name them.

``REGISTRY[name]`` makes a statistic for given fields: ``REGISTRY["repeats"](fields, labels=["journal"])``. People add
their own with ``register_statistic``. A segment is a maximal run of a field (``inference.fields``).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from tiltfit.arguments import whole
from tiltfit.errors import ConstraintError, did_you_mean
from tiltfit.inference.fields import Fields
from tiltfit.inference.segmental import Counted, Order, Segmental, Short
from tiltfit.inference.statistic import Statistic
from tiltfit.registry import Registry

Builder = Callable[..., Statistic]
B = TypeVar("B", bound=Builder)

REGISTRY: Registry[Builder] = Registry("statistic")


def register_statistic(name: str) -> Callable[[B], B]:
    """Make ``builder(fields, **options) -> Statistic`` known as ``name``. It may be a class.

    >>> from tiltfit.inference.statistic import Statistic
    >>> @register_statistic("comes full circle")
    ... class Ends(Statistic):
    ...     name = "comes full circle"
    ...     def __init__(self, fields):
    ...         self.fields = fields
    ...     def count(self, labels):
    ...         return float(labels[0] == labels[-1])
    >>> build("comes full circle", Fields.plain("ab")).count([0, 1, 0])
    1.0
    >>> REGISTRY.remove("comes full circle")
    """

    def add(builder: B) -> B:
        if not callable(builder):
            raise ConstraintError(
                f"The statistic {name!r} needs a function builder(fields, **options), but got {builder!r:.80}."
            )
        REGISTRY.register(name, builder)
        return builder

    return add


def build(name: str, fields: Fields, **options: object) -> Statistic:
    """The registered statistic of that name, for labels of these fields."""
    builder = REGISTRY.find(name)
    signature = inspect.signature(builder)
    takes = [p.name for p in signature.parameters.values() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)][1:]
    open_ended = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    for option in [] if open_ended else options:
        if option not in takes:
            known = ", ".join(takes) if takes else "none"
            raise ConstraintError(
                f'The statistic "{name}" has no option "{option}"; it takes {known}.{did_you_mean(option, takes)}'
            )
    try:
        signature.bind(fields, **options)
    except TypeError as error:
        raise ConstraintError(
            f'The statistic "{name}" cannot be made with {options or "no options"}: {error}.'
        ) from None
    return builder(fields, **options)


@register_statistic("segments")
def segments(fields: Fields, labels: Sequence[Hashable] = ()) -> Segmental:
    """The number of segments, of these fields or of all. (A sum over edges: chains alone can do it.)"""
    return Segmental("segments", fields, (Counted(fields.numbers(labels), (0.0,), 1.0),))


@register_statistic("repeats")
def repeats(fields: Fields, labels: Sequence[Hashable] = (), beyond: int = 1) -> Segmental:
    """Σ_f max(0, n_f − beyond): segments of each field beyond its first ``beyond`` ones, of these fields or of all."""
    beyond = _natural("repeats", "beyond", beyond)
    return Segmental(
        "repeats", fields, tuple(Counted((f,), (0.0,) * (beyond + 1), 1.0) for f in fields.numbers(labels))
    )


@register_statistic("appears")
def appears(fields: Fields, labels: Sequence[Hashable] = ()) -> Segmental:
    """1 if any of these fields (of all if none is named) has a segment, else 0."""
    return Segmental("appears", fields, (Counted(fields.numbers(labels), (0.0, 1.0)),))


@register_statistic("missing")
def missing(fields: Fields, labels: Sequence[Hashable] = ()) -> Segmental:
    """The number of these fields (of all if none is named) without a segment. At a price of −inf, all must appear."""
    return Segmental("missing", fields, tuple(Counted((f,), (1.0, 0.0)) for f in fields.numbers(labels)))


@register_statistic("distinct")
def distinct(fields: Fields, labels: Sequence[Hashable] = ()) -> Segmental:
    """The number of these fields (of all if none is named) with a segment."""
    return Segmental("distinct", fields, tuple(Counted((f,), (0.0, 1.0)) for f in fields.numbers(labels)))


@register_statistic("capped")
def capped(fields: Fields, labels: Sequence[Hashable] = (), cap: int = 1) -> Segmental:
    """min(n, cap), n the number of segments of these fields together, or of all."""
    cap = _natural("capped", "cap", cap)
    return Segmental("capped", fields, (Counted(fields.numbers(labels), tuple(float(n) for n in range(cap + 1))),))


@register_statistic("before")
def before(fields: Fields, first: Hashable, then: Hashable) -> Segmental:
    """1 if both fields appear and the first segment of ``first`` starts before the first segment of ``then``.

    0 if one of them is missing: a sequence without both has no order. "``then`` never comes first" is therefore
    before(then, first) at most 0.
    """
    if first == then:
        raise ConstraintError(f'"{first}" before itself says nothing: the statistic "before" takes two fields.')
    return Segmental("before", fields, (Order(fields.number(first), fields.number(then)),))


@register_statistic("short")
def short(fields: Fields, labels: Sequence[Hashable] = (), below: int = 2) -> Segmental:
    """The number of segments of fewer than ``below`` tokens, of these fields or of all."""
    below = _natural("short", "below", below)
    return Segmental("short", fields, (Short(fields.numbers(labels), below),))


def _natural(name: str, option: str, value: int) -> int:
    found = whole(value)
    if found is None or found < 1:
        raise ConstraintError(f'The statistic "{name}" takes an integer of at least 1 as {option}, not {value!r}.')
    return found
