"""Sharpness: one number s by which all scores of a fitted model are multiplied, p_s(y|x) ∝ p(y|x)^s.

The ridge holds weights down where statements are few, and targets that are too low hold them down too: the direction of
the weights is right, but not their length. s is chosen by a likelihood ℓ_u(s), a sum over units u, of documents that
the model has not learned from:

    labels:      ℓ_i(s) = log p_s(y_i | x_i)                                       one unit per labelled document
    statements:  ℓ_k(s) = max_{a,b} Σ_i log [f_ik·m_ik + (1 − f_ik)·(1 − m_ik)],   m_ik = a·p_s(A_k | x_i) + b·(1 − …)

f_ik says whether the condition of statement k fires on document i, A_k is its event, and p_s(A_k | x_i) comes from the
features that do not tell f_ik by themselves: those that occur in half of the documents where it fires, and there five
times as often as elsewhere, are left out. Targets play no part: where a condition fires tells the class of its
documents apart from the others, by rates a and b that are found by a few steps of EM.

*Has not learned from*: at a stationary point of Eq. 6 every weight is a sum over documents,

    α·λ = Σ_i ω_i·(q_i − p_i)·x_i,     so that document i owes ω_i·(q_i − p_i)·‖x_i‖²/α of its score to itself,

and without that share the score is a lower bound of what a fit without the document would give it (Jaakkola & Haussler,
1999, on leave-one-out errors of kernel machines). No fit is repeated.

Statements give the value nearest to 1 whose likelihood is within two standard errors (over units) of the largest, and 1
where the model is too weak to tell: where the class of a touched document without its own share is too often another.
With enough labels, s is the value nearest to that one within two standard errors of the labels' largest likelihood.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.special import log_softmax, softmax

from tiltfit.arrays import BoolArray, FloatArray, IntArray
from tiltfit.features.attributes import AttributeFeatures
from tiltfit.features.constraints import Parts
from tiltfit.methods.problem import Problem
from tiltfit.projections.information import Projection

GRID: FloatArray = np.exp2(np.arange(-4, 9) / 4)  # from 1/2 to 4; 1 is one of them
ERRORS = 2.0  # standard errors by which a value must be worse than the best to be ruled out
LEAST_STATEMENTS, LEAST_FIRINGS, LEAST_LABELS = 8, 5, 30
AGREEMENT = 0.85  # of the classes of documents with and without their own share; below, the model is too weak
# More are thinned out evenly: the cost does not grow with the data.
_MOST_STATEMENTS, _MOST_FIRING, _MOST_OTHERS, _MOST_LABELS = 300, 200, 1000, 2000
_TELLING, _LIFT = 0.5, 5.0  # what is left out: in how many of the firing documents, and how much more often than else
_STEPS = 5  # of EM
_PRIOR = 0.01  # firings that every rate is given beforehand, so that none is 0 or 1


@dataclass(frozen=True)
class Sharpness:
    """The factors of the scores of positions and (None for documents) of edges, and why they are what they are."""

    positions: float = 1.0
    edges: float | None = None
    why: str = ""

    @property
    def is_plain(self) -> bool:
        """True if the weights are those of the fit."""
        return self.positions == 1.0 and self.edges in (None, 1.0)

    @property
    def sentence(self) -> str:
        """What a report says of it; nothing where there is nothing to say."""
        if not self.why:
            return ""
        factors = f"{self.positions:.3g}" if self.edges is None else f"{self.positions:.3g} and {self.edges:.3g}"
        what = "scores" if self.edges is None else "scores of tokens and of transitions"
        return f"sharpness {factors} (a factor of all {what}): {self.why}"


def sharpness_of(
    problem: Problem, weights: FloatArray, projection: Projection | None, *, words: bool = True
) -> Sharpness:
    """The sharpness of a fit by alternating projections, on documents; 1 with the reason where there is nothing to
    choose it by. The cost hardly depends on the number of documents: at most a thousand of a kind are looked at.
    ``words``: False if features besides words tell what a condition looks at, as vectors of their meaning do."""
    held = HeldOut.of(problem, weights, projection)
    if held is None:
        return Sharpness()
    stated, n_labels = _by_statements(held, words), len(problem.labelled)
    if n_labels < LEAST_LABELS:
        return stated
    s = nearest(held.label_units(), stated.positions)
    if s == stated.positions:
        return replace(stated, why=f"{stated.why}; {n_labels} labels agree")
    return Sharpness(s, why=f"chosen by {n_labels} labels")


def _by_statements(held: HeldOut, words: bool) -> Sharpness:
    silence = held.silence(words)
    if silence:
        return Sharpness(why=silence)
    s, what = nearest(held.statement_units(), 1.0), f"{len(held.often)} statements"
    return Sharpness(s, why=f"{what} do not ask for another" if s == 1.0 else f"chosen by {what}")


def nearest(units: FloatArray, to: float) -> float:
    """The value of ``GRID`` nearest to another that is within ``ERRORS`` standard errors of the most likely one.
    ``units``: values of the grid × units, the log-likelihood of each."""
    worse = units[np.argmax(units.sum(axis=1))] - units
    error = worse.std(axis=1) * np.sqrt(units.shape[1])
    allowed = GRID[worse.sum(axis=1) <= ERRORS * error]
    return float(allowed[np.argmin(np.abs(np.log(allowed / to)))])


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The scores of documents without what the model has learned from them."""

    problem: Problem
    nodes: AttributeFeatures
    weights: FloatArray
    projection: Projection

    @staticmethod
    def of(problem: Problem, weights: FloatArray, projection: Projection | None) -> HeldOut | None:
        """Those of a fit; None where weights are not sums over documents, or there is no q."""
        linear = problem.model.linear
        if linear is None or problem.model.structure.has_edges or problem.model.base is not None:
            return None
        nodes = linear.features.nodes
        assert isinstance(nodes, AttributeFeatures)
        if problem.tilt is None or projection is None or not nodes.n_attributes or problem.alpha[0] == 0:
            return None
        return HeldOut(problem, nodes, weights, projection)

    def silence(self, words: bool) -> str:
        """Why statements cannot tell how good the model is; nothing where they can. ``words``: as for
        ``sharpness_of``."""
        if not words or not sparse.issparse(self.nodes.X):
            return "the features are not words, so what a condition looks at cannot be left out"
        if len(self.often) < LEAST_STATEMENTS:
            return (
                f"too little to choose it by; {LEAST_STATEMENTS} statements that fire on {LEAST_FIRINGS} unlabelled "
                f"documents, or {LEAST_LABELS} labels, would do"
            )
        if self.agreement < AGREEMENT:
            return (
                f"the model is too weak to tell, since only {self.agreement:.1%} of the touched documents keep "
                "their class without what it has learned from them"
            )
        return ""

    def at(self, rows: IntArray) -> Documents:
        """These documents, with ω·(q − p)/α of each: what it adds to the weights, per unit of a feature."""
        problem, few = self.problem, self.nodes.take(rows)
        fitted = few.score(self.weights).node
        p = softmax(fitted, axis=1)
        q, place, labels = p.copy(), problem.place_in_tilt[rows], problem.labels[rows]
        q[place >= 0] = self.projection.marginals.node[place[place >= 0]]
        q[labels >= 0] = np.eye(p.shape[1])[labels[labels >= 0]]
        own = (q - p) * (problem.omega[rows] / problem.alpha[0])[:, None]
        X = sparse.csr_array(few.X)
        return Documents(X, fitted - _squares(X)[:, None] * own, own)

    @cached_property
    def agreement(self) -> float:
        """The share of the touched documents whose class under q is the one without themselves."""
        some = thinned(np.arange(len(self.problem.touched)), _MOST_LABELS)
        q = self.projection.marginals.node[some]
        return float(np.mean(q.argmax(axis=1) == self.at(self.problem.touched[some]).scores.argmax(axis=1)))

    def label_units(self) -> FloatArray:
        """ℓ_i(s) of labelled documents, values of ``GRID`` × documents."""
        rows = thinned(self.problem.labelled, _MOST_LABELS)
        scores, labels = self.at(rows).scores, self.problem.labels[rows]
        return np.stack([log_softmax(s * scores, axis=1)[np.arange(len(rows)), labels] for s in GRID])

    @cached_property
    def often(self) -> IntArray:
        """The statements that fire often enough and not nearly everywhere, as numbers of the parts of the tilt; of
        several about the same documents (the classes of a distribution, two bounds), the one with the largest price."""
        parts, n_unknown = self._fires, int(np.sum(self.problem.labels < 0))
        price = np.abs(self.projection.prices[self._parts.row])
        found: dict[bytes, int] = {}
        for part in np.argsort(-price, kind="stable"):
            firing = parts.indices[parts.indptr[part] : parts.indptr[part + 1]]
            if LEAST_FIRINGS <= len(firing) <= n_unknown - LEAST_FIRINGS:
                found.setdefault(firing.tobytes(), int(part))
        return np.array(sorted(found.values()), dtype=np.intp)

    @property
    def _parts(self) -> Parts:
        assert self.problem.tilt is not None
        return self.problem.tilt.features.node

    @cached_property
    def _fires(self) -> sparse.csc_array:
        """Where statements fire, touched documents × parts."""
        fires = sparse.csc_array(self._parts.fires)
        fires.sort_indices()
        return fires

    def statement_units(self, parts: IntArray | None = None) -> FloatArray:
        """ℓ_k(s) of statements, values of ``GRID`` × statements. ``parts``: their numbers, by default ``often``."""
        found = self._statements(self.often if parts is None else parts)
        return np.stack([firing_likelihood(*statement) for statement in found], axis=1)

    def _statements(self, parts: IntArray) -> Iterator[tuple[FloatArray, BoolArray, FloatArray]]:
        """Of every statement: p_s(A|x) of some documents, without themselves and without what tells that it fires,
        whether it fires there, and how many documents each of them stands for."""
        problem, fires = self.problem, self._fires
        unknown = np.flatnonzero(problem.labels < 0)
        rows = thinned(unknown, _MOST_OTHERS)
        others = self.at(rows)
        for part in thinned(parts, _MOST_STATEMENTS):
            firing = problem.touched[fires.indices[fires.indptr[part] : fires.indptr[part + 1]]]
            on, off = self.at(thinned(firing, _MOST_FIRING)), np.isin(rows, firing, invert=True)
            telling = _telling(on.X, others.X, off)
            table = self.nodes.unpack(self.weights)[0][telling]
            inside = [documents.shares(self._parts.table[part], telling, table) for documents in (on, others)]
            stand_for = off * ((len(unknown) - len(firing)) / max(1, int(off.sum())))
            weight = np.append(np.full(len(on), len(firing) / len(on)), stand_for)
            yield np.concatenate(inside, axis=1), np.arange(len(weight)) < len(on), weight


@dataclass(frozen=True, eq=False)
class Documents:
    """Some documents: their features, their scores without themselves, and what each adds to the weights, per unit of a
    feature."""

    X: sparse.csr_array
    scores: FloatArray
    own: FloatArray

    def __len__(self) -> int:
        return len(self.scores)

    @cached_property
    def p(self) -> FloatArray:
        """p_s of every s of ``GRID`` (values × documents × classes)."""
        return softmax(GRID[:, None, None] * self.scores, axis=2)

    def shares(self, event: FloatArray, columns: IntArray, table: FloatArray) -> FloatArray:
        """p_s(A|x) from all but these features (values of ``GRID`` × documents). ``event``: 1 for the classes of A,
        else 0; ``table``: the weights of the features."""
        left_out = self.X[:, columns]
        here = np.flatnonzero(np.diff(left_out.indptr))
        p = self.p @ event
        if len(here):
            few = left_out[here]
            scores = self.scores[here] - few @ table + _squares(few)[:, None] * self.own[here]
            p[:, here] = softmax(GRID[:, None, None] * scores, axis=2) @ event
        return np.asarray(p)


def _telling(on: sparse.csr_array, others: sparse.csr_array, off: BoolArray) -> IntArray:
    """The features that tell the rows of ``on`` from those of ``others`` at ``off`` by themselves."""
    inside = np.bincount(on.indices, minlength=on.shape[1])
    often = np.flatnonzero(inside >= _TELLING * on.shape[0])
    here = others[:, often]
    outside = np.bincount(here.indices, weights=np.repeat(off, np.diff(here.indptr)), minlength=len(often))
    return np.asarray(often[inside[often] * off.sum() >= _LIFT * outside * on.shape[0]])


def _squares(X: sparse.csr_array) -> FloatArray:
    """‖x‖² of every row."""
    sums = np.append(0.0, np.cumsum(X.data**2))
    return np.asarray(sums[X.indptr[1:]] - sums[X.indptr[:-1]])


def firing_likelihood(inside: FloatArray, fires: BoolArray, weight: FloatArray) -> FloatArray:
    """ℓ_k(s) = max_{a,b} Σ_i w_i·log [f_i·m_i + (1 − f_i)·(1 − m_i)],  m_i = a·p_s(A|x_i) + b·(1 − p_s(A|x_i))

    for all values of s. ``inside``: p_s(A|x_i), values × documents. Every step of EM is the share of expected firings
    among the documents that are in A (a), and among the others (b).
    """
    fired, on = weight * fires, fires.astype(np.float64)
    a = (inside @ fired + _PRIOR) / (inside @ weight + 2 * _PRIOR)
    b = ((1 - inside) @ fired + _PRIOR) / ((1 - inside) @ weight + 2 * _PRIOR)

    def likely() -> tuple[FloatArray, FloatArray]:
        """The probabilities of f and that x is in A, and of f and that it is not."""
        of_a, of_b = (on * rate[:, None] + (1 - on) * (1 - rate[:, None]) for rate in (a, b))
        return of_a * inside, of_b * (1 - inside)

    for _ in range(_STEPS):
        in_a, in_b = likely()
        share = in_a / (in_a + in_b)
        a = (share @ fired + _PRIOR) / (share @ weight + 2 * _PRIOR)
        b = ((1 - share) @ fired + _PRIOR) / ((1 - share) @ weight + 2 * _PRIOR)
    in_a, in_b = likely()
    return np.asarray(np.log(in_a + in_b) @ weight)


def thinned(values: IntArray, most: int) -> IntArray:
    """At most ``most`` of them, evenly spread."""
    return values[:: -(-len(values) // most)] if len(values) > most else values
