"""CoNLL columns: one token a line with its label and whatever else, a blank line after each sequence.

    Confidence NN B-NP
    in IN B-PP

Columns are separated by tabs or spaces; those of the token and of the label are given by number (from 0; −1 is the
last). Lines that begin with ``-DOCSTART-`` are skipped, and so are comments before a sequence, as CoNLL-U has them
(``# sent_id = 1``, ``# newdoc``).
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tiltfit.arguments import whole
from tiltfit.data.readers import source
from tiltfit.data.readers.record import Record, Refusal, Survey, Tagged, Value, Vocabulary, problem
from tiltfit.data.readers.source import scan
from tiltfit.errors import DataError, DataFileError, did_you_mean

DOCSTART = "-DOCSTART-"
BLANKS = ("error", "skip", "replace")

# Not str.split(): it would also cut tokens at no-break and other spaces.
_BLANK = re.compile(r"[\s\x00-\x1f\x7f-\x9f]*")  # nothing, spaces, or control characters alone
_SPACES = re.compile(r"[ \t]+")
# Not every line with a number sign: it is also a token.
_COMMENT = re.compile(r"# *([\w.:-]+ *= ?[^\t]*|new(doc|par)\b[^\t]*)")


@dataclass(frozen=True)
class Columns:
    """``token``, ``label``: numbers of columns, negative ones from the end; ``label=None`` reads no labels.

    ``delimiter``: what stands between columns; None: tabs if the first line has one, else spaces.
    ``unlabelled``: labels that mean "unlabelled", beside the empty one.
    ``named``: names and numbers of further columns to read.
    ``blank``: what to do with a line whose token is blank: ``error``, ``skip`` it, or ``replace`` the token by
    ``replacement``.
    """

    token: int = 0
    label: int | None = -1
    delimiter: str | None = None
    unlabelled: frozenset[str] = frozenset()
    blank: str = "error"
    replacement: str = "_"
    named: tuple[tuple[str, int], ...] = ()

    def __post_init__(self) -> None:
        for name in ("token", "label"):
            value = getattr(self, name)
            number = whole(value)
            if number is None and not (name == "label" and value is None):
                raise DataError(f"{name}={value!r} must be the number of a column: 0 is the first, -1 the last.")
            object.__setattr__(self, name, number)
        if self.blank not in BLANKS:
            raise DataError(
                f"blank={self.blank!r} must be one of {', '.join(BLANKS)}.{did_you_mean(self.blank, BLANKS)}"
            )
        if self.delimiter == "":
            raise DataError("The delimiter of the columns must not be empty.")


def conll_sequences(survey: Survey, raw: io.BufferedReader, columns: Columns) -> Iterator[Tagged | Refusal]:
    """Every sequence of a file of columns. One with a line that cannot be used is refused as a whole."""
    layout: _Layout | None = None
    survey.final = True
    current = _Sequence(survey.place)
    for number, text, flaw in scan(survey.place, raw):
        line = text.rstrip("\r\n")
        if flaw is None and (not line or line.isspace() or line.startswith(DOCSTART)):
            if (found := current.finished()) is not None:
                yield found
            current = _Sequence(survey.place)
            continue
        if flaw is None and current.is_empty and _COMMENT.fullmatch(line):
            continue
        if layout is None and flaw is None:
            layout = _Layout.of(survey.place, number, line, columns)
            survey.labelled = layout.label is not None
        if (refusal := current.take(number, line, flaw, layout)) is not None:
            yield refusal
    if (found := current.finished()) is not None:
        yield found


class _Sequence:
    """The part of one sequence that has been read."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._begin = self._start = 0  # its first line, and that of its first token
        self._tokens: list[str] = []
        self._tags: list[str | None] = []
        self._others: list[tuple[str, ...]] = []
        self._size = 0
        self._broken = False

    def take(self, number: int, line: str, flaw: Refusal | None, layout: _Layout | None) -> Refusal | None:
        """One more line, or the refusal of the sequence. What follows in a refused sequence is passed over."""
        self._begin = self._begin or number
        if self._broken:
            return None
        if flaw is not None or layout is None:  # the latter is so before the first line that is text
            return flaw and self._refusal(flaw.error)
        try:
            found = layout.split(number, line)
        except DataFileError as error:
            return self._refusal(error)
        if found is not None:
            self._start = self._start or number
            token, tag, others = found
            self._tokens.append(token)
            self._tags.append(tag)
            self._others.append(others)
            self._size += len(line)
            if self._size > source.MAX_LINE:
                why = f"the sequence is longer than {source.MAX_LINE:,} characters. A blank line ends a sequence."
                return self._refusal(problem(self._place, self._begin, why))
        return None

    @property
    def is_empty(self) -> bool:
        """True before its first line."""
        return not self._begin

    def _refusal(self, error: DataFileError) -> Refusal:
        self._broken = True
        self._tokens, self._tags, self._others = [], [], []
        return Refusal(error, f"The sequence from line {self._begin} up to the next blank line is left out.")

    def finished(self) -> Tagged | None:
        """The sequence, unless it is empty or refused."""
        if not self._tokens:
            return None
        known = any(tag is not None for tag in self._tags)
        columns: tuple[Value, ...] = tuple([*column] for column in zip(*self._others, strict=True))
        return Record(self._place, self._start, None, self._tokens, self._tags if known else None, columns)


class _Layout:
    """The columns of one file, as its first line shows them."""

    def __init__(self, place: str, line: int, width: int, delimiter: str | None, columns: Columns) -> None:
        self._place, self._first, self._width, self._delimiter = place, line, width, delimiter
        self._columns = columns
        self._vocabulary = Vocabulary(place)
        self.token = self._resolve("token", columns.token)
        label = columns.label
        # One column: tokens alone. Its number is then no choice of the user's.
        self.label = None if label is None or (width == 1 and label == -1) else self._resolve("label", label)
        if self.label == self.token:
            raise problem(
                place,
                line,
                f"column {self.token} cannot hold both tokens and labels. Say which columns hold them: token and label "
                "(on the command line: --token-column, --label-column).",
            )
        self._marks = columns.unlabelled | {""}
        self._named = [self._resolve(f"column {name!r}", number) for name, number in columns.named]

    @staticmethod
    def of(place: str, number: int, line: str, columns: Columns) -> _Layout:
        _refuse_returns(place, number, line)
        delimiter = columns.delimiter if columns.delimiter is not None else "\t" if "\t" in line else None
        return _Layout(place, number, len(_cells(line, delimiter)), delimiter, columns)

    def _resolve(self, role: str, number: int) -> int:
        if -self._width <= number < self._width:
            return number % self._width
        raise problem(
            self._place,
            self._first,
            f"there is no column {number} for the {role}: the line has {self._width} "
            f"({'separated by ' + repr(self._delimiter) if self._delimiter else 'separated by spaces'}). "
            f"Name another one (on the command line: {'--evidence' if ' ' in role else f'--{role}-column'}); 0 is the "
            "first, -1 the last.",
        )

    def split(self, number: int, line: str) -> tuple[str, str | None, tuple[str, ...]] | None:
        """Token, label and named columns of a line; None if it is to be skipped."""
        _refuse_returns(self._place, number, line)
        cells = _cells(line, self._delimiter)
        if len(cells) != self._width:
            # Between spaces a blank token leaves no cell, only the space before the next one.
            if self._delimiter is None and self.token == 0 and line[0] in " \t" and len(cells) == self._width - 1:
                cells.insert(0, "")
            else:
                raise self._ragged(number, len(cells), line)
        token = cells[self.token]
        if _BLANK.fullmatch(token):
            if self._columns.blank == "skip":
                return None
            if self._columns.blank == "error":
                raise self._blank(number, token)
            token = self._columns.replacement
        label = cells[self.label].strip() if self.label is not None else ""
        token = self._vocabulary.take(token, number, f"column {self.token}")
        return token, None if label in self._marks else label, tuple(cells[k].strip() for k in self._named)

    def _blank(self, number: int, token: str) -> Exception:
        return problem(
            self._place,
            number,
            f"the token (column {self.token}) is blank: {token!r}. Correct the line, or say blank='skip' to leave such "
            f"lines out or blank='replace' to read {self._columns.replacement!r}.",
        )

    def _ragged(self, number: int, width: int, line: str) -> Exception:
        how = "spaces" if self._delimiter is None else "tabs" if self._delimiter == "\t" else repr(self._delimiter)
        hint = " Is this line separated by tabs?" if self._delimiter is None and "\t" in line else ""
        return problem(
            self._place,
            number,
            f"{width} columns here, but {self._width} in line {self._first} (separated by {how}): {line[:60]!r}. "
            f"Every token needs all columns, and a blank line ends a sequence.{hint}",
        )


def _refuse_returns(place: str, number: int, line: str) -> None:
    """Old line ends: a whole file would be one token, or all of it one line of many columns."""
    if "\r" in line:
        raise problem(
            place,
            number,
            "the line holds carriage returns (CR) that are no line ends. Convert the line ends to LF or CR LF.",
        )


def _cells(line: str, delimiter: str | None) -> list[str]:
    return line.split(delimiter) if delimiter is not None else _SPACES.split(line.strip(" \t"))
