"""What goes into inference and what comes out, for classifiers and for chains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Potentials:
    """Log-potentials: of labels at positions, ``node[N, L]``, and of pairs of neighbours, ``edge[K, L, L]``.

    −inf forbids. A classifier is a chain of length one: it has no edges (None). Edges come in K kinds, and
    ``inference.chain.Chains`` says of which kind each is.
    """

    node: FloatArray
    edge: FloatArray | None = None

    def __add__(self, other: Potentials) -> Potentials:
        edge = self.edge + other.edge if self.edge is not None and other.edge is not None else self.edge
        return Potentials(self.node + other.node, other.edge if edge is None else edge)


@dataclass(frozen=True, eq=False)
class Marginals:
    """log Z of every instance, ``log_z[n]``, and the probability of every label at every position, ``node[N, L]``.

    ``edge[K, L, L]``: how often each pair of labels is expected on edges of each kind, summed over weighted instances.
    """

    log_z: FloatArray
    node: FloatArray
    edge: FloatArray | None = None
