"""Support tickets of a fictional shop: a document collection to try things on, written by a small grammar.

What makes it hard, as in life: a ticket may mention a second topic, quote an earlier answer, say nearly nothing,
contain typing errors or carry a wrong label; classes share most of their words; one class is rare.
The grammar is in :mod:`tiltfit.demo.grammar`; how often things happen is in ``RATES``.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final, TypeVar

from tiltfit.demo.grammar import COMMON, ISSUES, PHRASES, PRODUCTS, SHARES, SUBJECTS

T = TypeVar("T")

CLASSES: Final = tuple(sorted(SHARES))

RATES: Final[dict[str, float]] = {
    "subject": 0.5,  # there is a subject line
    "telling subject": 0.4,  # and it is about the problem
    "mood": 0.35,  # a sentence of anger or praise
    "context": 0.6,  # which order, which product
    "vague": 0.08,  # the problem itself is not stated
    "second statement": 0.3,  # the problem is stated in two ways
    "detail": 0.6,  # tried twice: none, one or two details
    "other topic": 0.4,  # one sentence about something that belongs to another class
    "filler": 0.35,  # tried twice: sentences that say nothing
    "specific wish": 0.55,  # what is asked fits the problem; otherwise "please help"
    "quote": 0.25,  # an earlier answer is quoted below
    "typo": 0.015,  # per word
    "wrong label": 0.03,  # filed under a random class
}


@dataclass(frozen=True)
class Tickets:
    """``texts[i]`` was filed under ``labels[i]``."""

    texts: tuple[str, ...]
    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.texts)


def generate(n: int = 2400, seed: int = 0) -> Tickets:
    """``n`` tickets; the same for the same seed, on every platform. The first m of n tickets are those of n = m.

    >>> tickets = generate(3)
    >>> tickets.labels
    ('shipping', 'technical', 'technical')
    """
    # Only random() is used: Python promises its sequence for ever, but not that of choice() or shuffle().
    rng = random.Random(seed)
    written = [_ticket(rng) for _ in range(n)]
    return Tickets(tuple(text for text, _ in written), tuple(label for _, label in written))


def split(tickets: Tickets) -> tuple[Tickets, Tickets]:
    """Train and test: every third ticket is for testing (tickets are independent, so any third will do)."""

    def part(keep: Callable[[int], bool]) -> Tickets:
        rows = [i for i in range(len(tickets)) if keep(i)]
        return Tickets(tuple(tickets.texts[i] for i in rows), tuple(tickets.labels[i] for i in rows))

    return part(lambda i: i % 3 != 2), part(lambda i: i % 3 == 2)


def constraints_path() -> Traversable:
    """The file with a dozen statements about the tickets, in the constraint language."""
    return resources.files("tiltfit.demo") / "tickets.toml"


def _ticket(rng: random.Random) -> tuple[str, str]:
    label = _pick_weighted(rng, SHARES)
    product = _pick(rng, PRODUCTS)
    phrases = PHRASES | {"product": (product,), "thing": (product.split()[-1],)}
    body = " ".join(_expand(rng, template, phrases) for template in _templates(rng, label))
    before = [_subject(rng, label), "{greeting}"]
    after = ["{closing}", "{signature}", *["> {reply}"] * _happens(rng, "quote")]
    lines = [_expand(rng, part, phrases) for part in [*before, "", *after]]
    lines[len(before)] = _with_typos(rng, body)
    filed = _pick(rng, CLASSES) if _happens(rng, "wrong label") else label
    return "\n".join(line for line in lines if line), filed


def _subject(rng: random.Random, label: str) -> str:
    if not _happens(rng, "subject"):
        return ""
    return "Subject: " + (_pick(rng, SUBJECTS[label]) if _happens(rng, "telling subject") else "{subject}")


def _templates(rng: random.Random, label: str) -> list[str]:
    """The templates of one ticket, in order."""
    issue = _pick(rng, tuple(ISSUES[label].values()))
    details = issue["adds"] + COMMON[label]
    opening = ["{mood}"] * _happens(rng, "mood") + ["{context}"] * _happens(rng, "context")
    if _happens(rng, "vague"):
        body = ["{vague}", _pick(rng, details)]
    else:
        body = [_pick(rng, issue["says"])]
        body += [_pick(rng, issue["says"]) for _ in range(_happens(rng, "second statement"))]
        body += [_pick(rng, details) for _ in range(_times(rng, "detail", 2))]
    body += ["{filler}"] * _times(rng, "filler", 2)
    wish = _pick(rng, issue["asks"]) if _happens(rng, "specific wish") else "{ask}"
    if _happens(rng, "other topic"):
        # Before or after the main topic: order alone must not tell them apart.
        body.insert(int(rng.random() * (len(body) + 1)), _other_topic(rng, label))
    return list(dict.fromkeys([*opening, *body, wish]))


def _other_topic(rng: random.Random, label: str) -> str:
    other = _pick_weighted(rng, {c: share for c, share in SHARES.items() if c != label})
    issue = _pick(rng, tuple(ISSUES[other].values()))
    return _pick(rng, issue["says"] + issue["adds"])


def _expand(rng: random.Random, template: str, phrases: Mapping[str, Sequence[str]]) -> str:
    """Replace every ``{name}`` by one of its phrases, and those in them, until none is left."""
    text = template
    while (slot := _SLOT.search(text)) is not None:
        text = text[: slot.start()] + _pick(rng, phrases[slot[1]]) + text[slot.end() :]
    return text


_SLOT = re.compile(r"\{(\w+)\}")


def _with_typos(rng: random.Random, text: str) -> str:
    return " ".join(_mistype(rng, word) if _happens(rng, "typo") else word for word in text.split(" "))


def _mistype(rng: random.Random, word: str) -> str:
    """Drop, double or swap one letter inside the word."""
    if len(word) < 4:
        return word
    i = 1 + int(rng.random() * (len(word) - 2))
    kinds = (word[:i] + word[i + 1 :], word[:i] + word[i] + word[i:], word[: i - 1] + word[i] + word[i - 1] + word[i + 1 :])
    return _pick(rng, kinds)


def _happens(rng: random.Random, what: str) -> bool:
    return rng.random() < RATES[what]


def _times(rng: random.Random, what: str, tries: int) -> int:
    return sum(_happens(rng, what) for _ in range(tries))


def _pick(rng: random.Random, options: Sequence[T]) -> T:
    return options[int(rng.random() * len(options))]


def _pick_weighted(rng: random.Random, shares: dict[str, float]) -> str:
    at = rng.random() * sum(shares.values())
    for name, share in shares.items():
        at -= share
        if at < 0:
            return name
    return name
