"""The knowledge about every position before anything more is stated: its label, a model's belief, or its topics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse

from tiltfit.arrays import BoolArray, FloatArray, IntArray
from tiltfit.check.support import Data
from tiltfit.errors import DataError
from tiltfit.features.gathering import neighbours
from tiltfit.features.selection import learn_topics, topic_shares
from tiltfit.inference.chain import Chains
from tiltfit.language.conditions import Feature, Word
from tiltfit.language.events import Change
from tiltfit.suggesting.candidates import Candidates

Source = Literal["labels", "model", "topics"]

_LEARN_FROM = 2000  # positions that topics are learned from, at most
_COLUMNS, _FEWEST = 2000, 20  # words that topics are learned from, at most; with fewer, common ones are also needed
_COMMON = {False: 0.5, True: 0.01}  # a word of more than this share of documents (of tokens) makes no topic
_NEAR = 5  # tokens to each side that a token's topic is found by
_PASSES, _UPDATES, _BATCH = 5, 30, 256
"""Passes over the data, at least; of few data so many more that topics are updated often enough, by batches."""


@dataclass(frozen=True, eq=False)
class Knowledge:
    """``shares``: of labels or topics, positions × K; rows where nothing is known are 0. ``known``: where it is.
    ``weight``: how much there is to learn at each position, 0 to 1."""

    source: Source
    shares: FloatArray
    known: BoolArray
    weight: FloatArray


def open_weight(data: Data) -> FloatArray:
    """1 where a label is to be decided, 0 where it is known; all 1 where all are known."""
    return data.open_positions.astype(np.float64)


def label_knowledge(data: Data) -> Knowledge:
    """The knowledge from known labels: one share is 1."""
    labels, classes = data.sample.labels, data.sample.classes
    known = np.asarray(labels >= 0)
    shares = np.zeros((data.n, len(classes)))
    shares[np.flatnonzero(known), labels[known]] = 1.0
    return Knowledge("labels", shares, known, open_weight(data))


def model_knowledge(data: Data, probabilities: FloatArray) -> Knowledge:
    """The knowledge from a model's beliefs; there is the more to learn, the less sure it is: H(p_i) / log L."""
    certain = np.log(probabilities, out=np.zeros_like(probabilities), where=probabilities > 0)
    entropy = -np.sum(probabilities * certain, axis=1) / np.log(max(probabilities.shape[1], 2))
    everywhere = np.ones(data.n, dtype=np.bool_)
    return Knowledge("model", probabilities, everywhere, open_weight(data) * entropy)


def change_knowledge(data: Data, given: Knowledge, labels: IntArray) -> Knowledge:
    """The knowledge from label changes (under BIO, of entities): shares of (change, stay) at the second token."""
    structure = data.sample.structure
    assert isinstance(structure, Chains)
    (piece,) = Change().terms(data.sample.classes, structure)
    at = np.flatnonzero(piece.at & (labels >= 0) & (np.roll(labels, 1) >= 0))
    changes = piece.table[labels[at - 1], labels[at]]
    shares = np.zeros((data.n, 2))
    shares[at, 0], shares[at, 1] = changes, 1 - changes
    known = np.zeros(data.n, dtype=np.bool_)
    known[at] = True
    weight = np.maximum(given.weight, np.roll(given.weight, 1)) * piece.at
    return Knowledge(given.source, shares, known, weight)


def topic_knowledge(data: Data, candidates: Candidates, n_topics: int, random_state: int) -> Knowledge:
    """The knowledge from topics (latent Dirichlet allocation) of a document, or of a token and its neighbours."""
    rows = _topic_columns(candidates, _COMMON[data.is_sequences])
    if rows.shape[1] == 0:
        raise DataError(
            f"There is nothing to learn topics from: no word is in enough {data.unit} and yet in few enough of them. "
            "Lower min_support=, or give labels or a model."
        )
    if data.is_sequences:
        rows = sparse.csr_array(neighbours(data.sample.instance, _NEAR) @ rows)
    some = np.random.default_rng(random_state).permutation(np.flatnonzero(np.diff(rows.indptr) > 0))[:_LEARN_FROM]
    passes = max(_PASSES, _UPDATES // (1 + len(some) // _BATCH))
    topics = learn_topics(rows[np.sort(some)], n_topics, passes=passes, random_state=random_state)
    shares = topic_shares(rows, topics)
    return Knowledge("topics", shares, np.asarray(np.diff(rows.indptr) > 0), open_weight(data))


def _topic_columns(candidates: Candidates, common: float) -> sparse.csr_array:
    """The words (or attributes) that topics are made of: the most frequent ones that are not too frequent."""
    counts = candidates.counts
    single = np.array([isinstance(c, Word | Feature) for c in candidates.conditions], dtype=np.bool_)
    found = np.flatnonzero(single & (counts <= common * candidates.fires.shape[0]))
    found = found if len(found) >= _FEWEST else np.flatnonzero(single)
    kept = found[np.argsort(-counts[found], kind="stable")][:_COLUMNS]
    return sparse.csr_array(candidates.fires[:, np.sort(kept)])


def probabilities_of(model: Any, X: Any, n: int) -> tuple[FloatArray, IntArray]:
    """The beliefs of a fitted model about every position, and the labels that it would give (class numbers)."""
    tagger = hasattr(model, "predict_marginals")
    if not tagger and not hasattr(model, "predict_proba"):
        raise DataError(
            f"model= is {type(model).__name__}, which has no probabilities. Pass a fitted TiltClassifier, TiltTagger "
            "or another classifier with predict_proba."
        )
    found = model.predict_marginals(X) if tagger else model.predict_proba(X)
    shares = np.asarray(np.concatenate(found) if tagger else found, dtype=np.float64)
    if shares.ndim != 2 or shares.shape[0] != n:
        raise DataError(f"The model gives probabilities of the shape {shares.shape} for {n} positions of X.")
    if not tagger:
        return shares, np.asarray(shares.argmax(axis=1), dtype=np.intp)
    numbers = {label: k for k, label in enumerate(np.asarray(model.classes_).tolist())}
    tags = [numbers[label] for row in model.predict(X) for label in np.asarray(row).tolist()]
    return shares, np.array(tags, dtype=np.intp)
