"""The page as a whole: one HTML document that needs no other file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files

from tiltfit.report.account import Account
from tiltfit.report.html.constraints import constraints_section
from tiltfit.report.html.element import Element, Node, element
from tiltfit.report.html.examples import examples_section
from tiltfit.report.html.figures import calibration_section, convergence_section, coverage_section, proportions_section
from tiltfit.report.html.layout import count, percent, section
from tiltfit.report.html.sequences import sequences_section

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
"""Browsers apply the page's own style, and neither load, run nor send anything."""


@dataclass(frozen=True)
class Page:
    """A page of HTML that needs no other file. ``save`` it; in a notebook it shows itself."""

    title: str
    lead: tuple[Node, ...]
    sections: tuple[Element, ...]

    @cached_property
    def html(self) -> str:
        """The whole document."""
        head = element(
            "head",
            element("meta", charset="utf-8"),
            element("meta", http_equiv="Content-Security-Policy", content=POLICY),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", name="color-scheme", content="light dark"),
            element("meta", name="referrer", content="no-referrer"),
            element("title", self.title),
            element("style", style()),
        )
        links = [element("li", element("a", _heading(s), href=f"#{dict(s.attributes)['id']}")) for s in self.sections]
        body = element(
            "body",
            element("header", element("h1", self.title), *self.lead),
            element("nav", element("ul", *links), aria_label="Sections"),
            element("main", *self.sections),
            element("footer", element("p", "Made by tiltfit. This page loads nothing and sends nothing.")),
        )
        return f"<!doctype html>\n{element('html', head, body, lang='en')}"

    @property
    def headings(self) -> list[str]:
        """The headings of the sections."""
        return [_heading(part) for part in self.sections]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, whole or not at all."""
        from tiltfit.storage.atomic import replacing

        data = self.html.encode("utf-8")
        with replacing(path) as file:
            file.write(data)

    def _repr_html_(self) -> str:
        """Show the page in a frame, so its style does not leak into the notebook, nor the notebook's into it."""
        return str(element("iframe", srcdoc=self.html, sandbox="", width="100%", height="720", title=self.title))


def page_of(account: Account, title: str) -> Page:
    """Return the page of an account."""
    parts = [
        constraints_section(account),
        examples_section(account),
        sequences_section(account),
        proportions_section(account),
        coverage_section(account),
        calibration_section(account),
        convergence_section(account),
        _notes(account),
    ]
    return Page(title, _lead(account), tuple(part for part in parts if part is not None))


def style() -> str:
    """Return the style sheet."""
    return files("tiltfit.report.html").joinpath("style.css").read_text(encoding="utf-8")


def _lead(account: Account) -> tuple[Node, ...]:
    """Return the model, the data, and the figures to look at first."""
    training, covered = account.training, account.coverage
    data = f"{account.n:,} {account.unit}"
    if account.sequences is not None:
        data += f" in {count(account.sequences.n_sequences, 'sequence')}"
    classes = count(len(account.classes), "label" if account.sequences is not None else "class")
    words = f"{training.estimator} · {training.model}, {training.method} · {classes} · {data}"
    entries = account.report.entries
    hold = sum(entry.status in ("met", "rules", "each") for entry in entries)
    pull = sum(entry.status == "missed" for entry in entries)
    figures = [
        ("statements that hold" + (f"; {pull} soft ones pull" if pull else ""), f"{hold} of {len(entries)}"),
        (f"{account.unit} touched by a constraint", "–" if covered.unknown is not None else percent(covered.share)),
        _quality(account),
        ("rounds" + ("" if training.converged else ", not converged"), f"{len(training.history):,}"),
    ]
    cards = [element("div", element("dt", name), element("dd", value)) for name, value in figures]
    note = [element("p", f"{account.report.note[:1].upper()}{account.report.note[1:]}.")] if account.report.note else []
    return element("p", words, class_="lead"), element("dl", *cards, class_="figures-first"), *note


def _quality(account: Account) -> tuple[str, str]:
    known = account.known
    if len(known):
        right = float((account.predicted[known] == account.truth[known]).mean())
        return f"right, of {len(known):,} with labels", f"{right:.1%}"
    return "mean confidence (no labels)", percent(float(account.confidence.mean()))


def _heading(part: Element) -> str:
    first = part.children[0]
    assert isinstance(first, Element)
    return str(first.children[0])


def _notes(account: Account) -> Element | None:
    if not account.notes:
        return None
    return section("notes", "Notes", element("ul", *(element("li", note) for note in account.notes), class_="notes"))
