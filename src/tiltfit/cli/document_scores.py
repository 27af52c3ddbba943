"""The scores of a classifier on labelled documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tiltfit.cli.output import class_name
from tiltfit.cli.render import cell, count, table
from tiltfit.cli.terminal import Terminal
from tiltfit.errors import DataError, UnknownLabelError, did_you_mean

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tiltfit import TiltClassifier
    from tiltfit.data.readers import Dataset

_CONFUSIONS = 5  # shown to people; machines get the whole matrix


def score_documents(classifier: TiltClassifier, rows: Dataset, field: str) -> Scores:
    """Predictions against the labels, which stand in ``field``."""
    truth = _truth(rows, list(classifier.classes_), field)
    return _scores(classifier.predict_proba(rows.X), truth, [class_name(c) for c in classifier.classes_])


def _truth(rows: Dataset, classes: Sequence[Any], field: str) -> npt.NDArray[np.intp]:
    """Index of each row's class; −1 where it has no label."""
    import numpy as np

    if rows.y is None or not rows.labelled.any():
        raise DataError(f"No row has a label in the field {field!r}, so there is nothing to compare with.")
    # CSV files know only text, so "1" must find a class 1; text classes are found by either way.
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
class Scores:
    """What ``evaluate`` reports. ``confusion[i, j]``: rows of class i that were predicted as class j."""

    classes: Sequence[str]
    accuracy: float
    macro_f1: float
    log_loss: float
    confusion: npt.NDArray[np.int64]
    precision: npt.NDArray[np.float64]
    recall: npt.NDArray[np.float64]
    f1: npt.NDArray[np.float64]
    left_out: int

    def document(self) -> dict[str, Any]:
        """For ``--json``."""
        support = self.confusion.sum(axis=1)
        columns = zip(self.classes, self.precision, self.recall, self.f1, support, strict=True)
        return {
            "rows": int(support.sum()),
            "unlabelled": self.left_out,
            "accuracy": self.accuracy,
            "macro_f1": self.macro_f1,
            "log_loss": self.log_loss,
            "classes": {
                name: {"precision": p, "recall": r, "f1": f, "support": int(n)} for name, p, r, f, n in columns
            },
            "confusion": self.confusion,
        }


def _scores(proba: npt.NDArray[np.float64], truth: npt.NDArray[np.intp], classes: Sequence[str]) -> Scores:
    """Precision, recall and F1 are 0 where they would be 0/0; macro-F1 is over the classes seen or predicted."""
    import numpy as np

    rows = np.flatnonzero(truth >= 0)
    true, predicted = truth[rows], proba[rows].argmax(axis=1)
    k = len(classes)
    confusion = np.bincount(true * k + predicted, minlength=k * k).reshape(k, k)
    hits, seen, guessed = np.diag(confusion), confusion.sum(axis=1), confusion.sum(axis=0)
    f1 = 2 * hits / np.maximum(seen + guessed, 1)
    # A probability that underflowed to 0 would make the mean infinite for one bad row: bounded as scikit-learn does.
    smallest = np.finfo(np.float64).eps
    return Scores(
        classes=classes,
        accuracy=float(hits.sum() / len(rows)),
        macro_f1=float(f1[seen + guessed > 0].mean()),
        log_loss=float(-np.log(np.maximum(proba[rows, true], smallest)).mean()),
        confusion=confusion,
        precision=hits / np.maximum(guessed, 1),
        recall=hits / np.maximum(seen, 1),
        f1=f1,
        left_out=len(truth) - len(rows),
    )


def show_scores(terminal: Terminal, scores: Scores) -> None:
    """A table for people."""
    n = int(scores.confusion.sum())
    left_out = f" ({scores.left_out:,} without a label left out)" if scores.left_out else ""
    classes = table("class", "precision", "recall", "F1", "documents")
    support = scores.confusion.sum(axis=1)
    for row in zip(scores.classes, scores.precision, scores.recall, scores.f1, support, strict=True):
        name, precision, recall, f1, total = row
        classes.add_row(cell(name), f"{precision:.3f}", f"{recall:.3f}", f"{f1:.3f}", f"{total:,}")
    terminal.show(
        f"{count(n, 'labelled document')}{left_out}",
        "",
        f"accuracy {scores.accuracy:.3f}   macro-F1 {scores.macro_f1:.3f}   log-loss {scores.log_loss:.3f}",
        "",
        classes,
        *_confusions(scores),
    )


def _confusions(scores: Scores) -> list[str]:
    """The mistakes made most often, as sentences."""
    matrix, names = scores.confusion.tolist(), scores.classes
    pairs = [(n, names[i], names[j]) for i, row in enumerate(matrix) for j, n in enumerate(row) if i != j and n > 0]
    pairs.sort(key=lambda pair: -pair[0])
    lines = [f"  {n:,} × {true} taken for {guess}" for n, true, guess in pairs[:_CONFUSIONS]]
    return ["", "Most frequent mistakes", *lines] if lines else []
