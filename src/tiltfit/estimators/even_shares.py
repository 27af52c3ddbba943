"""Classes that others have swallowed: a second fit in which every class keeps a share of the documents.

    min_λ,q  Eq. 6   subject to   Σ_i w_i·q(l|x_i) ≥ (0.9/K)·Σ_i w_i   for every class l that a statement names

over the unlabelled documents, K the number of classes. Where statements about some classes promise more than is true,
and few speak of the others, Eq. 6 gives the former the documents of the latter. What statements say does not tell that
from a class that is rare. But a class that has swallowed another explains badly where the words of both occur, so the
second fit is kept if held-out documents tell better, by more than two standard errors, where statements fire:

    Σ_k d_k > 2·√n·sd(d)        d_k = max_s ℓ_k(s) of the second fit − the same of the first, s that of all k together

with ℓ_k as in ``methods.sharpness``; and as there, a model that is too weak has no say. The floors are then constraints
of the fit like any other: reports show them, and files keep them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.errors import ConflictError
from tiltfit.estimators.refining import projected
from tiltfit.language.constraint import Constraint, ConstraintSet
from tiltfit.language.event import Labels
from tiltfit.language.relations import AtLeast
from tiltfit.language.values import Label, exact
from tiltfit.methods.history import Fit, after
from tiltfit.methods.method import Method, Run, Training
from tiltfit.methods.sharpness import ERRORS, LEAST_LABELS, HeldOut
from tiltfit.optimize.result import Stop
from tiltfit.projections.grounding import Grounded
from tiltfit.report.constraints import percent

_OF_EVEN = 0.9  # of 1/K


def states_shares(constraints: ConstraintSet) -> bool:
    """True if some constraint is about all documents: whoever states proportions knows them better."""
    return any(c.where is None for c in constraints)


def evened(
    training: Training,
    fit: Fit,
    ground: Callable[[ConstraintSet], Grounded],
    method: Method,
    run: Run,
    *,
    words: bool,
) -> tuple[Training, Fit]:
    """The fit in which no class is swallowed, and what it learned from; what was given, unless held-out documents speak
    for it. ``ground``: how constraints apply to the data. ``words``: as for ``sharpness_of``.

    It costs nothing where no class has less than its floor, and otherwise about as much as the first fit, from whose
    weights it starts.
    """
    problem, constraints = training.problem, training.grounded.constraints
    before = HeldOut.of(problem, fit.weights, fit.projection)
    if before is None or fit.stop is Stop.CALLBACK or len(problem.labelled) >= LEAST_LABELS:
        return training, fit
    least, shares = floors(constraints), _shares(training, fit)
    few = [c for c in least if shares[c.event.names[0]] < c.relation.numbers[0]]
    if not few or before.silence(words):
        return training, fit
    try:
        grounded = ground(ConstraintSet((*constraints, *least), constraints.classes))
    except ConflictError:
        return training, fit
    # Floors touch all documents, so that each counts less than before.
    gamma = problem.gamma * grounded.instance_weight / training.grounded.instance_weight
    more = replace(problem, tilt=grounded.tilt, touched=grounded.touched, gamma=gamma)
    second = Training(more, grounded, training.votes)
    begun, told = len(fit.history), run.callback
    if told is not None:
        run = replace(run, callback=lambda one: told(after(one, begun)))
    found = method.run(second, fit.weights, run)
    if found.softened or found.stop is Stop.CALLBACK:
        return training, fit
    now = HeldOut.of(second.problem, found.weights, found.projection)
    assert now is not None
    # Floors come after all other shared rows, so the statements have the numbers that they had.
    if not explains_better(before.statement_units(before.often), now.statement_units(before.often)):
        return training, fit
    history = (*fit.history, *(after(one, begun) for one in found.history))
    every = "every class" if len(least) == len(shares) else "every class that statements name"
    return second, replace(found, history=history, note=_note(few, shares, every))


def floors(constraints: ConstraintSet) -> list[Constraint]:
    """One for each class that some constraint names."""
    named = {exact(name) for constraint in constraints for name in constraint.names}
    classes = constraints.classes or ()
    why = "Assumed, not stated: with it, held-out documents tell better where statements fire."
    return [
        Constraint(Labels((label,)), AtLeast(_OF_EVEN / len(classes)), name=f"assumed share of {label}", rationale=why)
        for label in classes
        if exact(label) in named
    ]


def stated(constraints: ConstraintSet) -> list[Constraint]:
    """Those of a fit that were not assumed by ``evened``: what another fit begins with."""
    assumed = floors(constraints)
    return [c for c in constraints if c not in assumed]


def explains_better(before: FloatArray, after: FloatArray) -> bool:
    """Whether the likelihood rises by more than so many standard errors over statements, each fit with the sharpness
    that suits it best. ``before``, ``after``: values of ``GRID`` × statements.

    >>> explains_better(np.array([[-3.0, -5.0, -4.0]]), np.array([[-2.0, -3.9, -2.9]]))
    True
    >>> explains_better(np.array([[-3.0, -5.0, -4.0]]), np.array([[-2.0, -5.5, -3.9]]))
    False
    """
    first, second = (units[np.argmax(units.sum(axis=1))] for units in (before, after))
    gain = second - first
    return bool(gain.sum() > ERRORS * np.sqrt(len(gain)) * gain.std())


def _shares(training: Training, fit: Fit) -> dict[Label, float]:
    """The share of every class among unlabelled documents under q."""
    problem = training.problem
    q = projected(problem, problem.model.infer(fit.weights).node, fit)
    unknown = problem.labels < 0
    shares = np.average(q[unknown], axis=0, weights=problem.weight[unknown])
    return dict(zip(training.grounded.constraints.classes or (), shares.tolist(), strict=True))


def _note(few: list[Constraint], shares: dict[Label, float], every: str) -> str:
    rarest = min(few, key=lambda c: shares[c.event.names[0]])
    name = rarest.event.names[0]
    return (
        f"no constraint states proportions, and {name} had {percent(shares[name])} of the documents, so {every} "
        f"was given at least {percent(rarest.relation.numbers[0])}, with which held-out documents tell better where "
        "statements fire (state proportions to decide yourself)"
    )
