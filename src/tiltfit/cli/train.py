"""``tiltfit train``: from data and statements to a model file."""

from __future__ import annotations

from pathlib import Path

import typer

from tiltfit.cli.checkpoint import EarlierRun, described
from tiltfit.cli.fitting import Job, fit, read_constraints
from tiltfit.cli.online import Plan, learn
from tiltfit.cli.options import (
    ClassesOption,
    DataOptions,
    OutputOptions,
    Sources,
    TaskOption,
    check_output,
    command,
    option,
)
from tiltfit.cli.tasks import choose_task, columns_named, columns_of, task_of
from tiltfit.cli.terminal import session
from tiltfit.cli.training_options import OnlineOptions, TrainingOptions, online_parameters, refuse_mixture


@command
def train(
    ctx: typer.Context,
    *,
    sources: Sources,
    output: Path = option(..., "The .tilt file to write.", "--output", "-o"),
    constraints: Path | None = option(
        None, "Statements: TOML, or a CSV of label, word, share; see `tiltfit check`.", "--constraints", "-c"
    ),
    constraints_from_labels: int | None = option(
        None, "Also state what the labels show: for each label the N most confident statements.", metavar="N"
    ),
    task: TaskOption = "auto",
    classes: ClassesOption = None,
    ignore_labels: bool = option(False, "Train as if nothing were labelled.", "--ignore-labels"),
    reading: DataOptions,
    training: TrainingOptions,
    streaming: OnlineOptions,
    printing: OutputOptions,
) -> None:
    """Train a classifier of documents, or a tagger of sequences, from DATA and a file of constraints, with labels where
    there are any."""
    with session(ctx, printing) as terminal:
        data = sources.required
        check_output(output, [constraints, streaming.begin_from, *data, *training.lexicon_files])
        refuse_mixture(ctx)
        earlier = None if streaming.begin_from is None else EarlierRun.load(streaming.begin_from)
        if earlier is None:
            statements = read_constraints(constraints)
            kind = choose_task(ctx, task, data, statements)
        else:
            statements = earlier.model.constraints_
            reading = reading.recalled(ctx, earlier.model)
            kind = task_of(ctx, earlier.path, earlier.model, data, reading)
        parameters = training.parameters(kind)
        fields = reading.remembered(ctx)
        job = Job(
            kind, data, reading, statements, classes, ignore_labels, parameters, output, constraints_from_labels, fields
        )
        columns = columns_named(kind, statements)
        if not streaming.online:
            fit(terminal, job, columns)
            return
        if earlier is not None:
            columns = columns_of(kind, earlier.model, reading.text_column)
        options = described(ctx, kind.name, statements, parameters.get("features", {}).get("lexicons"))
        parameters |= online_parameters(streaming, kind, parameters)
        learn(terminal, job, Plan.of(streaming, kind, data, earlier), options, columns)
