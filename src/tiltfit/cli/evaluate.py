"""``tiltfit evaluate``: how well a model does on labelled data."""

from __future__ import annotations

import typer

from tiltfit.cli.document_scores import score_documents, show_scores
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
    ModelArgument,
    TagsOption,
    TextOption,
    TokenColumnOption,
    TokensOption,
    UnlabelledOption,
    columns_of,
)
from tiltfit.cli.tag_scores import score_sequences, show_tag_scores
from tiltfit.cli.tasks import task_of
from tiltfit.cli.terminal import session


def evaluate(
    ctx: typer.Context,
    model: ModelArgument,
    data: DataArgument,
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
    as_json: JsonOption = False,
) -> None:
    """Compare the predictions of MODEL with the labels of DATA; what has no label is left out.

    Of documents: accuracy, macro-F1, log-loss, and precision, recall and F1 of each class. Of sequences: the accuracy
    of tokens, and precision, recall and F1 of each label and of segments (runs of a label; entities under BIO labels).
    """
    with session(ctx, as_json=as_json) as terminal:
        from tiltfit import load

        options, loaded = DataOptions.of(ctx), load(model)
        if task_of(ctx, model, loaded, data) == "tag":
            sequences = options.sequences(data, labels=True)
            tag_scores = score_sequences(terminal, loaded, sequences)
            counts = {"sequences": len(sequences), **tag_scores.to_dict()}
            terminal.document({"model": str(model), "data": list(sequences.sources), **counts})
            show_tag_scores(terminal, tag_scores)
        else:
            rows = options.documents(data, labels=True, columns=columns_of(loaded, text))
            scores = score_documents(loaded, rows, label)
            terminal.document({"model": str(model), "data": list(rows.sources), **scores.document()})
            show_scores(terminal, scores)
