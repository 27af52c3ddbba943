"""What is wrong with text that is not TOML: the line, a caret under the place, and what to write instead."""

from __future__ import annotations

import re
import tomllib

from tiltfit.errors import ConstraintFileError

_PLACE = re.compile(r"(.*) \(at line (\d+), column (\d+)\)", re.DOTALL)
_BEFORE_VALUE = re.compile(r"[=,\[{]\s*")
_WORDS = re.compile(r"""[^\W\d][^,\]}#"'=]*""")
_CURLY = re.compile('[“”„«»‘’‚]([^“”„«»‘’‚"]*)[“”„«»‘’‚"]')  # as word processors write them
_WIDTH, _LEFT = 90, 60  # characters of a line that are shown, and those before the place at most


def not_toml(text: str, path: str, error: Exception) -> ConstraintFileError:
    """The error for text that is not TOML; a note holds the line with a caret."""
    reason = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
    head = f"{path}: " if path else ""
    found = _PLACE.fullmatch(reason)
    if found is None or not isinstance(error, tomllib.TOMLDecodeError):
        return ConstraintFileError(f"{head}this is not valid TOML: {reason}.")
    number, column = int(found[2]), int(found[3]) - 1
    line = text.split("\n")[number - 1].rstrip("\r")
    made = ConstraintFileError(f"{head}{_said(line, number, column, found[1])}")
    made.add_note(excerpt(line, number, column))
    return made


def excerpt(line: str, number: int, column: int) -> str:
    """A line of a file with a caret below one of its characters.

    >>> print(excerpt("label = hockey", 4, 8))
    4 | label = hockey
      |         ^
    """
    start = max(0, column - _LEFT)
    shown = "".join(c if c.isprintable() else " " for c in line[start : start + _WIDTH])
    margin = f"{number} | "
    return f"{margin}{shown}\n{' ' * (len(margin) - 2)}| {' ' * (column - start)}^"


def _said(line: str, number: int, column: int, reason: str) -> str:
    """The reason in words: in a skeleton that somebody began to fill in, a key without a value."""
    unfilled = re.fullmatch(r"\s*([A-Za-z_]+)\s*=\s*(#.*)?", line)
    if unfilled is not None:
        return (
            f"`{unfilled[1]}` in line {number} has no value. Fill it in, or put # in front of every line of this "
            "constraint to leave it out."
        )
    return f"line {number}: this is not valid TOML: {reason[:1].lower()}{reason[1:]}.{_cure(line, column)}"


def _cure(line: str, column: int) -> str:
    """What to write instead, if that is clear."""
    before, rest = line[:column], line[column:]
    words = _WORDS.match(rest)
    if words is not None and _BEFORE_VALUE.search(before) and before.rstrip()[-1:] in "=,[{":
        value = words[0].rstrip()
        if value.lower() in ("true", "false"):
            return f" Write {value.lower()}, in lower case."
        return f' Text stands in quotes: write "{value}".'
    if (curly := _CURLY.match(rest)) is not None:
        return f' Use straight quotes: write "{curly[1]}".'
    number = re.search(r"=\s*([0-9.]+)$", before)
    if number is not None and rest.startswith("%"):
        return f" Shares are numbers from 0 to 1: write {float(number[1]) / 100:g}."
    if number is not None and (decimals := re.match(r",([0-9]+)", rest)):
        return f" Write numbers with a point: {number[1]}.{decimals[1]}."
    return ""
