"""What became of one constraint, in numbers and in words."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tiltfit.report.sampling import in_words

MET = 0.005  # within half a per cent of what was asked
_HARDLY = 1.05  # odds that are multiplied by no more than that hardly move
_MOST = 7.0  # larger prices are told as more than e⁷ to one


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
        return f"{m:.2f}" if self.counts else percent(m)

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


def sentence_of(entry: Entry) -> str:
    """What was stated, with the class it is about if it is one of a distribution."""
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


def percent(share: float) -> str:
    """With one digit behind the point."""
    return f"{100 * share:.1f}%"
