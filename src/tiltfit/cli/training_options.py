"""Options that say how to train, as the parameters of an estimator: those of all data, ``--method-option NAME=VALUE``,
and those of ``--online``, with which some others do not go."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tiltfit.cli.options import Only, option, spelled
from tiltfit.errors import DataError, UnsupportedError, did_you_mean

if TYPE_CHECKING:
    from tiltfit.samples.task import Task

TRAINING = "Training (defaults: those of TiltClassifier and TiltTagger)"
CLASSIFIER = "Training: classifiers"
TAGGER = "Training: taggers"
ONLINE = "Training: streams"
CHECKPOINT = 50_000
HASHING = 2**18  # columns for the attributes of tokens
_WORDS = {"true": True, "false": False, "none": None}

# Parameters of the estimators, by the name of the option.
_SHARED = {name: name for name in ("model", "method", "alpha", "beta", "gamma", "scale", "solver", "init", "max_iter",
                                   "tol")} | {"jobs": "n_jobs", "seed": "random_state"}  # fmt: skip


@dataclass(frozen=True)
class TrainingOptions:
    """How to train; None is the estimator's default."""

    model: str | None = option(
        None, "maxent, naive_bayes or bernoulli_naive_bayes; taggers: crf or hmm.", panel=TRAINING
    )
    method: str | None = option(
        None, "ap, or one to compare it with: ge, codl, em, supervised, vote and others.", panel=TRAINING
    )
    method_option: list[str] | None = option(
        None, "Option of the method, such as tau=0.5; repeatable.", metavar="NAME=VALUE", panel=TRAINING
    )
    alpha: float | None = option(None, "Strength of the ridge penalty on weights.", panel=TRAINING)
    beta: float | None = option(
        None, "Softness of constraints: smaller is closer to the target. Default: a bounded pull.", panel=TRAINING
    )
    gamma: float | None = option(None, "Weight of unlabelled against labelled data.", panel=TRAINING)
    scale: str | None = option(
        None, "auto, unit or support: whether the pull of a constraint grows with the data.", panel=TRAINING
    )
    no_revise: bool = option(
        False, "Keep stated shares as they are where labels say otherwise.", "--no-revise", panel=TRAINING
    )
    free_intercepts: bool | None = option(
        None,
        "No ridge on intercepts (taggers: on plain transitions and on --boundaries), or also there.",
        "--free-intercepts/--penalized-intercepts",
        panel=TRAINING,
    )
    solver: str | None = option(None, "auto, alternating, joint, sgd or online.", panel=TRAINING)
    init: str | None = option(None, "Where to start: zeros, supervised, constraints or random.", panel=TRAINING)
    max_iter: int | None = option(None, "The largest number of rounds.", panel=TRAINING)
    tol: float | None = option(
        None, "Stop when ten rounds lower the objective by less than this part of it.", panel=TRAINING
    )
    sharpen: str | None = option(
        None, "auto, none or a number: the factor of all scores after the fit.", metavar="WHICH", panel=TRAINING
    )
    jobs: int | None = option(None, "Threads; -1: one per core.", panel=TRAINING)
    seed: int | None = option(None, "Seed of random numbers (random starts, sampled statistics, sgd).", panel=TRAINING)
    vectorizer: str | None = option(
        None,
        "auto, tfidf, counts, binary, hashing, words+meaning or words+sentences: how texts become features.",
        panel=CLASSIFIER,
    )
    refine: bool | None = option(
        None,
        "A second stage that learns from what the first is surest of, with more views of texts.",
        "--refine/--no-refine",
        panel=CLASSIFIER,
    )
    lexicon: list[str] | None = option(
        None,
        "Word list, one entry per line, in which tokens are looked up; repeatable.",
        metavar="NAME=FILE",
        panel=TAGGER,
    )
    min_count: int | None = option(None, "Drop attributes that occur less often.", panel=TAGGER)
    vectors: str | None = option(
        None, "The name of an encoder, such as static: a vector of every token beside its attributes.", panel=TAGGER
    )
    hashing: int | None = option(
        None, "Hash attributes into this many columns: no vocabulary is learned.", panel=TAGGER
    )
    weights: str | None = option(
        None, "all, or observed: only the pairs of attribute and label seen in labels.", panel=TAGGER
    )
    inference: str | None = option(
        None, "auto, exact or sampled: how statistics of whole sequences are inferred.", panel=TAGGER
    )
    valid_only: bool = option(
        False, "With BIO or IOBES labels: predict well-formed sequences only.", "--valid-only", panel=TAGGER
    )
    boundaries: bool = option(
        False, "Weights for the first and the last label of a sequence.", "--boundaries", panel=TAGGER
    )

    @property
    def lexicon_files(self) -> list[str]:
        return [given.partition("=")[2] for given in self.lexicon or ()]

    def parameters(self, task: Task) -> dict[str, Any]:
        """Return the parameters of the task's estimator that were given."""
        own = ("weights", "inference", "valid_only", "boundaries") if task.is_sequences else ("vectorizer",)
        names = _SHARED | dict(zip(own, own, strict=True))
        chosen = {target: getattr(self, name) for name, target in names.items()}
        given = {name: value for name, value in chosen.items() if value is not None and value is not False}
        if self.no_revise:
            given["revise"] = None
        if self.free_intercepts is not None:
            given["penalize_intercept"] = not self.free_intercepts
        if self.sharpen is not None:
            given["sharpen"] = _sharpness(self.sharpen)
        if self.refine is not None and not task.is_sequences:
            given["refine"] = "auto" if self.refine else None
        if self.method_option:
            given["method_options"] = method_options(self.method_option)
        if task.is_sequences and (features := self._features()):
            given["features"] = features
        return given

    def _features(self) -> dict[str, Any]:
        from tiltfit.data.readers import read_words

        lists: dict[str, list[str]] = {}
        for given in self.lexicon or ():
            name, sign, path = given.partition("=")
            if not name or not sign or not path:
                raise DataError(f"--lexicon {given!r} must be NAME=FILE, such as --lexicon cities=cities.txt.")
            if name in lists:
                raise DataError(f"--lexicon names the list {name!r} twice. Give each its own name.")
            lists[name] = read_words(path)
        features: dict[str, Any] = {name: getattr(self, name) for name in ("min_count", "hashing", "vectors")}
        features["lexicons"] = lists or None
        return {name: value for name, value in features.items() if value is not None}


def _sharpness(text: str) -> str | float | None:
    """Return what ``--sharpen`` says; the estimator refuses other words."""
    if text.lower() == "none":
        return None
    try:
        return float(text)
    except ValueError:
        return text


ComparedTraining = Annotated[
    TrainingOptions,
    Only("alpha", "beta", "gamma", "scale", "init", "max_iter", "tol", "jobs", "vectorizer", "inference"),
]


def method_options(given: Iterable[str]) -> dict[str, Any]:
    """Return what ``--method-option`` says, by name. The estimator refuses options that the method does not have.

    >>> method_options(["tau=0.5", "top_k=3", "rho=none", 'proportions={"a": 0.3, "b": 0.7}'])
    {'tau': 0.5, 'top_k': 3, 'rho': None, 'proportions': {'a': 0.3, 'b': 0.7}}
    """
    found: dict[str, Any] = {}
    for text in given:
        name, sign, value = (part.strip() for part in text.partition("="))
        if not name or not sign or not value:
            raise DataError(
                f"--method-option {text!r} must be NAME=VALUE, such as --method-option tau=0.5.",
                parameter="method_options",
            )
        if name in found:
            raise DataError(f"--method-option names {name!r} twice. Give it once.", parameter="method_options")
        found[name] = _value(name, value)
    return found


def options_of_methods(given: Iterable[str], methods: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the same where several methods are compared: ``METHOD.NAME=VALUE``, by method.

    >>> options_of_methods(["codl.tau=0.5", "codl.top_k=3", "entropy.strength=2"], ["ap", "codl", "entropy"])
    {'codl': {'tau': 0.5, 'top_k': 3}, 'entropy': {'strength': 2}}
    """
    known = list(methods)
    texts: dict[str, list[str]] = {}
    for text in given:
        method, dot, rest = text.partition("=")[0].partition(".")
        if not dot or not method or not rest:
            raise DataError(
                f"--method-option {text!r} must say whose it is: METHOD.NAME=VALUE, such as codl.tau=0.5.",
                parameter="method_options",
            )
        if method not in known:
            raise DataError(
                f"--method-option {text!r} is of a method that is not compared ({', '.join(known)})."
                f"{did_you_mean(method, known)}",
                parameter="method_options",
            )
        texts.setdefault(method, []).append(text.removeprefix(f"{method}."))
    return {method: method_options(options) for method, options in texts.items()}


def _value(name: str, text: str) -> Any:
    """Return a number, a truth value, none, a JSON object, or else the text."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    if text.startswith("{"):
        try:
            return json.loads(text)
        except ValueError as error:
            raise DataError(
                f'--method-option {name}={text!r:.60} is not a JSON object, such as {{"a": 0.3, "b": 0.7}}: {error}.',
                parameter="method_options",
            ) from error
    return text


@dataclass(frozen=True)
class OnlineOptions:
    """How to learn from a stream; None is the default that the help names."""

    online: bool = option(
        False,
        "Learn from DATA as it is read; it need not fit into memory. OUTPUT is a checkpoint.",
        "--online",
        panel=ONLINE,
    )
    passes: int | None = option(None, "Read DATA this many times (default: once).", metavar="N", panel=ONLINE)
    horizon: int | None = option(
        None, "The largest number of documents or sequences that count (default: all read).", metavar="N", panel=ONLINE
    )
    checkpoint: int | None = option(
        None, f"Write OUTPUT after every N documents or sequences (default: {CHECKPOINT:,}).", metavar="N", panel=ONLINE
    )
    resume: bool = option(
        False, "Continue an interrupted run from its OUTPUT, if there is one; same options.", "--resume", panel=ONLINE
    )
    fresh: bool = option(False, "Begin again even if OUTPUT holds an earlier run.", "--fresh", panel=ONLINE)
    begin_from: Path | None = option(
        None,
        "Continue from a model that was trained with --online, with new DATA.",
        "--from",
        metavar="MODEL",
        panel=ONLINE,
    )
    on_error: str | None = option(
        None,
        "fail (the default) at a malformed line or a label that is not a class, or skip and count it.",
        metavar="WHAT",
        panel=ONLINE,
    )
    batch_size: int | None = option(
        None, "Documents or sequences per step (default: 64 or 16; printed: 1).", metavar="N", panel=ONLINE
    )
    steps: str | None = option(
        None, "adaptive (the default), or printed as in the paper.", metavar="WHICH", panel=ONLINE
    )
    eta0: float | None = option(None, "Size of the first printed step (default: 0.1).", metavar="X", panel=ONLINE)
    verbose: bool = option(False, "Show all constraints at every checkpoint.", "--verbose", panel=ONLINE)

    @property
    def learner(self) -> dict[str, Any]:
        """The options of the learner that were given, as ``online=`` takes them."""
        return {name: value for name in _LEARNER if (value := getattr(self, name)) is not None}


_OWN = tuple(field.name for field in fields(OnlineOptions) if field.name != "online")
_LEARNER = ("steps", "eta0", "batch_size", "horizon")

_SENSELESS = {
    "tol": "each instance is looked at once; --passes says how often DATA is read",
    "max_iter": "there are no rounds; --passes says how often DATA is read",
    "sharpen": "a stream continues to learn from its weights",
    "refine": "the second stage looks at all instances again",
    "init": "a stream begins at zero, or with --from where another ended",
    "constraints_from_labels": "not all labels are known beforehand; state constraints with --constraints",
    "min_count": "the frequency of an attribute is not known beforehand; attributes are hashed (--hashing N)",
}
_VALUES = {"solver": ("online", "auto"), "vectorizer": ("hashing", "auto"), "weights": ("all",)}

# Options that a model to continue from has fixed.
_FIXED = (
    "constraints", "classes", "model", "method", "method_option", "alpha", "beta", "gamma", "scale", "seed",
    "no_revise", "free_intercepts", "vectorizer", "lexicon", "vectors", "hashing", "weights", "inference",
    "valid_only", "boundaries", *_LEARNER,
)  # fmt: skip


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
