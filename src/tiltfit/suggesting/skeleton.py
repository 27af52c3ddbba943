"""A constraint file to fill in: what is stated stands as it is, what is suggested stands in comments.

The file is valid before anything is filled in. Remarks begin with ``# ``; the lines of a suggested constraint begin
with ``#`` alone, so that taking away the first character of each makes them a constraint.
"""

from __future__ import annotations

from collections.abc import Iterator

from tiltfit.errors import UnsupportedError
from tiltfit.language.constraint import ConstraintSet
from tiltfit.language.document import to_document
from tiltfit.language.toml import VERSION, entry_lines
from tiltfit.suggesting.context import printable
from tiltfit.suggesting.suggestions import Suggestion, Suggestions
from tiltfit.suggesting.words import figures, groups, headline, what

USUAL = 0.9
"""The share to begin with where nothing is known: nine of ten, as in the experiments of Druck et al. (2008)."""
_MOST = 12  # classes in a remark

_HOW = """\
# For each suggestion that you know something about: take the # away from the four lines from #[[constraint]] on, fill
# in the label, and put your own estimate of the share after "about". Leave the others as they are."""


def skeleton(found: Suggestions) -> str:
    """The text of the file."""
    lines = [f"version = {VERSION}", *_classes(found), "", f"# {printable(headline(found))}", *_HOW.split("\n")]
    lines += _stated(found.stated)
    for _, heading, suggestions in groups(found):
        lines += ["", f"# ---- {printable(heading)}"] if heading else []
        for place, suggestion in suggestions:
            lines += ["", *_entry(place, suggestion, found)]
    lines += _standing(found)
    return "\n".join(lines) + "\n"


def _classes(found: Suggestions) -> list[str]:
    if len(found.classes) > 1:
        return entry_lines({"classes": list(found.classes)})
    return ['#classes = ["…", "…"]  # all labels that there are: one that is named nowhere is never predicted']


def _stated(stated: ConstraintSet) -> Iterator[str]:
    for constraint in stated:
        try:
            lines = entry_lines(to_document(constraint))
        except UnsupportedError as error:  # a Python function
            yield from ("", f"# {printable(str(error))}")
            continue
        yield from ("", "[[constraint]]", *lines)


def _entry(place: int, suggestion: Suggestion, found: Suggestions) -> Iterator[str]:
    yield f"# {place}. {printable(f'{what(suggestion, found.unit)}: {figures(suggestion, found.unit)}')}"
    for example in suggestion.examples:
        yield f"#      {printable(example)}"
    yield "#[[constraint]]"
    given = entry_lines({"given": suggestion.condition.to_document()})[0]
    if suggestion.about == "changes":
        yield "#change = true"
    elif suggestion.label is not None:
        (line,) = entry_lines({"label": suggestion.label})
        yield f"#{line}{_choice(found, but=suggestion.label)}"
    else:
        yield f"#label ={_choice(found)}"
    yield f"#{given}"
    (line,) = entry_lines({"about": USUAL if suggestion.target is None else suggestion.target})
    yield f"#{line}"


def _choice(found: Suggestions, but: object = None) -> str:
    """The other labels, as a remark."""
    names = [entry_lines({"x": label})[0].removeprefix("x = ") for label in found.classes if label != but]
    if not names:
        return ""
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return f"  # {'one of' if but is None else 'or'}: {', '.join(names[:_MOST])}{more}"


def _standing(found: Suggestions) -> Iterator[str]:
    """Statements that suit any collection: they have no condition, so they are not ranked."""
    yield from ("", "# Also worth a statement, whatever the words:")
    if found.unit == "tokens":
        yield from ("", "# How often does a label go on from one token to the next?")
        yield from ("#[[constraint]]", "#stay = true", f"#about = {USUAL}")
        yield from ("", "# Where may a sequence begin?")
        yield from ("#[[constraint]]", f"#start ={_choice(found)}", f"#at_least = {USUAL}")
    else:
        yield from ("", f"# How large is the share of a label among all {found.unit}?")
        yield from ("#[[constraint]]", f"#label ={_choice(found)}", "#about =")
