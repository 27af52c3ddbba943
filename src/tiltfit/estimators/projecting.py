"""p_λ on new data, and q = argmin_q D(q‖p) + U(E_q[f′]), with prices solved there or taken from the fit (Eq. 8)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.data.inputs import Inputs
from tiltfit.errors import DataError, NotConvergedWarning, UnmetConstraintWarning, UnsupportedError, warn_user
from tiltfit.execution.workers import one_blas_thread
from tiltfit.inference.potentials import Marginals, Potentials
from tiltfit.inference.structure import Structure
from tiltfit.language.sentences import titled
from tiltfit.models.log_linear import LogLinear
from tiltfit.models.model import Model
from tiltfit.projections.grounding import Grounded, Key
from tiltfit.projections.information import Projection, project
from tiltfit.projections.shards import TiltShard
from tiltfit.report.sampling import allowance, warn_sampling
from tiltfit.samples.sample import Sample


@dataclass(frozen=True, eq=False)
class Beliefs:
    """p_λ on a sample. ``inputs``: X as it was given, with sequences that have no positions. ``model``: features and
    structure; ``scorer``: the same, or the model that was made of it. ``weights`` are asked for when they are needed: a
    stream sums them up."""

    inputs: Inputs
    sample: Sample
    model: LogLinear
    scorer: Model
    weights: Callable[[], FloatArray]

    @cached_property
    def potentials(self) -> Potentials:
        return self.scorer.potentials(self.weights())

    @cached_property
    def marginals(self) -> Marginals:
        return self.model.structure.infer(self.potentials, self.model.workers)

    @cached_property
    def best(self) -> IntArray:
        """The class number that ``predict`` gives every position (of sequences, by Viterbi)."""
        if not self.sample.is_sequences:
            return np.asarray(self.marginals.node.argmax(axis=1), dtype=np.intp)
        return np.asarray(self.model.structure.best(self.potentials, self.model.workers)[0], dtype=np.intp)


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

    ``prices``: ``"solve"`` projects onto the constraints as they apply here; ``"fitted"`` uses those of ``fit``;
    ``"auto"`` is ``"fitted"``, so that what is said of an instance does not depend on what it comes with, unless
    constraints on single instances have no price that others share, or q is sampled (whose quality only a search for
    prices looks at).
    """
    if prices not in ("auto", "solve", "fitted"):
        raise DataError(f"prices={prices!r} is unknown: use 'auto', 'solve' or 'fitted'.", parameter="prices")
    if grounded.tilt is None:
        return None
    tilt = grounded.tilt
    if prices == "auto":
        alone = any(c.per in ("instance", "sequence") for c in grounded.constraints)
        prices = "solve" if alone or tilt.structure.is_sampled else "fitted"
    positions = model.structure.positions(grounded.touched)
    base = tilt.base(Potentials(potentials.node[positions], potentials.edge), p.log_z[grounded.touched])
    if prices == "fitted":
        shared = _known_prices(grounded, fitted)
        return Projected(tilt.at(base, shared), tilt.structure, tilt.features.tilted(base, shared), shared)
    with one_blas_thread():
        projection = project(tilt, [TiltShard(tilt, base)], told=True)
    if not projection.converged:
        warn_user(
            f"The information projection was not solved (gap {projection.gap:.2g}): predictions are approximate.",
            NotConvergedWarning,
        )
    _warn_unmet(grounded, projection)
    if projection.sampling is not None:
        owners = [grounded.constraints[k].title for k in grounded.owner]
        warn_sampling(zip(owners, projection.sampling.effective, projection.sampling.r_hat, strict=True), stacklevel=4)
    return Projected(projection.marginals, *tilt.tilted(base, projection.prices), projection.prices)


def _warn_unmet(grounded: Grounded, projection: Projection) -> None:
    """Name the hard constraints that q does not meet."""
    missed = np.unique(grounded.owner[projection.violation > allowance(projection)])
    names = [repr(titled(c, grounded.unit)) for c in (grounded.constraints[k] for k in missed) if c.is_hard]
    if names:
        warn_user(
            f"Hard constraints do not hold on this data, together with the others: {', '.join(names[:3])}"
            f"{' and more' if len(names) > 3 else ''}. Relax a target, or give one of them slack=.",
            UnmetConstraintWarning,
        )


def _known_prices(grounded: Grounded, fitted: dict[Key, float]) -> FloatArray:
    """The fitted price of every row; 0 for a group that ``fit`` did not see."""
    for constraint in grounded.constraints:
        if constraint.per in ("instance", "sequence"):
            raise UnsupportedError(
                f"The constraint {titled(constraint, grounded.unit)!r} has a price for each training instance, which "
                "says nothing about new ones. Use prices='solve'.",
                parameter="prices",
                constraint=titled(constraint, grounded.unit),
            )
    return np.array([fitted.get(key, 0.0) for key in grounded.keys])
