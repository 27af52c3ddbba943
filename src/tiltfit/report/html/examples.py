"""The disputed examples: the documents or tokens that fight constraints most, with the words that matter marked."""

from __future__ import annotations

from tiltfit.report.account import Account, Disputed, Example
from tiltfit.report.entry import Entry
from tiltfit.report.html.element import Element, Node, element
from tiltfit.report.html.highlights import marked, spans, spans_of_words
from tiltfit.report.html.layout import left_out, percent, section
from tiltfit.report.html.sequences import palette_of, shown_sequence
from tiltfit.report.targets import key_of


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
