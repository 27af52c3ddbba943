"""Tagged sequences, the least certain first: each run of a label is a coloured box with the label's name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tiltfit.report.account import Account
from tiltfit.report.html.element import Element, Node, element
from tiltfit.report.html.layout import left_out, percent, section
from tiltfit.report.segments import OUTSIDE, find_segments

_MOST = 8
COLOURS = 10  # of the style sheet; further labels reuse them with another line below
_MOST_TOKENS = 80


def sequences_section(account: Account) -> Element | None:
    """Return the section; None for documents."""
    if account.sequences is None:
        return None
    palette = palette_of(account)
    chosen = choose_sequences(account, _MOST)
    total = int((account.sequences.lengths > 0).sum())
    lead = "Each run of a label is a box with its name; the sequences that the model is least sure of come first."
    known = len(account.known) > 0
    mistakes = " Tokens with a wavy line have another label in the data." if known else ""
    return section(
        "sequences",
        "Tagged sequences",
        element("p", lead + mistakes),
        palette.key(),
        *(_article(account, k, palette) for k in chosen),
        left_out(total - len(chosen), "sequence"),
    )


def palette_of(account: Account) -> Palette:
    """Return colours for the labels; the most frequent ones differ most."""
    often = np.bincount(account.predicted, minlength=len(account.classes))
    return Palette([account.classes[k] for k in np.argsort(-often, kind="stable")])


def choose_sequences(account: Account, most: int) -> list[int]:
    """Return the sequences with the lowest mean confidence, lowest first, without empty ones."""
    offsets = account.offsets
    sums = np.concatenate([[0.0], np.cumsum(account.confidence)])
    lengths = np.diff(offsets)
    mean = np.divide(sums[offsets[1:]] - sums[offsets[:-1]], lengths, out=np.ones(len(lengths)), where=lengths > 0)
    order = np.argsort(mean, kind="stable")
    return [int(k) for k in order if lengths[k] > 0][:most]


def tokens_of(account: Account, k: int) -> list[str]:
    """Return the tokens of one sequence; for attributes, their positions."""
    assert account.sequences is not None
    start, stop = (int(v) for v in account.offsets[k : k + 2])
    if account.sequences.kind == "tokens":
        return [str(token) for token in account.sequences.items[start:stop]]
    return [f"({i})" for i in range(stop - start)]


def shown_sequence(account: Account, k: int, palette: Palette, at: int | None = None) -> Element:
    """Return one sequence as the model labels it."""
    start, stop = (int(v) for v in account.offsets[k : k + 2])
    labels = [account.classes[c] for c in account.predicted[start:stop]]
    truth = [None if c < 0 else account.name(int(c)) for c in account.truth[start:stop]]
    return tagged(tokens_of(account, k), labels, palette, truth=truth, at=at)


def _article(account: Account, k: int, palette: Palette) -> Element:
    start, stop = (int(v) for v in account.offsets[k : k + 2])
    sure = float(np.mean(account.confidence[start:stop]))
    known = account.truth[start:stop] >= 0
    right = float(np.mean((account.predicted == account.truth)[start:stop][known])) if known.any() else None
    heading = f"Sequence {k} · {percent(sure)} sure"
    return element(
        "article",
        element("h3", heading + ("" if right is None else f" · {percent(right)} of tokens right")),
        shown_sequence(account, k, palette),
    )


class Palette:
    """A colour for each field: BIO tags have that of their entity. The first ones differ most."""

    def __init__(self, classes: Sequence[str]) -> None:
        self.classes = list(classes)
        segments = [field for name in classes for field, _, _ in find_segments([name], classes)]
        self.fields = list(dict.fromkeys(segments))

    def style(self, field: str) -> str:
        k = self.fields.index(field)
        return f"t{k % COLOURS} line{k // COLOURS % 3}"

    def key(self) -> Element:
        """Return all fields in their colours."""
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
    """Return tokens in runs. ``truth``: true labels, to mark mistakes; ``at``: a token to point at, around which a long
    sequence is cut."""
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
