"""The options of ``tiltfit train --online``, and which options do not go with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from tiltfit.cli.checkpoint import Begun, spelt
from tiltfit.cli.tasks import Task
from tiltfit.errors import DataError, UnsupportedError, did_you_mean

ONLINE = "Training: streams"
CHECKPOINT = 50_000
HASHING = 2**18  # columns for the attributes of tokens
CHUNK = 1024  # instances that are read at a time; more if a step takes more


def _option(name: str, help: str, metavar: str | None = None) -> Any:
    return typer.Option(name, help=help, rich_help_panel=ONLINE, show_default=False, metavar=metavar)


OnlineOption = Annotated[
    bool, _option("--online", "Learn from DATA as it is read, which need not fit into memory; OUTPUT is a checkpoint.")
]
PassesOption = Annotated[int | None, _option("--passes", "Read DATA so many times (default: once).", "N")]
StepsOption = Annotated[str | None, _option("--steps", "adaptive (the default), or printed as in the paper.", "WHICH")]
EtaOption = Annotated[float | None, _option("--eta0", "Size of the first printed step (default: 0.1).", "X")]
BatchOption = Annotated[
    int | None, _option("--batch-size", "Documents or sequences a step (default: 64 or 16; printed: 1).", "N")
]
HorizonOption = Annotated[
    int | None,
    _option("--horizon", "How many documents or sequences count at most (default: all that were read).", "N"),
]
CheckpointOption = Annotated[
    int | None,
    _option("--checkpoint", f"Write OUTPUT every so many documents or sequences (default: {CHECKPOINT:,}).", "N"),
]
OnErrorOption = Annotated[
    str | None,
    _option(
        "--on-error",
        "fail (the default) at a malformed line or a label that is no class, or skip and count it.",
        "WHAT",
    ),
]
ResumeOption = Annotated[
    bool, _option("--resume", "Take up a run that was cut off, from its OUTPUT, if there is one; same options.")
]
FreshOption = Annotated[bool, _option("--fresh", "Begin again, though OUTPUT holds what an earlier run has learned.")]
FromOption = Annotated[
    Path | None, _option("--from", "Go on from a model that was trained with --online, with new DATA.", "MODEL")
]
VerboseOption = Annotated[bool, _option("--verbose", "Show all constraints at every checkpoint.")]

_OWN = (
    "passes", "steps", "eta0", "batch_size", "horizon", "checkpoint", "on_error", "resume", "fresh", "begin_from",
    "verbose",
)  # fmt: skip
_LEARNER = ("steps", "eta0", "batch_size", "horizon")
_ON_ERROR = ("fail", "skip")

_SENSELESS = {
    "tol": "each instance is looked at once; --passes says how often DATA is read",
    "max_iter": "there are no rounds; --passes says how often DATA is read",
    "init": "a stream begins at zero, or with --from where another ended",
    "constraints_from_labels": "not all labels are known beforehand; state constraints with --constraints",
    "min_count": "how often an attribute occurs is not known beforehand; attributes are hashed (--hashing N)",
}
_VALUES = {"solver": ("online", "auto"), "vectorizer": ("hashing", "auto"), "weights": ("all",)}

# What a model that is gone on with has fixed.
_FIXED = (
    "constraints", "classes", "model", "method", "method_option", "alpha", "beta", "gamma", "scale", "seed",
    "vectorizer", "lexicon", "hashing", "weights", "inference", "valid_only", "boundaries", *_LEARNER,
)  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """How a stream is read, and when what was learned is written. ``size``: instances a chunk, whole steps of ``step``
    instances each."""

    passes: int = 1
    checkpoint: int = CHECKPOINT
    on_error: str = "fail"
    resume: bool = False
    fresh: bool = False
    verbose: bool = False
    size: int = CHUNK
    step: int = 1
    begun: Begun | None = None

    @staticmethod
    def of(ctx: typer.Context, task: Task, begun: Begun | None) -> Plan:
        """What a command was given; refuses numbers and words that make no sense."""
        from tiltfit.estimators.streaming import online_options

        given = {name: ctx.params[name] for name in _OWN if ctx.params.get(name) is not None}
        for name in ("passes", "checkpoint"):
            if given.get(name, 1) < 1:
                raise DataError(f"--{name} {given[name]} must be a whole number of at least 1.")
        what = given.get("on_error", "fail")
        if what not in _ON_ERROR:
            raise DataError(f"--on-error {what!r} must be fail or skip.{did_you_mean(what, _ON_ERROR)}")
        _refuse_another_pass(given.get("passes", 1), ctx.params["data"])
        online = online_options(_learner_options(ctx)) if begun is None else begun.model._stream.learner.online
        step = online.size(sequences=task == "tag")
        return Plan(
            given.get("passes", 1),
            given.get("checkpoint", CHECKPOINT),
            what,
            bool(ctx.params["resume"]),
            bool(ctx.params["fresh"]),
            bool(ctx.params["verbose"]),
            step * -(-CHUNK // step),
            step,
            begun,
        )


def online_parameters(ctx: typer.Context, task: Task, given: Mapping[str, Any]) -> dict[str, Any]:
    """What the estimators' parameters are online: words and attributes are hashed, since more of them may come."""
    hashed: dict[str, Any] = {"vectorizer": "hashing"}
    if task == "tag":
        hashed = {"features": {"hashing": HASHING, **given.get("features", {})}}
    # The same seed whenever none is given, so that the same stream gives the same file.
    return {"solver": "online", "online": _learner_options(ctx) or None, "random_state": 0, **given, **hashed}


def _learner_options(ctx: typer.Context) -> dict[str, Any]:
    return {name: ctx.params[name] for name in _LEARNER if ctx.params[name] is not None}


def refuse_mixture(ctx: typer.Context) -> None:
    """Refuse options that make no sense online and, without ``--online``, those that make sense only there."""
    given = {name: value for name, value in ctx.params.items() if value not in (None, [], ()) and value is not False}
    if not given.get("online"):
        for name in _OWN:
            if name in given:
                raise UnsupportedError(f"{spelt(name)} is for streams. Add --online, or leave it out.")
        return
    for name, why in _SENSELESS.items():
        if name in given:
            raise UnsupportedError(f"{spelt(name)} does not go with --online: {why}. Leave it out.")
    for name, known in _VALUES.items():
        if name in given and given[name] not in known:
            raise UnsupportedError(
                f"--{name} {given[name]} needs all data at once, so it does not go with --online. Use --{name} "
                f"{known[0]}, or leave it out."
            )
    if "resume" in given and "fresh" in given:
        raise UnsupportedError("--resume goes on with a run and --fresh begins it again: leave one of them out.")
    if "eta0" in given and given.get("steps") != "printed":
        raise UnsupportedError("--eta0 is the size of printed steps. Add --steps printed, or leave it out.")
    if "begin_from" in given:
        for name in _FIXED:
            if name in given:
                raise UnsupportedError(f"{spelt(name)} is fixed by {given['begin_from']} (--from). Leave it out.")


def _refuse_another_pass(passes: int, sources: Sequence[str]) -> None:
    for name in sources if passes > 1 else ():
        path = Path(name)
        if name == "-" or (path.exists() and not path.is_file() and not path.is_dir()):
            what = "standard input" if name == "-" else f"{name}, which is no regular file,"
            raise UnsupportedError(
                f"--passes {passes}: {what} can be read once only. Use --passes 1, or put the data into a file."
            )
