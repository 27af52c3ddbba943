"""The input and the output of inference, for classifiers and for chains."""

from __future__ import annotations

from dataclasses import dataclass

from tiltfit.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Potentials:
    """Log-potentials: of labels at positions, ``node[N, L]``, and of pairs of neighbours, ``edge[K, L, L]``.

    −inf forbids. A classifier is a chain of length one: it has no edges (None). Edges come in K kinds, and
    ``inference.chain.Chains`` says of which kind each is. ``whole[n, S]``: what one more of each of S statistics of a
    whole sequence adds to its score (``inference.priced``).
    """

    node: FloatArray
    edge: FloatArray | None = None
    whole: FloatArray | None = None

    def __add__(self, other: Potentials) -> Potentials:
        return Potentials(self.node + other.node, _sum(self.edge, other.edge), _sum(self.whole, other.whole))


@dataclass(frozen=True, eq=False)
class Marginals:
    """log Z of every instance, ``log_z[n]``, and the probability of every label at every position, ``node[N, L]``.

    ``edge[K, L, L]``: how often each pair of labels is expected on edges of each kind, summed over weighted instances.
    ``whole[n, S]``: the mean of every statistic of every whole sequence.
    """

    log_z: FloatArray
    node: FloatArray
    edge: FloatArray | None = None
    whole: FloatArray | None = None


def _sum(one: FloatArray | None, other: FloatArray | None) -> FloatArray | None:
    if one is None or other is None:
        return other if one is None else one
    return one + other
