"""Support tickets of a shop that does not exist: a document collection to try things on, written by a small grammar.

What makes it hard, as in life: a ticket may mention a second topic, quote an earlier answer, say nearly nothing,
contain typing errors or carry a wrong label; classes share most of their words; one class is rare.
What customers say, and how often, stands in ``grammar.toml``; what a person might know about it in ``tickets.toml``.

``python -m tiltfit.demo.tickets FOLDER`` writes the collection to files that the command line reads.
"""

from __future__ import annotations

import json
import random
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tiltfit.demo.draws import Draws, write_files

HERE = Path(__file__).parent
CONSTRAINTS = HERE / "tickets.toml"


@dataclass(frozen=True)
class Grammar:
    """The tables of ``grammar.toml``, described there."""

    shares: Mapping[str, float]
    rates: Mapping[str, float]
    subjects: Mapping[str, Sequence[str]]
    phrases: Mapping[str, Sequence[str]]
    issues: Mapping[str, Mapping[str, Mapping[str, Sequence[str]]]]
    common: Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Tickets:
    """``texts[i]`` was filed under ``labels[i]``."""

    texts: tuple[str, ...]
    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, rows: slice) -> Tickets:
        return Tickets(self.texts[rows], self.labels[rows])


@cache
def grammar() -> Grammar:
    """The grammar that ``generate`` writes from."""
    return Grammar(**tomllib.loads((HERE / "grammar.toml").read_text(encoding="utf-8")))


def generate(n: int = 2400, seed: int = 0) -> Tickets:
    """``n`` tickets: the same for the same seed everywhere, and the first m of them are ``generate(m, seed)``.

    >>> tickets = generate(8)
    >>> print(tickets.texts[7], tickets.labels[7], sep="\\n=> ")
    Subject: Where is it?
    Good morning,
    My order has not arrived yet. ... The tracking number does not work. I need it before the holidays. ...
    Cheers
    Joe
    => shipping
    """
    writer = _Writer(random.Random(seed), grammar().rates, grammar())
    written = [writer.ticket() for _ in range(n)]
    return Tickets(tuple(text for text, _ in written), tuple(label for _, label in written))


def split(tickets: Tickets) -> tuple[Tickets, Tickets]:
    """Train and test: every third ticket is for testing (tickets are independent, so any third will do)."""
    rows = range(len(tickets))
    train = [i for i in rows if i % 3 != 2]
    return Tickets(tuple(tickets.texts[i] for i in train), tuple(tickets.labels[i] for i in train)), tickets[2::3]


def write(folder: Path) -> list[Path]:
    """Write train.jsonl, test.jsonl and the constraints into ``folder``, which is made if need be."""
    train, test = split(generate())
    files = {"tickets.toml": CONSTRAINTS.read_text(encoding="utf-8")}
    for name, part in {"train.jsonl": train, "test.jsonl": test}.items():
        rows = zip(part.texts, part.labels, strict=True)
        files[name] = "".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in rows)
    return write_files(folder, files)


@dataclass(frozen=True)
class _Writer(Draws):
    """Writes tickets by drawing."""

    grammar: Grammar

    def ticket(self) -> tuple[str, str]:
        """A text and the class it is filed under."""
        label = self.weighted(self.grammar.shares)
        product = self.pick(self.grammar.phrases["product"])
        phrases = {**self.grammar.phrases, "product": [product], "thing": [product.split()[-1]]}
        body = self.mistype(" ".join(self.expand(template, phrases) for template in self.body(label)))
        above = [self.expand(template, phrases) for template in (self.subject(label), "{greeting}")]
        below = ["{closing}", "{signature}", "> {reply}" if self.happens("quote") else ""]
        lines = [*above, body, *(self.expand(template, phrases) for template in below)]
        filed = self.pick(sorted(self.grammar.shares)) if self.happens("wrong label") else label
        return "\n".join(line for line in lines if line), filed

    def subject(self, label: str) -> str:
        if not self.happens("subject"):
            return ""
        telling = self.happens("telling subject")
        return "Subject: " + (self.pick(self.grammar.subjects[label]) if telling else "{subject}")

    def body(self, label: str) -> list[str]:
        """The templates of the message, in order, none of them twice."""
        issue = self.pick(list(self.grammar.issues[label].values()))
        details = [*issue["adds"], *self.grammar.common[label]]
        opening = ["{mood}"] * self.happens("mood") + ["{context}"] * self.happens("context")
        if self.happens("vague"):
            problem = ["{vague}", self.pick(details)]
        else:
            problem = [self.pick(issue["says"]) for _ in range(1 + self.happens("second statement"))]
            problem += [self.pick(details) for _ in range(self.happens("detail") + self.happens("detail"))]
        problem += ["{filler}"] * (self.happens("filler") + self.happens("filler"))
        if self.happens("other topic"):
            # Anywhere: if it always came last, its place would give it away.
            problem.insert(int(self.rng.random() * (len(problem) + 1)), self.other_topic(label))
        wish = self.pick(issue["asks"]) if self.happens("specific wish") else "{ask}"
        return list(dict.fromkeys([*opening, *problem, wish]))

    def other_topic(self, label: str) -> str:
        other = self.weighted({name: share for name, share in self.grammar.shares.items() if name != label})
        issue = self.pick(list(self.grammar.issues[other].values()))
        return self.pick([*issue["says"], *issue["adds"]])

    def mistype(self, text: str) -> str:
        """Drop, double or swap a letter inside some words."""
        words = text.split(" ")
        for at, word in enumerate(words):
            if self.happens("typo") and len(word) >= 4:
                i = 1 + int(self.rng.random() * (len(word) - 2))
                head, a, b, tail = word[: i - 1], word[i - 1], word[i], word[i + 1 :]
                words[at] = head + self.pick([a + tail, a + b + b + tail, b + a + tail])
        return " ".join(words)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tiltfit.demo.tickets FOLDER")
    sys.stdout.writelines(f"{path}\n" for path in write(Path(sys.argv[1])))
