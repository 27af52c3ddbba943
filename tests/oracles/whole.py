"""Whole-sequence statistics by brute force: every labelling of a short sequence, one by one."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp, softmax
from tests.oracles.chain import scores


def priced(statistics, prices, labels):
    """Σ price·g, where −inf forbids what counts above 0."""
    counts = np.array([statistic.count(labels) for statistic in statistics])
    return sum(price * count for price, count in zip(prices, counts, strict=True) if count != 0.0)


def whole_scores(node, edge, kind, statistics, prices):
    """Every labelling of one sequence, its score, and its statistics."""
    ys, total = scores(node, edge, kind)
    counts = np.array([[statistic.count(y) for statistic in statistics] for y in ys])
    return ys, total + np.array([priced(statistics, prices, y) for y in ys]), counts


def enumerate_whole(node, edge, kind, statistics, prices):
    """log Z, node marginals, edge marginals by kind and mean statistics of one sequence; zeros if none is possible."""
    ys, total, counts = whole_scores(node, edge, kind, statistics, prices)
    if np.all(total == -np.inf):
        return -np.inf, np.zeros_like(node), np.zeros_like(edge), np.zeros(len(statistics))
    p = softmax(total)
    nodes, edges = np.zeros(node.shape), np.zeros(edge.shape)
    for t in range(len(node)):
        np.add.at(nodes[t], ys[:, t], p)
        if t > 0:
            np.add.at(edges[kind[t]], (ys[:, t - 1], ys[:, t]), p)
    return float(logsumexp(total)), nodes, edges, p @ counts


def conditional(node, edge, kind, statistics, prices, labels, t):
    """P(label at t | all others)."""
    total = np.empty(node.shape[1])
    for y in range(node.shape[1]):
        changed = labels.copy()
        changed[t] = y
        total[y] = node[t, y] + priced(statistics, prices, changed)
        total[y] += edge[kind[t], labels[t - 1], y] if t > 0 else 0.0
        total[y] += edge[kind[t + 1], y, labels[t + 1]] if t + 1 < len(labels) else 0.0
    return softmax(total)
