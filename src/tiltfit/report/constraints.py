"""The constraint report: the model, the projection, the price and the pull of each constraint.

    pull = γ·support·price = dO/du

by the envelope theorem: the fit is a minimum over weights and q, so a target u that is moved changes the objective O of
Eq. 6 only through the penalty, and −dU/dm = support·price. A price is that of one firing, and under ``about`` it is
(u − m)/(β·support): it shrinks with the support, however far m is from u. The pull tells how hard the data resist.
Where n unlabelled instances count together as n₀, γ is γ·n₀/n here (``Strength.instance_weight``).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from tiltfit.errors import UnmetConstraintWarning
from tiltfit.report.entries import Entries
from tiltfit.report.sampling import in_words, warn_sampling

if TYPE_CHECKING:
    from rich.table import Table

MET = 0.005  # within half a percent of the target
_HARDLY = 1.05  # odds that are multiplied by less hardly move
MOST = 7.0  # larger prices are shown as more than e⁷ to one


@dataclass(frozen=True)
class Entry:
    """One constraint (or one class of a distribution) after fitting.

    ``model`` and ``projected`` are its expectation under p and under q; ``predicted`` is its value for the labels that
    the model predicts (the most probable class; for sequences by Viterbi), None for statistics of whole sequences and
    in streams. ``price`` is in log-odds per event.
    ``pull``: γ·support·price = dO/du, the change of the objective for each unit that the target is raised (both bounds
    of ``between``), and what reports order by; above 0 the data hold the expectation below the target. For
    ``distributed_as`` it is −γ·dU/dm of the class, and dO/du = γ/β·log(1 + β·pull/γ), which is about the same where the
    target is nearly met (with ``scale="support"``, β/support for β). None in reports of older versions.
    ``groups`` is the number of its expectations (``per=``): the shares are then averages, price and violation the
    largest, and the pull is the sum, since the groups have one target.
    ``worst_group`` is the group or the number of the instance that is missed most; ``instance``: the noun for an
    instance if the constraint is stated for each. ``counts``: its expectations are mean numbers, not shares.
    ``status``: ``met``, ``missed`` (soft, off by more than half a percent), ``violated`` (hard; in a stream:
    ``learning``), ``rests`` (inactive: it never fires), ``rules`` (it forbids labels) or ``each`` (in a stream: stated
    for each instance, and projected there).
    ``effective`` and ``r_hat``: where q was sampled, the number of independent draws its expectation is worth and how
    well the halves of the series agree (split-R̂); the worst of its expectations. A hard constraint that is off by no
    more than three standard errors (more, if it has many expectations) is met.
    ``drift``: in a stream, how far its expectation under the model has recently moved from the mean of all instances.
    ``model`` and ``projected`` are then the recent ones (``model`` is None where only samples could show it).
    ``model_violation``: as ``violation``, but under p itself, by which methods that do not project are judged. None
    where the constraint is inactive or acts as a rule, and in streams where only samples could show it.
    ``subject``: its event, such as "a document with the word "puck" is hockey"; None for counts and shares of other
    events.
    ``revised``: the target that labels made of the stated one; ``labels``: the number of labels that are about it,
    ``agreeing`` those among them where its event happens (both weighted). None where no label is about it.
    ``role``: the use of the constraint by a method that does not follow constraints ("not used", "votes"). Verdict,
    status (``met`` or ``missed``, hard or not) and ``worst_group`` are then those of the model. None: it was followed.
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
    pull: float | None = None
    predicted: float | None = None
    revised: float | None = None
    labels: float | None = None
    agreeing: float | None = None

    @property
    def title(self) -> str:
        return (self.name or self.sentence) + self.part

    @property
    def statement(self) -> str:
        """The sentence, with its class if it is one of a distribution."""
        return self.sentence + self.part

    @property
    def part(self) -> str:
        """Its class, if it is one of a distribution."""
        return f" [{self.component}]" if self.component is not None else ""

    @property
    def miss(self) -> str:
        """The amount by which it is missed, and where most."""
        where = "" if self.worst_group is None or self.groups < 2 else f" in {self._place}"
        return self.amount(self.judged) + where

    @property
    def judged(self) -> float:
        """The violation that its verdict is about: under q, or under p if it was not followed."""
        return self.violation if self.role is None or self.model_violation is None else self.model_violation

    @property
    def resistance(self) -> float:
        """How hard the data resist it: the size of its pull. Reports of older versions have no pulls: then that of
        support·price, which is the pull but for γ."""
        return abs(self.support * (self.price or 0.0) if self.pull is None else self.pull)

    @property
    def _model_agrees(self) -> bool | None:
        """True if p meets it, or is no further from it than q; None: not known."""
        return None if self.model_violation is None else self.model_violation <= max(MET, self.violation)

    def amount(self, m: float) -> str:
        """Return an expectation as people write it: a share in percent, or a number."""
        return f"{m:.2f}" if self.counts else percent(m)

    def relative(self, violation: float, expectation: float | None) -> float:
        """Return a violation as a share; for a count, of the larger of it and its target, if that is above one."""
        return violation / max(1.0, (expectation or 0.0) + violation) if self.counts else violation

    @property
    def _place(self) -> str:
        return f"{self.instance} {self.worst_group}" if self.instance is not None else repr(self.worst_group)

    @property
    def _places(self) -> str:
        n = f"{self.support:,.0f}"
        return f"in {n} sequences" if self.counts else f"at {n} places"

    @property
    def verdict(self) -> str:
        """The status in words."""
        if self.status == "rests":
            return "inactive: it never fires on unlabelled data"
        if self.status == "learning":
            return f"is being learned: off by {self.miss}"
        if self.status == "each":
            return "was projected in each instance as it came"
        if self.role is not None:
            return f"{self.role}; {self._of_model}"
        if self.status == "rules":
            return "holds everywhere: it rules labels out"
        if self.status == "violated":
            return f"cannot hold with the others: off by {self.miss}"
        if self.price is None:  # in a damaged model file
            raise ValueError(f"an entry of the report with the status {self.status!r} has no price")
        if self.status == "missed":
            return f"pulls, but is off by {self.miss}"
        if self.price != 0 or self._model_agrees is None:
            return "holds"
        return "holds by itself" if self._model_agrees else "holds thanks to the others"

    @property
    def meaning(self) -> str:
        """The effect of its price in words: e^price multiplies odds under q."""
        if self.price is None:
            return {
                "rests": "it has no effect here",
                "rules": "it forbids: labels that it rules out have probability 0",
                "each": "its price is solved for each instance",
            }[self.status]
        if self.price == 0:
            if self._model_agrees is False and self.model_violation is not None:
                off = self.amount(self.model_violation)
                return f"it costs nothing: others make it hold, but the model alone is off by {off}"
            return "it costs nothing" + (": the model agrees by itself" if self._model_agrees else "")
        factor = math.exp(min(abs(self.price), MOST))
        # Odds that hardly move need more digits.
        odds = f"{factor:.4g}" if factor < _HARDLY else f"{factor:.3g}"
        odds = f"more than {odds}" if abs(self.price) > MOST else odds
        if self.component is not None:
            what = f"the share of {self.component} in each is"
        elif self.counts:
            what = "the odds of one more in a sequence are"
        elif self.subject is not None:
            what = f"the odds that {self.subject} are"
        else:
            what = "within its reference set, the odds of its event are"
        effect = f"{what} {'multiplied' if self.price > 0 else 'divided'} by {odds}"
        if self.component is not None:
            effect += ", before the shares are normalised to sum to one"
        if self.groups > 1:
            effect += f" in the strongest of {self.groups} groups"
        if factor < _HARDLY:
            # Small at each firing: the data may agree, or the effort is shared by many.
            agrees = self.status == "met" and self._model_agrees
            effect += "; the model agrees almost by itself" if agrees else f"; it acts {self._places}"
        return effect

    @property
    def _of_model(self) -> str:
        """The agreement of the model with it."""
        if self.status == "rules":
            return "it would rule labels out"
        return "the model agrees" if self.status == "met" else f"the model is off by {self.miss}"

    @property
    def sampled(self) -> str | None:
        """The quality of the samples in words; None where q is exact."""
        if self.effective is None or self.r_hat is None:
            return None
        return f"sampled: {in_words(self.effective, self.r_hat)}"

    @property
    def revision(self) -> str | None:
        """What labels made of its target, in words; None where no label is about it."""
        if self.revised is None or self.labels is None or self.agreeing is None:
            return None
        return f"{self.agreeing:.3g} of {self.labels:.3g} labels agree: target {self.amount(self.revised)}"

    @property
    def full_verdict(self) -> str:
        """The verdict, what labels made of the target, and the quality of the samples."""
        return "; ".join(part for part in (self.verdict, self.revision, self.sampled) if part is not None)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, for JSON."""
        return asdict(self) | {"verdict": self.verdict, "meaning": self.meaning}


class Numbers(NamedTuple):
    """The numbers of an entry as people write them; empty where there is none."""

    support: str
    model: str = ""
    predicted: str = ""
    projected: str = ""
    pull: str = ""
    price: str = ""


def numbers_of(entry: Entry) -> Numbers:
    """Return the numbers of an entry as people write them."""
    support = f"{entry.support:,.0f}"
    if entry.projected is None or entry.price is None:
        return Numbers(support)
    model, predicted = ("" if m is None else entry.amount(m) for m in (entry.model, entry.predicted))
    pull = "" if entry.pull is None else signed(entry.pull)
    return Numbers(support, model, predicted, entry.amount(entry.projected), pull, signed(entry.price))


def signed(value: float) -> str:
    """Return a price or a pull with at least two significant digits: the price of a constraint on thousands of rows is
    small, but moves them all."""
    size = abs(value)
    if size >= 100:
        return f"{value:+,.0f}"
    return f"{value:+.1f}" if size >= 10 else f"{value:+.2f}" if size >= 0.1 or value == 0 else f"{value:+.2g}"


def drift_of(entry: Entry) -> str:
    """Return the drift as people write it; empty where there is none."""
    if entry.drift is None:
        return ""
    return ("+" if entry.drift >= 0 else "-") + entry.amount(abs(entry.drift))


def percent(share: float) -> str:
    """Return a share in percent, with one decimal."""
    return f"{100 * share:.1f}%"


_FAR = 0.25  # a soft constraint missed by this much has hardly had an effect


@dataclass(frozen=True)
class ConstraintReport(Entries[Entry]):
    """One entry per constraint, in the order given. ``print`` it, or use ``to_dicts()`` and ``to_table()``. ``note``:
    what else there is to say about the fit, such as its sharpness."""

    note: str = field(default="", compare=False)

    @property
    def worst(self) -> Entry | None:
        """The constraint that is missed most: by q, or by the model where it was not followed."""
        return max(self.entries, key=lambda e: e.judged, default=None)

    @staticmethod
    def from_dicts(rows: Sequence[dict[str, Any]]) -> ConstraintReport:
        """Return the inverse of ``to_dicts``."""
        derived = ("verdict", "meaning")
        return ConstraintReport(tuple(Entry(**{k: v for k, v in row.items() if k not in derived}) for row in rows))

    def to_table(self) -> Table:
        """Return a table for the terminal (rich)."""
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True)
        table.add_column("constraint", ratio=1)
        streamed = any(entry.drift is not None for entry in self.entries)
        shown = [name for name in Numbers._fields if name not in self.empty]
        for heading in (*shown, *(["drift"] if streamed else [])):
            table.add_column(heading, justify="right", no_wrap=True)
        table.add_column("verdict", max_width=26)
        for entry in self.entries:
            style = {"violated": "red", "rests": "yellow"}.get(entry.status, "")
            drift = [drift_of(entry)] if streamed else []
            numbers = numbers_of(entry)._asdict()
            cells = [numbers[name] for name in shown]
            table.add_row(Text(entry.statement), *cells, *drift, Text(entry.full_verdict, style=style))
        return table

    @property
    def empty(self) -> frozenset[str]:
        """The columns that no entry fills: streams predict nothing, and reports of older versions have no pulls."""
        return frozenset(name for name in ("predicted", "pull") if all(getattr(e, name) is None for e in self.entries))

    def _repr_html_(self) -> str:
        from tiltfit.report.html.constraints import constraint_table
        from tiltfit.report.html.layout import fragment

        return fragment(constraint_table(self))

    def __str__(self) -> str:
        if not self.entries:
            return "no constraints"
        lines = []
        for entry in self.entries:
            lines.append(entry.statement)
            numbers = numbers_of(entry)
            if entry.projected is None:
                lines.append(f"    support {numbers.support}; {entry.verdict}")
                continue
            told = {name: value for name, value in numbers._asdict().items() if value}
            told["support"] += f" in {entry.groups} groups" if entry.groups > 1 else ""
            if entry.drift is not None:
                told["drift"] = drift_of(entry)
            shares, effort = (
                ", ".join(f"{name} {told[name]}" for name in names if name in told)
                for names in (("model", "predicted", "projected"), ("pull", "price", "support", "drift"))
            )
            lines += [f"    {shares}; {entry.full_verdict}", f"    {effort}"]
        return "\n".join([*lines, self.note] if self.note else lines)

    def warn_unmet(
        self, stacklevel: int = 1, *, vectorizer: bool = True, followed: bool = True, ridge: bool = True
    ) -> None:
        """Warn about hard constraints that do not hold, and if most soft ones do not (unless the model does not follow
        them). ``vectorizer``: whether the model has one that could be changed. ``ridge``: whether ``alpha`` is its
        strength."""
        unmet = sorted((e for e in self.entries if e.status == "violated"), key=lambda e: -e.violation)
        if unmet:
            names = "; ".join(f"{e.title!r} is off by {e.miss}" for e in unmet[:3])
            more = f"; and {len(unmet) - 3} more" if len(unmet) > 3 else ""
            message = (
                f"Hard constraints do not hold, so some of them contradict each other on this data: {names}{more}. "
                "Relax a target, or give one of them slack=. ConstraintSet.check(X), or tiltfit check, shows the "
                "smallest change that would help."
            )
            warnings.warn(UnmetConstraintWarning(message, constraint=unmet[0].title), stacklevel=stacklevel + 1)
        soft = [e for e in self.entries if e.status in ("met", "missed") and e.price is not None]
        far = [e for e in soft if e.status == "missed" and e.violation > _FAR]
        scale = ", scale the features up, or let vectorizer='tfidf' do it" if vectorizer else ""
        advice = (
            f"In that case the ridge alpha= is strong for features of this scale (or beta= is soft): lower it{scale}."
            if ridge
            else "In that case let it make more rounds or larger steps, or hold it down less (or beta= is soft)."
        )
        if followed and len(far) > len(soft) / 2:
            warnings.warn(
                f"Most constraints ({len(far)} of {len(soft)}) are missed by more than {percent(_FAR)}. Either the "
                f"targets are far from the data, or the model can hardly move. {advice}",
                UnmetConstraintWarning,
                stacklevel=stacklevel + 1,
            )

    def warn_sampling(self, stacklevel: int = 1) -> None:
        """Warn about constraints that were not sampled well."""
        found = [(e.title, e.effective, e.r_hat) for e in self.entries]
        warn_sampling([(t, n, r) for t, n, r in found if n is not None and r is not None], stacklevel=stacklevel + 1)

    @property
    def violated(self) -> bool:
        """True if some hard constraint does not hold."""
        return any(e.status == "violated" for e in self.entries)
