"""Bibliographic references to works that do not exist: sequences to try things on, written in eleven styles.

What makes it hard, as in life: every style has its own order, signs and abbreviations, and some are rare; fields are
missing, signs are wrong; towns are surnames, too, and titles contain years, the press and reports; tests have names and
words of their own. Works, names and styles stand in ``citation_facts.toml``; what a person might know about references
in ``citations.toml``.

``python -m tiltfit.demo.citations FOLDER`` writes the collection to files that the command line reads.
"""

from __future__ import annotations

import random
import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal

from tiltfit.demo.draws import Draws, write_files

HERE = Path(__file__).parent
CONSTRAINTS = HERE / "citations.toml"
LABELS = (
    "author",
    "booktitle",
    "date",
    "editor",
    "institution",
    "journal",
    "location",
    "note",
    "pages",
    "publisher",
    "tech",
    "title",
    "volume",
)
SIGNS = (".", ",", ";")
_ARTICLE = re.compile(r"\ba(?= [aeiou])")
Part = Literal["train", "test"]
Phrases = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Reference:
    """A reference: ``tokens[i]`` belongs to the field ``labels[i]``."""

    tokens: tuple[str, ...]
    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def fields(self) -> list[tuple[str, str]]:
        """(label, its tokens) for each run of a label."""
        return runs(self.tokens, self.labels)


@dataclass(frozen=True)
class Facts:
    """The tables of ``citation_facts.toml``, described there; ``phrases`` are those that one part knows."""

    kinds: Mapping[str, float]
    present: Mapping[str, float]
    rates: Mapping[str, float]
    styles: Mapping[str, Mapping[str, Any]]
    fields: Mapping[str, str]
    abbreviations: Mapping[str, str]
    phrases: Phrases


@cache
def facts(part: Part = "train") -> Facts:
    """What references of a part are made of: a quarter of the open phrases is kept from each part."""
    tables = tomllib.loads((HERE / "citation_facts.toml").read_text(encoding="utf-8"))
    kept_back = {"train": 3, "test": 2}[part]
    open_phrases = tables.pop("open")
    known = {name: [w for i, w in enumerate(words) if i % 4 != kept_back] for name, words in open_phrases.items()}
    return Facts(**{**tables, "phrases": {**tables["phrases"], **known}})


def generate(n: int, seed: int = 0, part: Part = "train") -> tuple[Reference, ...]:
    """``n`` references: the same for the same seed everywhere, and the first m of them are ``generate(m, seed, part)``.

    >>> for label, text in generate(13)[9].fields:
    ...     print(f"{label:7} {text}")
    author  Hedwig Ingsmann and E . Yarach ,
    title   " On a Conjecture of Quinworth , "
    journal Appl . Tide Dynamics Review ,
    volume  vol . 20 , no . 1 ,
    pages   pp . 673-706 ,
    date    July 2005 .
    """
    rng = random.Random(2 * seed + (part == "test"))
    writer = _Writer(rng, facts(part).rates, facts(part))
    return tuple(writer.reference() for _ in range(n))


def split(n_train: int = 300, n_test: int = 200, seed: int = 0) -> tuple[tuple[Reference, ...], tuple[Reference, ...]]:
    """References to learn from and others to be judged on, which have words of their own."""
    return generate(n_train, seed, "train"), generate(n_test, seed, "test")


def runs(tokens: Sequence[str], labels: Sequence[str]) -> list[tuple[str, str]]:
    """(label, its tokens) for each maximal run of a label."""
    pairs = zip(labels, tokens, strict=True)
    return [(label, " ".join(token for _, token in run)) for label, run in groupby(pairs, key=itemgetter(0))]


N_LABELLED = 20


def write(folder: Path) -> list[Path]:
    """Write labelled.conll (the first 20 references to learn from), unlabelled.conll (the others, tokens alone),
    test.conll and the constraints into ``folder``, which is made if need be."""
    train, test = split()
    files = {"citations.toml": CONSTRAINTS.read_text(encoding="utf-8")}
    for name, part in {"labelled.conll": train[:N_LABELLED], "test.conll": test}.items():
        files[name] = "\n".join(
            "".join(f"{token}\t{label}\n" for token, label in zip(r.tokens, r.labels, strict=True)) for r in part
        )
    files["unlabelled.conll"] = "\n".join("".join(f"{token}\n" for token in r.tokens) for r in train[N_LABELLED:])
    return write_files(folder, files)


Field = tuple[str, list[str]]  # a label and its tokens


@dataclass(frozen=True)
class _Writer(Draws):
    """Writes references by drawing."""

    facts: Facts

    def reference(self) -> Reference:
        kind = self.weighted(self.facts.kinds)
        style = self.facts.styles[self.weighted({name: style["share"] for name, style in self.facts.styles.items()})]
        if self.happens("other stop"):
            style = {**style, "stop": self.pick(SIGNS)}
        work = self.work(kind, style)
        order = self.order(style[kind])
        if "editor" in dict(order):
            work = {**work, "in": [""]}  # it stands before the editors already
        fields = self.disturb([self.field(label, template, style, work) for label, template in order])
        _, last = fields[-1]
        if last[-1] in (",", ";", ":"):
            last[-1:] = [] if last[-2:-1] == ["."] else ["."]
        return Reference(
            tuple(token for _, tokens in fields for token in tokens),
            tuple(label for label, tokens in fields for _ in tokens),
        )

    def work(self, kind: str, style: Mapping[str, Any]) -> Phrases:
        """All that is to be said about a work: each fact has one phrase."""
        year, volume, first = self.whole(1968, 2009), self.whole(1, 60), self.whole(1, 900)
        facts = {
            "year": f"{year}",
            "yy": f"{year % 100:02}",
            "volume": f"{volume}",
            "number": f"{self.whole(1, 12)}",
            "from": f"{first}",
            "to": f"{first + self.whole(2, 40)}",
            "authors": self.people(style),
            "editors": self.people({**style, "first": style["name"]}),
        }
        phrases = {**self.facts.phrases, **{name: [fact] for name, fact in facts.items()}}
        facts["title"] = self.title(style, phrases)
        if kind == "chapter":
            facts["proceedings"] = self.expand("{volume_title}", phrases)
        elif self.happens("short meeting"):
            facts["proceedings"] = self.expand("{short_meeting}", phrases)
        return {**phrases, **{name: [fact] for name, fact in facts.items()}}

    def order(self, layout: str) -> list[tuple[str, str]]:
        """(label, name of its template) for each field that is there."""
        order = []
        for entry in layout.split():
            label, _, template = entry.removesuffix("?").partition("/")
            rate = self.facts.present[label] if entry.endswith("?") else 1 - self.rates["missing"]
            if self.chance(rate):
                order.append((label, template or label))
        return order or [("title", "title")]

    def field(self, label: str, template: str, style: Mapping[str, Any], work: Phrases) -> Field:
        own = style["fields"]
        text = own[template] if template in own else self.facts.fields[template]
        tokens = self.expand(text, work).split()
        if label != "title":
            tokens = [part for token in tokens for part in self.abbreviate(token, style["abbreviate"])]
        if any(c.isalnum() for c in tokens[-1]):
            tokens.append(style["stop"])
        tokens = [token for i, token in enumerate(tokens) if i == 0 or token != tokens[i - 1] or token != "."]
        return label, [self.mistype(token) for token in tokens]

    def people(self, style: Mapping[str, Any]) -> str:
        """A list of names as the style writes it."""
        count = int(self.weighted({"1": 0.24, "2": 0.34, "3": 0.22, "4": 0.13, "5": 0.07}))
        first, name = style.get("first", style["name"]), style["name"]
        names = [self.person(name if i else first) for i in range(count)]
        if count > 3 and self.happens("et al"):
            return f"{names[0]} et al ."
        if count == 1:
            return names[0]
        last = style["last"] if count > 2 else style["last"].removeprefix(", ")
        return f" {style['join']} ".join(names[:-1]) + f" {last} {names[-1]}"

    def person(self, template: str) -> str:
        phrases = self.facts.phrases
        given, middle = self.pick(phrases["given"]), self.pick(phrases["capital"])
        surname = self.expand("{stem}{ending}", phrases)
        if self.happens("place as name"):
            surname = self.pick(phrases["place"]).split()[0]
        if self.happens("second surname"):
            surname += self.expand("-{stem}{ending}", phrases)
        has_middle = self.happens("middle initial")
        initials = f"{given[0]} . {middle} ." if has_middle else f"{given[0]} ."
        if self.happens("spelt out"):
            initials = given
        facts = {
            "given": f"{given} {middle} ." if has_middle else given,
            "initials": initials,
            "letters": given[0] + middle if has_middle else given[0],
            "surname": surname,
        }
        return self.expand(template, {name: [fact] for name, fact in facts.items()})

    def title(self, style: Mapping[str, Any], phrases: Phrases) -> str:
        text = self.expand("{title}", phrases)
        if self.happens("subtitle"):
            text += " : " + self.expand("{subtitle}", phrases)
        text = _ARTICLE.sub("an", text)
        if self.chance(style["capitals"]):
            small = {"a", "an", "and", "the", "of", "in", "on", "for", "with", "to", "by", "from"}
            text = " ".join(word if word in small else word[0].upper() + word[1:] for word in text.split())
        return text[0].upper() + text[1:]

    def abbreviate(self, token: str, rate: float) -> list[str]:
        short = self.facts.abbreviations.get(token)
        return short.split() if short is not None and self.chance(rate) else [token]

    def mistype(self, token: str) -> str:
        """Swap two letters of some long words."""
        if len(token) < 5 or not self.happens("typing error"):
            return token
        i = self.whole(1, len(token) - 3)
        return token[:i] + token[i + 1] + token[i] + token[i + 2 :]

    def disturb(self, fields: list[Field]) -> list[Field]:
        """Swap fields, and change or forget the signs between them."""
        if len(fields) > 4 and self.happens("swapped"):
            i = self.whole(2, len(fields) - 2)
            fields[i], fields[i + 1] = fields[i + 1], fields[i]
        for _, tokens in fields[:-1]:
            if tokens[-1] in SIGNS and len(tokens) > 1:
                if self.happens("wrong sign"):
                    tokens[-1] = self.pick(SIGNS)
                elif self.happens("no sign"):
                    del tokens[-1]
        return fields


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tiltfit.demo.citations FOLDER")
    sys.stdout.writelines(f"{path}\n" for path in write(Path(sys.argv[1])))
