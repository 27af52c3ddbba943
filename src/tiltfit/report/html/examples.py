"""The disputed examples: the documents or tokens that fight constraints most, with the words that matter marked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tiltfit.data.words import normal, places_of_run, places_of_words
from tiltfit.language.condition import Condition, Not
from tiltfit.language.conditions import Lexicon, Phrase, Regex, Word, Words
from tiltfit.report.account import Account, Disputed, Example
from tiltfit.report.constraints import Entry
from tiltfit.report.html.element import Element, Node, element
from tiltfit.report.html.layout import left_out, percent, section
from tiltfit.report.html.sequences import palette_of, shown_sequence
from tiltfit.report.targets import key_of

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
    wanted = {normal(word).casefold() for word in words}
    return [Span(a, b) for a, b in places_of_words(text) if normal(text[a:b]).casefold() in wanted]


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
        found = places_of_run(text, leaf.words, str if leaf.exact_case else str.casefold)
        yield from (Span(*ends) for ends in found)
    elif isinstance(leaf, Words):
        yield from (Span(a, b) for a, b in places_of_words(text) if leaf.holds(text[a:b]))
    elif isinstance(leaf, Lexicon):
        yield from (Span(*ends) for ends in leaf.spans(text))


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


def examples_section(account: Account) -> Element | None:
    """Return the examples that are most at odds with the most expensive constraints; None without constraints."""
    found = account.disputes
    if not len(account.report):
        return None
    nodes: list[Node]
    if found.unknown is not None:
        nodes = [element("p", f"Disputes could not be found on these data: {found.unknown}")]
    elif not found.shown:
        nodes = [element("p", "Nothing in these data is at odds with a constraint.")]
    else:
        nodes = [element("p", *_lead(account)), *(_disputed(account, one) for one in found.shown)]
        nodes.append(left_out(found.more, "constraint"))
    return section("examples", "Disputed examples", *nodes)


def _lead(account: Account) -> list[Node]:
    what = account.unit.removesuffix("s")
    nodes: list[Node] = [
        f"For the constraints that are fought hardest, the {what}s where the model disagrees most. Prices are those of "
        "these data. "
    ]
    if any(example.words is not None for one in account.disputes.shown for example in one.examples):
        nodes += ["A ", element("mark", "marked", class_="asked"), " word is what the constraint looks at; ",
                  element("mark", "underlined", class_="weighty"), " words count most for the label that the model "
                  "gives."]  # fmt: skip
    return nodes


def _disputed(account: Account, disputed: Disputed) -> Element:
    entry = disputed.entry
    items = [
        element(
            "article", element("p", _facts(account, entry, example), class_="facts"), _body(account, entry, example)
        )
        for example in disputed.examples
    ]
    sentence = f"{entry.sentence}. " if entry.name is not None else ""
    says = sentence[:1].upper() + sentence[1:] + disputed.verdict[:1].upper() + disputed.verdict[1:] + "."
    return element("div", element("h3", entry.title), element("p", says, class_="note"), *items)


def _body(account: Account, entry: Entry, example: Example) -> Element:
    if account.sequences is not None:
        return shown_sequence(account, example.index, palette_of(account), example.position)
    if example.words is None:
        return element("blockquote", example.text, dir="auto")
    target = account.targets.get(key_of(entry))
    asked = spans(None if target is None else target.given, example.text)
    return marked(example.text, asked, spans_of_words(example.words, example.text))


def _facts(account: Account, entry: Entry, example: Example) -> str:
    what = account.unit.removesuffix("s") if account.sequences is None else "sequence"
    event = f"model {entry.amount(example.model)} → projected {entry.amount(example.projected)}"
    facts = [f"{what.capitalize()} {example.index}", event]
    if account.sequences is None or example.position is not None:
        at = int(account.offsets[example.index]) + (example.position or 0)
        label = account.classes[account.predicted[at]]
        facts.append(f"predicted {label} ({percent(float(account.confidence[at]))})")
        if account.truth[at] >= 0:
            right = account.truth[at] == account.predicted[at]
            facts.append("as labelled" if right else f"labelled {account.name(int(account.truth[at]))}")
    return " · ".join(facts)
