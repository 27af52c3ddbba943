"""A sequence with its labels: each run of a label is a coloured box with the label's name in it."""

from __future__ import annotations

from collections.abc import Sequence

from tiltfit.markup.element import Element, Node, element
from tiltfit.report.segments import OUTSIDE, find_segments

COLOURS = 10  # the style sheet has as many; further labels have them again, with another line below
_MOST_TOKENS = 80


class Palette:
    """A colour for each field: labels of BIO tags have that of their entity. The first ones differ most."""

    def __init__(self, classes: Sequence[str]) -> None:
        self.classes = list(classes)
        segments = [field for name in classes for field, _, _ in find_segments([name], classes)]
        self.fields = list(dict.fromkeys(segments))

    def style(self, field: str) -> str:
        k = self.fields.index(field)
        return f"t{k % COLOURS} line{k // COLOURS % 3}"

    def key(self) -> Element:
        """All fields in their colours."""
        items = [element("li", element("span", field, class_=f"run {self.style(field)}")) for field in self.fields]
        return element("ul", *items, class_="legend")


def tagged(
    tokens: Sequence[str],
    labels: Sequence[str],
    palette: Palette,
    *,
    truth: Sequence[str | None] | None = None,
    at: int | None = None,
) -> Element:
    """Tokens in runs. ``truth``: true labels, so that mistakes are marked; ``at``: a token that is pointed at, around
    which a long sequence is cut."""
    start, stop = _window(len(tokens), at)
    shown, wrong = labels[start:stop], _wrong(labels, truth)
    nodes: list[Node] = ["… " if start else None]
    done = 0
    for field, first, last in [*find_segments(shown, palette.classes), (OUTSIDE, len(shown), len(shown))]:
        nodes += _plain(tokens, start + done, start + first, wrong, at)
        if first < last:
            name = element("span", field, class_="label")
            inside = _plain(tokens, start + first, start + last, wrong, at)[:-1]  # no space at the end of a box
            nodes += [element("span", name, "\u00a0", *inside, class_=f"run {palette.style(field)}"), " "]
        done = last
    nodes.append(f"… and {len(tokens) - stop} more tokens" if stop < len(tokens) else None)
    return element("blockquote", *nodes, dir="auto", class_="sequence")


def _plain(tokens: Sequence[str], start: int, stop: int, wrong: Sequence[str | None], at: int | None) -> list[Node]:
    nodes: list[Node] = []
    for k in range(start, stop):
        node: Node = tokens[k]
        mistake = wrong[k]
        if mistake is not None:
            node = element("span", tokens[k], class_="wrong", title=f"labelled {mistake} in the data")
        nodes += [element("mark", node, class_="asked") if k == at else node, " "]
    return nodes


def _wrong(labels: Sequence[str], truth: Sequence[str | None] | None) -> list[str | None]:
    if truth is None:
        return [None] * len(labels)
    return [t if t is not None and t != guess else None for guess, t in zip(labels, truth, strict=True)]


def _window(n: int, at: int | None) -> tuple[int, int]:
    if n <= _MOST_TOKENS:
        return 0, n
    start = 0 if at is None else max(0, min(at - _MOST_TOKENS // 2, n - _MOST_TOKENS))
    return start, start + _MOST_TOKENS
