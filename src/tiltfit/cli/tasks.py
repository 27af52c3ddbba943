"""Is it documents to classify or sequences to tag? What the user says, or what options, constraints and data tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from tiltfit.cli.options import DataOptions
from tiltfit.errors import DataError, UnsupportedError, did_you_mean

if TYPE_CHECKING:
    from tiltfit import ConstraintSet, TiltClassifier, TiltTagger

Task = Literal["classify", "tag"]
TASKS = ("auto", "classify", "tag")

# Options that mean nothing in the other task.
_OWN: dict[Task, tuple[str, ...]] = {
    "classify": ("text", "label", "vectorizer"),
    "tag": (
        "tokens",
        "tags",
        "token_column",
        "label_column",
        "unlabelled",
        "blank",
        "lexicon",
        "min_count",
        "hashing",
        "weights",
        "boundaries",
        "valid_only",
    ),
}
_FORMATS: dict[str, Task] = {"csv": "classify", "tsv": "classify", "folder": "classify", "conll": "tag"}
_KINDS: dict[str, Task] = {"documents": "classify", "sequences": "tag"}
_OTHER: dict[Task, Task] = {"classify": "tag", "tag": "classify"}
_DOES = {"classify": "label documents", "tag": "label tokens"}


def choose_task(ctx: typer.Context, task: str, sources: Sequence[str], constraints: ConstraintSet | None) -> Task:
    """What is to be trained. Without a sign of either it is documents, whose reader says best what it lacks."""
    if task == "auto":
        return _agreed([*_signs_of_options(ctx), *_signs_of_constraints(constraints), *_signs_of_data(ctx, sources)])
    return _stated(ctx, task)


def task_of_data(ctx: typer.Context, task: str, sources: Sequence[str], constraints: ConstraintSet | None) -> Task:
    """What is to be checked: as the data tell, if they do; constraints that do not fit them are what is looked for."""
    if task == "auto":
        signs = [*_signs_of_options(ctx), *_signs_of_data(ctx, sources)]
        return _agreed(signs or _signs_of_constraints(constraints))
    return _stated(ctx, task)


def task_of(ctx: typer.Context, path: Path, model: TiltClassifier | TiltTagger, sources: Sequence[str]) -> Task:
    """What a model does; refuses options and data that it can do nothing with."""
    from tiltfit import TiltTagger

    task: Task = "tag" if isinstance(model, TiltTagger) else "classify"
    what = "a tagger" if task == "tag" else "a classifier"
    _refuse_foreign(ctx, task, f"{path} is {what}")
    for found, why in _signs_of_data(ctx, sources):
        if found != task:
            needs = {
                "tag": "sequences: CoNLL columns, or JSONL with lists of tokens (--tokens names the field)",
                "classify": "texts: JSONL or CSV (--text names the field), or a folder of texts",
            }
            raise DataError(f"{path} is {what}, so it needs {needs[task]}; but {why}.")
    return task


Sign = tuple[Task, str]  # a task, and why it must be this one


def _stated(ctx: typer.Context, task: str) -> Task:
    for known in _OWN:
        if task == known:
            _refuse_foreign(ctx, known, f"this is --task {task}")
            return known
    raise DataError(f"There is no task {task!r}.{did_you_mean(task, TASKS)} Use one of: {', '.join(TASKS)}.")


def _agreed(signs: Iterable[Sign]) -> Task:
    first: dict[Task, str] = {}
    for task, why in signs:
        first.setdefault(task, why)
    if len(first) == 2:
        raise UnsupportedError(
            f"Are these documents to classify or sequences to tag? {first['classify']}, but {first['tag']}. "
            "Say --task classify or --task tag."
        )
    return next(iter(first), "classify")


def _signs_of_options(ctx: typer.Context) -> Iterator[Sign]:
    for task in _OWN:
        for name in _typed(ctx, task):
            yield task, f"{_spelt(name)} is to {_DOES[task]}"


def _signs_of_constraints(constraints: ConstraintSet | None) -> list[Sign]:
    found = (c.title for c in constraints or () if c.is_sequence)
    return [("tag", f"the constraint {title!r} speaks of sequences") for title in found]


def _signs_of_data(ctx: typer.Context, sources: Sequence[str]) -> Iterator[Sign]:
    from tiltfit.data.readers import guess_contents

    options = DataOptions.of(ctx)
    if options.format in _FORMATS:
        yield _FORMATS[options.format], f"--format {options.format} is to {_DOES[_FORMATS[options.format]]}"
        return
    for source in sources:
        contents = guess_contents(source, text=options.text, tokens=options.tokens)
        if contents is not None:
            yield _KINDS[contents.kind], contents.why


def _typed(ctx: typer.Context, task: Task) -> list[str]:
    """The task's own options that stand on the command line."""
    sources = ((name, ctx.get_parameter_source(name)) for name in _OWN[task] if name in ctx.params)
    return [name for name, source in sources if source is not None and source.name == "COMMANDLINE"]


def _refuse_foreign(ctx: typer.Context, task: Task, why: str) -> None:
    for name in _typed(ctx, _OTHER[task]):
        raise UnsupportedError(f"{_spelt(name)} is to {_DOES[_OTHER[task]]}, but {why}. Leave it out.")


def _spelt(name: str) -> str:
    return f"--{name.replace('_', '-')}"
