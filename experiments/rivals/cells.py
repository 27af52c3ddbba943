"""The cells of the comparison of methods: one fit, judged by macro-F1 and accuracy. Which cells there are is in
``plan``."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from benchmarks.labelled_words import load_task
from scipy import sparse
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score
from sklearn.preprocessing import normalize

from experiments.development import Features, Split, development_split, features
from experiments.oracle_words import LabelledWord, oracle_words
from tiltfit import Constraint, TiltClassifier
from tiltfit.features.text import fit_bag_of_words
from tiltfit.language.texts import Word

N_WORDS = 200
SCIKIT_LEARN = "scikit-learn"
WORDS, LETTERS, MALLET_TOKENS = "words", "letters", "MALLET's tokens"
PATTERNS = {
    LETTERS: r"[^\W\d_]+",
    MALLET_TOKENS: r"[^\W\d_](?:[^\W\d_]|[!\"#%&'()*,\-./:;?@\[\\\]_{}])+[^\W\d_]",
}
"""MALLET's: three or more letters, or signs between letters, so that addresses are one word."""

TEN, OVERALL, NO_STOP_WORDS = "ten a label", "overall", "overall, no stop words"


@dataclass(frozen=True)
class Setup:
    """MALLET's set-up on counts: which words, what is said of them (``kl``, ``l2``, ``either``; nothing: all labels),
    by which method and how softly. ``stopped``: whether the model's features have no stop words, either;
    ``tokens``: what a word is (all labels only); ``relative``: counts in a hundred words, so that long documents do not
    outweigh short ones."""

    words: str
    form: str
    method: str
    beta: float = 0.05
    tol: float = 1e-3
    alpha: float = 1.0
    scale: str = "unit"
    stopped: bool = False
    tokens: str = WORDS
    relative: bool = False

    @property
    def key(self) -> str:
        said = f"{self.words}, {self.form}" if self.form else "all labels"
        text = f"{self.method}, {said}, {self.scale} β={self.beta:g}, α={self.alpha:g}, tol={self.tol:g}"
        text += ", stop words removed" if self.stopped else ""
        text += ", in a hundred words" if self.relative else ""
        return text if self.tokens == WORDS else f"{text}, {self.tokens}"

    def measure(self, split: Split) -> dict[str, Any]:
        found = _counts(split, self.tokens)
        found = _stopped(found) if self.stopped else found
        found = _relative(found) if self.relative else found
        if self.method == SCIKIT_LEARN:
            return peer(LogisticRegression(C=1 / self.alpha, tol=self.tol, max_iter=1000), found, split)
        constraints = self.constraints(split)
        classifier = TiltClassifier(
            constraints,
            classes=split.classes,
            feature_names=found.words,
            method=self.method,
            alpha=self.alpha,
            beta=self.beta,
            scale=self.scale,
            tol=self.tol,
            n_jobs=1,
        )
        return judge(classifier, found.train, None if self.form else split.labels, split, found.judged)

    def constraints(self, split: Split) -> list[Constraint]:
        if not self.form:
            return []
        return [c for word in _words(split, self.words) for c in getattr(word, self.form)(split.classes)]


@dataclass(frozen=True)
class Rival:
    """A method with its defaults. ``labels``: "none", "all", or how many of each class; ``says``: whether it is given
    the constraints; ``base``: whether the model sees the words of the constraints alone; ``even``: whether unlabelled
    texts count no more than labelled ones, all together (γ), and not each as much."""

    name: str
    labels: str = "none"
    method: str = "ap"
    model: str = "maxent"
    says: bool = True
    base: bool = False
    even: bool = False
    scale: str = "unit"
    alpha: float = 1.0

    @property
    def key(self) -> str:
        return f"{self.name}, {self.labels} labelled"

    def measure(self, split: Split, seed: int) -> dict[str, Any]:
        y = some_labels(split.labels, self.labels, seed)
        options: dict[str, Any] = {"classes": split.classes, "method": self.method, "model": self.model, "n_jobs": 1}
        options |= {"scale": self.scale, "alpha": self.alpha}
        if self.even and y is not None:
            known = sum(label is not None for label in y)
            options["gamma"] = known / (len(y) - known)
        if not self.base:
            classifier = TiltClassifier(split.constraints if self.says else (), **options)
            return judge(classifier, list(split.texts), y, split, list(split.judged_texts))
        found = _tfidf(split)
        constraints = found.constraints(split)
        kept = sorted(found.words.index(c.given.name) for c in constraints)  # type: ignore[union-attr]
        names = [found.words[j] for j in kept]
        classifier = TiltClassifier(constraints, feature_names=names, **options)
        return judge(classifier, found.train[:, kept], y, split, found.judged[:, kept])


def some_labels(labels: npt.NDArray[np.str_], which: str, seed: int) -> npt.NDArray[Any] | None:
    """All labels, none, or so many of each class, drawn at random; the rest is None."""
    if which in ("all", "none"):
        return labels if which == "all" else None
    rng, y = np.random.default_rng(seed), np.full(len(labels), None, dtype=object)
    for label in np.unique(labels):
        rows = rng.permutation(np.flatnonzero(labels == label))[: int(which)]
        y[rows] = labels[rows]
    return y


def judge(classifier: TiltClassifier, X: Any, y: Any, split: Split, judged: Any) -> dict[str, Any]:
    """Fit, and score on the judged side. ``seconds``: processor time of ``fit``."""
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # constraints not met, rounds used up: part of what is measured
        classifier.fit(X, y)
    seconds = time.process_time() - started
    return {
        **scores(split, classifier.predict(judged)),
        "seconds": seconds,
        "rounds": classifier.n_iter_,
        "converged": bool(classifier.converged_),
        "constraints": len(classifier.constraint_report_),
    }


def peer(classifier: LogisticRegression, found: Features, split: Split) -> dict[str, Any]:
    """Another library's regression on the same features and all labels."""
    started = time.process_time()
    classifier.fit(found.train, split.labels)
    seconds, rounds = time.process_time() - started, int(np.max(classifier.n_iter_))
    told = {"seconds": seconds, "rounds": rounds, "converged": rounds < classifier.max_iter, "constraints": 0}
    return {**scores(split, classifier.predict(found.judged)), **told}


def scores(split: Split, predicted: npt.NDArray[Any]) -> dict[str, float]:
    """Macro-F1 and accuracy on the judged side."""
    f1 = f1_score(split.judged_labels, predicted, average="macro")
    return {"macro_f1": float(f1), "accuracy": float(accuracy_score(split.judged_labels, predicted))}


@lru_cache(maxsize=1)
def split_of(name: str, seed: int, *, development: bool = False) -> Split:
    """The benchmark's training and test part, or (``development``) a split of the training part."""
    if development:
        return development_split(name, seed)
    task = load_task(name, seed=seed)
    classes = tuple(np.unique(task.train_labels).tolist())
    texts = tuple(task.train), task.train_labels, tuple(task.test), task.test_labels
    return Split(name, classes, *texts, tuple(task.constraints))


@lru_cache(maxsize=1)
def _counts(split: Split, tokens: str = WORDS) -> Features:
    if tokens == WORDS:
        return features(split, "counts")
    counter = CountVectorizer(token_pattern=PATTERNS[tokens], dtype=np.float64)
    train = sparse.csr_array(counter.fit_transform(split.texts))
    words = tuple(counter.get_feature_names_out().tolist())
    return Features(words, train, sparse.csr_array(counter.transform(split.judged_texts)))


@lru_cache(maxsize=1)
def _stopped(found: Features) -> Features:
    kept = [j for j, word in enumerate(found.words) if word not in ENGLISH_STOP_WORDS]
    return Features(tuple(found.words[j] for j in kept), found.train[:, kept], found.judged[:, kept])


@lru_cache(maxsize=1)
def _relative(found: Features) -> Features:
    def scaled(counts: sparse.csr_array) -> sparse.csr_array:
        return sparse.csr_array(100 * normalize(counts, norm="l1"))

    return Features(found.words, scaled(found.train), scaled(found.judged))


@lru_cache(maxsize=1)
def _tfidf(split: Split) -> Features:
    bag, train = fit_bag_of_words(split.texts, "tfidf")
    return Features(bag.words, train, bag.transform(split.judged_texts))


@lru_cache(maxsize=3)
def _words(split: Split, which: str) -> list[LabelledWord]:
    """``ten a label``: those of the benchmarks, each with its one majority label. ``overall``: see ``oracle_words``."""
    if which == TEN:
        return [_labelled(constraint) for constraint in split.constraints]
    found = _stopped(_counts(split)) if which == NO_STOP_WORDS else _counts(split)
    codes = np.searchsorted(np.array(split.classes), split.labels)
    return oracle_words(found.train, codes, split.classes, found.words, N_WORDS)


def _labelled(constraint: Constraint) -> LabelledWord:
    assert isinstance(constraint.given, Word)
    return LabelledWord(constraint.given.text, tuple(map(str, constraint.event.names)))
