"""What the defaults are tried on: statements without labels (Cora: with few), training and development parts only.

Texts of collections are re-split 70 : 30, advertisements and citations are scored on their development parts, entities
on their valid parts, and generated data have seeds that the demo does not use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt
from benchmarks.citations import LABELS, citations, few_labelled, lexicons, table_2
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import train_test_split

from experiments.apartments import data as apartments
from experiments.development import TICKETS, development_split, features
from experiments.entities import entities
from experiments.rules import voted_texts
from tiltfit import Constraint, ConstraintSet
from tiltfit.demo import citations as references
from tiltfit.report.segments import score_tags
from tiltfit.samples.sample import Sample, make_sample
from tiltfit.samples.task import DOCUMENTS, SEQUENCES

TENTH, WHOLE, TIMES_TEN = "n/10", "n", "n × 10"
SIZES = (TENTH, WHOLE)
"""Of the data to learn from. ``n × 10``: every instance has weight ten."""

Score = Callable[[Any, Any], float]
"""Of the truth and the predicted labels."""


@dataclass(frozen=True, eq=False)
class Job:
    """What to learn from, what is said of it, and what to score on. ``y``: the labels that are known. ``options``: of
    the estimator."""

    X: Any
    judged: Any
    truth: Any
    constraints: Sequence[Constraint]
    classes: Sequence[str]
    score: Score
    sequences: bool = False
    y: Any = None
    options: dict[str, Any] = field(default_factory=dict)

    def sample(self) -> Sample:
        task = SEQUENCES if self.sequences else DOCUMENTS
        inputs = task.read(self.X, self.options.get("feature_names"))
        return make_sample(task, inputs, self.y, classes=self.classes)


@dataclass(frozen=True)
class Task:
    """``runs``: how many splits, subsets or seeds. ``large``: only tried with the settings of the shortlist.
    ``labelled``: some labels are known, so that counting everything ten times does change the problem."""

    name: str
    runs: int
    load: Callable[[int, str], Job]
    folder: str
    sequences: bool = False
    large: bool = False
    labelled: bool = False

    def job(self, run: int, size: str) -> Job:
        return _job(self, run, TENTH if size == TENTH else WHOLE)


@lru_cache(maxsize=1)
def _job(task: Task, run: int, size: str) -> Job:
    return task.load(run, size)


def some(n: int, size: str, run: int) -> npt.NDArray[np.intp]:
    """The rows of a size: all, or a tenth of them at random."""
    rows = np.arange(n)
    return rows if size == WHOLE else np.random.default_rng(run).permutation(rows)[: max(1, n // 10)]


# Documents


def macro_f1(truth: Any, predicted: Any) -> float:
    return float(f1_score(truth, predicted, average="macro"))


def accuracy(truth: Any, predicted: Any) -> float:
    return float(accuracy_score(truth, predicted))


def f1_of_spam(truth: Any, predicted: Any) -> float:
    return float(f1_score(truth, predicted, pos_label="spam"))


def words(name: str, run: int, size: str) -> Job:
    """The most informative words of each label, at 0.9."""
    split = development_split(name, run)
    split = split.take(some(len(split.texts), size, run))
    found = features(split, "tfidf")
    named = {"feature_names": found.words}
    stated = found.constraints(split)
    return Job(found.train, found.judged, split.judged_labels, stated, split.classes, macro_f1, options=named)


def rules(name: str, score: Score, run: int, size: str) -> Job:
    """Each rule at 0.9."""
    train = voted_texts(name, "train")
    rows = np.arange(len(train.texts))
    learned, judged = train_test_split(rows, test_size=0.3, random_state=run, stratify=train.labels)
    ours = train.take(learned[some(len(learned), size, run)])
    theirs, classes = train.take(judged), np.unique(train.labels).tolist()
    return Job(list(ours.texts), list(theirs.texts), theirs.labels, ours.constraints(), classes, score)


def tickets(run: int, size: str) -> Job:
    """The demo's own statements."""
    split = development_split(TICKETS, run)
    split = split.take(some(len(split.texts), size, run))
    texts, judged = list(split.texts), list(split.judged_texts)
    return Job(texts, judged, split.judged_labels, split.constraints, split.classes, macro_f1)


# Sequences


def token_accuracy(truth: Any, predicted: Any) -> float:
    return float(score_tags(truth, predicted).accuracy)


def entity_f1(truth: Any, predicted: Any) -> float:
    return float(score_tags(truth, predicted).segment.f1)


def _rows(listed: Iterable[Any], rows: npt.NDArray[np.intp]) -> list[list[Any]]:
    listed = list(listed)
    return [list(listed[i]) for i in rows]


CORA_LABELLED = (5, 20)


def cora(run: int, size: str) -> Job:
    """The words of Table 2 on the development citations, with 5 (even runs) or 20 labelled ones of a subset."""
    dev = citations("dev")
    X, y = few_labelled(CORA_LABELLED[run % 2], run // 2)
    more = _rows(dev.tokens, some(len(dev.tokens), size, run))
    return Job(
        [list(row) for row in X] + more, [list(row) for row in dev.tokens], list(dev.y or []), table_2(), LABELS,
        token_accuracy, sequences=True, y=[*y, *[None] * len(more)], options={"features": {"lexicons": lexicons()}},
    )  # fmt: skip


def ads(run: int, size: str) -> Job:
    """33 words and 90 % of transitions between equal labels."""
    texts, dev = apartments.unlabelled(), apartments.ads("dev")
    templates = apartments.Look(nearby=(3, 10)).templates()
    return Job(
        _rows(texts, some(len(texts), size, run)), dev.tokens, dev.labels, apartments.constraints(apartments.STAY),
        list(apartments.prototypes()), token_accuracy, sequences=True, options={"features": templates},
    )  # fmt: skip


def marked(name: str, run: int, size: str) -> Job:
    """Each source at 0.9, and O at 0.97 where no source speaks."""
    train, valid = entities(name, "train"), entities(name, "valid")
    ours = train.take(some(len(train.tags), size, run))
    return Job(ours.X, valid.X, valid.tags, ours.constraints(), train.classes, entity_f1, sequences=True)


def demo(n_train: int, n_test: int, run: int, size: str) -> Job:
    """The demo's references and its own statements, without a label; its seed is left out."""
    train, test = references.split(n_train, n_test, seed=run + 1)
    texts = _rows([r.tokens for r in train], some(len(train), size, run))
    tokens, labels = [list(r.tokens) for r in test], [list(r.labels) for r in test]
    stated = list(ConstraintSet.of(references.CONSTRAINTS))
    return Job(texts, tokens, labels, stated, references.LABELS, token_accuracy, sequences=True)


TASKS = (
    Task("words: youtube", 2, partial(words, "youtube"), "youtube"),
    Task("words: movie", 2, partial(words, "movie"), "movie"),
    Task("words: webkb", 2, partial(words, "webkb"), "webkb"),
    Task("words: sector", 1, partial(words, "sector"), "sector", large=True),
    Task("words: 20newsgroups", 1, partial(words, "20newsgroups"), "20newsgroups", large=True),
    Task("rules: youtube", 2, partial(rules, "youtube", accuracy), "youtube"),
    Task("rules: sms", 2, partial(rules, "sms", f1_of_spam), "rules"),
    Task("rules: trec", 2, partial(rules, "trec", accuracy), "rules"),
    Task("tickets", 2, tickets, ""),
    Task("Cora, few labels", 4, cora, "cora", sequences=True, labelled=True),
    Task("apartments", 1, ads, "apartments", sequences=True),
    Task("entities: laptop", 1, partial(marked, "laptop"), "entities", sequences=True),
    Task("entities: ncbi", 1, partial(marked, "ncbi"), "entities", sequences=True, large=True),
    Task("references", 1, partial(demo, 100, 100), "", sequences=True),
)
"""``folder``: of its data; generated ones have none."""
QUICK_TASKS = (Task("tickets", 1, tickets, ""), Task("references", 1, partial(demo, 30, 20), "", sequences=True))
