"""Generative models: p(x, y) whose logarithm is linear in the features of the log-linear models.

    log p_λ(x, y) = λ·f(x, y),     λ the logarithms of the parameters (and what follows from them)

So potentials are scores of weights as ever, log Z(x) is log p(x), and the marginals are p(y|x). What differs is
learning: weights follow from (expected) counts T = Σ ω E[f(x, y)] in closed form,

    argmax_λ  λ·T + log prior(λ)        over the λ that are parameters of a distribution,

where the prior is Dirichlet with pseudo-counts α: as if each parameter's event had been seen α times more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import sparse

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.errors import DataError
from tiltfit.models.log_linear import LogLinear


class Family(Protocol):
    """Counts and weights are flat vectors as ``features`` has them; ``alpha``: pseudo-counts, one per weight."""

    def weights(self, counts: FloatArray, alpha: FloatArray) -> FloatArray:
        """argmax_λ λ·counts + log prior(λ)."""

    def log_prior(self, weights: FloatArray, alpha: FloatArray) -> float:
        """Up to a constant."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Generative(LogLinear):
    """p_λ(x, y) on the instances that ``features`` and ``structure`` describe."""

    family: Family

    @property
    def closed_form(self) -> Family:
        return self.family


@dataclass(frozen=True)
class MultinomialNaiveBayes:
    """log p(x, y) = log π_y + Σ_w x_w·log θ_yw, up to the multinomial coefficient, which does not depend on λ.

    W[w, y] = log θ_yw, b[y] = log π_y;  θ_yw ∝ T[w, y] + α over w, π_y ∝ N_y + α over y. Attributes × labels, then b.
    """

    classes: tuple[object, ...]

    def weights(self, counts: FloatArray, alpha: FloatArray) -> FloatArray:
        table = (counts + alpha).reshape(-1, len(self.classes))
        refuse_empty(table[-1], self.classes)
        return np.concatenate([log_shares(table[:-1], axis=0), log_shares(table[-1:], axis=1)]).ravel()

    def log_prior(self, weights: FloatArray, alpha: FloatArray) -> float:
        return float(alpha @ weights)


@dataclass(frozen=True)
class BernoulliNaiveBayes:
    """log p(x, y) = log π_y + Σ_w [x_w·log θ_yw + (1 − x_w)·log(1 − θ_yw)],  x_w ∈ {0, 1}

    W[w, y] = log(θ/(1 − θ)), b[y] = log π_y + Σ_w log(1 − θ_yw);  θ_yw = (T[w, y] + α)/(N_y + 2α), π_y ∝ N_y + α.
    Attributes × labels, then b.
    """

    classes: tuple[object, ...]

    def weights(self, counts: FloatArray, alpha: FloatArray) -> FloatArray:
        seen, size, pseudo, of_classes = self._unpack(counts, alpha)
        refuse_empty(size + of_classes, self.classes)
        # Sums over the same rows in another order: what is absent may round to just below zero.
        absent = np.log(np.maximum(size - seen, 0.0) + pseudo)
        table = np.empty((len(seen) + 1, len(self.classes)))
        table[:-1] = np.log(seen + pseudo) - absent
        table[-1] = log_shares(size + of_classes, axis=0) + np.sum(absent - np.log(size + 2 * pseudo), axis=0)
        return table.ravel()

    def log_prior(self, weights: FloatArray, alpha: FloatArray) -> float:
        logits, intercept, pseudo, of_classes = self._unpack(weights, alpha)
        absent = -np.logaddexp(0.0, logits)  # log(1 − θ)
        shares = intercept - absent.sum(axis=0)
        return float(np.sum(pseudo * (logits + 2 * absent)) + of_classes @ shares)

    def _unpack(self, one: FloatArray, other: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        a, b = (flat.reshape(-1, len(self.classes)) for flat in (one, other))
        return a[:-1], a[-1], b[:-1], b[-1]


@dataclass(frozen=True)
class HiddenMarkov:
    """log p(x, y) = log π(y_1) + Σ_t Σ_a x_ta·log e(a|y_t) + Σ_t log τ(y_{t+1}|y_t) + log τ(end|y_n)

    Attributes × labels, of which the last two are <start> (log π) and <end> (log τ(end|·)), then one table of
    transitions. e(·|y), π and τ(·, end|y) each are shares of counts plus α. The attributes of a token are a bag, as
    words in a document.
    """

    classes: tuple[object, ...]

    def weights(self, counts: FloatArray, alpha: FloatArray) -> FloatArray:
        n = len(self.classes)
        table = (counts + alpha).reshape(-1, n)  # attributes, <start>, <end>, then a row for each label to come from
        leaving = log_shares(np.column_stack([table[-n:], table[-n - 1]]), axis=1)
        emitted, start = log_shares(table[: -n - 2], axis=0), log_shares(table[-n - 2], axis=0)
        return np.concatenate([emitted.ravel(), start, leaving[:, -1], leaving[:, :-1].ravel()])

    def log_prior(self, weights: FloatArray, alpha: FloatArray) -> float:
        return float(alpha @ weights)


GENERATIVE: dict[str, Callable[[tuple[object, ...]], Family]] = {
    "naive_bayes": MultinomialNaiveBayes,
    "bernoulli_naive_bayes": BernoulliNaiveBayes,
    "hmm": HiddenMarkov,
}
"""By the word that users type: ``model="naive_bayes"``."""


_INSTEAD = {
    "naive_bayes": "Use model='maxent'.",
    "bernoulli_naive_bayes": "Use X > 0 or vectorizer='binary', or model='naive_bayes'.",
    "hmm": "Use model='crf'.",
}


def refuse_counts(
    name: str, X: sparse.csr_array | FloatArray, names: Sequence[str] | None, lengths: IntArray | None = None
) -> None:
    """DataError unless the entries of X are what the model of this name generates; ``names``: of columns. ``lengths``:
    of the sequences whose positions are the rows of X."""
    if name not in GENERATIVE:
        return
    values = X.data if sparse.issparse(X) else np.ravel(X)
    binary = name == "bernoulli_naive_bayes"
    bad = (values != 0) & (values != 1) if binary else values < 0
    if not bad.any():
        return
    first = int(np.argmax(bad))
    if sparse.issparse(X):
        row, j = int(np.searchsorted(X.indptr, first, side="right")) - 1, int(X.indices[first])
    else:
        row, j = divmod(first, X.shape[1])
    instance, where = row, f"row {row}"
    if lengths is not None:
        ends = np.cumsum(lengths)
        instance = int(np.searchsorted(ends, row, side="right"))
        where = f"position {row - int(ends[instance] - lengths[instance])} of sequence {instance}"
    raise DataError(
        f"{'Other' if binary else 'Negative'} values in data: model={name!r} generates "
        f"{'zeros and ones' if binary else 'counts'}, but column {(names[j] if names else j)!r} of X is "
        f"{values[first]:.6g} in {where}. {_INSTEAD[name]}",
        parameter="X",
        instance=instance,
    )


def log_shares(counts: FloatArray, axis: int) -> FloatArray:
    """log(counts / Σ counts)."""
    return np.asarray(np.log(counts) - np.log(counts.sum(axis=axis, keepdims=True)))


def refuse_empty(size: FloatArray, classes: tuple[object, ...]) -> None:
    """A class of prior 0 has no finite weight."""
    if not np.all(size > 0):
        raise DataError(
            f"The class {classes[int(np.argmin(size))]!r} has no row, labelled or expected, so that its prior would be "
            "0. Use penalize_intercept=True, which adds alpha to the rows of every class."
        )
