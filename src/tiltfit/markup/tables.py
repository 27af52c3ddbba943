"""Tables that stay readable: each cell knows its heading, so that a narrow page can stack them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tiltfit.markup.element import Element, Node, element


@dataclass(frozen=True)
class Column:
    """A heading; ``numbers``: its cells are numbers, which stand to the right. ``about``: what it means."""

    heading: str
    numbers: bool = False
    about: str | None = None


def table(
    caption: str, columns: Sequence[Column], rows: Iterable[Sequence[Node | tuple[Node, ...]]], *, class_: str = ""
) -> Element:
    """The first cell of a row is its heading. A cell may hold several nodes; an empty one is None.

    Roles are said though they are the usual ones: a table that is laid out as blocks would lose them.
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
