"""Taggers to be trained on ``Tokens``: supervised, or from constraints alone."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from benchmarks.tokens import Tokens
from tiltfit import Constraint, expect, word
from tiltfit.arrays import FloatArray
from tiltfit.data.sequences import as_sequences
from tiltfit.execution.workers import Workers
from tiltfit.features.attributes import AttributeFeatures
from tiltfit.features.chains import ChainFeatures
from tiltfit.features.observed import ObservedFeatures
from tiltfit.inference.chain import Chains
from tiltfit.language.constraint import ConstraintSet
from tiltfit.methods.problem import Evaluation, Problem
from tiltfit.models.log_linear import LogLinear
from tiltfit.projections.components import Strength
from tiltfit.projections.grounding import Grounding, ground
from tiltfit.projections.information import Start
from tiltfit.samples.sample import Sample

NOTHING = np.empty(0, dtype=np.intp)


def model(tokens: Tokens, workers: Workers, *, observed: bool = False) -> LogLinear:
    """A conditional random field with plain transitions."""
    nodes: AttributeFeatures | ObservedFeatures
    if observed:
        nodes = ObservedFeatures.of(tokens.X, tokens.labels, tokens.n_labels, workers)
    else:
        nodes = AttributeFeatures(tokens.X, tokens.n_labels, workers, intercept=False)
    chains = Chains(tokens.offsets, np.zeros(len(tokens.labels), dtype=np.int32), 1)
    return LogLinear(ChainFeatures(nodes, np.ones((1, 1))), chains)


def supervised(tokens: Tokens, workers: Workers, *, observed: bool = False, alpha: float = 1.0) -> Problem:
    """All labels known."""
    crf = model(tokens, workers, observed=observed)
    return Problem(crf, tokens.labels, np.ones(tokens.n_sequences), _ridge(crf, alpha), 1.0, None, NOTHING)


def constrained(tokens: Tokens, constraints: Sequence[Constraint], workers: Workers, *, alpha: float = 1.0) -> Problem:
    """No label known."""
    crf = model(tokens, workers)
    unknown = np.full(len(tokens.labels), -1, dtype=np.intp)
    stated = ConstraintSet.of(list(constraints)).with_classes(tokens.classes)
    inputs, weight = as_sequences(tokens.sentences()), np.ones(tokens.n_sequences)
    strength = Strength(0.05, "unit")
    grounded = ground(
        stated, Sample(inputs, tokens.classes, crf.structure, unknown, weight), strength, Grounding(workers)
    )
    return Problem(crf, unknown, weight, _ridge(crf, alpha), 1.0, grounded.tilt, grounded.touched)


def labelled_words(tokens: Tokens, n: int, *, least: int) -> list[Constraint]:
    """About 90 % of the tokens of each of ``n`` words have the word's label: words that occur ``least`` times and
    nearly always have one label."""
    pairs, words = Counter(zip(tokens.tokens, tokens.labels.tolist(), strict=True)), Counter(tokens.tokens)
    shares = [(count / words[w], w, y) for (w, y), count in pairs.items() if words[w] >= least and w.isalnum()]
    return [expect(tokens.classes[y], given=word(w, case=True)).about(0.9) for _, w, y in sorted(shares)[: -n - 1 : -1]]


@dataclass(frozen=True, eq=False)
class Timed(Problem):
    """A problem that notes for each evaluation how long it took (``spent``) and how often q was inferred for it."""

    spent: list[float] = field(default_factory=list)
    inferred: list[int] = field(default_factory=list)

    @staticmethod
    def around(problem: Problem) -> Timed:
        return Timed(**{f.name: getattr(problem, f.name) for f in fields(Problem)})

    def evaluate(self, weights: FloatArray, start: Start | None, tol: float, *, told: bool = False) -> Evaluation:
        started = time.perf_counter()
        found = super().evaluate(weights, start, tol, told=told)
        self.spent.append(time.perf_counter() - started)
        self.inferred.append(found.projection.n_eval if found.projection is not None else 0)
        return found


def _ridge(crf: LogLinear, alpha: float) -> FloatArray:
    return np.broadcast_to(np.float64(alpha), crf.n_weights)
