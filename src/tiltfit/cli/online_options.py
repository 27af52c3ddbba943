"""The options of ``tiltfit train --online``, and which options do not go with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tiltfit.cli.checkpoint import EarlierRun
from tiltfit.cli.options import option, spelled
from tiltfit.errors import DataError, UnsupportedError, did_you_mean

if TYPE_CHECKING:
    from tiltfit.samples.task import Task

ONLINE = "Training: streams"
CHECKPOINT = 50_000
HASHING = 2**18  # columns for the attributes of tokens
CHUNK = 1024  # instances that are read at a time; more if a step takes more


@dataclass(frozen=True)
class OnlineOptions:
    """How to learn from a stream; None is the default that the help names."""

    online: bool = option(
        False,
        ONLINE,
        "Learn from DATA as it is read; it need not fit into memory. OUTPUT is a checkpoint.",
        None,
        "--online",
    )
    passes: int | None = option(None, ONLINE, "Read DATA this many times (default: once).", "N")
    horizon: int | None = option(
        None, ONLINE, "The largest number of documents or sequences that count (default: all read).", "N"
    )
    checkpoint: int | None = option(
        None, ONLINE, f"Write OUTPUT after every N documents or sequences (default: {CHECKPOINT:,}).", "N"
    )
    resume: bool = option(
        False, ONLINE, "Continue an interrupted run from its OUTPUT, if there is one; same options.", None, "--resume"
    )
    fresh: bool = option(False, ONLINE, "Begin again even if OUTPUT holds an earlier run.", None, "--fresh")
    begin_from: Path | None = option(
        None, ONLINE, "Continue from a model that was trained with --online, with new DATA.", "MODEL", "--from"
    )
    on_error: str | None = option(
        None,
        ONLINE,
        "fail (the default) at a malformed line or a label that is not a class, or skip and count it.",
        "WHAT",
    )
    batch_size: int | None = option(
        None, ONLINE, "Documents or sequences per step (default: 64 or 16; printed: 1).", "N"
    )
    steps: str | None = option(None, ONLINE, "adaptive (the default), or printed as in the paper.", "WHICH")
    eta0: float | None = option(None, ONLINE, "Size of the first printed step (default: 0.1).", "X")
    verbose: bool = option(False, ONLINE, "Show all constraints at every checkpoint.", None, "--verbose")

    @property
    def learner(self) -> dict[str, Any]:
        """The options of the learner that were given, as ``online=`` takes them."""
        return {name: value for name in _LEARNER if (value := getattr(self, name)) is not None}


_OWN = tuple(field.name for field in fields(OnlineOptions) if field.name != "online")
_LEARNER = ("steps", "eta0", "batch_size", "horizon")
_ON_ERROR = ("fail", "skip")

_SENSELESS = {
    "tol": "each instance is looked at once; --passes says how often DATA is read",
    "max_iter": "there are no rounds; --passes says how often DATA is read",
    "init": "a stream begins at zero, or with --from where another ended",
    "constraints_from_labels": "not all labels are known beforehand; state constraints with --constraints",
    "min_count": "the frequency of an attribute is not known beforehand; attributes are hashed (--hashing N)",
}
_VALUES = {"solver": ("online", "auto"), "vectorizer": ("hashing", "auto"), "weights": ("all",)}

# Options that a model to continue from has fixed.
_FIXED = (
    "constraints", "classes", "model", "method", "method_option", "alpha", "beta", "gamma", "scale", "seed",
    "vectorizer", "lexicon", "hashing", "weights", "inference", "valid_only", "boundaries", *_LEARNER,
)  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """How to read a stream, and when to write the model. ``size``: instances per chunk, in whole steps of ``step``
    instances."""

    passes: int = 1
    checkpoint: int = CHECKPOINT
    on_error: str = "fail"
    resume: bool = False
    fresh: bool = False
    verbose: bool = False
    size: int = CHUNK
    step: int = 1
    earlier: EarlierRun | None = None

    @staticmethod
    def of(given: OnlineOptions, task: Task, sources: Sequence[str], earlier: EarlierRun | None) -> Plan:
        """Return the plan that the options state; refuses numbers and words that make no sense."""
        from tiltfit.estimators.options import online_options

        passes = 1 if given.passes is None else given.passes
        checkpoint = CHECKPOINT if given.checkpoint is None else given.checkpoint
        for name, value in (("passes", passes), ("checkpoint", checkpoint)):
            if value < 1:
                raise DataError(f"--{name} {value} must be an integer of at least 1.")
        on_error = "fail" if given.on_error is None else given.on_error
        if on_error not in _ON_ERROR:
            raise DataError(f"--on-error {on_error!r} must be fail or skip.{did_you_mean(on_error, _ON_ERROR)}")
        _refuse_another_pass(passes, sources)
        online = online_options(given.learner) if earlier is None else earlier.model.stream_.learner.online
        step = online.size(sequences=task.is_sequences)
        size = step * -(-CHUNK // step)
        return Plan(passes, checkpoint, on_error, given.resume, given.fresh, given.verbose, size, step, earlier)


def online_parameters(online: OnlineOptions, task: Task, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the estimator's parameters online: words and attributes are hashed, since new ones may come."""
    hashed: dict[str, Any] = {"vectorizer": "hashing"}
    if task.is_sequences:
        hashed = {"features": {"hashing": HASHING, **given.get("features", {})}}
    # The same seed whenever none is given, so that the same stream gives the same file.
    return {"solver": "online", "online": online.learner or None, "random_state": 0, **given, **hashed}


def refuse_mixture(ctx: typer.Context) -> None:
    """Refuse options that make no sense online and, without ``--online``, those that make sense only there."""
    given = {name: value for name, value in ctx.params.items() if value not in (None, [], ()) and value is not False}
    if not given.get("online"):
        for name in _OWN:
            if name in given:
                raise UnsupportedError(f"{spelled(name)} is for streams. Add --online, or leave it out.")
        return
    for name, why in _SENSELESS.items():
        if name in given:
            raise UnsupportedError(f"{spelled(name)} does not go with --online: {why}. Leave it out.")
    for name, known in _VALUES.items():
        if name in given and given[name] not in known:
            raise UnsupportedError(
                f"--{name} {given[name]} needs all data at once, so it does not go with --online. Use --{name} "
                f"{known[0]}, or leave it out."
            )
    if "resume" in given and "fresh" in given:
        raise UnsupportedError("--resume continues a run and --fresh begins it again: leave one of them out.")
    if "eta0" in given and given.get("steps") != "printed":
        raise UnsupportedError("--eta0 is the size of printed steps. Add --steps printed, or leave it out.")
    if "begin_from" in given:
        for name in _FIXED:
            if name in given:
                raise UnsupportedError(f"{spelled(name)} is fixed by {given['begin_from']} (--from). Leave it out.")


def _refuse_another_pass(passes: int, sources: Sequence[str]) -> None:
    for name in sources if passes > 1 else ():
        path = Path(name)
        if name == "-" or (path.exists() and not path.is_file() and not path.is_dir()):
            what = "standard input" if name == "-" else f"{name}, which is not a regular file,"
            raise UnsupportedError(
                f"--passes {passes}: {what} can be read only once. Use --passes 1, or put the data into a file."
            )
