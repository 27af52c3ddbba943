"""``tiltfit train``: from data and statements to a model file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tiltfit.cli.checkpoint import Begun, described
from tiltfit.cli.fitting import Job, fit
from tiltfit.cli.method_options import MethodOptions, method_options
from tiltfit.cli.online import learn
from tiltfit.cli.online_options import (
    BatchOption,
    CheckpointOption,
    EtaOption,
    FreshOption,
    FromOption,
    HorizonOption,
    OnErrorOption,
    OnlineOption,
    PassesOption,
    Plan,
    ResumeOption,
    StepsOption,
    VerboseOption,
    online_parameters,
    refuse_mixture,
)
from tiltfit.cli.options import (
    BlankOption,
    ColumnOption,
    DataArgument,
    DataOptions,
    DelimiterOption,
    FormatOption,
    JsonOption,
    LabelColumnOption,
    LabelOption,
    QuietOption,
    TagsOption,
    TaskOption,
    TextOption,
    TokenColumnOption,
    TokensOption,
    UnlabelledOption,
    check_output,
    columns_of,
)
from tiltfit.cli.sequences import columns_named
from tiltfit.cli.tasks import Task, choose_task, task_of
from tiltfit.cli.terminal import session
from tiltfit.cli.training_options import (
    RENAMED,
    TAGGER,
    AlphaOption,
    BetaOption,
    ClassesOption,
    GammaOption,
    InferenceOption,
    InitOption,
    JobsOption,
    MaxIterOption,
    MethodOption,
    ModelOption,
    ScaleOption,
    TolOption,
    VectorizerOption,
    training_option,
)
from tiltfit.errors import DataError

if TYPE_CHECKING:
    from tiltfit import ConstraintSet

# Options by the names of the estimators' parameters.
_NAMES = ("model", "method", "alpha", "beta", "gamma", "scale", "solver", "init", "max_iter", "tol")
_SHARED = RENAMED | {name: name for name in _NAMES}
_OWN: dict[Task, tuple[str, ...]] = {
    "classify": ("vectorizer",),
    "tag": ("weights", "inference", "valid_only", "boundaries"),
}


def _flag(name: str, text: str) -> Any:
    return typer.Option(name, help=text, rich_help_panel=TAGGER)


def train(
    ctx: typer.Context,
    data: DataArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="The .tilt file to write.", show_default=False)],
    constraints: Annotated[
        Path | None,
        typer.Option("--constraints", "-c", help="TOML file of statements; see `tiltfit check`.", show_default=False),
    ] = None,
    constraints_from_labels: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Also state what the labels show: of each label the N most confident statements.",
            show_default=False,
        ),
    ] = None,
    task: TaskOption = "auto",
    classes: ClassesOption = None,
    ignore_labels: Annotated[bool, typer.Option("--ignore-labels", help="Train as if nothing were labelled.")] = False,
    format: FormatOption = "auto",
    column: ColumnOption = None,
    delimiter: DelimiterOption = None,
    text: TextOption = "text",
    label: LabelOption = "label",
    tokens: TokensOption = "tokens",
    tags: TagsOption = "tags",
    token_column: TokenColumnOption = 0,
    label_column: LabelColumnOption = "-1",
    unlabelled: UnlabelledOption = None,
    blank: BlankOption = "error",
    model: ModelOption = None,
    method: MethodOption = None,
    method_option: MethodOptions = None,
    alpha: AlphaOption = None,
    beta: BetaOption = None,
    gamma: GammaOption = None,
    scale: ScaleOption = None,
    solver: Annotated[str | None, training_option("auto, alternating, joint, sgd or online.")] = None,
    init: InitOption = None,
    max_iter: MaxIterOption = None,
    tol: TolOption = None,
    jobs: JobsOption = None,
    seed: Annotated[
        int | None, training_option("Seed of random numbers (random starts, sampled statistics, sgd).")
    ] = None,
    vectorizer: VectorizerOption = None,
    lexicon: Annotated[
        list[str] | None,
        training_option("Word list, an entry a line, that tokens are looked up in; repeatable.", TAGGER, "NAME=FILE"),
    ] = None,
    min_count: Annotated[int | None, training_option("Drop attributes that occur less often.", TAGGER)] = None,
    hashing: Annotated[
        int | None, training_option("Hash attributes into so many columns: no vocabulary is learned.", TAGGER)
    ] = None,
    weights: Annotated[
        str | None,
        training_option("all, or observed: only for the pairs of attribute and label that labels show.", TAGGER),
    ] = None,
    inference: InferenceOption = None,
    valid_only: Annotated[
        bool, _flag("--valid-only", "With BIO or IOBES labels: predict well-formed sequences only.")
    ] = False,
    boundaries: Annotated[
        bool, _flag("--boundaries", "Weights for the first and the last label of a sequence.")
    ] = False,
    online: OnlineOption = False,
    passes: PassesOption = None,
    horizon: HorizonOption = None,
    checkpoint: CheckpointOption = None,
    resume: ResumeOption = False,
    fresh: FreshOption = False,
    begin_from: FromOption = None,
    on_error: OnErrorOption = None,
    batch_size: BatchOption = None,
    steps: StepsOption = None,
    eta0: EtaOption = None,
    verbose: VerboseOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Train a classifier of documents, or a tagger of sequences, from DATA and a file of constraints, with labels where
    there are any."""
    with session(ctx, as_json=as_json, quiet=quiet) as terminal:
        check_output(output, [constraints, begin_from, *data, *_lexicon_files(lexicon or [])])
        refuse_mixture(ctx)
        begun = None if begin_from is None else Begun.load(begin_from)
        statements = _constraints(constraints) if begun is None else begun.model._constraints
        if begun is None:
            kind = choose_task(ctx, task, data, statements)
        else:
            kind = task_of(ctx, begun.path, begun.model, data)
        given = {name: value for name, value in ctx.params.items() if value is not None and value is not False}
        names = _SHARED | {name: name for name in _OWN[kind]}
        parameters = {target: given[name] for name, target in names.items() if name in given}
        if method_option:
            parameters["method_options"] = method_options(method_option)
        if kind == "tag" and (features := _features(lexicon or [], min_count, hashing)):
            parameters["features"] = features
        job = Job(
            kind, data, DataOptions.of(ctx), statements, classes, ignore_labels, parameters, output,
            constraints_from_labels,
        )  # fmt: skip
        columns = columns_named(statements) if kind == "tag" else []
        if not online:
            fit(terminal, job, columns)
            return
        if begun is not None and kind == "classify":
            columns = columns_of(begun.model, text)
        options = described(ctx, kind, statements, parameters.get("features", {}).get("lexicons"))
        parameters |= online_parameters(ctx, kind, parameters)
        learn(terminal, job, Plan.of(ctx, kind, begun), options, columns)


def _constraints(path: Path | None) -> ConstraintSet | None:
    if path is None:
        return None
    from tiltfit import ConstraintSet

    return ConstraintSet.from_toml(path)


def _lexicon_files(options: list[str]) -> list[str]:
    return [option.partition("=")[2] for option in options]


def _features(lexicons: list[str], min_count: int | None, hashing: int | None) -> dict[str, Any]:
    from tiltfit.data.readers import read_words

    lists: dict[str, list[str]] = {}
    for option in lexicons:
        name, sign, path = option.partition("=")
        if not name or not sign or not path:
            raise DataError(f"--lexicon {option!r} must be NAME=FILE, such as --lexicon cities=cities.txt.")
        if name in lists:
            raise DataError(f"--lexicon names the list {name!r} twice. Give each its own name.")
        lists[name] = read_words(path)
    given = {"lexicons": lists or None, "min_count": min_count, "hashing": hashing}
    return {name: value for name, value in given.items() if value is not None}
