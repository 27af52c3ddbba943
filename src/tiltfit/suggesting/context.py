"""Examples: a word or phrase with what stands around it, a token among its neighbours."""

from __future__ import annotations

from tiltfit.arrays import IntArray
from tiltfit.check.support import Data
from tiltfit.data.words import places_of_run
from tiltfit.language.conditions import Condition

_SIDE = 32  # characters to each side
_NEIGHBOURS = 4  # tokens to each side


def examples(data: Data, condition: Condition, places: IntArray, n: int) -> tuple[str, ...]:
    """``n`` of the places where a condition fires, far apart from each other; fewer if they look the same. A matrix has
    none."""
    if not n or not len(places):
        return ()
    found: dict[str, None] = {}
    for k in range(min(n, len(places))):
        i = int(places[k * len(places) // min(n, len(places))])
        shown = _among_tokens(data, i) if data.is_sequences else _in_text(data, condition, i)
        if shown:
            found.setdefault(shown)
    return tuple(found)


def _in_text(data: Data, condition: Condition, i: int) -> str:
    inputs = data.sample.inputs
    if not inputs.has_texts:
        return ""
    return in_context(inputs.texts(getattr(condition, "column", None))[i], condition.words)


def in_context(text: str, words: tuple[str, ...]) -> str:
    r"""The first place of the words in a row, in brackets, with what stands around it; in one line of plain characters.

    >>> in_context("We saw how the Puck\nhit the goalie.", ("puck",))
    'We saw how the [Puck] hit the goalie.'
    """
    line = printable(text)
    found = places_of_run(line, words)
    if not found:
        return line if len(line) <= 2 * _SIDE else f"{line[: 2 * _SIDE]}…"
    start, end = found[0]
    before, after = line[:start], line[end:]
    head = before if len(before) <= _SIDE else f"…{before[-_SIDE:]}"
    tail = after if len(after) <= _SIDE else f"{after[:_SIDE]}…"
    return f"{head}[{line[start:end]}]{tail}"


def printable(text: str) -> str:
    """One line without control characters or halves of characters: texts may hold anything, comments may not."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _among_tokens(data: Data, i: int) -> str:
    sample = data.sample
    first, last = sample.structure.first[sample.instance[i]], sample.structure.last[sample.instance[i]]
    near = range(max(first, i - _NEIGHBOURS), min(last, i + _NEIGHBOURS) + 1)
    rows = ((j, sample.inputs.row(j)) for j in near)
    if not isinstance(sample.inputs.row(i), str):
        return printable(str(sample.inputs.row(i)))[: 2 * _SIDE]
    return printable(" ".join(f"[{token}]" if j == i else str(token) for j, token in rows))
