"""How well predicted tags agree with the true ones: token by token, label by label, segment by segment.

    precision = hits / predicted,  recall = hits / true,  F1 = 2·hits / (predicted + true);  0/0 counts as 0

A segment is a hit when a predicted one has the same first token, last token and label. Under BIO, IOBES and IO tags
segments are entities, cut as conlleval and seqeval do; plain labels (author, title) are cut into maximal runs. ``O`` is
outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tiltfit.arrays import BoolArray, IntArray
from tiltfit.errors import DataError
from tiltfit.language.scheme import continues, parse

OUTSIDE = "O"


@dataclass(frozen=True)
class Score:
    """Counts of hits, of predictions and of what is true (``support``), and the ratios between them."""

    hits: int
    predicted: int
    support: int

    @property
    def precision(self) -> float:
        return self.hits / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        return self.hits / self.support if self.support else 0.0

    @property
    def f1(self) -> float:
        total = self.predicted + self.support
        return 2 * self.hits / total if total else 0.0

    def to_dict(self) -> dict[str, float]:
        """Plain data, for JSON."""
        return {**asdict(self), "precision": self.precision, "recall": self.recall, "f1": self.f1}


@dataclass(frozen=True)
class TagScores:
    """``labels``: a score for each label, over tokens. ``segments``: a score for each label or entity, over segments.

    ``unlabelled`` tokens have no true tag and are left out; so are, for segments, the ``partial`` sequences that hold
    both kinds of tokens, since nobody knows where their segments end.
    """

    tokens: int
    correct: int
    labels: Mapping[str, Score]
    segments: Mapping[str, Score]
    unlabelled: int = 0
    partial: int = 0

    @property
    def accuracy(self) -> float:
        """Share of labelled tokens whose tag is right."""
        return self.correct / self.tokens

    @property
    def segment(self) -> Score:
        """All segments together (micro-average)."""
        parts = self.segments.values()
        return Score(sum(s.hits for s in parts), sum(s.predicted for s in parts), sum(s.support for s in parts))

    @property
    def macro_f1(self) -> float:
        """Mean F1 of the labels that occur, over tokens."""
        return _mean_f1(self.labels)

    @property
    def segment_macro_f1(self) -> float:
        """Mean F1 of the labels or entities that occur, over segments."""
        return _mean_f1(self.segments)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "tokens": self.tokens,
            "unlabelled": self.unlabelled,
            "partial": self.partial,
            "accuracy": self.accuracy,
            "macro_f1": self.macro_f1,
            "labels": {name: score.to_dict() for name, score in self.labels.items()},
            "segment": self.segment.to_dict(),
            "segment_macro_f1": self.segment_macro_f1,
            "segments": {name: score.to_dict() for name, score in self.segments.items()},
        }


def score_tags(
    truth: Sequence[Sequence[object] | None],
    predicted: Sequence[Sequence[object]],
    classes: Iterable[object] | None = None,
) -> TagScores:
    """Compare predicted tags with the true ones (None where unknown). ``classes``: all labels, if more than occur. If
    they are tags of entities, segments are entities, whatever else occurs; a label that is none is one by itself.

    >>> scores = score_tags([["B-a", "I-a", "O"]], [["B-a", "O", "O"]])
    >>> round(scores.accuracy, 3), scores.segment.f1
    (0.667, 0.0)
    """
    classes = None if classes is None else list(classes)
    names, true, guess, lengths = _encode(truth, predicted, classes)
    known = true >= 0
    if not known.any():
        raise DataError("No token has a true tag, so there is nothing to compare with.")
    n = len(names)
    confusion = np.bincount(true[known] * n + guess[known], minlength=n * n).reshape(n, n)
    hits, seen, guessed = np.diag(confusion), confusion.sum(axis=1), confusion.sum(axis=0)
    labels = zip(names, hits.tolist(), guessed.tolist(), seen.tolist(), strict=True)
    labelled = np.bincount(np.repeat(np.arange(len(lengths)), lengths)[known], minlength=len(lengths))
    return TagScores(
        tokens=int(known.sum()),
        correct=int(hits.sum()),
        labels={str(name): Score(h, p, s) for name, h, p, s in labels if p + s},
        segments=_score_segments(_tags(names, classes), true, guess, lengths, labelled == lengths),
        unlabelled=int((~known).sum()),
        partial=int(((labelled > 0) & (labelled < lengths)).sum()),
    )


def segments_by_sequence(
    truth: Sequence[Sequence[object] | None],
    predicted: Sequence[Sequence[object]],
    classes: Iterable[object] | None = None,
) -> IntArray:
    """Hits, predicted and true segments of every sequence (sequences × 3): their sums are those of ``score_tags``, and
    a sequence that is not labelled as a whole has none.

    >>> segments_by_sequence([["B-a", "I-a"], ["B-a", None]], [["B-a", "I-a"], ["B-a", "O"]]).tolist()
    [[1, 1, 1], [0, 0, 0]]
    """
    classes = None if classes is None else list(classes)
    names, true, guess, lengths = _encode(truth, predicted, classes)
    owner = np.repeat(np.arange(len(lengths)), lengths)
    whole = np.bincount(owner[true >= 0], minlength=len(lengths)) == lengths
    owner = owner[np.repeat(whole, lengths)]
    _, *found = _matched(_tags(names, classes), true, guess, lengths, whole)
    return np.stack([np.bincount(owner[first], minlength=len(lengths)) for _, first in found], axis=1)


def find_segments(tags: Sequence[object], classes: Iterable[object] | None = None) -> list[tuple[str, int, int]]:
    """(label, first token, token after the last) of every segment of one sequence.

    >>> find_segments(["author", "author", "O", "title"]), find_segments(["B-a", "I-a", "B-a"])
    ([('author', 0, 2), ('title', 3, 4)], [('a', 0, 2), ('a', 2, 3)])
    """
    classes = None if classes is None else list(classes)
    names = _names([tags], classes)
    number = {name: k for k, name in enumerate(names)}
    labels, kinds, goes_on = _rules(_tags(names, classes))
    found = _cut(np.array([number[_plain(tag)] for tag in tags], dtype=np.intp), np.array([len(tags)]), kinds, goes_on)
    return [(labels[kind], start, stop) for kind, start, stop in zip(*(a.tolist() for a in found), strict=True)]


def _score_segments(
    names: list[Any], true: IntArray, guess: IntArray, lengths: IntArray, whole: BoolArray
) -> dict[str, Score]:
    """Scores of the segments in sequences that are labelled as a ``whole``."""
    labels, *found = _matched(names, true, guess, lengths, whole)
    counts = (np.bincount(kind, minlength=len(labels)).tolist() for kind, _ in found)
    return {label: Score(h, p, s) for label, h, p, s in zip(labels, *counts, strict=True) if p + s}


def _matched(
    names: list[Any], true: IntArray, guess: IntArray, lengths: IntArray, whole: BoolArray
) -> tuple[list[str], tuple[IntArray, IntArray], tuple[IntArray, IntArray], tuple[IntArray, IntArray]]:
    """All labels; then of hits, of predicted and of true segments the label and the first token, which is counted in
    the sequences that are labelled as a ``whole``."""
    labels, kinds, goes_on = _rules(names)
    inside = np.repeat(whole, lengths)
    real = _cut(true[inside], lengths[whole], kinds, goes_on)
    made = _cut(guess[inside], lengths[whole], kinds, goes_on)
    # A label, a first and a last token make one number, equal for equal segments.
    n = len(true) + 1
    real_key, made_key = ((kind * n + start) * n + stop for kind, start, stop in (real, made))
    hits = np.intersect1d(real_key, made_key) // n
    return labels, (hits // n, hits % n), made[:2], real[:2]


def _cut(
    codes: IntArray, lengths: IntArray, kinds: IntArray, goes_on: BoolArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Kind, first token and the token after the last, of every segment."""
    begins = np.ones(len(codes), dtype=np.bool_)
    begins[1:] = ~goes_on[codes[:-1], codes[1:]]
    begins[(np.cumsum(lengths) - lengths)[lengths > 0]] = True
    starts = np.flatnonzero(begins)
    stops = np.append(starts, len(codes))[1:]
    kind = kinds[codes[starts]]
    return kind[kind >= 0], starts[kind >= 0], stops[kind >= 0]


def _tags(names: list[Any], classes: list[object] | None) -> list[Any]:
    """``names`` as segments are cut by them: if all ``classes`` are tags of entities, a name that is none is the inside
    of one."""
    if not classes or any(parse(_plain(name)) is None for name in classes):
        return names
    return [f"I-{name}" if parse(name) is None else name for name in names]


def _rules(names: Sequence[object]) -> tuple[list[str], IntArray, BoolArray]:
    """The labels or entities; for each tag the number of its own (−1: outside); which tag goes on with which."""
    parsed = [parse(name) for name in names]
    if all(p is not None for p in parsed):
        own = [p[1] for p in parsed if p is not None]
        # A beginning makes a scheme of tags among which none occurs: I after I is then one entity, and so is E after I.
        goes_on = continues([*names, "B-?"])[:-1, :-1]
    else:
        own = [None if name == OUTSIDE else str(name) for name in names]
        goes_on = continues(names)
    labels = sorted({label for label in own if label is not None})
    number = {label: k for k, label in enumerate(labels)}
    return labels, np.array([-1 if label is None else number[label] for label in own], dtype=np.intp), goes_on


def _encode(
    truth: Sequence[Sequence[object] | None], predicted: Sequence[Sequence[object]], classes: Iterable[object] | None
) -> tuple[list[Any], IntArray, IntArray, IntArray]:
    """All labels, the number of every true (−1: none) and predicted one, and the lengths of the sequences."""
    if len(truth) != len(predicted):
        raise DataError(f"{len(truth)} sequences have true tags, but {len(predicted)} are predicted.")
    rows: list[Sequence[object]] = []
    for k, (row, found) in enumerate(zip(truth, predicted, strict=True)):
        if row is not None and len(row) != len(found):
            raise DataError(f"Sequence {k} has {len(row)} true tags, but {len(found)} predicted ones.")
        if any(tag is None for tag in found):
            raise DataError(f"Position {list(found).index(None)} of sequence {k} has no predicted tag.")
        rows.append([None] * len(found) if row is None else row)
    names = _names([*rows, *predicted], classes)
    number: dict[object, int] = {name: k for k, name in enumerate(names)} | {None: -1}
    true = np.array([number[_plain(tag)] for row in rows for tag in row], dtype=np.intp)
    guess = np.array([number[_plain(tag)] for row in predicted for tag in row], dtype=np.intp)
    return names, true, guess, np.array([len(row) for row in predicted], dtype=np.intp)


def _names(rows: Sequence[Sequence[object]], classes: Iterable[object] | None) -> list[Any]:
    found = {_plain(tag) for row in rows for tag in row} | {_plain(tag) for tag in classes or ()}
    return sorted(found - {None}, key=str)


def _plain(tag: object) -> Any:
    """None also stands for NaN: the tag of a token that has none."""
    if isinstance(tag, np.generic):
        tag = tag.item()
    return None if tag is None or tag != tag else tag


def _mean_f1(scores: Mapping[str, Score]) -> float:
    return sum(score.f1 for score in scores.values()) / len(scores) if scores else 0.0
