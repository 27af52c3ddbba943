"""The pieces of which all sections are made."""

from __future__ import annotations

from collections.abc import Sequence

from tiltfit.language.prose import rough_percent
from tiltfit.report.html.element import Element, Node, element


def section(name: str, heading: str, *nodes: Node) -> Element:
    """Return a part of the page with a heading that links can go to."""
    title = element("h2", heading, id=f"{name}-heading")
    return element("section", title, *nodes, id=name, aria_labelledby=f"{name}-heading")


def figure(picture: Node, *below: Node) -> Element:
    """Return a picture and what is below it."""
    return element("figure", picture, *below)


def caption(words: str) -> Element:
    return element("figcaption", words)


def legend(keys: Sequence[tuple[str, str]]) -> Element:
    """Return marks (ring, dot, diamond, band) and their meanings."""
    items = [element("li", element("span", class_=f"key {mark}", aria_hidden="true"), words) for mark, words in keys]
    return element("figcaption", element("ul", *items, class_="legend"))


def left_out(n: int, what: str) -> Element | None:
    """Return a note on how many the page does not show; None where it shows all."""
    return None if n <= 0 else element("p", f"Left out: {count(n, what)}.", class_="note")


def count(n: int, what: str) -> str:
    """Return a number with its noun.

    >>> count(1, "row"), count(1200, "class"), count(0, "document")
    ('1 row', '1,200 classes', '0 documents')
    """
    return f"{n:,} {what}{'' if n == 1 else 'es' if what.endswith('s') else 's'}"


def percent(share: float | None) -> str:
    """Return a share with the digits that matter; nothing for None.

    >>> percent(0.5), percent(0.0421), percent(0.0004), percent(1.0), percent(None)
    ('50%', '4.2%', '<0.1%', '100%', '')
    """
    return "" if share is None else rough_percent(share)
