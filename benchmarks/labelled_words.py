"""The constraints of the paper's first experiment (§5.1): words that an oracle has labelled, each at 0.9.

The oracle sees the labels of the training part and nothing of the test part.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import train_test_split

from benchmarks.corpora import Corpus, load_corpus
from tiltfit import Constraint, expect, word
from tiltfit.features.selection import labelled_words

# Two-label collections get more words per label: ten words are few for what reviewers say in thousands.
WORDS_A_LABEL = {"movie": 50, "youtube": 10}
DEFAULT_WORDS = 10


@dataclass(frozen=True, eq=False)
class Task:
    """A collection split in two, with constraints from the training part."""

    name: str
    train: list[str]
    train_labels: npt.NDArray[np.str_]
    test: list[str]
    test_labels: npt.NDArray[np.str_]
    constraints: list[Constraint]


def load_task(
    name: str, *, seed: int = 0, target: float = 0.9, development: bool = False, official: bool = True
) -> Task:
    """The collection's own split, if it has one and ``official`` is true; else two thirds against one third at random.

    ``development`` splits the training part again (70 : 30) and leaves the test part alone: for choosing parameters.
    """
    corpus = load_corpus(name)
    train, test = _split(corpus, seed, official)
    if development:
        train, test = train_test_split(train, test_size=0.3, random_state=seed, stratify=corpus.labels[train])
    texts, labels = [corpus.texts[i] for i in train], corpus.labels[train]
    constraints = oracle_constraints(texts, labels, WORDS_A_LABEL.get(name, DEFAULT_WORDS), target)
    return Task(name, texts, labels, [corpus.texts[i] for i in test], corpus.labels[test], constraints)


def oracle_constraints(
    texts: list[str], labels: npt.NDArray[np.str_], per_label: int, target: float
) -> list[Constraint]:
    """About ``target`` of the documents with each of the most informative words have that word's majority label."""
    counter = CountVectorizer(binary=True, min_df=min(5, max(1, len(texts) // 100)), stop_words="english")
    X = sparse.csr_array(counter.fit_transform(texts))
    classes, codes = np.unique(labels, return_inverse=True)
    words = counter.get_feature_names_out()
    chosen = labelled_words(X, codes, len(classes), per_label=per_label)
    return [expect(str(classes[y]), given=word(str(words[j]))).about(target) for j, y in chosen]


def _split(corpus: Corpus, seed: int, official: bool) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    if official and corpus.split is not None:
        return np.flatnonzero(corpus.split == "train"), np.flatnonzero(corpus.split == "test")
    rows = np.arange(len(corpus.texts))
    train, test = train_test_split(rows, test_size=1 / 3, random_state=seed, stratify=corpus.labels)
    return train, test
