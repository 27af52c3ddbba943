"""The place of a ``tiltfit train --online`` run in its data, as the model file keeps it, and resuming such a run.

The checkpoint is the model file itself. Nothing in it depends on the time or on how often a run was interrupted.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tiltfit.cli.options import spelled
from tiltfit.cli.terminal import plain
from tiltfit.errors import ModelFileError, TiltfitError, UnsupportedError

if TYPE_CHECKING:
    from tiltfit import ConstraintSet, TiltClassifier, TiltTagger

# Options that may change when a run is resumed: they have no effect on what is learned from the rest.
_FREE = (
    "output", "resume", "fresh", "checkpoint", "passes", "on_error", "jobs", "as_json", "quiet", "verbose", "online",
    "solver", "task",
)  # fmt: skip
_FILES = ("constraints", "lexicon")  # compared by content
_SHOWN = 5  # problems that are kept
_COUNTS = ("size", "passes", "taken", "rows", "labelled", "tokens", "labelled_tokens", "malformed", "unfit")


@dataclass(frozen=True)
class Place:
    """``passes`` are complete, and ``taken`` instances of the next are done. ``run``: the options it was begun with;
    ``size``: instances per chunk.

    The rest counts what this pass met or, if none is under way, what the last one met: ``rows`` learned from;
    ``malformed`` records that could not be read, ``unfit`` ones that could not be learned from, and the first
    ``problems`` of each. ``digest`` and ``head``: of the instances taken, and of the first chunk (``ChunkStream``).
    """

    run: Mapping[str, Any]
    size: int
    passes: int = 0
    taken: int = 0
    rows: int = 0
    labelled: int = 0
    tokens: int = 0
    labelled_tokens: int = 0
    malformed: int = 0
    unfit: int = 0
    malformed_problems: tuple[str, ...] = ()
    unfit_problems: tuple[str, ...] = ()
    digest: str = ""
    head: str = ""

    @property
    def left_out(self) -> int:
        return self.malformed + self.unfit

    @property
    def problems(self) -> list[str]:
        """The reasons why the first records were left out."""
        return [*self.malformed_problems, *self.unfit_problems][:_SHOWN]

    def counts(self, *, tagged: bool) -> dict[str, int]:
        """Return the numbers of what was learned from."""
        names = ("rows", "labelled", *(("tokens", "labelled_tokens") if tagged else ()))
        return {name: getattr(self, name) for name in names}

    def document(self) -> dict[str, Any]:
        """Return the place as JSON."""
        return dict(plain(asdict(self)))

    @staticmethod
    def of(document: Mapping[str, Any]) -> Place:
        """Return the inverse of ``document``; raises a ModelFileError if it cannot be one."""
        if set(document) != {field.name for field in fields(Place)} or type(document["run"]) is not dict:
            raise ModelFileError("The place in the data is not one that this version of tiltfit writes.")
        values = dict(document)
        for name in ("malformed_problems", "unfit_problems"):
            if type(values[name]) is not list or not {*map(type, values[name])} <= {str}:
                raise ModelFileError(f"The place in the data has {name} that are not a list of texts.")
            values[name] = tuple(values[name])
        for name in ("digest", "head"):
            if type(values[name]) is not str:
                raise ModelFileError(f"The place in the data has {name} = {values[name]!r:.40}, which is not a text.")
        for name in _COUNTS:
            if type(values[name]) is not int or values[name] < (name == "size"):
                raise ModelFileError(f"The place in the data has {name} = {values[name]!r:.40}, which is not a count.")
        return Place(**values)


def first(problems: list[str]) -> tuple[str, ...]:
    """Return the problems that are kept."""
    return tuple(problems[:_SHOWN])


@dataclass(frozen=True)
class EarlierRun:
    """A model that learns online, from a file, and its place in the data it was trained on, if the file holds that."""

    path: Path
    model: TiltClassifier | TiltTagger
    place: Place | None = None

    @staticmethod
    def load(path: Path) -> EarlierRun:
        """Return the model of a file; refuses one that was trained in another way."""
        from tiltfit import load

        model = load(path)
        stream = model.stream_
        if stream is None:
            raise UnsupportedError(
                f"{path} was not trained with --online, so its training cannot continue. Begin another with --online."
            )
        try:
            return EarlierRun(path, model, Place.of(stream.place) if stream.place else None)
        except ModelFileError as error:
            raise ModelFileError(f"{path} is damaged: {error}") from error


def resume(path: Path, run: Mapping[str, Any]) -> tuple[TiltClassifier | TiltTagger, Place]:
    """Return the model of an interrupted run and its place; refuses to continue with other options, by name."""
    earlier = EarlierRun.load(path)
    if earlier.place is None:
        raise UnsupportedError(
            f"{path} does not say where it is in its data, since it was not written by `tiltfit train --online`. "
            "--from continues from it with new data."
        )
    then = earlier.place.run
    for name in dict.fromkeys([*then, *run]):
        if then.get(name) != run.get(name):
            raise UnsupportedError(
                f"{path} was begun {_difference(name, then.get(name), run.get(name))} A run is resumed with the "
                "options it was begun with: give those, or say --fresh instead of --resume to begin again."
            )
    return earlier.model, earlier.place


def refuse_replacing(path: Path) -> None:
    """Refuse to begin a run whose output holds another one: a user who forgot ``--resume`` would lose it."""
    if not path.exists():
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            earlier = EarlierRun.load(path)
    except TiltfitError:  # not a model, or one that was trained in another way: replaced, as always
        return
    if earlier.place is not None:
        raise UnsupportedError(
            f"{path} holds what an earlier run has learned, which this run would replace. Continue with --resume, "
            "begin again with --fresh, or choose another -o."
        )


def _difference(name: str, then: Any, now: Any) -> str:
    if name in ("--constraints", "--lexicon") and then is not None:  # known by a digest
        return f"with {name}, which is now missing." if now is None else f"with another content of {name}."
    if then is None:
        return f"without {name}."
    return f"with {name} {_words(then)}, {'which is now missing' if now is None else f'not {_words(now)}'}."


def _words(value: Any) -> str:
    return " ".join(map(str, value)) if type(value) is list else str(value)


def described(ctx: typer.Context, task: str, constraints: ConstraintSet | None, lexicons: Any) -> dict[str, Any]:
    """Return the options that must be the same when a run is resumed: those that are not at their defaults."""
    from tiltfit.language.document import to_document

    data = [*(ctx.params["data"] or ()), *(ctx.params["more_data"] or ())]
    defaults = {p.name: p.default for p in ctx.command.params}
    found: dict[str, Any] = {"DATA": [os.path.normpath(name) for name in data], "--task": task}
    for name, value in ctx.params.items():
        given = value not in (None, [], ()) and value is not False and value != defaults.get(name)
        if given and name not in (*_FREE, *_FILES, "data", "more_data"):
            found[spelled(name)] = plain(value)
    if constraints is not None and ctx.params.get("constraints") is not None:
        found["--constraints"] = _digest([[to_document(c) for c in constraints], constraints.classes])
    if lexicons:
        found["--lexicon"] = _digest(lexicons)
    return found


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(plain(value), sort_keys=True).encode()).hexdigest()[:16]
