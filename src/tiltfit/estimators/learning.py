"""What classifier and tagger have in common: solving the problem, and using what was learned."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.errors import (
    ConflictError,
    DataError,
    InactiveConstraintWarning,
    NotConvergedWarning,
    NotSavedWarning,
    TiltfitWarning,
    UnmetConstraintWarning,
    UnsupportedError,
)
from tiltfit.estimators.options import Options
from tiltfit.estimators.starts import generator
from tiltfit.estimators.streaming import Stream, fit_online
from tiltfit.execution.blas import one_blas_thread
from tiltfit.inference.potentials import Marginals, Potentials
from tiltfit.inference.structure import Structure
from tiltfit.language.constraint import ConstraintSet
from tiltfit.language.sentences import titled
from tiltfit.methods.catalogue import METHODS
from tiltfit.methods.history import Callback, Development, Fit
from tiltfit.methods.method import Method, Run, Task
from tiltfit.methods.start import default_start, starting_point
from tiltfit.models.model import Model
from tiltfit.optimize.result import Stop
from tiltfit.projections.grounding import Grounded, Grounding, Key, ground
from tiltfit.projections.information import Projection, project
from tiltfit.projections.strength import Strength
from tiltfit.report.constraints import ConstraintReport
from tiltfit.report.outcome import report_constraints
from tiltfit.report.sampling import allowance, warn_sampling
from tiltfit.samples.sample import Sample


def ground_for(
    method: Method,
    constraints: ConstraintSet,
    sample: Sample,
    strength: Strength,
    how: Grounding,
    *,
    check: Callable[[Grounded], None],
) -> Grounded:
    """``ground`` for a method, and ``check`` of the result. Constraints that cannot hold together are no reason to stop
    one that does not follow them: it is said, and they are softened for the report, which tells how far the model is
    from each. (A ``distributed_as`` with a label that known labels rule out has no soft form, and is refused.)"""
    try:
        grounded = ground(constraints, sample, strength, how)
        check(grounded)
        return grounded
    except ConflictError as error:
        if method.follows:
            raise
        conflict = error
    soft = tuple(replace(c, slack=1.0) if c.is_hard else c for c in constraints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TiltfitWarning)  # what is inactive has been reported
        grounded = ground(ConstraintSet(soft, constraints.classes), sample, strength, how)
    check(grounded)
    warnings.warn(
        f"{conflict} (method={method.name!r} does not follow constraints and goes on: in its report, hard ones are "
        "soft.)",
        UnmetConstraintWarning,
        stacklevel=4,
    )
    return replace(grounded, constraints=constraints)


def learn(
    task: Task,
    options: Options,
    *,
    given: FloatArray | None,
    estimator: Any,
    development: Development | None = None,
) -> tuple[Fit, Stream | None]:
    """The fit that an estimator's parameters ask for, and the stream to go on with, if it was online."""
    if options.solver != "online":
        fit = solve(
            task, options, given=given, init=estimator.init, n_init=int(estimator.n_init),
            random_state=estimator.random_state, callback=estimator.callback, development=development,
        )  # fmt: skip
        return fit, None
    return fit_online(task.problem, task.grounded, options, estimator, given=given, development=development)


def solve(
    task: Task,
    options: Options,
    *,
    given: FloatArray | None,
    init: Any,
    n_init: int,
    random_state: Any,
    callback: Callback | None,
    development: Development | None = None,
) -> Fit:
    """The best of ``n_init`` runs: the first from ``given`` or ``init``, the others from random weights.

    The best is that of the lowest objective, or of the highest score on ``development``.
    """
    if task.problem.is_sampled and n_init > 1:
        raise UnsupportedError(
            f"n_init={n_init} keeps the fit with the least objective, which is not known where q is sampled. Use "
            "n_init=1, or inference='exact'."
        )
    method, rng = options.method, generator(random_state)
    default = default_start(method.start, task.problem)
    kinds = [init if isinstance(init, str) else default, *["random"] * (n_init - 1)]
    fits: list[Fit] = []
    with one_blas_thread():
        for k, kind in enumerate(kinds):
            start = given if k == 0 and given is not None else starting_point(kind, task.problem, rng, options.tol)
            run = Run(
                solver=options.solver,
                max_iter=options.max_iter,
                tol=options.tol,
                seed=int(rng.integers(2**63)),
                callback=callback,
                development=development,
                options=options.method_options,
            )
            fits.append(method.fit(task, start, run))
            if fits[-1].stop is Stop.CALLBACK:
                break
    return min(fits, key=_rank)


def _rank(fit: Fit) -> tuple[float, float]:
    """The lower, the better."""
    score = -np.inf if fit.dev_score is None else fit.dev_score
    return -score, fit.objective if np.isfinite(fit.objective) else np.inf


def report(
    model: Model, grounded: Grounded, fit: Fit, classes: list[Any], unit: str, roles: Mapping[int, str] | None
) -> ConstraintReport:
    """What became of the constraints. ``roles``: of a method that does not follow them (``Method.roles``)."""
    p = None
    if grounded.tilt is not None:
        p = grounded.tilt.of_model(model.take(grounded.touched).potentials(fit.weights))
    return report_constraints(grounded, p, fit.projection, classes, unit, roles)


def fitted_prices(grounded: Grounded, fit: Fit) -> dict[Key, float]:
    """The price of every row, by what it speaks of."""
    return dict(zip(grounded.keys, fit.projection.prices.tolist(), strict=True)) if fit.projection else {}


@dataclass(frozen=True, eq=False)
class Projected:
    """q on the touched instances, their structure and its potentials there, and the price of every row."""

    marginals: Marginals
    structure: Structure
    potentials: Potentials
    prices: FloatArray


def projected(
    model: Model, potentials: Potentials, p: Marginals, grounded: Grounded, prices: str, fitted: dict[Key, float]
) -> Projected | None:
    """q on the touched instances; None where nothing is constrained.

    ``prices``: ``"solve"`` projects onto the constraints as they apply here; ``"fitted"`` uses those of ``fit``.
    """
    if prices not in ("solve", "fitted"):
        raise DataError(f"prices={prices!r} is unknown: use 'solve' or 'fitted'.")
    if grounded.tilt is None:
        return None
    tilt, positions = grounded.tilt, model.structure.positions(grounded.touched)
    base = tilt.base(Potentials(potentials.node[positions], potentials.edge), p.log_z[grounded.touched])
    if prices == "fitted":
        shared = _known_prices(grounded, fitted)
        return Projected(tilt.at(base, shared), tilt.structure, tilt.features.tilted(base, shared), shared)
    with one_blas_thread():
        projection = project(tilt, base, told=True)
    if not projection.converged:
        warnings.warn(
            f"The information projection was not solved (gap {projection.gap:.2g}): predictions are approximate.",
            NotConvergedWarning,
            stacklevel=3,
        )
    _warn_unmet(grounded, projection)
    if projection.sampling is not None:
        owners = [grounded.constraints[k].title for k in grounded.owner]
        warn_sampling(zip(owners, projection.sampling.effective, projection.sampling.r_hat, strict=True), stacklevel=3)
    return Projected(projection.marginals, *tilt.tilted(base, projection.prices), projection.prices)


@contextmanager
def warned_already() -> Iterator[None]:
    """A projection of what was fitted just now: which constraints rest or do not hold has been said."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InactiveConstraintWarning)
        warnings.simplefilter("ignore", UnmetConstraintWarning)
        yield


def _warn_unmet(grounded: Grounded, projection: Projection) -> None:
    """Name the hard constraints that q does not meet."""
    missed = np.unique(grounded.owner[projection.violation > allowance(projection)])
    names = [repr(titled(c, grounded.unit)) for c in (grounded.constraints[k] for k in missed) if c.is_hard]
    if names:
        warnings.warn(
            f"Hard constraints do not hold on this data, together with the others: {', '.join(names[:3])}"
            f"{' and more' if len(names) > 3 else ''}. Relax a target, or give one of them slack=.",
            UnmetConstraintWarning,
            stacklevel=4,
        )


def _known_prices(grounded: Grounded, fitted: dict[Key, float]) -> FloatArray:
    """The fitted price of every row; 0 for a group that ``fit`` did not see."""
    for constraint in grounded.constraints:
        if constraint.per in ("instance", "sequence"):
            raise UnsupportedError(
                f"The constraint {titled(constraint, grounded.unit)!r} has a price for each training instance, which "
                "says nothing of new ones. Use prices='solve'."
            )
    return np.array([fitted.get(key, 0.0) for key in grounded.keys])


def warn(estimator: Any, fit: Fit, lost: tuple[str, ...]) -> None:
    """Say what a fit could not do. ``lost``: constraints that a model file could not hold."""
    if lost:
        warnings.warn(
            f"This fit went without what a model file could not hold: {', '.join(lost)}. Set constraints= again.",
            NotSavedWarning,
            stacklevel=3,
        )
    # Hard constraints that contradict each other leave nothing to converge to; they are named below.
    told = estimator.constraint_report_
    if not fit.converged and fit.stop is not Stop.CALLBACK and not told.violated:
        advice = fit.advice or f"Raise max_iter= (now {estimator.max_iter}) or tol=."
        warnings.warn(
            f"{type(estimator).__name__} did not converge: {fit.message}. {advice}",
            NotConvergedWarning,
            stacklevel=3,
        )
    followed = METHODS[estimator.method].follows
    told.warn_unmet(stacklevel=3, vectorizer=hasattr(estimator, "vectorizer"), followed=followed)
    told.warn_sampling(stacklevel=3)
