"""The second stage of a fit (``refine="auto"``): the model learns from what the first stage is surest of.

    min_λ  Σ_labelled −w log p_λ(y|x) + γ·Σ_others w·s(x)·Σ_y −t(y|x)·log p_λ(y|x) + ½‖λ‖²_α

    t(y|x) ∝ q(y|x)²        s(x) ∝ (q₁ − q₂)²,  Σ_others w·s = Σ_others w

q is the projection at the end of the first stage, q₁ and q₂ its two largest probabilities in a row. It is one moment
projection (Eq. 9) onto t: convex, and the answer does not depend on where it starts. In Eq. 6 rows that no statement
touches add exactly zero; here they count like the others. No threshold separates sure rows from unsure ones: a row of
which q is not sure has hardly any weight. Dropping the least sure rows instead helped on short texts and cost up to two
points on long ones, and nothing without labels told which of both it would be (``docs/refine.md``).

Of texts the second model sees more than the first one: words, pairs of words, and pieces of words where texts are short
(``features.text.Views``). What the first stage knows about a word, the second learns about its pieces and neighbours.

The brake. The predicted labels must meet the statements as well as before, and no class may lose most of its rows:

    Σ_k c_k·v_k / Σ_k c_k  ≤  the same of the first stage + 0.01          share of each class ≥ half of what it was

with c_k the support of a statement and v_k by how much the predicted labels miss it. Otherwise the first model stays.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.errors import ModelFileError
from tiltfit.methods.history import Fit, Journal, Round
from tiltfit.methods.method import Run, final_evaluation
from tiltfit.methods.problem import Problem
from tiltfit.models.model import Model, linear
from tiltfit.optimize.lbfgs import minimise
from tiltfit.projections.grounding import Grounded
from tiltfit.projections.moment import moment_objective
from tiltfit.report.constraints import percent

_POWER = 2.0  # of q in t, and of the margin in s
_WORSE = 0.01  # a point: by how much more the predicted labels may miss the statements
_LEFT = 0.5  # the part of its share that every class keeps at least


@dataclass(frozen=True)
class Refinement:
    """The second stage of a fit: what it changed and what it cost.

    ``views``: what it counts in texts (none: the features of the first stage). ``changed``: the share of rows whose
    predicted label is another one. ``missed``: by how much the predicted labels miss the statements, on average over
    where they fire, before and after. ``least``: the smallest part of its share that a class has kept. ``seconds``:
    those of the second stage; ``rounds``: its rounds.
    """

    views: tuple[str, ...]
    changed: float
    missed: tuple[float, float]
    least: float
    seconds: float
    rounds: int

    @property
    def is_kept(self) -> bool:
        """False if the brake keeps the first model."""
        return self.missed[1] <= self.missed[0] + _WORSE and self.least >= _LEFT

    @property
    def cost(self) -> str:
        return f"{self.rounds} rounds, {self.seconds:.2g} s"

    def __str__(self) -> str:
        before, after = map(percent, self.missed)
        seen = f" with {', '.join(self.views)}" if self.views else ""
        if self.is_kept:
            return (
                f"refined{seen} ({self.cost}): {percent(self.changed)} of predicted labels changed; they miss the "
                f"statements by {after} on average, {before} before"
            )
        why = f"its labels miss the statements by {after} on average, not by {before}"
        if self.least < _LEFT:
            why = f"a class kept {percent(self.least)} of its predicted rows"
        return f"not refined, because the second stage{seen} drifted ({self.cost}): {why}"

    def to_document(self) -> dict[str, Any]:
        """Return it as plain values, for a file."""
        return asdict(self)

    @staticmethod
    def from_document(document: Mapping[str, Any]) -> Refinement:
        """The inverse of ``to_document``."""
        views = tuple(str(view) for view in document["views"])
        before, after = map(float, document["missed"])
        numbers = {name: float(document[name]) for name in ("changed", "least", "seconds")}
        found = Refinement(views, missed=(before, after), rounds=int(document["rounds"]), **numbers)
        if not np.all(np.isfinite([before, after, *numbers.values()])):
            raise ModelFileError("The figures of the second stage must be finite.")
        return found


def refine(
    problem: Problem, grounded: Grounded, first: Fit, model: Model, alpha: FloatArray, run: Run, views: Sequence[str]
) -> tuple[Fit, Refinement]:
    """Fit ``model`` to what ``first`` is surest of, and compare both. ``problem``: that of the first stage; ``alpha``:
    one per weight of ``model``. The rounds of the result follow those of the first stage.

    One pass over the features per evaluation, as in a supervised fit of all rows; nothing is dense but rows × classes.
    """
    began = time.perf_counter()
    # Every row has soft labels of its own here, and counts like a labelled one.
    problem = replace(problem, gamma=problem.gamma / grounded.instance_weight)
    p = problem.model.infer(first.weights).node
    before = p.argmax(axis=1)
    q = projected(problem, p, first)
    target, omega = sharpened(q), sureness(q, problem)
    second = _fitted(replace(problem, model=model, alpha=alpha), target, omega, first, run)
    after = model.infer(second.weights).node.argmax(axis=1)
    shares = [np.bincount(labels, problem.weight, q.shape[1]) for labels in (before, after)]
    some = shares[0] > 0
    found = Refinement(
        views=tuple(views),
        changed=float(np.average(before != after, weights=problem.weight)),
        missed=(missed(grounded, before), missed(grounded, after)),
        least=float(np.min(shares[1][some] / shares[0][some])),
        seconds=time.perf_counter() - began,
        rounds=len(second.history) - len(first.history),
    )
    return second, found


def projected(problem: Problem, p: FloatArray, first: Fit) -> FloatArray:
    """q at the end of a fit, rows × classes: known labels are certain, and where nothing acts q = p."""
    q = p.copy()
    if first.projection is not None:
        q[problem.touched] = first.projection.marginals.node
    known = np.flatnonzero(problem.labels >= 0)
    q[known] = np.eye(q.shape[1])[problem.labels[known]]
    return q


def sharpened(q: FloatArray) -> FloatArray:
    """q²/Σ_y q².

    >>> sharpened(np.array([[0.8, 0.2], [0.5, 0.5]])).round(3).tolist()
    [[0.941, 0.059], [0.5, 0.5]]
    """
    t = (q / q.max(axis=1, keepdims=True)) ** _POWER  # the largest is 1: nothing vanishes altogether
    return np.asarray(t / t.sum(axis=1, keepdims=True))


def sureness(q: FloatArray, problem: Problem) -> FloatArray:
    """ω of Eq. 9: w on labelled rows, γ·w·s on the others; without any margin in q, s = 1."""
    two = np.partition(q, -2, axis=1)[:, -2:]
    margin = (two[:, 1] - two[:, 0]) ** _POWER
    others = ~problem.is_labelled
    weight = problem.weight[others]
    total = float(weight @ margin[others])
    omega = problem.omega.copy()
    if total > 0:
        omega[others] *= margin[others] * (float(np.sum(weight)) / total)
    return omega


def missed(grounded: Grounded, labels: IntArray) -> float:
    """By how much labels of all rows miss the statements, on average over where these fire."""
    tilt = grounded.tilt
    if tilt is None:
        return 0.0
    _, m = tilt.of_labels(labels[grounded.touched])
    violation = tilt.violation(m)
    sound = np.isfinite(violation) & (grounded.support > 0)
    return float(np.average(violation[sound], weights=grounded.support[sound])) if sound.any() else 0.0


def _fitted(problem: Problem, t: FloatArray, omega: FloatArray, first: Fit, run: Run) -> Fit:
    """The moment projection onto t, its rounds after those of the first stage."""
    model = linear(problem.model, "refine='auto'")
    target = model.features.expect(omega[:, None] * t, None)
    journal, begun = Journal(run.callback), len(first.history)
    evaluations = 0

    def objective(weights: FloatArray) -> tuple[float, FloatArray]:
        nonlocal evaluations
        evaluations += 1
        return moment_objective(model.moments(weights, omega), weights, target, problem.alpha)

    def progress(number: int, value: float, largest: float, weights: FloatArray) -> bool:
        one = Round.undivided(begun + number, begun + run.max_iter, value, largest, evaluations)
        return journal.add(replace(one, stage=2), weights)

    found = minimise(
        objective,
        np.zeros(model.n_weights),
        gradient_tol=problem.rounding,
        arrived=problem.plateau(run.tol).reached,
        units=problem.units,
        max_iter=run.max_iter,
        progress=progress,
        workers=model.workers,
    )
    final = final_evaluation(problem, found.x, found.value, found.gradient)
    fit = journal.finished(found.x, final, journal.stop or found.stop, learned_from=False)
    fit = replace(fit, history=(*first.history, *fit.history))
    return fit if first.converged else replace(fit, stop=first.stop, details=first.details, advice=first.advice)
