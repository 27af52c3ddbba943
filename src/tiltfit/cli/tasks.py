"""Whether to classify documents or to tag sequences: as the user says, or as options, constraints and data show.

Also what commands need to know of either: the columns to read, the labels, and the place of a sequence in its file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tiltfit.cli.options import DataOptions, is_typed, spelled
from tiltfit.cli.terminal import plain
from tiltfit.errors import DataError, TiltfitError, UnsupportedError, did_you_mean

if TYPE_CHECKING:
    from tiltfit import ConstraintSet, TiltClassifier, TiltTagger
    from tiltfit.data.readers import Dataset, SequenceDataset
    from tiltfit.samples.task import Task

# Options that mean nothing in the other task.
_OWN: dict[str, tuple[str, ...]] = {
    "classify": ("text", "label", "votes", "vectorizer", "refine"),
    "tag": (
        "tokens", "tags", "token_column", "label_column", "unlabelled", "blank", "lexicon", "min_count", "hashing",
        "vectors", "weights", "boundaries", "valid_only",
    ),
}  # fmt: skip
_FORMATS = {"csv": "classify", "tsv": "classify", "xlsx": "classify", "folder": "classify", "conll": "tag"}
_KINDS = {"documents": "classify", "sequences": "tag"}
_OTHER = {"classify": "tag", "tag": "classify"}
_DOES = {"classify": "label documents", "tag": "label tokens"}
_NEEDS = {
    "tag": "sequences: CoNLL columns, or JSONL with lists of tokens (--tokens names the field)",
    "classify": "texts: JSONL or CSV (--text names the field), or a folder of texts",
}

Sign = tuple[str, str]  # the name of a task, and why it must be this one


def choose_task(ctx: typer.Context, task: str, sources: Sequence[str], constraints: ConstraintSet | None) -> Task:
    """Return the task to train for. Without a sign of either it is documents, whose reader says best what it lacks."""
    if task == "auto":
        return _agreed([*_signs_of_options(ctx), *_signs_of_constraints(constraints), *_signs_in(ctx, sources)])
    return _stated(ctx, task)


def task_of_data(ctx: typer.Context, task: str, sources: Sequence[str], constraints: ConstraintSet | None) -> Task:
    """Return the task to check for: the one that the data show, if they do, since constraints may not fit them."""
    if task == "auto":
        signs = [*_signs_of_options(ctx), *_signs_in(ctx, sources)]
        return _agreed(signs or _signs_of_constraints(constraints))
    return _stated(ctx, task)


def task_of(
    ctx: typer.Context, path: Path, model: TiltClassifier | TiltTagger, sources: Sequence[str], reading: DataOptions
) -> Task:
    """Return the task of a model; refuses options and data that it has no use for."""
    task = model.task
    what = f"{path} is a {task.estimator}"
    _refuse_foreign(ctx, task.name, what)
    for found, why in _signs_of_data(reading.format, sources, reading.texts[0], reading.tokens):
        if found != task.name:
            raise DataError(f"{what}, so it needs {_NEEDS[task.name]}; but {why}.")
    return task


def _stated(ctx: typer.Context, task: str) -> Task:
    from tiltfit.samples.task import TASKS

    if task not in TASKS:
        known = ("auto", *TASKS)
        raise DataError(f"There is no task {task!r}.{did_you_mean(task, known)} Use one of: {', '.join(known)}.")
    _refuse_foreign(ctx, task, f"this is --task {task}")
    return TASKS[task]


def _agreed(signs: Iterable[Sign]) -> Task:
    from tiltfit.samples.task import TASKS

    first: dict[str, str] = {}
    for task, why in signs:
        first.setdefault(task, why)
    if len(first) == 2:
        raise UnsupportedError(
            f"Are these documents to classify or sequences to tag? {first['classify']}, but {first['tag']}. "
            "Say --task classify or --task tag."
        )
    return TASKS[next(iter(first), "classify")]


def _signs_of_options(ctx: typer.Context) -> Iterator[Sign]:
    for task in _OWN:
        for name in _typed(ctx, task):
            yield task, f"{spelled(name)} is to {_DOES[task]}"


def _signs_of_constraints(constraints: ConstraintSet | None) -> list[Sign]:
    found = (c.title for c in constraints or () if c.is_sequence)
    return [("tag", f"the constraint {title!r} is about sequences") for title in found]


def _signs_in(ctx: typer.Context, sources: Sequence[str]) -> Iterator[Sign]:
    """The signs of data that are read as the options say."""
    given = ctx.params
    return _signs_of_data(given["format"], sources, (given["text"] or ["text"])[0], given["tokens"])


def _signs_of_data(format: str, sources: Sequence[str], text: str, tokens: str) -> Iterator[Sign]:
    from tiltfit.data.readers import guess_contents

    if format in _FORMATS:
        task = _FORMATS[format]
        yield task, f"--format {format} is to {_DOES[task]}"
        return
    for source in sources:
        contents = guess_contents(source, text=text, tokens=tokens)
        if contents is not None:
            yield _KINDS[contents.kind], contents.why


def _typed(ctx: typer.Context, task: str) -> list[str]:
    """Return the task's own options that stand on the command line."""
    return [name for name in _OWN[task] if is_typed(ctx, name)]


def _refuse_foreign(ctx: typer.Context, task: str, why: str) -> None:
    for name in _typed(ctx, _OTHER[task]):
        raise UnsupportedError(f"{spelled(name)} is to {_DOES[_OTHER[task]]}, but {why}. Leave it out.")


def noun_of(task: Task) -> str:
    """Return what the commands call an instance."""
    return "sequence" if task.is_sequences else "document"


def columns_of(task: Task, model: TiltClassifier | TiltTagger, text: str) -> list[str]:
    """Return the columns that a model needs besides text or tokens, so that they need not be named again."""
    if task.is_sequences:
        return columns_named(task, model.constraints_)
    return [name for name in getattr(model, "columns_in_", ()) if name != text]


def numeric_of(model: TiltClassifier | TiltTagger) -> tuple[str, ...] | None:
    """Return the columns that a model of a table has learned as numbers; None if it did not learn from a table."""
    return getattr(model.encoder_, "numeric", None)


def columns_named(task: Task, constraints: ConstraintSet | None) -> list[str]:
    """Return the columns that constraints on sequences look at, so that they need not be named again."""
    from tiltfit.language.document import to_document

    if not task.is_sequences:
        return []
    found: list[str] = []

    def note(part: dict[str, Any]) -> None:
        # The value of a label called "column" is a number: { distribution = { column = 0.9 } }.
        found.extend(name for name in [part.get("column")] if type(name) is str)

    json.loads(json.dumps(plain([to_document(c) for c in constraints or ()])), object_hook=note)
    return list(dict.fromkeys(found))


def labels_of(task: Task, rows: Iterable[Any] | None) -> Iterator[Any]:
    """Return every known label in y or in predictions, of documents or of the tokens of sequences."""
    given = (row for row in (() if rows is None else rows) if row is not None)
    return (label for row in given for label in row if label is not None) if task.is_sequences else given


def counts_of(task: Task, rows: Dataset | SequenceDataset) -> dict[str, int]:
    """Return the numbers of what was read."""
    counts = {"rows": len(rows), "labelled": int(rows.labelled.sum())}
    if task.is_sequences:
        lengths: Iterable[int] = map(len, rows.tokens)  # type: ignore[union-attr]
        counts |= {"tokens": sum(lengths), "labelled_tokens": sum(1 for _ in labels_of(task, rows.y))}
    return counts


@contextmanager
def located(task: Task, rows: Dataset | SequenceDataset) -> Iterator[None]:
    """Add to errors about a document or sequence the file and the line where it begins."""
    try:
        yield
    except TiltfitError as error:
        k = error.instance
        if k is None or k >= len(rows.origins):
            raise
        verb = "begins" if task.is_sequences else "is"
        where = f"{noun_of(task).capitalize()} {k} {verb} at {rows.origins[k]}."
        raise error.with_message(f"{str(error).rstrip()} {where}") from error
