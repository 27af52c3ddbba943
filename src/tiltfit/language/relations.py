"""Relations between the expectation m of an event and the user's numbers: about, between, at least and so on.

A relation class owns its TOML key and schema, its Python code, its words, its targets (one per expectation) and their
penalty U.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.errors import ConstraintError
from tiltfit.language.prose import give_or_take, join, percent, show
from tiltfit.language.values import Label, exact, labels, match, plain, real
from tiltfit.language.written import AMOUNT, LABEL, TEXT, Document, Table, Written
from tiltfit.penalties.interval import box
from tiltfit.penalties.kl import kl
from tiltfit.penalties.penalty import PENALTIES, NamedPenalty, Penalty
from tiltfit.registry import Registry

Softness = Callable[[int], FloatArray]
"""β of every row (0: hard), for a penalty that grows as its deviation to this power."""

_SUM_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Target:
    """One expectation that a relation states: low ≤ m ≤ high, or m near low = high.

    ``number`` tells the targets of a relation apart: the number of the class that a distribution gives a share
    (``label``: its name), otherwise −1, −2, … ``share``: u of E[event − u·other], which is compared with 0 where the
    relation is that of a share of another event.
    """

    number: int
    low: float
    high: float
    label: Label | None = None
    share: float = 0.0


class Relation(Written):
    """One kind of relation. ``hard``: it either holds or not; otherwise it is a matter of degree. ``names_labels``: it
    names the labels itself, so it takes no event."""

    registry: ClassVar[Registry[type[Relation]]] = Registry("relation key")
    hard: ClassVar[bool] = True
    names_labels: ClassVar[bool] = False
    shares: tuple[tuple[Label, float], ...] = ()
    """(label, share) of every label, if the relation states the shares of all of them; otherwise nothing."""
    within: float | None = None
    """The deviation that costs half a nat, if the relation states one; otherwise nothing."""

    @property
    @abstractmethod
    def numbers(self) -> tuple[float, ...]:
        """The target or targets."""

    @property
    def interval(self) -> tuple[float, float]:
        """Lowest and highest m that a hard relation allows (−∞, ∞ where it says nothing)."""
        raise ConstraintError(f"{self.code} allows every value, at a price: it has no interval.")

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and highest m that it asks for: its interval if it is hard, otherwise its targets."""
        return self.interval if self.hard else (min(self.numbers), max(self.numbers))

    @property
    def names(self) -> tuple[Label, ...]:
        """The labels that the relation names."""
        return ()

    def targets(self, classes: Sequence[object], *, of_another: bool = False) -> list[Target]:
        """The expectations that it states. ``of_another``: of a share of another event, one per bound."""
        low, high = self.bounds
        if not of_another:
            return [Target(-1, low, high)]
        return [
            Target(-1 - k, 0.0 if u <= low else -math.inf, 0.0 if u >= high else math.inf, share=u)
            for k, u in enumerate(sorted(set(self.numbers)))
        ]

    @property
    def own_beta(self) -> float | None:
        """β that follows from ``within``; None if the relation states none."""
        return None

    def penalty_of(self, target: Target, n: int, softness: Softness, *, bounded: bool = False) -> Penalty:
        """U of ``n`` rows that have this target. ``bounded``: their pull is, unless the relation names a penalty."""
        return box(np.full(n, target.low), np.full(n, target.high), softness(2))

    @abstractmethod
    def moved(self, by: float, most: float, label: Label | None = None) -> Relation:
        """The same with its targets moved by ``by``, kept inside [0, ``most``]. ``label``: whose share of a
        distribution is moved; those of the others give way in proportion."""

    def check(self, share: bool) -> str | None:
        """The problem with the targets of a share (or of a count); None if there is none."""
        for number in self.numbers:
            if number < 0:
                return f"a {'share' if share else 'count'} cannot be negative, but {number:g} is"
            if share and number > 1:
                hint = f". Write {number / 100:g} for {number:g}%" if number <= 100 else ""
                return f"{number:g} is not a share: shares lie between 0 and 1{hint}"
        return None

    @property
    @abstractmethod
    def code(self) -> str:
        """The call that makes it: ``about(0.9)``."""

    @property
    def options(self) -> str:
        """Further keyword arguments of that call."""
        return ""

    @abstractmethod
    def words(self, number: Callable[[float], str]) -> str:
        """``about 90%``, with numbers written by ``number``."""


@dataclass(frozen=True, eq=False)
class _Single(Relation):
    """A relation to one number."""

    target: float
    adverb: ClassVar[str]

    def __post_init__(self) -> None:
        self._set(target=real(self.target, f"The target of {self.key}(...)"))

    @property
    def numbers(self) -> tuple[float, ...]:
        return (self.target,)

    def moved(self, by: float, most: float, label: Label | None = None) -> Relation:
        return replace(self, target=_inside(self.target + by, most))

    @property
    def code(self) -> str:
        return f"{self.key}({_number(self.target)}"

    def to_document(self) -> Document:
        return {self.key: plain(self.target)}

    @classmethod
    def from_table(cls, table: Table, key: str) -> Self:
        return cls(table.number(key))

    def words(self, number: Callable[[float], str]) -> str:
        return f"{self.adverb} {number(self.target)}"


@dataclass(frozen=True, eq=False)
class About(_Single):
    """m is near the target: (m − u)²/2β, or |m − u|/β with ``penalty="l1"``; the latter by default, if nothing states
    β, so that the pull is bounded.

    ``within``: the deviation that costs ½, instead of β: β = within², or 2·within with ``penalty="l1"``.
    """

    penalty: str | None = None
    within: float | None = None
    keys = {"about": AMOUNT}
    modifiers = {"penalty": TEXT, "within": {"type": "number", "exclusiveMinimum": 0}}
    hard = False
    adverb = "about"

    def __post_init__(self) -> None:
        super().__post_init__()
        named = self._named()
        if self.within is not None:
            within = real(self.within, "within")
            if within <= 0:
                raise ConstraintError(f"within must be positive, but is {within:g}. exactly(...) allows no deviation.")
            if not 0 < named.softness(within) < math.inf:
                raise ConstraintError(f"within={within:g} is too {'small' if within < 1 else 'large'} to compute with.")
            self._set(within=within)

    def check(self, share: bool) -> str | None:
        if share and self.within is not None and self.within >= 1:
            hint = f": write {self.within / 100:g} for {self.within:g} points" if self.within < 100 else ""
            return f"within={self.within:g} does not limit a share, which lies between 0 and 1{hint}"
        return super().check(share)

    @property
    def own_beta(self) -> float | None:
        return None if self.within is None else self._named().softness(self.within)

    def _named(self, bounded: bool = False) -> NamedPenalty:
        return PENALTIES.find(("l1" if bounded else "l2") if self.penalty is None else self.penalty)

    def penalty_of(self, target: Target, n: int, softness: Softness, *, bounded: bool = False) -> Penalty:
        named = self._named(bounded)
        return named.make(np.full(n, target.low), softness(named.power))

    @property
    def options(self) -> str:
        within = "" if self.within is None else f", within={_number(self.within)}"
        return within + ("" if self.penalty is None else f", penalty={self.penalty!r}")

    def to_document(self) -> Document:
        within: Document = {} if self.within is None else {"within": plain(self.within)}
        penalty: Document = {} if self.penalty is None else {"penalty": self.penalty}
        return {"about": plain(self.target), **within, **penalty}

    @classmethod
    def from_table(cls, table: Table, key: str) -> Self:
        return cls(
            table.number(key),
            table.text("penalty") if "penalty" in table else None,
            table.number("within") if "within" in table else None,
        )

    def words(self, number: Callable[[float], str]) -> str:
        return super().words(number) + ("" if self.within is None else f" ({give_or_take(self.within, number)})")


@dataclass(frozen=True, eq=False)
class AtLeast(_Single):
    """m ≥ u."""

    keys = {"at_least": AMOUNT}
    adverb = "at least"

    @property
    def interval(self) -> tuple[float, float]:
        return self.target, math.inf


@dataclass(frozen=True, eq=False)
class AtMost(_Single):
    """m ≤ u."""

    keys = {"at_most": AMOUNT}
    adverb = "at most"

    @property
    def interval(self) -> tuple[float, float]:
        return -math.inf, self.target


@dataclass(frozen=True, eq=False)
class Exactly(_Single):
    """m = u."""

    keys = {"exactly": AMOUNT}
    adverb = "exactly"

    @property
    def interval(self) -> tuple[float, float]:
        return self.target, self.target


@dataclass(frozen=True, eq=False)
class Between(Relation):
    """low ≤ m ≤ high."""

    low: float
    high: float
    keys = {"between": {"type": "array", "items": AMOUNT, "minItems": 2, "maxItems": 2}}

    def __post_init__(self) -> None:
        what = "A bound of between(...)"
        self._set(low=real(self.low, what), high=real(self.high, what))
        if self.low > self.high:
            raise ConstraintError(
                f"between({_number(self.low)}, {_number(self.high)}) is empty: the lower bound comes first."
            )

    @property
    def numbers(self) -> tuple[float, ...]:
        return self.low, self.high

    @property
    def interval(self) -> tuple[float, float]:
        return self.low, self.high

    def moved(self, by: float, most: float, label: Label | None = None) -> Relation:
        return Between(_inside(self.low + by, most), _inside(self.high + by, most))

    @property
    def code(self) -> str:
        return f"between({_number(self.low)}, {_number(self.high)}"

    def to_document(self) -> Document:
        return {"between": [plain(self.low), plain(self.high)]}

    @classmethod
    def from_table(cls, table: Table, key: str) -> Self:
        return cls(*table.pair(key))

    def words(self, number: Callable[[float], str]) -> str:
        return f"between {number(self.low)} and {number(self.high)}"


@dataclass(frozen=True, eq=False)
class DistributedAs(Relation):
    """The shares of all classes are near these, by generalised KL; a class that is left out has share 0."""

    shares: tuple[tuple[Label, float], ...]
    keys = {
        "distribution": {
            "anyOf": [
                {"type": "object", "additionalProperties": AMOUNT, "minProperties": 1},
                {
                    "type": "array",
                    "minItems": 1,
                    "items": {"type": "array", "prefixItems": [LABEL, AMOUNT], "minItems": 2, "maxItems": 2},
                },
            ]
        }
    }
    hard = False
    names_labels = True
    unordered = ("shares",)

    def __post_init__(self) -> None:
        pairs = shares_of(self.shares)
        names = labels([name for name, _ in pairs], "distributed_as(...)")
        values = [real(share, f"The share of {name!r} in distributed_as(...)") for name, share in pairs]
        if not names:
            raise ConstraintError("distributed_as({}) names no label: give a share for each.")
        self._set(shares=tuple(zip(names, values, strict=True)))
        for name, share in self.shares:
            if share < 0:
                raise ConstraintError(f"The share of {name!r} in distributed_as(...) is negative: {share:g}.")
        total = math.fsum(values)
        if abs(total - 1) > _SUM_TOLERANCE:
            raise ConstraintError(f"The shares of {self.code}) sum to {total:.6g}, but must sum to 1.")

    @property
    def names(self) -> tuple[Label, ...]:
        return tuple(name for name, _ in self.shares)

    def targets(self, classes: Sequence[object], *, of_another: bool = False) -> list[Target]:
        shares = {match(name, classes): share for name, share in self.shares}
        stated = [shares.get(k, 0.0) for k in range(len(classes))]
        return [Target(k, u, u, label) for k, (u, label) in enumerate(zip(stated, classes, strict=True))]  # type: ignore[arg-type]

    def penalty_of(self, target: Target, n: int, softness: Softness, *, bounded: bool = False) -> Penalty:
        return kl(np.full(n, target.low), softness(2))

    @property
    def numbers(self) -> tuple[float, ...]:
        return tuple(share for _, share in self.shares)

    def moved(self, by: float, most: float, label: Label | None = None) -> Relation:
        shares = dict(zip(map(exact, self.names), self.numbers, strict=True))
        if label is None or exact(label) not in shares:
            known = ", ".join(map(repr, self.names))
            raise ConstraintError(f"{self.code}) has no single target to move: name one of {known}.")
        old = shares[exact(label)]
        new = _inside(old + by, 1.0)
        if old >= 1.0 and new < 1.0:
            raise ConstraintError(f"{self.code}) leaves nothing to the other labels, so that none can take over.")
        rest = (1.0 - new) / (1.0 - old) if old < 1.0 else 0.0
        return DistributedAs(tuple((n, new if exact(n) == exact(label) else s * rest) for n, s in self.shares))

    def check(self, share: bool) -> str | None:
        return None  # checked above: they are always shares

    @property
    def code(self) -> str:
        if len(dict(self.shares)) == len(self.shares):
            items = ", ".join(f"{name!r}: {_number(share)}" for name, share in self.shares)
            return f"distributed_as({{{items}}}"
        pairs = ", ".join(f"({name!r}, {_number(share)})" for name, share in self.shares)
        return f"distributed_as([{pairs}]"  # labels like 1 and True, which one dict cannot hold

    def to_document(self) -> Document:
        if all(type(name) is str for name in self.names):
            return {"distribution": {name: plain(share) for name, share in self.shares}}
        return {"distribution": [[name, plain(share)] for name, share in self.shares]}

    @classmethod
    def from_table(cls, table: Table, key: str) -> Self:
        return cls(tuple(table.shares(key)))

    def words(self, number: Callable[[float], str]) -> str:
        return join([f"{percent(share)} {show(name)}" for name, share in self.shares], "and")


def shares_of(shares: object) -> tuple[tuple[Label, float], ...]:
    """The pairs (label, share) of a mapping or of an iterable of pairs."""
    items = shares.items() if isinstance(shares, Mapping) else shares
    wrong = ConstraintError(f"distributed_as(...) needs {{label: share, ...}}, but got {shares!r}.")
    if not isinstance(items, Iterable) or isinstance(items, str):
        raise wrong
    pairs: list[Any] = list(items)
    if any(not isinstance(pair, tuple | list) or len(pair) != 2 for pair in pairs):
        raise wrong
    return tuple((name, share) for name, share in pairs)


def _inside(target: float, most: float) -> float:
    # Rounded, so that 0.9 + 0.05 reads 0.95.
    return round(min(max(target, 0.0), most), 12)


def _number(value: float) -> str:
    return repr(plain(value))
