"""``tiltfit.suggest``: which words, phrases and token patterns are worth a statement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import merge
from itertools import islice
from typing import Any

import numpy as np

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.check.support import Data, places_of
from tiltfit.data.beside import apart
from tiltfit.data.inputs import Unit
from tiltfit.data.sequences import Sequences, as_sequences
from tiltfit.errors import ConstraintError, DataError, UnknownLabelError, UnsupportedError
from tiltfit.estimators.options import whole_parameter
from tiltfit.language.condition import Before
from tiltfit.language.conditions import Condition, Phrase, Word, punctuation
from tiltfit.language.constraint import Constraint, ConstraintSet
from tiltfit.suggesting.candidates import Candidates, change_candidates, document_candidates, token_candidates
from tiltfit.suggesting.context import examples
from tiltfit.suggesting.knowledge import (
    Knowledge,
    change_knowledge,
    label_knowledge,
    model_knowledge,
    probabilities_of,
    topic_knowledge,
)
from tiltfit.suggesting.meaning import find_alike
from tiltfit.suggesting.suggestions import About, Suggestion, Suggestions
from tiltfit.suggesting.usefulness import SAME, choose, shares_given

_STEP = 20  # targets are rounded to twentieths
_PER_TOPIC = 5


def suggest(
    X: Any,
    y: Any = None,
    *,
    model: Any = None,
    constraints: Iterable[Constraint] | ConstraintSet | None = None,
    classes: Iterable[Any] | None = None,
    top: int = 20,
    min_support: int = 3,
    longest: int = 3,
    n_topics: int = 10,
    n_examples: int = 2,
    feature_names: Iterable[str] | None = None,
    random_state: int = 0,
    encoder: str | None = None,
) -> Suggestions:
    """Conditions worth stating, best first: each adds most to what the ones before it teach.

    In nats a position (``suggesting.usefulness.choose``)::

        U(w | chosen) = D(p(·|w) ‖ p) · (1/n) Σ_{i: w fires} v_i · 2^(−t_i)

    With a model, p are its beliefs and v_i its uncertainty; else with labels, p are their shares and v_i = 1 where
    there is none; with neither, p are topics.

    Parameters
    ----------
    X, y
        As for ``fit``: documents, a table, a matrix with ``feature_names``, or sequences. y may be absent.
    model : fitted TiltClassifier, TiltTagger or another classifier with ``predict_proba``, optional
        What is suggested is what would teach it most. Its constraints count as stated.
    constraints : optional
        What is stated already: not suggested again, and worth half where it speaks already.
    classes : optional
        The labels, where neither y nor the model shows them.
    top : int
        How many.
    min_support : int
        Documents or tokens that a condition must fire on. None is suggested that fires on more than half of them.
    longest : int
        Words of the longest phrase; 1: no phrases.
    n_topics : int
        Topics that are looked for where there are neither labels nor a model.
    n_examples : int
        Examples of each suggestion.
    encoder : str, optional
        The name of an encoder (``"static"``, ``"sentences"``, or one of ``register_encoder``): for every word and
        phrase that is stated or suggested, other words of the texts that are close in meaning, and a condition
        ``near(...)`` with a threshold.

    Examples
    --------
    >>> from tiltfit import suggest
    >>> texts = ["the puck on ice", "a puck", "puck and goal", "the bat", "a bat and a ball", "bat or ball"] * 3
    >>> labels = ["hockey"] * 3 + ["baseball"] * 3 + [None] * 12
    >>> found = suggest(texts, labels, top=2)
    >>> [(repr(s.condition), s.count, s.label, s.target) for s in found]
    [("word('puck')", 9, 'hockey', 0.95), ("word('bat')", 9, 'baseball', 0.95)]
    """
    for name, value in (("top", top), ("min_support", min_support), ("longest", longest), ("n_topics", n_topics)):
        whole_parameter(name, value)
    stated = _stated(model, constraints, classes)
    rows, data = _data(stated, X, y, getattr(model, "feature_names", None) if feature_names is None else feature_names)
    scout = _Scout(data, min_support, top, _touched(stated, data), stated)
    candidates = scout.fresh(
        token_candidates(data.sample.inputs, rows.items, min_support)
        if isinstance(rows, Sequences)
        else document_candidates(data.sample.inputs, min_support, longest)
    )
    tags = None
    if model is not None:
        probabilities, tags = probabilities_of(model, rows, data.n)
        given = model_knowledge(data, probabilities)
    elif np.any(data.sample.labels >= 0):
        given, tags = label_knowledge(data), data.sample.labels
    else:
        telling = [j for j, c in enumerate(candidates.conditions) if _tells_topics(c, data.unit)]
        candidates = candidates.keep(np.array(telling, dtype=np.intp))
        given = topic_knowledge(data, candidates, min(n_topics, max(1, data.n // 2)), random_state)
    found = [scout.suggestions(candidates, given, "labels", n_examples)]
    if isinstance(rows, Sequences) and tags is not None and rows.kind == "tokens":
        changes = scout.fresh(change_candidates(data.sample.inputs, min_support))
        found.append(scout.suggestions(changes, change_knowledge(data, given, tags), "changes", n_examples))
    best = tuple(islice(merge(*found, key=lambda s: -s.usefulness), top))
    known = tuple(data.sample.classes) if _is_known(data, stated) else ()
    topics = _topics(candidates, given) if given.source == "topics" else {}
    alike = {}
    if encoder is not None:
        said = [leaf for c in stated if c.given is not None for leaf in c.given.leaves if _fires(leaf, data).any()]
        alike = find_alike([*said, *(s.condition for s in best)], candidates, data, encoder, n_examples)
    return Suggestions(best, given.source, data.unit, data.n, known, topics, stated, alike)


@dataclass(frozen=True, eq=False)
class _Scout:
    """Looks for suggestions in one collection, beside what is stated already."""

    data: Data
    min_support: int
    top: int
    touched: FloatArray
    stated: ConstraintSet

    def fresh(self, candidates: Candidates) -> Candidates:
        """Those that are not stated already, nor fire in nearly the same places as what is."""
        left = np.ones(len(candidates), dtype=np.bool_)
        said = {leaf for c in self.stated if c.given is not None for leaf in (c.given, *c.given.leaves)}
        for j, condition in enumerate(candidates.conditions):
            left[j] = condition not in said
        for condition in said:
            fires = _fires(condition, self.data)
            both = np.asarray(candidates.fires.T @ fires)
            left &= both < SAME * np.maximum(candidates.counts + fires.sum() - both, 1)
        return candidates.keep(np.flatnonzero(left))

    def suggestions(
        self, candidates: Candidates, given: Knowledge, about: About, n_examples: int
    ) -> Iterator[Suggestion]:
        """Best first."""
        for scored in choose(candidates, given, self.top, self.touched):
            condition, places = candidates.conditions[scored.column], candidates.places(scored.column)
            told = self._told(given, about, places)
            yield Suggestion(
                condition,
                about,
                scored.usefulness,
                len(places),
                len(places) / self.data.n,
                *told,
                int(np.argmax(scored.shares / given.shares.mean(axis=0))) if given.source == "topics" else None,
                tuple(candidates.conditions[j] for j in scored.same),
                examples(self.data, condition, places, n_examples),
            )

    def _told(
        self, given: Knowledge, about: About, places: IntArray
    ) -> tuple[Any, float | None, float | None, int | None]:
        """The label and the share that are seen where a condition fires, the share rounded, and the number of labels;
        nothing of topics."""
        known = places[given.known[places]]
        if given.source == "topics" or not len(known):
            return None, None, None, None
        shares = given.shares[known].mean(axis=0)
        k = 0 if about == "changes" else int(np.argmax(shares))
        label = None if about == "changes" else self.data.sample.classes[k]
        # A few labels that all agree do not prove that all others do.
        target = min(max(round(float(shares[k]) * _STEP), 1), _STEP - 1) / _STEP
        return label, float(shares[k]), target, len(known) if given.source == "labels" else None


def _stated(model: Any, constraints: Iterable[Constraint] | ConstraintSet | None, classes: Any) -> ConstraintSet:
    given = constraints if isinstance(constraints, ConstraintSet) else ConstraintSet(tuple(constraints or ()))
    own = getattr(model, "constraints_", None) or ConstraintSet()
    found = tuple(dict.fromkeys([*own, *given]))
    if model is not None and not hasattr(model, "classes_"):
        raise DataError(f"model= is {type(model).__name__}, which is not fitted: it has no classes_.")
    if model is not None:
        names = np.asarray(model.classes_).tolist()
        if classes is not None and set(classes) != set(names):
            raise DataError(f"classes= are {list(classes)!r}, but the model has {names!r}. Leave classes= out.")
        return ConstraintSet(found, tuple(names))
    return ConstraintSet(found, given.classes if classes is None else tuple(classes))


def _data(stated: ConstraintSet, X: Any, y: Any, feature_names: Iterable[str] | None) -> tuple[Any, Data]:
    """The data, and X as a model takes it: sequences are read once."""
    data = Data.of(stated, X, y, feature_names)
    if data.errors:
        raise UnknownLabelError(data.errors[0])
    return (as_sequences(apart(X).X) if data.is_sequences else apart(X).X), data


def _touched(stated: ConstraintSet, data: Data) -> FloatArray:
    """By how many of the stated constraints with a condition each position is touched."""
    touched = np.zeros(data.n)
    for constraint in stated:
        if constraint.given is None or constraint.event.whole:
            continue
        try:
            touched += places_of(constraint, data)[0]
        except (ConstraintError, UnsupportedError):  # cannot be asked of these data: `check` says why
            continue
    return touched


def _fires(condition: Condition, data: Data) -> FloatArray:
    try:
        return condition.fires(data.sample.inputs).astype(np.float64)
    except (ConstraintError, UnsupportedError):
        return np.zeros(data.n)


def _is_known(data: Data, stated: ConstraintSet) -> bool:
    """Return whether the classes were named anywhere: if not, the data have stand-ins."""
    return stated.classes is not None or bool(np.any(data.sample.labels >= 0)) or any(c.names for c in stated)


def _tells_topics(condition: Condition, unit: Unit) -> bool:
    """False for words of documents such as *the* and *of*, which topics share out by chance, and for the token before:
    it has the same neighbours, so topics say the same about both."""
    if unit == "tokens":
        return not isinstance(condition, Before) or condition.part == punctuation
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return not isinstance(condition, Word | Phrase) or any(w not in ENGLISH_STOP_WORDS for w in condition.words)


def _topics(candidates: Candidates, given: Knowledge) -> dict[int, tuple[Condition, ...]]:
    """The first few conditions of each topic, without regard to what else is suggested."""
    shares, base = shares_given(candidates, given), given.shares.mean(axis=0)
    single = np.array([not isinstance(c, Phrase) for c in candidates.conditions], dtype=np.bool_)
    weight = (single * candidates.counts)[:, None] * shares * np.log(np.maximum(shares / base, 1e-12))
    best = np.argsort(-weight, axis=0, kind="stable")[:_PER_TOPIC].T
    return {k: tuple(candidates.conditions[j] for j in row if weight[j, k] > 0) for k, row in enumerate(best)}
