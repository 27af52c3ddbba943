"""The pieces of which all sections are made, tables among them; and fragments for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tiltfit.language.prose import rough_percent
from tiltfit.report.html.element import Element, Node, element

# Only below .tiltfit: nothing else in the notebook changes. Only currentColor: it follows any theme.
_STYLE = """
.tiltfit { font-size: .9em; line-height: 1.45; max-width: 72rem; overflow-x: auto }
.tiltfit table { border-collapse: collapse; margin: .5em 0 }
.tiltfit caption { caption-side: top; text-align: left; font-weight: 600; padding: .2em .6em .4em 0 }
.tiltfit th, .tiltfit td { text-align: left; vertical-align: top; padding: .3em .9em .3em 0; border: 0;
  background: none; border-bottom: 1px solid color-mix(in srgb, currentColor 18%, transparent) }
.tiltfit thead th { font-weight: 600; white-space: nowrap }
.tiltfit tbody th { font-weight: normal }
.tiltfit .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
.tiltfit .note { display: block; opacity: .75 }
"""


def section(name: str, heading: str, *nodes: Node) -> Element:
    """Return a part of the page with a heading that links can go to."""
    title = element("h2", heading, id=f"{name}-heading")
    return element("section", title, *nodes, id=name, aria_labelledby=f"{name}-heading")


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


@dataclass(frozen=True)
class Column:
    """A heading. ``numbers``: its cells are numbers, aligned right. ``about``: its explanation.

    Cells know their headings, so a narrow page can stack them."""

    heading: str
    numbers: bool = False
    about: str | None = None


def table(
    caption: str, columns: Sequence[Column], rows: Iterable[Sequence[Node | tuple[Node, ...]]], *, class_: str = ""
) -> Element:
    """Return a table. The first cell of a row is its heading. A cell may hold several nodes; an empty one is None.

    The usual roles are stated because a table that is laid out as blocks would lose them.
    """
    head = [
        element("th", c.heading, scope="col", role="columnheader", title=c.about, class_=_class(c)) for c in columns
    ]
    body = [
        element("tr", *(_cell(k, c, cell) for k, (c, cell) in enumerate(zip(columns, row, strict=True))), role="row")
        for row in rows
    ]
    return element(
        "table",
        element("caption", caption),
        element("thead", element("tr", *head, role="row"), role="rowgroup"),
        element("tbody", *body, role="rowgroup"),
        role="table",
        class_=class_ or None,
    )


def _cell(k: int, column: Column, cell: Node | tuple[Node, ...]) -> Element:
    nodes = cell if isinstance(cell, tuple) else (cell,)
    if k == 0:
        return element("th", *nodes, scope="row", role="rowheader")
    empty = all(node is None or node == "" for node in nodes)
    name = " ".join(part for part in (_class(column), "empty" if empty else None) if part)
    return element("td", *nodes, role="cell", data_label=column.heading, class_=name or None)


def _class(column: Column) -> str | None:
    return "number" if column.numbers else None


def fragment(*nodes: Node) -> str:
    """Return HTML to put into a notebook, with its own style and the colours of the notebook."""
    return str(element("div", element("style", _STYLE), *nodes, class_="tiltfit"))
