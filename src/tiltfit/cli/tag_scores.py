"""The scores of a tagger on labelled sequences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tiltfit.cli.output import class_name
from tiltfit.cli.render import cell, count, table
from tiltfit.cli.sequences import located
from tiltfit.cli.terminal import Terminal
from tiltfit.errors import DataError, UnknownLabelError, did_you_mean

if TYPE_CHECKING:
    from rich.table import Table

    from tiltfit import TiltTagger
    from tiltfit.data.readers import SequenceDataset
    from tiltfit.report.segments import Score, TagScores


def score_sequences(terminal: Terminal, tagger: TiltTagger, rows: SequenceDataset) -> TagScores:
    """Predictions against the tags. A tag that the tagger does not know is its mistake, and noted."""
    from tiltfit.report.segments import score_tags

    classes = tagger.classes_.tolist()
    truth = _truth(terminal, rows, classes)
    with located(rows):
        return score_tags(truth, tagger.predict(rows.X), classes)


def _truth(terminal: Terminal, rows: SequenceDataset, classes: list[Any]) -> list[list[Any] | None]:
    """Tags as classes: files of columns know only text, so "1" must find a class 1."""
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
    """Tables for people."""
    left_out = f" ({scores.unlabelled:,} without a label left out)" if scores.unlabelled else ""
    terminal.show(
        f"{count(scores.tokens, 'labelled token')}{left_out}",
        "",
        f"token accuracy {scores.accuracy:.3f}   macro-F1 {scores.macro_f1:.3f}",
        *_segments(scores),
        "",
        _table("label", "tokens", scores.labels),
    )
    if scores.segments:
        terminal.show("", _table("segment", "segments", scores.segments))
    if scores.partial:
        terminal.show("", f"{count(scores.partial, 'sequence')} labelled in part only: left out of the segments.")


def _segments(scores: TagScores) -> list[str]:
    if not scores.segments:
        return []
    all_of_them = scores.segment
    numbers = f"precision {all_of_them.precision:.3f}   recall {all_of_them.recall:.3f}"
    return [f"segment F1 {all_of_them.f1:.3f}   {numbers}"]


def _table(what: str, unit: str, scores: Mapping[str, Score]) -> Table:
    shown = table(what, "precision", "recall", "F1", unit)
    for name, score in scores.items():
        shown.add_row(
            cell(name), f"{score.precision:.3f}", f"{score.recall:.3f}", f"{score.f1:.3f}", f"{score.support:,}"
        )
    return shown
