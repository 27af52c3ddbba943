"""The statements and labels that the weights come from.

    α·λ = Σ_labelled w·(f(x, y) − E_p[f]) + γ·Σ_unlabelled w·(E_q[f] − E_p[f])               (∇O(λ) = 0, Eq. 6)

At the optimum the weights are sums over the training data: of what labels, and of what q, had to change in p. On every
instance q − p is shared among the statements that fire there, along the straight path from p to q:

    q_s ∝ p·exp(s·Σ_k θ_k f′_k),     E_q[f] − E_p[f] = Σ_k θ_k·∫₀¹ Cov_{q_s}(f, f′_k) ds

(the value of Aumann and Shapley: shares sum to the whole, and a statement that adds nothing gets nothing). So the
weights are an exact sum of parts: of each statement, of labels, of rules (known labels of partly labelled sequences
included), and a rest, which is what the fit left undone (``tol``) and what has no ridge. Integrals are by Gauss and
Legendre.

Cost: for documents O(firings·labels) per node of the integral, and one product with X per statement; for sequences one
forward–backward pass a statement and node.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
from scipy import sparse

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.errors import TiltfitWarning, UnsupportedError
from tiltfit.estimators.estimator import TiltEstimator
from tiltfit.explain.statements import Statement, state
from tiltfit.explain.view import View
from tiltfit.inference.chain import Chains
from tiltfit.inference.potentials import Potentials
from tiltfit.inference.structure import Structure
from tiltfit.inference.tangent import Direction
from tiltfit.methods.problem import Problem
from tiltfit.projections.grounding import Grounded
from tiltfit.projections.information import Tilt
from tiltfit.projections.kinds import distinct

_LEAST, _MOST = 6, 48  # nodes of the integral
_LEFT = 0.2  # a rest that is worth a word, as a share of the weights


@dataclass(frozen=True, eq=False)
class Origin:
    """A part of the weights. ``kind``: ``statement``, ``labels``, ``rule`` or ``rest``; ``weights``: flat, as the model
    has them."""

    kind: str
    name: str
    weights: FloatArray


def origins(estimator: TiltEstimator, X: Any, y: Any = None, sample_weight: Any = None) -> Iterator[Origin]:
    """The parts of the weights of an estimator that was fitted on X and y: they sum to the weights."""
    _refuse_others(estimator)
    view = View.of(estimator, X, y, sample_weight)
    # The optimum is that of the weights before they were sharpened; every part is as much longer as the whole.
    view = replace(view, beliefs=replace(view.beliefs, weights=estimator.unsharpened_weights))
    longer = estimator.factors(view.model, estimator.sharpening_)
    grounded = view.ground()
    weights, ridge = view.beliefs.weights(), estimator.ridge(view.model)
    rest = weights.copy()
    for kind, name, moments in _moments(view, grounded, ridge, weights):
        part = np.divide(moments, ridge, out=np.zeros(len(ridge)), where=ridge > 0)
        if getattr(estimator, "weights", "all") == "observed":
            part[weights == 0] = 0.0  # pairs that no label shows have no weight
        rest -= part
        yield Origin(kind, name, part * longer)
    left, held = np.abs(rest[ridge > 0]).sum(), np.abs(weights[ridge > 0]).sum()  # others are no sum over the data
    if left > _LEFT * held:
        warnings.warn(
            f"Nothing in train= explains {left / held:.0%} of the weights: it is not "
            "what the model was fitted on (X, or (X, y), or (X, y, sample_weight)), or the fit ended long before its "
            "optimum.",
            TiltfitWarning,
            stacklevel=2,
        )
    yield Origin("rest", "what the fit left undone", rest * longer)


def _refuse_others(estimator: TiltEstimator) -> None:
    method, solver, model = estimator.method, estimator.solver, estimator.model
    if method != "ap" or solver == "online" or model not in ("maxent", "crf"):
        what = (
            f"method={method!r}" if method != "ap" else f"model={model!r}" if solver != "online" else "solver='online'"
        )
        usual = estimator.task.models[0]
        instead = "method='ap'" if method != "ap" else f"model='{usual}'" if solver != "online" else "another solver"
        raise UnsupportedError(
            f"Where the weights come from is known at the optimum of Eq. 6 alone, which a model with {what} does not "
            f"reach. Leave train= out, or fit with {instead}."
        )
    if estimator.refinement_ is not None and estimator.refinement_.is_kept:
        raise UnsupportedError(
            "Where the weights come from is known at the optimum of Eq. 6 alone, which a model with refine='auto' has "
            "left in its second stage. Leave train= out, or fit with refine=None."
        )
    whole = [c.title for c in estimator.constraints_ if c.event.whole]
    if whole:
        raise UnsupportedError(
            f"The constraint {whole[0]!r} looks at whole sequences, whose part of the weights is not known. Leave "
            "train= out."
        )
    if not estimator.alpha > 0:
        raise UnsupportedError("Without a ridge (alpha=0) weights are not a sum over the data. Leave train= out.")


def _moments(
    view: View, grounded: Grounded, ridge: FloatArray, weights: FloatArray
) -> Iterator[tuple[str, str, FloatArray]]:
    """α·λ in parts: kind, name, and Σ ω·(E_q[f] − E_p[f])."""
    sample, tilt = view.sample, grounded.tilt
    problem = Problem.of(view.model, sample, grounded, ridge, float(view.estimator.gamma))
    if len(problem.labelled):
        labelled = view.model.take(problem.labelled)
        expected = labelled.moments(weights, sample.weight[problem.labelled]).expectation
        yield "labels", "labels", problem.known_moments() - expected
    if tilt is None:
        return
    found = view.project(grounded)
    assert found is not None
    prices = dict(zip(grounded.keys, found.prices.tolist(), strict=True))
    said = [s for s in state(grounded.constraints, sample, prices) if s.forbidden is None and np.any(s.price != 0)]
    path = Path.of(view, grounded, tilt, said, problem.omega[grounded.touched])
    if tilt.rules is not None:
        yield "rule", "labels that are ruled out", path.for_model(*path.ruled())
    shares = zip(said, path.shares(), strict=True)
    for name, listed in groupby(shares, key=lambda pair: pair[0].name):
        yield "statement", name, np.sum([path.for_model(*share) for _, share in listed], axis=0)


@dataclass(frozen=True, eq=False)
class Path:
    """From p, without what rules forbid (``base``), to q: along the ``directions`` of the statements, together.

    ``parent``: the model's kind of every kind of edge here. ``omega``: weights of the touched instances.
    """

    view: View
    positions: IntArray
    structure: Structure
    model: Potentials
    base: Potentials
    directions: tuple[Direction, ...]
    parent: IntArray | None
    omega: FloatArray

    @staticmethod
    def of(view: View, grounded: Grounded, tilt: Tilt, said: list[Statement], omega: FloatArray) -> Path:
        positions = view.model.structure.positions(grounded.touched)
        here = Potentials(view.potentials.node[positions], view.potentials.edge)
        base = tilt.base(here, view.marginals.log_z[grounded.touched])
        structure, chains, parent, edge = tilt.structure, tilt.structure.chains, None, base.edge
        example = np.empty(0, dtype=np.intp)
        if chains is not None:
            structure, example = _refined(chains, [_on_edges(s, view, positions) for s in said])
            kinds = chains.kind[example]
            assert tilt.parent is not None
            assert base.edge is not None
            parent, edge = tilt.parent[kinds], base.edge[kinds]
        model = Potentials(here.node, None if here.edge is None or parent is None else here.edge[parent])
        directions = tuple(_direction(s, view, positions, example) for s in said)
        return Path(view, positions, structure, model, Potentials(base.node, edge), directions, parent, omega)

    def ruled(self) -> tuple[FloatArray, FloatArray | None]:
        """ω·(r − p), r being p without what rules forbid."""
        workers = self.view.model.workers
        r, p = (self.structure.infer(at, workers, weight=self.omega) for at in (self.base, self.model))
        node = self.structure.spread(self.omega)[:, None] * (r.node - p.node)
        return node, None if r.edge is None or p.edge is None else r.edge - p.edge

    def shares(self) -> list[tuple[FloatArray, FloatArray | None, IntArray | slice]]:
        """ω·θ_k·∫ Cov_{q_s}(y, f′_k) ds of every statement, on positions and on kinds of edges; and which positions."""
        whole = Potentials(
            np.zeros_like(self.base.node), None if self.base.edge is None else np.zeros_like(self.base.edge)
        )
        for direction in self.directions:
            fires = direction.place >= 0
            whole.node[fires] += direction.node[direction.place[fires]]
            if whole.edge is not None and direction.edge is not None:
                whole.edge[...] += direction.edge
        # Documents move only where a statement fires; labels of a sequence all move together.
        alone = not self.structure.has_edges
        where = [np.flatnonzero(d.place >= 0) if alone else slice(None) for d in self.directions]
        nodes = [np.zeros_like(whole.node[at]) for at in where]
        edges = [None if whole.edge is None else np.zeros_like(whole.edge) for _ in where]
        for s, ds in zip(*_nodes(whole), strict=True):
            at_s = Potentials(
                self.base.node + s * whole.node,
                None if self.base.edge is None or whole.edge is None else self.base.edge + s * whole.edge,
            )
            here = self.structure.tangent(at_s, self.view.model.workers, self.omega)
            for k, direction in enumerate(self.directions):
                node, edge = here.along(direction)
                nodes[k] += ds * node[where[k]]
                total = edges[k]
                if total is not None and edge is not None:
                    total += ds * edge
        return list(zip(nodes, edges, where, strict=True))

    def for_model(self, node: FloatArray, edge: FloatArray | None, at: IntArray | slice = slice(None)) -> FloatArray:
        """Moments of the model's features. ``at``: the touched positions that ``node`` has."""
        full = np.zeros(self.view.potentials.node.shape)
        full[self.positions[at]] = node
        sums = None
        if edge is not None and self.parent is not None and self.view.potentials.edge is not None:
            sums = np.zeros(self.view.potentials.edge.shape)
            np.add.at(sums, self.parent, edge)
        return self.view.model.features.expect(full, sums).copy()


def _nodes(whole: Potentials) -> tuple[FloatArray, FloatArray]:
    """Places and weights of the integral over [0, 1]: more of them the further q is from p."""
    far = float(np.max(np.ptp(whole.node, axis=1), initial=0.0))
    if whole.edge is not None:
        far += 2 * float(np.max(np.ptp(whole.edge.reshape(len(whole.edge), -1), axis=1), initial=0.0))
    x, w = np.polynomial.legendre.leggauss(min(_MOST, max(_LEAST, math.ceil(4 + 1.5 * far))))
    return (x + 1) / 2, w / 2


def _on_edges(statement: Statement, view: View, positions: IntArray) -> FloatArray:
    """The price of the statement at every position whose edge it looks at, 0 elsewhere."""
    at = np.zeros(len(positions), dtype=np.bool_)
    for term in statement.feature.terms:
        if term.on_edges:
            at |= term.at[positions]
    return np.asarray(at * statement.price[view.sample.instance[positions]])


def _refined(structure: Chains, priced: list[FloatArray]) -> tuple[Chains, IntArray]:
    """Kinds of edges so fine that every statement adds the same on all of one, and an example of each."""
    n, inner = len(structure.kind), np.ones(len(structure.kind), dtype=np.bool_)
    inner[structure.first] = False
    at = np.flatnonzero(inner)
    if not len(at):
        return Chains(structure.offsets, np.zeros(n, dtype=np.int32), 1), np.zeros(1, dtype=np.intp)
    kinds = sparse.csr_array((np.ones(n), (np.arange(n), structure.kind * inner)), shape=(n, structure.n_kinds))
    columns = [sparse.csr_array(column[:, None]) for column in priced]
    example, number = distinct(sparse.csr_array(sparse.hstack([kinds, *columns], format="csr")[at]))
    kind = np.zeros(n, dtype=np.int32)
    kind[at] = number
    return Chains(structure.offsets, kind, len(example)), at[example]


def _direction(statement: Statement, view: View, positions: IntArray, example: IntArray) -> Direction:
    """θ_k·f′_k at the touched positions, and on the kinds of edges that ``example`` has one position of each of."""
    price, n_labels = statement.price[view.sample.instance[positions]], len(view.classes)
    node = np.zeros((len(positions), n_labels))
    edge = np.zeros((len(example), n_labels, n_labels)) if len(example) else None
    for term in statement.feature.terms:
        at = term.at[positions]
        if not term.on_edges:
            node[at] += price[at, None] * term.table
        elif edge is not None:
            edge += (at * price)[example][:, None, None] * term.table
    fires = np.any(node != 0, axis=1)
    place = np.where(fires, np.cumsum(fires) - 1, -1).astype(np.int32)
    # Kernels look up the first entry even where there is none.
    return Direction(place, node[fires] if fires.any() else np.zeros((1, n_labels)), edge)
