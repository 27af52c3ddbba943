"""The online steps 2 and 3 of §2.3 as they are printed (with γ), dense and one labelling at a time.

An instance is the features f of all its labellings, the constraint features f′ of all of them, and the number of its
labelling if that is known. Nothing is sparse, lazy or factored.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import softmax


@dataclass(frozen=True, eq=False)
class Instance:
    """``f``: labellings × weights; ``f_constraint``: labellings × constraints; ``label``: a labelling, or None."""

    f: np.ndarray
    f_constraint: np.ndarray
    label: int | None


@dataclass(frozen=True, eq=False)
class Sizes:
    """As they are known at a step: n, n − m, and how often every constraint fires in all data, c."""

    n: float
    unlabelled: float
    support: np.ndarray


def learn(
    instances: Sequence[Instance],
    order: Sequence[int],
    target: np.ndarray,
    beta: np.ndarray,
    *,
    alpha: np.ndarray,
    gamma: float,
    eta0: float,
    sizes: Callable[[int], Sizes],
) -> tuple[np.ndarray, np.ndarray]:
    """λ and μ after the instances in that order. f′ is divided by c, so that expectations are shares or means."""
    weights, prices = np.zeros(instances[0].f.shape[1]), np.zeros(len(target))
    for t, i in enumerate(order, 1):
        x, now, eta = instances[i], sizes(t), 1 / (t + 1 / eta0)
        p = softmax(x.f @ weights)
        if x.label is not None:
            weights = weights + eta * (x.f[x.label] - p @ x.f - alpha * weights / now.n)
            continue
        met = now.support > 0  # before its first firing nothing is known of a constraint
        f = np.where(met, x.f_constraint / np.where(met, now.support, 1.0), 0.0)
        q = softmax(x.f @ weights + f @ prices)
        weights = weights + eta * (gamma * (q @ x.f - p @ x.f) - alpha * weights / now.n)
        step = eta * (target / now.unlabelled - q @ f - beta * prices / now.unlabelled)
        prices = prices + np.where(met, step, 0.0)
    return weights, prices


def document(x: np.ndarray, fires: np.ndarray, events: np.ndarray, label: int | None, n_labels: int) -> Instance:
    """A row: attributes and an intercept, once a label; ``fires``: 0/1, ``events``: constraints × labels, 0/1."""
    attributes = np.append(x, 1.0)
    f = np.stack([np.outer(attributes, np.eye(n_labels)[y]).ravel() for y in range(n_labels)])
    return Instance(f, (fires[:, None] * events).T, label)


def sequence(
    x: np.ndarray,
    edges: np.ndarray,
    count: Callable[[tuple[int, ...]], Sequence[float]],
    labels: Sequence[int] | None,
    n_labels: int,
) -> Instance:
    """``x``: positions × attributes, ``edges[t]``: attributes of the edge into t; ``count(y)``: f′ of a labelling."""
    all_labels = list(itertools.product(range(n_labels), repeat=len(x)))
    eye, f = np.eye(n_labels), []
    for y in all_labels:
        nodes = sum(np.outer(x[t], eye[y[t]]).ravel() for t in range(len(x)))
        pairs = np.zeros(edges.shape[1] * n_labels**2)
        for t in range(1, len(x)):
            pairs += np.einsum("a,i,j->aij", edges[t], eye[y[t - 1]], eye[y[t]]).ravel()
        f.append(np.concatenate([nodes, pairs]))
    label = None if labels is None else all_labels.index(tuple(labels))
    return Instance(np.stack(f), np.array([count(y) for y in all_labels], dtype=float), label)
