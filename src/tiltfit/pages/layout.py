"""The pieces that all sections are made of."""

from __future__ import annotations

from collections.abc import Sequence

from tiltfit.language.prose import rough_percent
from tiltfit.markup.element import Element, Node, element


def section(name: str, heading: str, *nodes: Node) -> Element:
    """A part of the page with a heading that links can go to."""
    title = element("h2", heading, id=f"{name}-heading")
    return element("section", title, *nodes, id=name, aria_labelledby=f"{name}-heading")


def figure(picture: Node, *below: Node) -> Element:
    """A picture and what stands below it."""
    return element("figure", picture, *below)


def caption(words: str) -> Element:
    return element("figcaption", words)


def legend(keys: Sequence[tuple[str, str]]) -> Element:
    """Marks (ring, dot, diamond, band) and what they mean."""
    items = [element("li", element("span", class_=f"key {mark}", aria_hidden="true"), words) for mark, words in keys]
    return element("figcaption", element("ul", *items, class_="legend"))


def left_out(n: int, what: str) -> Element | None:
    """How many more there are than the page shows; None where it shows all."""
    return None if n <= 0 else element("p", f"Left out: {count(n, what)}.", class_="note")


def count(n: int, what: str) -> str:
    """A number with its noun.

    >>> count(1, "row"), count(1200, "class"), count(0, "document")
    ('1 row', '1,200 classes', '0 documents')
    """
    return f"{n:,} {what}{'' if n == 1 else 'es' if what.endswith('s') else 's'}"


def percent(share: float | None) -> str:
    """A share with the digits that matter; nothing for None.

    >>> percent(0.5), percent(0.0421), percent(0.0004), percent(1.0), percent(None)
    ('50%', '4.2%', '<0.1%', '100%', '')
    """
    return "" if share is None else rough_percent(share)
