"""Inference where positions are independent: the softmax.

log Z_i = log Σ_y exp(s_iy),   p_iy = exp(s_iy − log Z_i).   Cost O(N·L).
"""

from __future__ import annotations

import numpy as np

from tiltfit.execution.workers import Workers
from tiltfit.inference.potentials import Marginals, Potentials


def infer(potentials: Potentials, workers: Workers | None = None, *, overwrite: bool = False) -> Marginals:
    """log Z and marginals of every position. A position whose labels are all forbidden has log Z = −inf and p = 0.

    ``overwrite``: the marginals may take the place of the potentials, which nobody needs any more.

    >>> import numpy as np
    >>> infer(Potentials(np.log([[1.0, 3.0]]))).node.tolist()
    [[0.25, 0.75]]
    """
    from tiltfit.inference.kernels.softmax import softmax_rows

    node = np.array(potentials.node, dtype=np.float64, order="C", copy=None if overwrite else True)
    log_z = np.empty(len(node))
    (workers or Workers()).run(lambda a, b: softmax_rows(node, log_z, a, b), len(node))
    return Marginals(log_z, node)
