"""Alternating projections with moment projections by stochastic gradient descent: the paper's setting (§6).

    λ ← λ − η_t·(ω_i·(E_p[f(x_i, y)] − E_q[f(x_i, y)]) + α∘λ/n),      η_t = 1/(t + 1/η₀),  η₀ = 0.1

one instance after the other, t counting them through all rounds. Within a round q stays what the information projection
made of it at the round's start: its potentials are kept, and each instance's share of q is inferred (or, where q is
sampled, drawn) from them when its turn comes. E_p is exact.

It is here to compare with: a round costs a step of all weights for every instance, and after the paper's ten rounds it
is near the minimum, not at it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.inference.potentials import Marginals, Potentials
from tiltfit.inference.structure import Structure
from tiltfit.methods.history import CLOSE, Fit, Journal, Round
from tiltfit.methods.method import Run
from tiltfit.methods.problem import Evaluation, Problem
from tiltfit.models.model import Model
from tiltfit.optimize.result import Stop

ETA = 0.1  # η₀
_DRAWS = 10  # steps of the Markov chain of one sequence, where q is sampled


def alternate_descending(problem: Problem, start: FloatArray, run: Run) -> Fit:
    """Alternate from ``start`` until O and the labels that the model gives no longer change, or for ``run.max_iter``
    rounds (the paper: 10)."""
    active = problem.active
    plateau = active.plateau(run.tol)
    instances = [_Instance.of(active, i) for i in range(len(active.weight))]
    rng, weights, last = np.random.default_rng(run.seed), start.copy(), None
    journal = Journal(run.callback, run.development)
    journal.begin(start)
    stop, t = Stop.MAX_ITER, 1 / ETA
    for number in range(1, run.max_iter + 1):
        now = active.evaluate(weights, last, CLOSE)
        last = now.start
        if not active.is_sampled and plateau.reached(now.value, weights):
            stop = Stop.FLAT
            break
        tilted = _Tilted.of_round(active, weights, now)
        for i in rng.permutation(len(instances)):
            step = 1 / t
            gradient = instances[i].gradient(weights, tilted, rng)
            weights -= step * active.alpha * weights / len(instances)
            if gradient is not None:
                weights -= step * gradient
            t += 1
        if journal.add(Round.of(number, run.max_iter, now, len(instances)), weights):
            break
    weights = journal.settle(weights)
    return journal.finished(weights, active.evaluate(weights, last, CLOSE), journal.stop or stop)


@dataclass(frozen=True, eq=False)
class _Instance:
    """One instance: the model on it alone, ω, and where it stands in the tilt (−1: nowhere). ``known``: q, if it is
    labelled."""

    model: Model
    omega: float
    place: int
    known: Marginals | None

    @staticmethod
    def of(problem: Problem, i: int) -> _Instance:
        alone, known = problem.model.take(np.array([i])), None
        if problem.is_labelled[i]:
            labels = problem.labels[problem.model.structure.positions(np.array([i]))]
            pairs = alone.structure.count_pairs(labels, np.ones(len(labels)), alone.n_labels)
            known = Marginals(np.zeros(1), np.eye(alone.n_labels)[labels], pairs)
        return _Instance(alone, float(problem.omega[i]), int(problem.place_in_tilt[i]), known)

    def gradient(self, weights: FloatArray, tilted: _Tilted | None, rng: np.random.Generator) -> FloatArray | None:
        """ω·(E_p[f] − E_q[f]); None where q = p."""
        q = self.known
        if q is None and self.place >= 0 and tilted is not None:
            q = tilted.of(self.place, rng)
        if q is None:
            return None
        p = self.model.infer(weights)
        edge = None if p.edge is None or q.edge is None else self.omega * (p.edge - q.edge)
        return self.model.pull(weights, self.omega * (p.node - q.node), edge)


@dataclass(frozen=True, eq=False)
class _Tilted:
    """q on the touched instances as a round's information projection left it. ``parent``: the model's kind of each kind
    of edge here, of which it has ``n_kinds``."""

    structure: Structure
    potentials: Potentials
    parent: IntArray
    n_kinds: int

    @staticmethod
    def of_round(problem: Problem, weights: FloatArray, now: Evaluation) -> _Tilted | None:
        if problem.tilt is None or now.projection is None:
            return None
        tilt, prices = problem.tilt, now.projection.prices
        if not tilt.structure.has_edges:  # documents: all of q is in its marginals
            with np.errstate(divide="ignore"):
                log_q = Potentials(np.log(now.projection.marginals.node))
            return _Tilted(tilt.structure, log_q, np.empty(0, dtype=np.intp), 0)
        few = problem.model.take(problem.touched)
        here = few.potentials(weights)
        base = tilt.base(here, few.structure.infer(here, few.workers).log_z)
        structure, potentials = tilt.tilted(base, prices)
        parent = np.zeros(structure.n_kinds, dtype=np.intp)
        parent[structure.kind[structure.second]] = few.structure.kind[structure.second]
        return _Tilted(structure, potentials, parent, few.structure.n_kinds)

    def of(self, place: int, rng: np.random.Generator) -> Marginals:
        """q of one instance, its edges by the model's kinds; where it is sampled, by draws of its own."""
        here = np.array([place])
        alone, whole = self.structure.take(here), self.potentials.whole
        node = self.potentials.node[self.structure.positions(here)]
        own = Potentials(node, self.potentials.edge, None if whole is None else whole[here])
        q = alone.estimate(own, _DRAWS, int(rng.integers(2**63)) if alone.is_sampled else 0)
        if q.edge is None:
            return q
        edge = np.zeros((self.n_kinds, *q.edge.shape[1:]))
        np.add.at(edge, self.parent, q.edge)
        return Marginals(q.log_z, q.node, edge)
