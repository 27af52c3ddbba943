"""One constraint after fitting, in numbers and in words."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tiltfit.report.sampling import in_words

MET = 0.005  # within half a percent of the target
_HARDLY = 1.05  # odds that are multiplied by less hardly move
_MOST = 7.0  # larger prices are shown as more than e⁷ to one


@dataclass(frozen=True)
class Entry:
    """One constraint (or one class of a distribution) after fitting.

    ``model`` and ``projected`` are its expectation under p and under q; ``price`` is in log-odds per event;
    ``groups`` is the number of its expectations (``per=``): the shares are then averages, and price and violation the
    largest.
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
    where it is not computed: in streams, and where the constraint is inactive or acts as a rule.
    ``subject``: its event, such as "a document with the word "puck" is hockey"; None for counts and shares of other
    events.
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

    @property
    def title(self) -> str:
        part = f" [{self.component}]" if self.component is not None else ""
        return (self.name or self.sentence) + part

    @property
    def miss(self) -> str:
        """The amount by which it is missed, and where most."""
        where = "" if self.worst_group is None or self.groups < 2 else f" in {self._place}"
        return self.amount(self.judged) + where

    @property
    def judged(self) -> float:
        """The violation that its verdict is about: under q, or under p if it was not followed."""
        return self.violation if self.role is None or self.model_violation is None else self.model_violation

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
        assert self.price is not None
        if self.status == "missed":
            return f"pulls, but is off by {self.miss}"
        return "holds by itself" if self.price == 0 else "holds"

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
            return "it costs nothing: the model agrees by itself"
        factor = math.exp(min(abs(self.price), _MOST))
        # Odds that hardly move need more digits.
        odds = f"{factor:.4g}" if factor < _HARDLY else f"{factor:.3g}"
        odds = f"more than {odds}" if abs(self.price) > _MOST else odds
        if self.component is not None:
            what = f"the share of {self.component} in each is"
        elif self.counts:
            what = "the odds of one more in a sequence are"
        elif self.subject is not None:
            what = f"the odds that {self.subject} are"
        else:
            what = "within its reference set, the odds of its event are"
        does = "multiplied" if self.price > 0 else "divided"
        effect = f"{what} {does} by {odds}"
        if self.component is not None:
            effect += ", before the shares are normalised to sum to one"
        if self.groups > 1:
            effect += f" in the strongest of {self.groups} groups"
        if factor < _HARDLY:
            effect += "; the model agrees almost by itself" if self.status == "met" else "; it has hardly any effect"
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


def sentence_of(entry: Entry) -> str:
    """Return the statement, with its class if it is one of a distribution."""
    part = f" [{entry.component}]" if entry.component is not None else ""
    return entry.sentence + part


def numbers_of(entry: Entry) -> tuple[str, str, str, str]:
    """Return support, model, projected and price as people write them; empty where there is none."""
    if entry.projected is None or entry.price is None:
        return f"{entry.support:,.0f}", "", "", ""
    model = "" if entry.model is None else entry.amount(entry.model)
    return f"{entry.support:,.0f}", model, entry.amount(entry.projected), signed(entry.price)


def signed(price: float) -> str:
    """Return two significant digits: the price of a constraint on thousands of rows is small, but moves them all."""
    return f"{price:+.2f}" if abs(price) >= 0.1 or price == 0 else f"{price:+.2g}"


def drift_of(entry: Entry) -> str:
    """Return the drift as people write it; empty where there is none."""
    if entry.drift is None:
        return ""
    return ("+" if entry.drift >= 0 else "-") + entry.amount(abs(entry.drift))


def percent(share: float) -> str:
    """Return a share in percent, with one decimal."""
    return f"{100 * share:.1f}%"
