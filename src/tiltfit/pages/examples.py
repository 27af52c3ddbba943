"""The documents or tokens that fight constraints most, with the words that matter marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltfit.data.documents import as_table, as_texts
from tiltfit.data.inputs import TableInputs
from tiltfit.errors import TiltfitError
from tiltfit.explain.causes import why
from tiltfit.explain.disputes import disputes
from tiltfit.markup.element import Element, Node, element
from tiltfit.pages.account import Account
from tiltfit.pages.highlights import marked, spans, spans_of_words
from tiltfit.pages.layout import left_out, percent, section
from tiltfit.pages.sequences import palette_of, shown_sequence
from tiltfit.report.targets import key_of

if TYPE_CHECKING:
    from tiltfit.explain.disputes import Dispute, Fight
    from tiltfit.report.entry import Entry

_MOST, _EACH = 6, 3  # constraints, and examples of each
_WEIGHTY = 4  # words underlined in a document


def examples_section(account: Account) -> Element | None:
    """What is most at odds with each of the dearest constraints; None where there are none."""
    heading = "Disputed examples"
    if not len(account.report):
        return None
    X = account.X if account.sequences is None else account.sequences
    try:
        found = disputes(account.estimator, X, top=_EACH)
    except TiltfitError as error:
        return section("examples", heading, element("p", f"Disputes cannot be told on these data: {error}"))
    fought = [(entry, d) for entry, d in zip(account.report, found, strict=True) if d.fights]
    if not fought:
        return section("examples", heading, element("p", "Nothing in these data is at odds with a constraint."))
    fought.sort(key=lambda pair: (-abs(pair[1].price or 0.0), -pair[1].fights[0].amount))
    shown = fought[:_MOST]
    words = _Words.of(account, [fight.index for _, d in shown for fight in d.fights])
    return section(
        "examples",
        heading,
        element("p", *_lead(account, words is not None)),
        *(_dispute(account, entry, dispute, words) for entry, dispute in shown),
        left_out(len(fought) - len(shown), "constraint"),
    )


def _lead(account: Account, with_words: bool) -> list[Node]:
    what = account.unit.removesuffix("s")
    nodes: list[Node] = [
        f"For the constraints that are fought hardest, the {what}s where the model disagrees most. Prices are those of "
        "these data. "
    ]
    if with_words:
        nodes += ["A ", element("mark", "marked", class_="asked"), " word is what the constraint looks at; ",
                  element("mark", "underlined", class_="weighty"), " words speak most for the label that the model "
                  "gives."]  # fmt: skip
    return nodes


def _dispute(account: Account, entry: Entry, dispute: Dispute, words: _Words | None) -> Element:
    target = account.targets.get(key_of(entry))
    palette = None if account.sequences is None else palette_of(account)
    items = []
    for fight in dispute.fights:
        if palette is not None:
            body = shown_sequence(account, fight.index, palette, fight.position)
        elif words is None:
            body = element("blockquote", fight.text, dir="auto")
        else:
            text = words.texts[fight.index]
            asked = spans(None if target is None else target.given, text)
            body = marked(text, asked, spans_of_words(words.weighty.get(fight.index, ()), text))
        items.append(element("article", element("p", *_facts(account, entry, fight), class_="facts"), body))
    told = f"{entry.sentence}. " if entry.name is not None else ""
    says = told[:1].upper() + told[1:] + dispute.verdict[:1].upper() + dispute.verdict[1:] + "."
    return element("div", element("h3", entry.title), element("p", says, class_="note"), *items)


def _facts(account: Account, entry: Entry, fight: Fight) -> list[Node]:
    what = account.unit.removesuffix("s") if account.sequences is None else "sequence"
    place = f"{what.capitalize()} {fight.index}"
    at = fight.index if account.sequences is None else _position(account, fight)
    event = f"model {entry.amount(fight.model)} → projected {entry.amount(fight.projected)}"
    told = [place, event]
    if at is not None:
        label = account.classes[account.predicted[at]]
        told.append(f"predicted {label} ({percent(float(account.confidence[at]))})")
        if account.truth[at] >= 0:
            right = account.truth[at] == account.predicted[at]
            told.append("as labelled" if right else f"labelled {account.name(int(account.truth[at]))}")
    return [" · ".join(told)]


def _position(account: Account, fight: Fight) -> int | None:
    return None if fight.position is None else int(account.offsets[fight.index]) + fight.position


class _Words:
    """The texts of X, and for some of them the words that speak most for what the model predicts."""

    def __init__(self, texts: Sequence[str], weighty: dict[int, tuple[str, ...]]) -> None:
        self.texts, self.weighty = texts, weighty

    @staticmethod
    def of(account: Account, numbers: Sequence[int]) -> _Words | None:
        if account.sequences is not None:
            return None
        texts, table, columns = as_texts(account.X), as_table(account.X), []
        wanted = sorted(set(numbers))
        part: Any
        if texts is not None:
            part = [texts[i] for i in wanted]
        elif table is not None and TableInputs(table).text_columns:
            at = np.array(wanted, dtype=np.intp)
            part = {name: values[at] for name, values in table.items()}
            texts, columns = _joined(TableInputs(table)), TableInputs(table).text_columns
        else:
            return None
        try:
            causes = why(account.estimator, part, top=_WEIGHTY)
        except TiltfitError:
            return _Words(texts, {})
        words = (
            tuple(_word(p.name, columns) for p in cause.parts if p.kind == "feature" and p.amount > 0)
            for cause in causes
        )
        return _Words(texts, dict(zip(wanted, words, strict=True)))


def _word(name: str, columns: Sequence[str]) -> str:
    """The word of a feature: in a table it is called ``column:word``."""
    column = next((c for c in columns if name.startswith(f"{c}:")), None)
    return name if column is None else name.removeprefix(f"{column}:")


def _joined(table: TableInputs) -> list[str]:
    """The text of every row; of several columns, one after the other."""
    columns = [table.texts(name) for name in table.text_columns]
    return [" — ".join(filter(None, row)) for row in zip(*columns, strict=True)]
