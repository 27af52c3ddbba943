"""``tiltfit convert``: files of other tools as files that tiltfit reads."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from tiltfit.cli.options import DataOptions, JsonOnly, Only, check_output, command, is_typed, option, spelled
from tiltfit.cli.render import write_jsonl, writing
from tiltfit.cli.terminal import Terminal, class_name, session
from tiltfit.errors import DataError, FileError, did_you_mean

if TYPE_CHECKING:
    from tiltfit import ConstraintSet

STDIN = "-"
KINDS = ("mallet-constraints", "statements", "simple-tagger", "snorkel")
_OWN = {
    "simple-tagger": ("token_column", "labels"),
    "snorkel": ("constraints", "data", "classes", "header", "delimiter", "text", "label"),
}


@command
def convert(
    ctx: typer.Context,
    *,
    kind: Annotated[str, typer.Argument(metavar="KIND", help=f"{', '.join(KINDS)}.", show_default=False)],
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="MALLET's constraints (`puck hockey:0.9 baseball:0.1`), statements (a CSV of label, word, share), a "
            "SimpleTagger file, or a matrix of votes (CSV, TSV, .npy, .npz; -1 abstains). - is standard input.",
            show_default=False,
        ),
    ],
    output: Path | None = option(
        None,
        "File to write; else stdout. Constraints: .toml; sequences: .conll or .jsonl; votes: .jsonl or .csv.",
        "--output",
        "-o",
    ),
    token_column: int = option(0, "simple-tagger: the feature that is the token; 0 is the first."),
    labels: bool = option(True, "simple-tagger: whether the last field of a line is a label.", "--labels/--no-labels"),
    constraints: Path | None = option(None, "snorkel: the constraints to write (TOML).", "--constraints", "-c"),
    data: list[str] | None = option(None, "snorkel: the documents that were voted on. Repeatable.", "--data", "-d"),
    classes: str | None = option(None, "snorkel: names of the classes 0, 1, …, with commas."),
    header: bool | None = option(
        None, "snorkel: whether the first row of CSV names the rules.", "--header/--no-header"
    ),
    reading: Annotated[DataOptions, Only("delimiter", "text", "label")],
    printing: JsonOnly,
) -> None:
    """Convert a FILE of another tool: MALLET's constraints and SimpleTagger sequences, Snorkel's votes, a table
    of statements."""
    with session(ctx, printing) as terminal:
        _check(ctx, kind, source, [path for path in (output, constraints) if path is not None], data or [])
        from tiltfit import ConstraintSet

        if kind == "snorkel":
            _snorkel(terminal, reading, source, output, constraints, data or [], classes, header)
        elif kind == "statements":
            _write_constraints(terminal, ConstraintSet.read(source), output)
        elif kind == "simple-tagger":
            _simple_tagger(terminal, source, output, token_column, labels)
        else:
            _mallet(terminal, source, output)


def _check(ctx: typer.Context, kind: str, source: str, outputs: list[Path], data: list[str]) -> None:
    if kind not in KINDS:
        raise DataError(
            f"There is no kind {kind!r} to convert.{did_you_mean(kind, KINDS)} Use one of: {', '.join(KINDS)}."
        )
    for other, names in _OWN.items():
        for name in names:
            if other != kind and is_typed(ctx, name):
                raise DataError(f"{spelled(name)} is for {other}, but this is {kind}. Leave it out.")
    for path in outputs:
        check_output(path, [source, *data])
    if len(outputs) == 2 and outputs[0].resolve() == outputs[1].resolve():
        raise DataError(f"--output and --constraints are the same file, {outputs[0]}. Name two.")


def _mallet(terminal: Terminal, source: str, output: Path | None) -> None:
    from tiltfit.data.readers.source import lines, opened, place_of
    from tiltfit.language.mallet import parse_mallet, read_mallet

    if source == STDIN:
        with opened(source) as raw:
            found = parse_mallet((line for _, line in lines(place_of(source), raw)), place_of(source))
    else:
        found = read_mallet(source)
    if not found:
        raise FileError(
            f"{place_of(source)}: no constraints. A line holds a feature and the expected shares of its labels."
        )
    _write_constraints(terminal, found, output)


def _write_constraints(terminal: Terminal, found: ConstraintSet, output: Path | None) -> None:
    with _writing(terminal, output) as file:
        file.write(found.to_toml())
    _done(terminal, output, constraints=len(found))


def _simple_tagger(terminal: Terminal, source: str, output: Path | None, token: int, labels: bool) -> None:
    from tiltfit.convert.simple_tagger import as_conll, as_objects, read_simple_tagger
    from tiltfit.data.readers.source import place_of

    suffix = _suffix(output) or ".conll"
    if suffix not in (".conll", ".jsonl"):
        raise FileError(f"{output}: sequences are written as CoNLL columns or JSONL. Name it .conll or .jsonl.")
    sequences = read_simple_tagger(source, token=token, labels=labels)
    with _writing(terminal, output) as file:
        if suffix == ".conll":
            file.writelines(as_conll(place_of(source), sequences))
        else:
            write_jsonl(as_objects(sequences), file)
    if suffix == ".conll" and any(any(sequence.features) for sequence in sequences):
        terminal.note("Only tokens and labels have a place in the columns; .jsonl keeps the other features.")
    _done(terminal, output, sequences=len(sequences), tokens=sum(len(sequence.tokens) for sequence in sequences))


def _snorkel(
    terminal: Terminal,
    reading: DataOptions,
    source: str,
    output: Path | None,
    constraints: Path | None,
    data: list[str],
    classes: str | None,
    header: bool | None,
) -> None:
    from tiltfit.convert.votes import constraints_of, read_votes, rows_of

    suffix = _suffix(output) or ".jsonl"
    if suffix not in (".jsonl", ".csv"):
        raise FileError(f"{output}: votes are written as JSONL or CSV. Name it .jsonl or .csv.")
    if source == STDIN and STDIN in data:
        raise DataError("Standard input (-) can be read only once.")
    names = [name.strip() for name in classes.split(",")] if classes is not None else None
    votes = read_votes(source, classes=names, header=header, delimiter=reading.tab_or_delimiter)
    documents = replace(reading, delimiter=None).read_documents(data, labels=True) if data else None
    said = constraints_of(votes, text_labels=suffix == ".csv")
    with _writing(terminal, output) as file:
        (_write_csv if suffix == ".csv" else write_jsonl)(rows_of(votes, documents), file)
    if constraints is not None:
        with writing(constraints) as file:
            file.write(said.to_toml())
    for name in votes.silent:
        terminal.note(f"The rule {name!r} never votes, so there is no constraint on it.")
    _done(terminal, output, rows=len(votes), rules=len(votes.names), constraints=len(said))
    if output is not None and constraints is not None:
        columns = " ".join(f"--column {name}" for name in votes.names)
        terminal.show(f"Next: tiltfit check {constraints} --data {output} {columns}")


def _suffix(output: Path | None) -> str:
    """Return the suffix before .gz, the only compression that is written; "" for standard output."""
    return "" if output is None else Path(output.name.removesuffix(".gz")).suffix.lower() or "."


def _writing(terminal: Terminal, output: Path | None) -> AbstractContextManager[TextIO]:
    if output is None and terminal.as_json:
        raise DataError("--json reports what was written, so it needs --output FILE.")
    return writing(output)


def _write_csv(rows: Iterable[dict[str, Any]], file: TextIO) -> None:
    writer = csv.writer(file, lineterminator="\n")
    for i, row in enumerate(rows):
        if i == 0:
            writer.writerow(row)
        writer.writerow(["" if value is None else class_name(value) for value in row.values()])


def _done(terminal: Terminal, output: Path | None, **counts: int) -> None:
    terminal.document({"output": None if output is None else str(output), **counts})
    if output is not None:
        terminal.show(f"Wrote {output}: {', '.join(f'{n:,} {what}' for what, n in counts.items())}.")
