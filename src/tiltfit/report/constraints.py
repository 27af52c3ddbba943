"""The constraint report: what was asked, what the model says, what the constraints made of it, and at what price."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tiltfit.errors import UnmetConstraintWarning
from tiltfit.inference.potentials import Marginals
from tiltfit.language.relations import DistributedAs
from tiltfit.projections.expected import is_local
from tiltfit.projections.grounding import Grounded
from tiltfit.projections.information import Projection
from tiltfit.report.sampling import allowance, in_words, warn_sampling, worth

if TYPE_CHECKING:
    from rich.table import Table

MET = 0.005  # within half a per cent of what was asked
_HARDLY = 1.05  # odds that are multiplied by no more than that hardly move
_MOST = 7.0  # larger prices are told as more than e⁷ to one
_FAR = 0.25  # a soft constraint missed by this much has hardly been heard


@dataclass(frozen=True)
class Entry:
    """One constraint (or one class of a distribution) after fitting.

    ``model`` and ``projected`` are its expectation under p and under q; ``price`` is in log-odds per event;
    ``groups`` is how many expectations it stands for (``per=``): then the shares are averages and price and violation
    the largest.
    ``worst_group`` is the group or the number of the instance that is missed most; ``instance``: what an instance is
    called if it is stated for each. ``counts``: its expectations are mean numbers, not shares.
    ``status``: ``met``, ``missed`` (soft, off by more than half a per cent), ``violated`` (hard; in a stream:
    ``learning``), ``rests`` (never fires), ``rules`` (acts by forbidding labels) or ``each`` (in a stream: stated for
    each instance, and projected there).
    ``effective`` and ``r_hat``: where q was sampled, how many independent draws its expectation is worth and how well
    the halves of the series agree (split-R̂); the worst of its expectations. A hard constraint that is off by no more
    than three standard errors (more, if it has many expectations) is met.
    ``drift``: in a stream, how far its expectation under the model has moved of late from the mean of all that was met;
    ``model`` and ``projected`` are those of late then (``model`` is None where only samples could tell).
    ``model_violation``: as ``violation``, but under p itself: what methods that do not project are judged by. None
    where nobody has looked: in streams, and where the constraint rests or acts by rules.
    ``subject``: what its event is, as "a document with the word "puck" is hockey"; None for counts and shares of other
    events.
    ``role``: what a method that does not follow constraints did with it ("not used", "votes"). Then verdict, status
    (``met`` or ``missed``, hard or not) and ``worst_group`` are of the model. None: it was followed.
    """

    name: str | None
    sentence: str
    component: str | None
    support: float
    groups: int
    model: float | None
    projected: float | None
    price: float | None
    violation: float
    status: str
    worst_group: object = None
    counts: bool = False
    instance: str | None = None
    effective: float | None = None
    r_hat: float | None = None
    drift: float | None = None
    model_violation: float | None = None
    role: str | None = None
    subject: str | None = None

    @property
    def title(self) -> str:
        part = f" [{self.component}]" if self.component is not None else ""
        return (self.name or self.sentence) + part

    @property
    def miss(self) -> str:
        """By how much it is missed, and where most."""
        where = "" if self.worst_group is None or self.groups < 2 else f" in {self._place}"
        return self.amount(self.judged) + where

    @property
    def judged(self) -> float:
        """The violation that its verdict is about: under q, or under p if it was not followed."""
        return self.violation if self.role is None or self.model_violation is None else self.model_violation

    def amount(self, m: float) -> str:
        """An expectation as people write it: a share in per cent, or a number."""
        return f"{m:.2f}" if self.counts else _percent(m)

    def relative(self, violation: float, expectation: float | None) -> float:
        """A miss as a share: of a count, of the larger of it and its target, if that is above one."""
        return violation / max(1.0, (expectation or 0.0) + violation) if self.counts else violation

    @property
    def _place(self) -> str:
        return f"{self.instance} {self.worst_group}" if self.instance is not None else repr(self.worst_group)

    @property
    def verdict(self) -> str:
        """The status in words."""
        if self.status == "rests":
            return "rests: it finds nothing unlabelled"
        if self.status == "learning":
            return f"is being learned: off by {self.miss}"
        if self.status == "each":
            return "was projected in each as it came"
        if self.role is not None:
            return f"{self.role}; {self._of_model}"
        if self.status == "rules":
            return "holds everywhere: it rules labels out"
        if self.status == "violated":
            return f"cannot hold with the others: off by {self.miss}"
        assert self.price is not None
        if self.status == "missed":
            return f"pulls, but is off by {self.miss}"
        return "holds by itself" if self.price == 0 else "holds"

    @property
    def meaning(self) -> str:
        """What its price does, in words: e^price multiplies odds under q."""
        if self.price is None:
            return {
                "rests": "it says nothing here",
                "rules": "it forbids: no odds are left to what it rules out",
                "each": "its price is found anew for each",
            }[self.status]
        if self.price == 0:
            return "it costs nothing: the model agrees by itself"
        factor = math.exp(min(abs(self.price), _MOST))
        # Of odds that hardly move, the digits that do.
        odds = f"{factor:.4g}" if factor < _HARDLY else f"{factor:.3g}"
        odds = f"more than {odds}" if abs(self.price) > _MOST else odds
        if self.component is not None:
            what = f"the share of {self.component} in each is"
        elif self.counts:
            what = "the odds of one more in a sequence are"
        elif self.subject is not None:
            what = f"the odds that {self.subject} are"
        else:
            what = "among what it is a share of, the odds of its event are"
        does = "multiplied" if self.price > 0 else "divided"
        told = f"{what} {does} by {odds}"
        if self.component is not None:
            told += ", before the shares are made to sum to one"
        if self.groups > 1:
            told += f", where it is strongest of {self.groups}"
        if factor < _HARDLY:
            told += "; the model agrees almost by itself" if self.status == "met" else "; it is hardly heard"
        return told

    @property
    def _of_model(self) -> str:
        """What the model does about it."""
        if self.status == "rules":
            return "it would rule labels out"
        return "the model agrees" if self.status == "met" else f"the model is off by {self.miss}"

    @property
    def sampled(self) -> str | None:
        """What the samples are worth, in words; None where q is exact."""
        if self.effective is None or self.r_hat is None:
            return None
        return f"sampled: {in_words(self.effective, self.r_hat)}"


@dataclass(frozen=True)
class ConstraintReport:
    """One entry a constraint, in the order given. ``print`` it, or use ``to_dicts()`` and ``to_table()``."""

    entries: tuple[Entry, ...]

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __getitem__(self, index: int) -> Entry:
        return self.entries[index]

    @property
    def worst(self) -> Entry | None:
        """The constraint that is missed most: by q, or by the model where it was not followed."""
        return max(self.entries, key=lambda e: e.judged, default=None)

    def to_dicts(self) -> list[dict[str, Any]]:
        """JSON-able rows."""
        return [asdict(entry) | {"verdict": entry.verdict, "meaning": entry.meaning} for entry in self.entries]

    @staticmethod
    def from_dicts(rows: Sequence[dict[str, Any]]) -> ConstraintReport:
        """The inverse of ``to_dicts``."""
        told = ("verdict", "meaning")
        return ConstraintReport(tuple(Entry(**{k: v for k, v in row.items() if k not in told}) for row in rows))

    def to_table(self) -> Table:
        """A table for the terminal (rich)."""
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        table.add_column("constraint", ratio=1)
        streamed = any(entry.drift is not None for entry in self.entries)
        for heading in ("support", "model", "projected", "price", *(["drift"] if streamed else [])):
            table.add_column(heading, justify="right", no_wrap=True)
        table.add_column("verdict", max_width=26)
        for entry in self.entries:
            style = {"violated": "red", "rests": "yellow", "missed": ""}.get(entry.status, "")
            told = entry.verdict if entry.sampled is None else f"{entry.verdict}; {entry.sampled}"
            drift = [drift_of(entry)] if streamed else []
            table.add_row(Text(_sentence(entry)), *numbers_of(entry), *drift, Text(told, style=style))
        return table

    def _repr_html_(self) -> str:
        from tiltfit.markup.fragment import fragment
        from tiltfit.report.html import constraint_table

        return fragment(constraint_table(self))

    def __str__(self) -> str:
        if not self.entries:
            return "no constraints"
        lines = []
        for entry in self.entries:
            lines.append(_sentence(entry))
            support, model, projected, price = numbers_of(entry)
            if entry.projected is None:
                lines.append(f"    support {support}; {entry.verdict}")
            else:
                groups = f" in {entry.groups} groups" if entry.groups > 1 else ""
                drift = "" if entry.drift is None else f", drift {drift_of(entry)}"
                told = f"model {model}, " if model else ""
                lines.append(
                    f"    {told}projected {projected}, price {price}, "
                    f"support {support}{groups}{drift}; {entry.verdict}"
                    + ("" if entry.sampled is None else f"; {entry.sampled}")
                )
        return "\n".join(lines)

    def warn_unmet(self, stacklevel: int = 1, *, vectorizer: bool = True, followed: bool = True) -> None:
        """Say which hard constraints do not hold, and if most soft ones do not (unless the model was not to follow
        them). ``vectorizer``: whether the model has one that could be changed."""
        unmet = sorted((e for e in self.entries if e.status == "violated"), key=lambda e: -e.violation)
        if unmet:
            names = "; ".join(f"{e.title!r} is off by {e.miss}" for e in unmet[:3])
            more = f"; and {len(unmet) - 3} more" if len(unmet) > 3 else ""
            warnings.warn(
                f"Hard constraints do not hold, so some of them contradict each other on this data: {names}{more}. "
                "Relax a target, or give one of them slack=. ConstraintSet.check(X), or tiltfit check, says how little "
                "would do.",
                UnmetConstraintWarning,
                stacklevel=stacklevel + 1,
            )
        soft = [e for e in self.entries if e.status in ("met", "missed") and e.price is not None]
        far = [e for e in soft if e.status == "missed" and e.violation > _FAR]
        advice = ", scale the features up, or let vectorizer='tfidf' do it" if vectorizer else ""
        if followed and len(far) > len(soft) / 2:
            warnings.warn(
                f"Most constraints ({len(far)} of {len(soft)}) are missed by more than {_percent(_FAR)}. Either the "
                "targets are far from the data, or the model can hardly move: then the ridge alpha= is strong for "
                f"features of this scale (or beta= is soft); lower it{advice}.",
                UnmetConstraintWarning,
                stacklevel=stacklevel + 1,
            )

    def warn_sampling(self, stacklevel: int = 1) -> None:
        """Say which constraints were not sampled well."""
        told = [(e.title, e.effective, e.r_hat) for e in self.entries]
        warn_sampling([(t, n, r) for t, n, r in told if n is not None and r is not None], stacklevel=stacklevel + 1)

    @property
    def violated(self) -> bool:
        """Whether some hard constraint does not hold."""
        return any(e.status == "violated" for e in self.entries)


def report_constraints(
    grounded: Grounded,
    model: tuple[Marginals, npt.NDArray[np.float64]] | None,
    projection: Projection | None,
    classes: Sequence[object],
    unit: str,
    roles: Mapping[int, str] | None = None,
) -> ConstraintReport:
    """``model``: p on the touched instances of ``grounded``, and its expectations (``Tilt.of_model``). ``roles``: of a
    method that does not follow constraints, what it did with some of them, by their numbers (the others: nothing)."""
    rows = _Rows(grounded, model, projection, roles)
    entries: list[Entry] = []
    for number, constraint in enumerate(grounded.constraints):
        distribution = isinstance(constraint.relation, DistributedAs)
        components = range(len(classes)) if distribution else [-1]
        for component in components:
            entries.append(rows.entry(number, component, str(classes[component]) if distribution else None, unit))
    return ConstraintReport(tuple(entries))


class _Rows:
    """The grounded rows with what they came to, looked up by constraint."""

    def __init__(
        self,
        grounded: Grounded,
        model: tuple[Marginals, npt.NDArray[np.float64]] | None,
        projection: Projection | None,
        roles: Mapping[int, str] | None,
    ) -> None:
        self._grounded, self._roles = grounded, roles
        self._projection = projection
        if grounded.tilt is not None and model is not None and projection is not None:
            marginals, expectation = model
            self._model, _, unit = grounded.told(expectation, marginals)
            self._model_violation = grounded.tilt.violation(expectation) * unit
            self._told, self._support, self._unit = grounded.told(projection.expectation, projection.marginals)

    def entry(self, number: int, component: int, label: str | None, unit: str) -> Entry:
        from tiltfit.language.sentences import describe, event_subject

        g, constraint = self._grounded, self._grounded.constraints[number]
        sentence = describe(constraint, unit)  # type: ignore[arg-type]
        # A share of another event between two bounds has a row for each bound, but is one expectation.
        of_part = g.component == component if component >= 0 else g.component < 0
        role = None if self._roles is None else self._roles.get(number, "not used")
        rows = np.flatnonzero((g.owner == number) & of_part)
        if not len(rows) or g.tilt is None or self._projection is None:
            status = "rules" if number in g.ruled else "rests"
            ruled = g.ruled_support.get(number, 0.0)
            return Entry(constraint.name, sentence, label, ruled, 0, None, None, None, 0.0, status, role=role)
        support, n_bounds = self._support[rows], len(np.unique(g.component[rows]))
        prices, violation = self._projection.prices[rows], self._projection.violation[rows] * self._unit[rows]
        worst, hard = float(np.max(violation)), constraint.is_hard
        limit = allowance(self._projection, self._unit)[rows] if hard else MET
        status = "met" if np.all(violation <= limit) else ("violated" if hard else "missed")
        of_model = self._model_violation[rows]
        if role is not None:
            status = "met" if np.all(of_model <= MET) else "missed"
        effective, r_hat = worth(self._projection, rows)
        return Entry(
            name=constraint.name,
            sentence=sentence,
            component=label,
            support=float(support.sum()) / n_bounds,
            groups=len(rows) // n_bounds,
            model=_mean(self._model[rows], support),
            projected=_mean(self._told[rows], support),
            price=float(prices[np.argmax(np.abs(prices))]),
            violation=worst,
            status=status,
            worst_group=g.group[rows[np.argmax(violation if role is None else of_model)]],
            counts=constraint.event.counts and constraint.of is None,
            instance=g.noun if is_local(constraint) else None,
            effective=effective,
            r_hat=r_hat,
            model_violation=float(np.max(of_model)),
            role=role,
            subject=event_subject(constraint, unit),  # type: ignore[arg-type]
        )


def _mean(values: npt.NDArray[np.float64], weights: npt.NDArray[np.float64]) -> float:
    return float(np.average(values, weights=weights)) if weights.sum() > 0 else 0.0


def _sentence(entry: Entry) -> str:
    part = f" [{entry.component}]" if entry.component is not None else ""
    return entry.sentence + part


def numbers_of(entry: Entry) -> tuple[str, str, str, str]:
    """Support, model, projected and price as people write them; empty where there is none."""
    if entry.projected is None or entry.price is None:
        return f"{entry.support:,.0f}", "", "", ""
    model = "" if entry.model is None else entry.amount(entry.model)
    return f"{entry.support:,.0f}", model, entry.amount(entry.projected), signed(entry.price)


def signed(price: float) -> str:
    """Two digits that count: the price of a constraint on thousands of rows is small, and still moves them all."""
    return f"{price:+.2f}" if abs(price) >= 0.1 or price == 0 else f"{price:+.2g}"


def drift_of(entry: Entry) -> str:
    """The drift as people write it; empty where there is none."""
    if entry.drift is None:
        return ""
    return ("+" if entry.drift >= 0 else "-") + entry.amount(abs(entry.drift))


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"
