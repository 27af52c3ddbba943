"""Linear chains by brute force: every labelling of a short sequence, one by one."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.special import logsumexp, softmax


def labellings(n, n_labels):
    """All of them, [L^n, n]."""
    return np.array(list(itertools.product(range(n_labels), repeat=n)))


def scores(node, edge, kind):
    """The sum of potentials of every labelling of one sequence; edge[kind[t]] lies between t − 1 and t."""
    ys = labellings(*node.shape)
    total = node[np.arange(len(node)), ys].sum(axis=1)
    for t in range(1, len(node)):
        total = total + edge[kind[t], ys[:, t - 1], ys[:, t]]
    return ys, total


def enumerate_chain(node, edge, kind):
    """log Z, node marginals and edge marginals by kind of one sequence; zeros where no labelling is possible."""
    ys, total = scores(node, edge, kind)
    if np.all(total == -np.inf):
        return -np.inf, np.zeros_like(node), np.zeros_like(edge)
    p = softmax(total)
    nodes, edges = np.zeros(node.shape), np.zeros(edge.shape)
    for t in range(len(node)):
        np.add.at(nodes[t], ys[:, t], p)
        if t > 0:
            np.add.at(edges[kind[t]], (ys[:, t - 1], ys[:, t]), p)
    return float(logsumexp(total)), nodes, edges
