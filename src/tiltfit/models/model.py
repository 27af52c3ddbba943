"""The interface of a model: scores of labels from weights, and the way back.

    s(x, y; λ) = potentials(λ)                    log q₀(y|x) plus the model's own scores, on nodes and edges
    ∂O/∂λ      = pull(λ, ∂O/∂s)                   the adjoint of the Jacobian ∂s/∂λ at λ
    p_λ(y|x)   = exp(s(x, y; λ)) / Z_λ(x)         by inference on ``structure``

Solvers need no more: the gradient of every objective is pull(λ, ω·(p − q)). Two abilities are optional. ``linear``:
scores are linear in the weights, so that Σ ω·E_q[f] is a target for moment projections, weights can be merged, and a
step can look at a few of them. ``closed_form``: weights follow from expected counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Self

import numpy as np

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.errors import UnsupportedError
from tiltfit.execution.sums import Moments
from tiltfit.execution.workers import Workers
from tiltfit.inference.potentials import Marginals, Potentials
from tiltfit.inference.structure import Structure

if TYPE_CHECKING:
    from tiltfit.models.generative import Family
    from tiltfit.models.log_linear import LogLinear


class Model(Protocol):
    """A model on the instances of ``structure``. ``base``: log q₀, −inf forbids; None: uniform.

    Inherit from it and write ``n_labels``, ``n_weights``, ``potentials``, ``pull`` and ``take``.
    """

    structure: Structure
    base: Potentials | None

    @property
    def n_labels(self) -> int: ...
    @property
    def n_weights(self) -> int: ...

    @property
    def workers(self) -> Workers:
        """Threads for the kernels."""
        return Workers()

    @property
    def linear(self) -> LogLinear | None:
        """The model itself if its scores are linear in the weights."""
        return None

    @property
    def closed_form(self) -> Family | None:
        """The rule by which weights follow from expected counts, if there is one."""
        return None

    @property
    def initial(self) -> FloatArray | None:
        """The weights to start from, if the model has some of its own."""
        return None

    def potentials(self, weights: FloatArray) -> Potentials:
        """The scores of labels and pairs of labels, ``base`` included. Callers may overwrite ``node``."""
        ...

    def pull(self, weights: FloatArray, node: FloatArray, edge: FloatArray | None = None) -> FloatArray:
        """∂O/∂weights of an objective whose derivatives with respect to the potentials are ``node`` and ``edge``."""
        ...

    def take(self, instances: IntArray) -> Self:
        """The same model on these instances only."""
        ...

    def infer(self, weights: FloatArray, weight: FloatArray | None = None) -> Marginals:
        """log Z_λ(x) and p_λ(y|x). ``weight``: one per instance, for the sums over edges."""
        return self.structure.infer(self.potentials(weights), self.workers, weight=weight, overwrite=True)

    def moments(self, weights: FloatArray, weight: FloatArray) -> Moments:
        """Σ_i ω_i log Z_λ(x_i) and its gradient, for a linear model Σ_i ω_i E_p[f(x_i, y)]; ω = ``weight``."""
        marginals = self.infer(weights, weight)
        node = marginals.node
        if not np.all(weight == 1.0):
            node *= self.structure.spread(weight)[:, None]
        total = float(weight @ marginals.log_z)
        return Moments(total, self.pull(weights, node, marginals.edge), float(np.sum(weight)))


def linear(model: Model, what: str) -> LogLinear:
    """The model as a linear one; UnsupportedError that names ``what`` needs it if it is not."""
    found = model.linear
    if found is None:
        raise UnsupportedError(
            f"{what} needs a model whose scores are linear in its weights, but {type(model).__name__} is not. Use "
            "method='ap' with solver='joint' or 'sgd', or a linear model."
        )
    return found
