"""What goes into inference and what comes out, for classifiers and (with edges) for chains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Potentials:
    """Log-potentials of labels at positions, ``node[N, L]``; −inf forbids a label.

    A classifier is a chain of length one: it has no edges. Chains will add ``edge[K, L, L]`` and an index a position.
    """

    node: FloatArray

    def __add__(self, other: Potentials) -> Potentials:
        return Potentials(self.node + other.node)


@dataclass(frozen=True, eq=False)
class Marginals:
    """log Z of every instance, ``log_z[n]``, and the probability of every label at every position, ``node[N, L]``."""

    log_z: FloatArray
    node: FloatArray
