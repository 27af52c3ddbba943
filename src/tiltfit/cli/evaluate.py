"""``tiltfit evaluate``: the scores of a model on labelled data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from tiltfit.cli.options import DataOptions, JsonOnly, ModelArgument, Sources, command
from tiltfit.cli.render import cell, count, table
from tiltfit.cli.tasks import columns_of, located, task_of
from tiltfit.cli.terminal import Terminal, class_name, session
from tiltfit.errors import DataError, UnknownLabelError, did_you_mean

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from rich.table import Table

    from tiltfit.data.readers import Dataset, SequenceDataset
    from tiltfit.report.segments import Score, TagScores

_CONFUSIONS = 5  # shown to people; machines get the whole matrix


@command
def evaluate(
    ctx: typer.Context,
    *,
    model: ModelArgument,
    sources: Sources,
    reading: DataOptions,
    printing: JsonOnly,
) -> None:
    """Compare the predictions of MODEL with the labels of DATA; instances without a label are left out.

    Of documents: accuracy, macro-F1, log-loss, and precision, recall and F1 of each class. Of sequences: the accuracy
    of tokens, and precision, recall and F1 of each label and of segments (runs of a label; entities under BIO labels).
    """
    with session(ctx, printing) as terminal:
        from tiltfit import load

        data = sources.required
        loaded = load(model)
        reading = reading.recalled(ctx, loaded)
        kind = task_of(ctx, model, loaded, data, reading)
        if kind.is_sequences:
            from tiltfit.report.segments import score_tags

            tagged, classes = reading.read_sequences(data, labels=True), loaded.classes_.tolist()
            with located(kind, tagged):
                tag_scores = score_tags(_true_tags(terminal, tagged, classes), list(loaded.predict(tagged.X)), classes)
            counts = {"sequences": len(tagged), **tag_scores.to_dict()}
            terminal.document({"model": str(model), "data": list(tagged.sources), **counts})
            show_tag_scores(terminal, tag_scores)
        else:
            rows = reading.read_documents(data, labels=True, columns=columns_of(kind, loaded, reading.text_column))
            truth = _true_classes(rows, list(loaded.classes_), reading.label)
            scores = document_scores(loaded.predict_proba(rows.X), truth, [class_name(c) for c in loaded.classes_])
            terminal.document({"model": str(model), "data": list(rows.sources), **scores.document()})
            show_document_scores(terminal, scores)


def _true_classes(rows: Dataset, classes: Sequence[Any], field: str) -> npt.NDArray[np.intp]:
    """Return the index of each row's class; −1 where it has no label."""
    import numpy as np

    if rows.y is None or not rows.labelled.any():
        raise DataError(f"No row has a label in the field {field!r}, so there is nothing to compare with.")
    # CSV files know only text, so "1" must find a class 1; text classes are found either way.
    index = {class_name(c): k for k, c in enumerate(classes)}
    truth = np.full(len(rows), -1, dtype=np.intp)
    for i, label in enumerate(rows.y):
        name = class_name(label)
        if label is None or (label == -1 and name not in index):
            continue
        if name not in index:
            known = ", ".join(index)
            raise UnknownLabelError(
                f"{rows.origins[i]}: the model has no class {name!r}.{did_you_mean(name, index)} It has: {known}."
            )
        truth[i] = index[name]
    return truth


@dataclass(frozen=True)
class DocumentScores:
    """The scores of a classifier, ``each`` by class. ``confusion[i, j]``: rows of class i that were predicted as class
    j. Precision, recall and F1 are 0 where they would be 0/0; macro-F1 is over the classes seen or predicted."""

    each: Mapping[str, Score]
    accuracy: float
    macro_f1: float
    log_loss: float
    confusion: npt.NDArray[np.int64]
    left_out: int

    def document(self) -> dict[str, Any]:
        """Return the scores for ``--json``."""
        shown = ("precision", "recall", "f1", "support")
        return {
            "rows": int(self.confusion.sum()),
            "unlabelled": self.left_out,
            "accuracy": self.accuracy,
            "macro_f1": self.macro_f1,
            "log_loss": self.log_loss,
            "classes": {name: {key: getattr(score, key) for key in shown} for name, score in self.each.items()},
            "confusion": self.confusion,
        }


def document_scores(
    proba: npt.NDArray[np.float64], truth: npt.NDArray[np.intp], classes: Sequence[str]
) -> DocumentScores:
    """Return the scores of probabilities against the numbers of the true classes (−1: unlabelled)."""
    import numpy as np

    from tiltfit.report.segments import Score

    rows = np.flatnonzero(truth >= 0)
    true, predicted = truth[rows], proba[rows].argmax(axis=1)
    k = len(classes)
    confusion = np.bincount(true * k + predicted, minlength=k * k).reshape(k, k)
    counts = zip(
        np.diag(confusion).tolist(), confusion.sum(axis=0).tolist(), confusion.sum(axis=1).tolist(), strict=True
    )
    each = {name: Score(*three) for name, three in zip(classes, counts, strict=True)}
    # A probability that underflowed to 0 would make the mean infinite for one bad row: bounded as scikit-learn does.
    smallest = np.finfo(np.float64).eps
    return DocumentScores(
        each=each,
        accuracy=float(np.trace(confusion) / len(rows)),
        macro_f1=float(np.mean([score.f1 for score in each.values() if score.predicted + score.support])),
        log_loss=float(-np.log(np.maximum(proba[rows, true], smallest)).mean()),
        confusion=confusion,
        left_out=len(truth) - len(rows),
    )


def show_document_scores(terminal: Terminal, scores: DocumentScores) -> None:
    """Show the scores as a table."""
    left_out = f" ({scores.left_out:,} without a label left out)" if scores.left_out else ""
    terminal.show(
        f"{count(int(scores.confusion.sum()), 'labelled document')}{left_out}",
        "",
        f"accuracy {scores.accuracy:.3f}   macro-F1 {scores.macro_f1:.3f}   log-loss {scores.log_loss:.3f}",
        "",
        _score_table("class", "documents", scores.each),
        *_confusions(scores),
    )


def _confusions(scores: DocumentScores) -> list[str]:
    """Return the most frequent mistakes, as sentences."""
    matrix, names = scores.confusion.tolist(), list(scores.each)
    pairs = [(n, names[i], names[j]) for i, row in enumerate(matrix) for j, n in enumerate(row) if i != j and n > 0]
    pairs.sort(key=lambda pair: -pair[0])
    lines = [f"  {n:,} × {true} taken for {guess}" for n, true, guess in pairs[:_CONFUSIONS]]
    return ["", "Most frequent mistakes", *lines] if lines else []


def _true_tags(terminal: Terminal, rows: SequenceDataset, classes: list[Any]) -> list[list[Any] | None]:
    """Return tags as classes: files of columns hold only text, so "1" must find a class 1. A tag that the tagger does
    not know counts as a mistake, and is noted."""
    index = {class_name(c): c for c in classes}
    unknown: Counter[str] = Counter()
    known = 0
    truth: list[list[Any] | None] = []
    for row in rows.y if rows.y is not None else [None] * len(rows):
        names = [None if tag is None or (tag == -1 and "-1" not in index) else class_name(tag) for tag in row or ()]
        unknown.update(name for name in names if name is not None and name not in index)
        known += sum(name in index for name in names)
        truth.append(None if row is None else [index.get(name, name) if name is not None else None for name in names])
    if not known and not unknown:
        raise DataError(
            "No token has a label, so there is nothing to compare with. Labels stand in the last of several columns "
            "(--label-column) or in the field 'tags' (--tags)."
        )
    for name, n in unknown.items():
        guess = did_you_mean(name, index)
        if not known:
            raise UnknownLabelError(
                f"{', '.join(rows.sources)}: the model knows none of the labels, such as {name!r}.{guess} It has: "
                f"{', '.join(index)}. --label-column or --tags says where the labels are."
            )
        terminal.note(
            f"{count(n, 'token')} labelled {name!r}, which the model does not know: counted as mistakes.{guess}"
        )
    return truth


def show_tag_scores(terminal: Terminal, scores: TagScores) -> None:
    """Show the scores as tables."""
    all_of_them = scores.segment
    segments = (
        f"segment F1 {all_of_them.f1:.3f}   precision {all_of_them.precision:.3f}   recall {all_of_them.recall:.3f}"
    )
    left_out = f" ({scores.unlabelled:,} without a label left out)" if scores.unlabelled else ""
    terminal.show(
        f"{count(scores.tokens, 'labelled token')}{left_out}",
        "",
        f"token accuracy {scores.accuracy:.3f}   macro-F1 {scores.macro_f1:.3f}",
        *([segments] if scores.segments else []),
        "",
        _score_table("label", "tokens", scores.labels),
    )
    if scores.segments:
        terminal.show("", _score_table("segment", "segments", scores.segments))
    if scores.partial:
        terminal.show("", f"{count(scores.partial, 'sequence')} only partly labelled: left out of the segments.")


def _score_table(what: str, unit: str, scores: Mapping[str, Score]) -> Table:
    shown = table(what, "precision", "recall", "F1", unit)
    for name, score in scores.items():
        shown.add_row(
            cell(name), f"{score.precision:.3f}", f"{score.recall:.3f}", f"{score.f1:.3f}", f"{score.support:,}"
        )
    return shown
