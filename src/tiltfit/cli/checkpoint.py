"""Where a run of ``tiltfit train --online`` is in its data, as the model file keeps it, and taking up such a run.

The checkpoint is the model file itself. Nothing in it depends on how often a run was cut off, nor on the time.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tiltfit.cli.terminal import plain
from tiltfit.errors import ModelFileError, TiltfitError, UnsupportedError

if TYPE_CHECKING:
    from tiltfit import ConstraintSet, TiltClassifier, TiltTagger

# What may change when a run is taken up: it has no effect on what is learned from the rest.
_FREE = (
    "output", "resume", "fresh", "checkpoint", "passes", "on_error", "jobs", "as_json", "quiet", "verbose", "online",
    "solver", "task",
)  # fmt: skip
_FILES = ("constraints", "lexicon")  # it is what is in them that counts
_SHOWN = 5  # problems that are kept
_COUNTS = ("size", "passes", "taken", "rows", "labelled", "tokens", "labelled_tokens", "malformed", "unfit")


@dataclass(frozen=True)
class Place:
    """``passes`` are complete, and ``taken`` instances of the next are passed. ``run``: the options it was begun with;
    ``size``: instances a chunk.

    The rest counts what this pass met or, if none is under way, what the last one did: ``rows`` learned from;
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
        """What was wrong with the first that were left out."""
        return [*self.malformed_problems, *self.unfit_problems][:_SHOWN]

    def counts(self, *, tagged: bool) -> dict[str, int]:
        """What was learned from, in numbers."""
        names = ("rows", "labelled", *(("tokens", "labelled_tokens") if tagged else ()))
        return {name: getattr(self, name) for name in names}

    def document(self) -> dict[str, Any]:
        """As JSON keeps it."""
        return dict(plain(asdict(self)))

    @staticmethod
    def of(document: Mapping[str, Any]) -> Place:
        """The inverse of ``document``; raises a ModelFileError if it cannot be one."""
        if set(document) != {field.name for field in fields(Place)} or not isinstance(document["run"], dict):
            raise ModelFileError("The place in the data is not one that this version of tiltfit writes.")
        values = dict(document)
        for name in ("malformed_problems", "unfit_problems"):
            if not isinstance(values[name], list) or not all(isinstance(text, str) for text in values[name]):
                raise ModelFileError(f"The place in the data has {name} that are no list of texts.")
            values[name] = tuple(values[name])
        for name in ("digest", "head"):
            if not isinstance(values[name], str):
                raise ModelFileError(f"The place in the data has {name} = {values[name]!r:.40}, which is no text.")
        for name in _COUNTS:
            value = values[name]
            whole = isinstance(value, int) and not isinstance(value, bool)
            if not whole or value < (name == "size"):
                raise ModelFileError(f"The place in the data has {name} = {value!r:.40}, which is no number of things.")
        return Place(**values)


def first(problems: list[str]) -> tuple[str, ...]:
    """Those that are kept."""
    return tuple(problems[:_SHOWN])


@dataclass(frozen=True)
class Begun:
    """A model that learns online, from a file, and where it is in the data it was trained on, if the file says so."""

    path: Path
    model: TiltClassifier | TiltTagger
    place: Place | None = field(default=None)

    @staticmethod
    def load(path: Path) -> Begun:
        """Refuses a model that was trained in another way."""
        from tiltfit import load

        model = load(path)
        stream = vars(model).get("_stream")
        if stream is None:
            raise UnsupportedError(
                f"{path} was not trained with --online, so its training cannot go on. Begin another with --online."
            )
        try:
            return Begun(path, model, Place.of(stream.place) if stream.place else None)
        except ModelFileError as error:
            raise ModelFileError(f"{path} is damaged: {error}") from error


def take_up(path: Path, run: Mapping[str, Any]) -> tuple[TiltClassifier | TiltTagger, Place]:
    """The model of a run that was cut off, and how far it came; refuses to go on with other options, by name."""
    begun = Begun.load(path)
    if begun.place is None:
        raise UnsupportedError(
            f"{path} does not say where it is in its data, since it was not written by `tiltfit train --online`. "
            "--from goes on from it with new data."
        )
    then = begun.place.run
    for name in dict.fromkeys([*then, *run]):
        if then.get(name) != run.get(name):
            raise UnsupportedError(
                f"{path} was begun {_difference(name, then.get(name), run.get(name))} A run is taken up with what it "
                "was begun with: give that, or say --fresh instead of --resume to begin again."
            )
    return begun.model, begun.place


def refuse_replacing(path: Path) -> None:
    """Refuse to begin a run whose output holds another one: whoever forgot ``--resume`` would lose it."""
    if not path.exists():
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            begun = Begun.load(path)
    except TiltfitError:  # no model, or one that was trained in another way: replaced, as ever
        return
    if begun.place is not None:
        raise UnsupportedError(
            f"{path} holds what an earlier run has learned, which this run would replace. Go on with --resume, begin "
            "again with --fresh, or choose another -o."
        )


def _difference(name: str, then: Any, now: Any) -> str:
    if name in ("--constraints", "--lexicon") and then is not None:  # known by a digest
        return f"with {name}, which is missing now." if now is None else f"with another content of {name}."
    if then is None:
        return f"without {name}."
    return f"with {name} {_words(then)}, {'which is missing now' if now is None else f'not {_words(now)}'}."


def _words(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def described(ctx: typer.Context, task: str, constraints: ConstraintSet | None, lexicons: Any) -> dict[str, Any]:
    """The options of a run that must be the same when it is taken up: those that are not at their defaults."""
    from tiltfit.language.document import to_document

    defaults = {p.name: p.default for p in ctx.command.params}
    found: dict[str, Any] = {"DATA": [os.path.normpath(name) for name in ctx.params["data"]], "--task": task}
    for name, value in ctx.params.items():
        given = value not in (None, [], ()) and value is not False and value != defaults.get(name)
        if given and name not in (*_FREE, *_FILES, "data"):
            found[spelt(name)] = plain(value)
    if constraints is not None and ctx.params.get("constraints") is not None:
        found["--constraints"] = _digest([[to_document(c) for c in constraints], constraints.classes])
    if lexicons:
        found["--lexicon"] = _digest(lexicons)
    return found


def spelt(name: str) -> str:
    """An option as it is typed."""
    return "--from" if name == "begin_from" else f"--{name.replace('_', '-')}"


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(plain(value), sort_keys=True).encode()).hexdigest()[:16]
