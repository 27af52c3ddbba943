"""Which words of a text a condition looks at, and the text with these marked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tiltfit.language.condition import Condition, Not
from tiltfit.language.conditions import Phrase, Regex, Word
from tiltfit.report.html.element import Element, Node, element

_WORD = re.compile(r"\w+")
_LONGEST = 320  # characters of an excerpt


@dataclass(frozen=True, order=True)
class Span:
    """Characters ``start`` to ``stop`` of a text."""

    start: int
    stop: int


def spans(condition: Condition | None, text: str) -> list[Span]:
    """Where a text has what the condition asks for, in order and apart from each other. What it asks to be absent is
    nowhere; of a column other than the text nothing is known.

    >>> from tiltfit import phrase, word
    >>> spans(word("puck") | phrase("ice rink"), "A Puck on the ice-rink")
    [Span(start=2, stop=6), Span(start=14, stop=22)]
    """
    return _apart(found for leaf in _wanted(condition) for found in _spans_of(leaf, text))


def spans_of_words(words: Iterable[str], text: str) -> list[Span]:
    """Where a text has any of these words, in any case."""
    wanted = {word.casefold() for word in words}
    return [Span(*m.span()) for m in _WORD.finditer(text) if m[0].casefold() in wanted]


def _wanted(condition: Condition | None) -> Iterator[Condition]:
    if condition is None or isinstance(condition, Not):
        return
    if not condition.parts:
        yield condition
    for part in condition.parts:
        yield from _wanted(part)


def _spans_of(leaf: Condition, text: str) -> Iterator[Span]:
    if isinstance(leaf, Regex):
        yield from (Span(*m.span()) for m in leaf._compiled.finditer(text) if m.end() > m.start())
    elif isinstance(leaf, Word | Phrase):
        found = list(_WORD.finditer(text))
        fold = (lambda word: word) if leaf.exact_case else str.casefold
        wanted, tokens = [fold(word) for word in leaf.words], [fold(m[0]) for m in found]
        for k in range(len(tokens) - len(wanted) + 1):
            if tokens[k : k + len(wanted)] == wanted:
                yield Span(found[k].start(), found[k + len(wanted) - 1].end())


def _apart(found: Iterable[Span]) -> list[Span]:
    kept: list[Span] = []
    for span in sorted(found):
        if not kept or span.start >= kept[-1].stop:
            kept.append(span)
    return kept


def marked(text: str, asked: Sequence[Span], weighty: Sequence[Span] = ()) -> Element:
    """An excerpt around the first span: ``asked`` in boxes, ``weighty`` underlined."""
    kinds = dict.fromkeys(asked, "asked") | {s: "weighty" for s in weighty if not _overlaps(s, asked)}
    start, stop = _window(text, asked or weighty)
    nodes: list[Node] = ["… " if start else None]
    at = start
    for span in sorted(kinds):
        if span.start < at or span.stop > stop:
            continue
        nodes += [text[at : span.start], element("mark", text[span.start : span.stop], class_=kinds[span])]
        at = span.stop
    nodes += [text[at:stop], " …" if stop < len(text) else None]
    return element("blockquote", *nodes, dir="auto")


def _window(text: str, around: Sequence[Span]) -> tuple[int, int]:
    """Where an excerpt begins and ends: at words, with the first span in its first half."""
    if len(text) <= _LONGEST:
        return 0, len(text)
    start = max(0, min((around[0].start if around else 0) - _LONGEST // 3, len(text) - _LONGEST))
    stop = start + _LONGEST
    if start:
        start = next((k + 1 for k in range(start, min(start + 30, len(text))) if text[k].isspace()), start)
    if stop < len(text):
        stop = next((k for k in range(stop, max(stop - 30, 0), -1) if text[k].isspace()), stop)
    return start, max(stop, min(len(text), around[0].stop) if around else 0)


def _overlaps(span: Span, others: Sequence[Span]) -> bool:
    return any(span.start < other.stop and other.start < span.stop for other in others)
