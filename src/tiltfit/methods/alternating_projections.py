"""Alternating projections (Bellare, Druck & McCallum 2009): ``method="ap"``.

    min_λ  Σ_labelled −log p_λ(y|x) + ½·α‖λ‖² + γ·min_q [Σ_unlabelled D(q‖p_λ) + U(m(q))]                     (Eq. 6)

``solver="alternating"`` is the paper's algorithm (§2.3), coordinate descent on (λ, q):

    q ← argmin_q O(λ, q)      information projection, Eq. 8
    λ ← argmin_λ O(λ, q)      moment projection, Eq. 9

O falls at every half step. The M-projection need not be exact for that: it stops once it has cut the gradient it began
with to a tenth, since the next information projection moves q anyway. ``joint`` eliminates q, ``sgd`` takes one
stochastic pass per round. ``auto`` is ``joint``, but for hard bounds on transitions and whole sequences, which come
last (``late``); where q can only be sampled, it alternates. With a generative model this is posterior regularization
(``expectation_maximization``), which alternates in closed form.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.errors import TiltfitWarning, UnsupportedError
from tiltfit.language.constraint import Constraint
from tiltfit.methods import vote
from tiltfit.methods.descent import alternate_descending
from tiltfit.methods.expectation_maximization import regularize
from tiltfit.methods.history import CLOSE, LOOSE, WINDOW, Fit, Journal, Round, after, settled
from tiltfit.methods.joint import solve_jointly
from tiltfit.methods.method import Case, Method, Run, Training
from tiltfit.methods.problem import Evaluation, Problem
from tiltfit.models.model import linear
from tiltfit.optimize.result import Minimum, Stop
from tiltfit.projections.moment import add_ridge, moment_projection

_CUT = 0.1  # how much of its starting gradient an M-projection may leave
_INNER_ITERATIONS = 200

MISS = 0.01
"""Where hard constraints contradict each other, one that is missed by so much pulls with one log-odds per event."""

LATE_ROUNDS = 3
"""Alternations with the constraints that come last. On development citations (Cora, 5 and 20 labels), one to three are
as good, ten cost half a point, and convergence costs four to six (docs/whole-sequences.md)."""

_NOTE = "statements vote on most tokens, so the weights are held near those that follow the majority"


def fit(training: Training, start: FloatArray, run: Run) -> Fit:
    """Minimise Eq. 6 from ``start``.

    Where hard constraints contradict each other Eq. 6 has no minimum, and its solvers may stop anywhere, also where the
    largest prices leave nothing to gain. It is then solved once more with enough slack for them to be missed by little,
    which has a minimum. (For a sampled q, a contradiction cannot be told from noise.)
    """
    if training.votes is not None:
        return _near_votes(training, start, run)
    problem, tilt = training.problem, training.problem.tilt
    solve = SOLVERS["joint" if run.solver == "auto" else run.solver]
    if problem.model.closed_form is not None:
        solve = regularize
    elif training.first is not None:
        solve = partial(_join_late, training.first)
    elif problem.is_sampled and run.solver != "sgd":
        solve = alternate_sampled
        if run.solver == "joint":
            raise UnsupportedError(
                "solver='joint' needs the value of the objective, which is not known where q is sampled. Use "
                "solver='auto' (it alternates), or inference='exact'."
            )
    found = solve(problem, start, run)
    if found.projection is None or tilt is None or problem.is_sampled:
        return found
    if found.stop is Stop.CALLBACK or not tilt.misses_hard(found.projection.violation, by=MISS / 2):
        return found
    return replace(solve(replace(problem, tilt=tilt.softened(MISS)), start, run), softened=True)


def late(training: Training, solver: str) -> tuple[list[Constraint], bool]:
    """The constraints that come last, when the model has learned from everything else; and whether only for a few
    rounds, in which they are followed but not fitted to the end.

    With ``solver="auto"`` these are hard bounds on transitions, segments and whole sequences. A model that is not sure
    yet meets them most cheaply by giving up labels, and what it learns from that makes it give up more: "fields change
    on punctuation" turned the journals of 100 citations into book titles. Rules (hard 0 and 1) are always there, and
    where votes hold the weights in place, so are bounds.
    Where q is sampled, everything on whole sequences comes last: the fit without it is exact, fast, and near where
    sampling has to go. If there is something soft among that, all of it is fitted to the end.
    """
    problem, grounded = training.problem, training.grounded
    if solver == "online" or problem.model.linear is None:
        return [], False
    idle = {*grounded.ruled, *grounded.inactive}
    apart = solver == "auto" and training.votes is None
    bounds = [c for k, c in enumerate(grounded.constraints) if apart and c.bounds_structure and k not in idle]
    whole = [(k, c) for k, c in enumerate(grounded.constraints) if problem.is_sampled and c.event.whole]
    soft = any(c not in bounds and k not in idle for k, c in whole)  # these must be fitted to the end
    return [c for c in grounded.constraints if c in bounds or c in [one for _, one in whole]], bool(bounds) and not soft


def _join_late(first: Fit, problem: Problem, start: FloatArray, run: Run) -> Fit:
    """A few alternations with all constraints from ``start``, the end of ``first``, which went without the late ones.

    Not to convergence: of a q that meets the bounds p learns what it can, and stays near what it knew without them.
    """
    begun, told = len(first.history), run.callback
    if told is not None:
        run = replace(run, callback=lambda one: told(after(one, begun)))
    rounds = 0 if first.stop is Stop.CALLBACK else max(0, min(LATE_ROUNDS, run.max_iter - begun))
    solve = alternate_sampled if problem.is_sampled else alternate
    found = solve(problem, start, replace(run, max_iter=rounds, tol=0.0))
    best = first.best_round if not found.best_round else found.best_round + begun
    found = replace(found, history=(*first.history, *(after(one, begun) for one in found.history)), best_round=best)
    if found.stop in (Stop.CALLBACK, Stop.EARLY):
        return found
    if not first.stop.converged:
        return replace(found, stop=first.stop, details=first.details, advice=first.advice)
    return replace(found, stop=Stop.LATE) if found.stop is Stop.MAX_ITER else found


def _near_votes(training: Training, start: FloatArray, run: Run) -> Fit:
    """Eq. 6 with ½·α‖λ − λ₀‖² for the ridge, λ₀ the fit to the majority votes of the constraints (``methods.vote``).

    Where constraints vote on most tokens, near λ = 0 there are many models that meet their shares, and the smallest
    weights among these tell entities worse than the votes themselves do. It is Eq. 6 in λ − λ₀ with q₀ ∝ exp(λ₀·f) for
    the base. ``start``: zeros begin at λ₀.
    """
    model = linear(training.problem.model, "a fit near votes")
    alone = replace(run, callback=None, development=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TiltfitWarning)  # votes that valid_only= rules out: no harm to a centre
        centre = vote.follow(training, np.zeros_like(start), alone).weights
    based = replace(model, base=model.potentials(centre))
    if run.development is not None:
        score = run.development.score
        run = replace(run, development=replace(run.development, score=lambda weights: score(weights + centre)))
    moved = Training(replace(training.problem, model=based), training.grounded)
    found = fit(moved, start - centre if np.any(start) else start, run)
    return replace(found, weights=found.weights + centre, note=_NOTE)


def alternate(problem: Problem, start: FloatArray, run: Run, *, inner_tol: float = 1e-6) -> Fit:
    """Alternate from ``start`` until O and the labels that the model gives no longer change (``optimize.plateau``).

    With ``run.development``, the weights are those of its best round.
    """
    active = problem.active  # elsewhere q = p, whatever the weights
    plateau = active.plateau(run.tol)
    weights, last, stop = start, None, Stop.MAX_ITER
    journal = Journal(run.callback, run.development)
    journal.begin(start)
    now = active.evaluate(weights, last, inner_tol)
    for number in range(1, run.max_iter + 1):
        target, current = moment_target(problem, weights, now)
        fitted = moment_step(problem, now, target, weights, run.tol)
        # With q fixed, O and the objective of Eq. 9 differ by a constant, so O falls by as much as Eq. 9 does.
        after = now.value + fitted.value - current
        weights, last = fitted.x, now.start
        spent = fitted.n_eval + now.n_eval
        journal.add(Round.of(number, run.max_iter, now, spent, objective=after, moment=after), weights)
        now = active.evaluate(weights, last, inner_tol)
        if journal.stop is not None:
            stop = journal.stop
        elif (now.projection is None and fitted.converged) or fitted.n_iter == 0:  # the weights are fitted to q
            stop = fitted.stop
        elif now.steepest <= active.rounding:
            stop = Stop.CONVERGED
        elif plateau.reached(now.value, weights):
            stop = Stop.FLAT
        else:
            continue
        break
    kept = journal.settle(weights)
    if kept is not weights:
        now = active.evaluate(kept, last, inner_tol)
    return journal.finished(kept, now, stop)


def alternate_sampled(problem: Problem, start: FloatArray, run: Run) -> Fit:
    """The same where q can only be sampled (paper §6), by Markov chains that go on from round to round.

    log Z of p is exact, so an M-projection is as good as its target, Σ ω Ê_q[f]. O itself is not known, only its
    gradient, and that with noise: the fit is over when max|∇O| has stopped falling from one window of rounds to
    the next, since what is left is noise. The weights of the last window are averaged then, which takes out most of it.
    With ``run.development``, the weights are those of its best round.
    """
    active = problem.active
    weights, last, stop = start, None, Stop.MAX_ITER
    journal = Journal(run.callback, run.development)
    journal.begin(start)
    recent: list[FloatArray] = []
    for number in range(1, run.max_iter + 1):
        now = active.evaluate(weights, last, LOOSE)
        last = now.start
        target, _ = moment_target(active, weights, now)
        fitted = moment_step(active, now, target, weights, run.tol)
        weights = fitted.x
        recent = [*recent, weights][-WINDOW:]
        spent, unknown = fitted.n_eval + now.n_eval, {"objective": np.nan, "information": np.nan}
        one = Round.of(number, run.max_iter, now, spent, moment=fitted.value, **unknown)
        if journal.add(one, weights):
            stop = journal.stop or stop
        elif settled([r.gradient for r in journal.rounds]):
            stop, weights = Stop.NOISE, np.mean(recent, axis=0)
        else:
            continue
        break
    weights = journal.settle(weights)
    return journal.finished(weights, active.evaluate(weights, last, CLOSE, told=True), stop)


def moment_target(problem: Problem, weights: FloatArray, now: Evaluation) -> tuple[FloatArray, float]:
    """T = Σ ω E_q[f], the target of an M-projection, and its objective where it starts.

    By ∇O = Σ ω (E_p[f] − E_q[f]) + α∘λ, T follows from the gradient and the moments of p, on all instances.
    """
    sums = linear(problem.model, "a moment projection").moments(weights, problem.omega)
    target = sums.expectation
    target -= now.gradient
    ridge = add_ridge(problem.alpha, weights, target)
    return target, sums.log_z - float(weights @ target) + ridge


def moment_step(problem: Problem, now: Evaluation, target: FloatArray, weights: FloatArray, tol: float) -> Minimum:
    """An M-projection onto ``target``, as far as it is worth going before q moves; to its plateau if there is no q."""
    moves = now.projection is not None
    return moment_projection(
        partial(problem.model.moments, weight=problem.omega),
        target,
        problem.alpha,
        weights,
        gradient_tol=max(problem.rounding, _CUT * now.steepest if moves else 0.0),
        arrived=None if moves else problem.plateau(tol).reached,
        units=problem.units,
        max_iter=_INNER_ITERATIONS,
        workers=problem.model.workers,
    )


def _refuse_free_weights(case: Case) -> None:
    kind = case.kind
    if kind.learner is not None and case.solver != "auto":
        raise UnsupportedError(
            f"model={case.model} trains itself, so that solver={case.solver!r} has nothing to do. Use fit with "
            "solver='auto'.",
            parameter="solver",
        )
    if not kind.linear and case.solver in ("alternating", "online"):
        raise UnsupportedError(
            f"solver={case.solver!r} needs scores that are linear in the weights, which those of model={case.model!r} "
            "are not. Use solver='joint'."
        )
    if kind.generative and case.solver == "online":
        raise UnsupportedError(
            f"model={case.model!r} cannot learn online: its weights follow from counts of all data. Use fit with "
            f"another solver, or model={'crf' if case.unit == 'tokens' else 'maxent'!r}."
        )
    if kind.generative and case.solver not in ("auto", "alternating"):
        raise UnsupportedError(
            f"solver={case.solver!r} moves weights freely, but those of model={case.model!r} are log-probabilities, "
            "which expected counts give in closed form. Use solver='alternating'."
        )


SOLVERS: dict[str, Callable[[Problem, FloatArray, Run], Fit]] = {
    "alternating": alternate,
    "joint": solve_jointly,
    "sgd": alternate_descending,
}
METHOD = Method(
    "ap", "alternating projections", fit, refuse=_refuse_free_weights, solvers=("auto", *SOLVERS, "online"),
    trains=("conditional", "generative", "scores"), inference=("exact", "sampled"), start="auto",
)  # fmt: skip
