"""One fit with default settings, scored on a test part or, while defaults are being chosen, on a development part."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
from benchmarks.labelled_words import load_task, oracle_constraints
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import train_test_split

from experiments.command import DOCS
from experiments.defaults.cells import calibration_error
from experiments.defaults.tasks import accuracy, entity_f1, f1_of_spam, macro_f1
from experiments.development import TARGET, Labels, development_split
from experiments.entities import entities
from experiments.oracle_words import LabelledWord, oracle_words
from experiments.rules import voted_texts
from experiments.table3.cells import SIZES, SUBSETS, TABLE_2, TRANSDUCTIVE
from experiments.table3.cells import Cell as Citations
from tiltfit import Constraint, TiltClassifier, TiltTagger, expect, word
from tiltfit.demo import citations as references
from tiltfit.demo.tickets import generate

WORDS = ("movie", "webkb", "sector", "20newsgroups")
RULES = {"youtube": accuracy, "sms": f1_of_spam, "trec": accuracy}
SOURCES = ("laptop", "ncbi")
TEST, DEV = "test", "dev"


@dataclass(frozen=True)
class Text:
    """A text set: ``words`` at 0.9, or ``rules`` at 0.9 (those of ``RULES``)."""

    name: str
    part: str = TEST

    @property
    def key(self) -> str:
        return f"{self.part} | {'rules' if self.name in RULES else 'words'}: {self.name}"

    def measure(self) -> dict[str, Any]:
        """``score`` as usual for the set, and ``calibration`` error."""
        given = voted(self.name, self.part) if self.name in RULES else worded(self.name, self.part)
        score = RULES.get(self.name, macro_f1)
        fitted, seconds = _fitted(TiltClassifier(given.constraints, classes=given.classes, n_jobs=1), given.texts)
        p = fitted.predict_proba(given.judged)
        predicted = fitted.classes_[p.argmax(axis=1)]
        error = calibration_error(p.max(axis=1), predicted == given.truth)
        return {"score": score(given.truth, predicted), "calibration": error, "seconds": seconds}


@dataclass(frozen=True, eq=False)
class Given:
    """Texts to learn from and what is said of them; ``labels``: theirs, which only an oracle of words sees."""

    texts: list[str]
    labels: Labels
    constraints: Sequence[Constraint]
    judged: list[str]
    truth: Labels

    @property
    def classes(self) -> list[str]:
        return sorted(set(self.labels.tolist()))


def voted(name: str, part: str) -> Given:
    """Rules; the development part is a split of the training part."""
    train = voted_texts(name, "train")
    if part == TEST:
        judged = voted_texts(name, "test")
    else:
        rows = np.arange(len(train.texts))
        learned, aside = train_test_split(rows, test_size=0.3, random_state=0, stratify=train.labels)
        train, judged = train.take(learned), train.take(aside)
    return Given(list(train.texts), train.labels, train.constraints(), list(judged.texts), judged.labels)


def worded(name: str, part: str) -> Given:
    """Labelled words, likewise."""
    if part == TEST:
        task = load_task(name)
        return Given(task.train, task.train_labels, task.constraints, task.test, task.test_labels)
    split = development_split(name, 0)
    return Given(list(split.texts), split.labels, split.constraints, list(split.judged_texts), split.judged_labels)


@dataclass(frozen=True)
class Marked:
    """Sources at 0.9, O at 0.97 where no source speaks: entity F1."""

    name: str
    part: str = TEST

    @property
    def key(self) -> str:
        return f"{self.part} | entities: {self.name}"

    def measure(self) -> dict[str, Any]:
        train, judged = entities(self.name, "train"), entities(self.name, "test" if self.part == TEST else "valid")
        fitted, seconds = _fitted(TiltTagger(train.constraints(), classes=train.classes, n_jobs=1), train.X)
        return {"score": entity_f1(judged.tags, fitted.predict(judged.X)), "seconds": seconds}


GLOBAL, MOST_LABELS = 294, 3


@dataclass(frozen=True)
class GlobalWords:
    """The most informative words of 20 newsgroups (bodies), whatever their class, none of them a stop word; an oracle
    names the majority labels of each, and one with more than three is left out. 90 % of the documents with a word have
    one of its labels."""

    part: str = TEST
    name: str = "20newsgroups"
    n: int = GLOBAL

    @property
    def key(self) -> str:
        return f"{self.part} | {self.n} words of {self.name}"

    def measure(self) -> dict[str, Any]:
        given = worded(self.name, self.part)
        stated = global_words(given.texts, given.labels, self.n)
        said = [expect(*found.labels, given=word(found.word)).about(TARGET) for found in stated]
        fitted, seconds = _fitted(TiltClassifier(said, classes=given.classes, n_jobs=1), given.texts)
        by_class = [sum(label in found.labels for found in stated) for label in given.classes]
        score = macro_f1(given.truth, fitted.predict(given.judged))
        return {"score": score, "seconds": seconds, "fewest": min(by_class), "most": max(by_class)}


def global_words(texts: Sequence[str], labels: Labels, n: int) -> list[LabelledWord]:
    """The first ``n`` words that the oracle of ``oracle_words`` labels with at most three labels."""
    counter = CountVectorizer(stop_words="english", min_df=min(5, max(1, len(texts) // 100)))
    counts = sparse.csr_array(counter.fit_transform(texts), dtype=np.float64)
    classes, codes = np.unique(labels, return_inverse=True)
    found = oracle_words(counts, codes, classes.tolist(), counter.get_feature_names_out().tolist(), 2 * n)
    return [one for one in found if len(one.labels) <= MOST_LABELS][:n]


MESSAGES = 500


@dataclass(frozen=True)
class Statements:
    """500 generated tickets, and the most informative word of each of their five labels at 0.9: statements that do not
    fight each other."""

    @property
    def key(self) -> str:
        return f"a word of each label on {MESSAGES} tickets"

    def measure(self) -> dict[str, Any]:
        """``off``: how far the model is from each target; the largest is the figure."""
        written = generate(MESSAGES)
        said = oracle_constraints(list(written.texts), np.array(written.labels), 1, TARGET)
        fitted, seconds = _fitted(TiltClassifier(said, n_jobs=1), list(written.texts))
        off = [float(entry.model_violation) for entry in fitted.constraint_report_]
        return {"score": max(off), "off": off, "seconds": seconds}


@dataclass(frozen=True)
class Demo:
    """The README's tagger without options: 300 references, 20 of them labelled. The demo has seed 0."""

    seed: int = 0
    n: int = 300

    @property
    def key(self) -> str:
        return f"demo tagger, seed {self.seed}, {self.n} references"

    def measure(self) -> dict[str, Any]:
        train, test = references.split(self.n, seed=self.seed)
        y = [list(r.labels) if i < 20 else None for i, r in enumerate(train)]
        tagger = TiltTagger(references.CONSTRAINTS, n_jobs=1)
        fitted, seconds = _fitted(tagger, [list(r.tokens) for r in train], y)
        score = fitted.score([list(r.tokens) for r in test], [list(r.labels) for r in test])
        return {"score": float(score), "seconds": seconds}


@dataclass(frozen=True)
class Page:
    """What another experiment has found on test parts, read from its JSON file: ``table1`` or ``table3``."""

    name: str

    @property
    def key(self) -> str:
        return f"page {self.name}"

    def measure(self) -> dict[str, Any]:
        found = json.loads((DOCS / f"{self.name}.json").read_text(encoding="utf-8"))
        return {"table1": _table_1, "table3": _table_3}[self.name](found)


def _table_1(found: dict[str, Any]) -> dict[str, Any]:
    """The mean of all rows, AP with defaults."""
    rows = found["summary"]["rows"]
    return {"score": fmean(row["ours"]["AP, defaults"] for row in rows), "rows": len(rows)}


def _table_3(found: dict[str, Any]) -> dict[str, Any]:
    """AP-T by N, with what was chosen on the development part and with all of Table 2."""
    chosen = {str(row["n"]): row["ours"] for row in found["summary"]["rows"] if row["column"] == "AP-T"}
    whole = {}
    for n in SIZES:
        cells = [Citations(n, k, TEST, "ap", TRANSDUCTIVE, TABLE_2).key for k in range(SUBSETS)]
        whole[str(n)] = fmean(found["cells"][key]["accuracy"] for key in cells if key in found["cells"])
    return {"AP-T": chosen, "AP-T, all of Table 2": whole}


def _fitted(estimator: Any, X: Any, y: Any = None) -> tuple[Any, float]:
    """The fit, and its processor seconds."""
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # statements that are not quite met: part of what is measured
        estimator.fit(X, y)
    return estimator, time.process_time() - started
