"""The protocol of statistics of whole label sequences, and the check of those that people write.

Those that come with the library are in ``statistics``, made by functions or by name; ``register_statistic`` gives a
name to others. Sums over segments (``segmental.Segmental``) are known to kernels: exact inference, fast sampling, a
decoder that proves what it found. Any other statistic is called from Python: sampling takes N·L calls of ``change`` and
2·n of ``count`` per step, decoding looks at the chain's best label sequences, and there is no exact inference.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tiltfit.errors import ConstraintError

if TYPE_CHECKING:
    from tiltfit.inference.segmental import Segmental

Labels = npt.NDArray[np.intp]

_TOLERANCE = 1e-9


class Statistic(ABC):
    """g(y): a number that a whole label sequence y has. Labels are numbers, in the order of the classes.

    Write ``name`` and ``count``. Also write ``change`` where it is cheaper than counting twice: the sampler asks it for
    every label at every position. ``least`` says below what ``count`` never falls, if that is known: a decoder can then
    prove that its answer is the best one, and a price of −inf is allowed if it is at least 0. ``most`` says above what
    it never rises. Both methods must leave ``labels`` as they are and depend on nothing else; ``check_statistic`` tries
    whether they agree.

    >>> class Ends(Statistic):
    ...     name = "ends as it began"
    ...     least = 0.0
    ...     def count(self, labels):
    ...         return float(labels[0] == labels[-1])
    >>> Ends().change(np.array([0, 1, 1]), 2, 0)
    1.0
    """

    name: str
    least: float = -math.inf
    most: float = math.inf

    @property
    def segmental(self) -> Segmental | None:
        """The statistic itself if it is a sum over segments, which kernels know; else None."""
        return None

    @property
    def may_be_negative(self) -> bool:
        """True unless it is certain that it, and every part of it, is never below 0."""
        return self.least < 0.0

    @abstractmethod
    def count(self, labels: Labels) -> float:
        """g(labels), a finite number; ``labels``: one class number per token of one sequence, at least one."""

    def change(self, labels: Labels, t: int, label: int) -> float:
        """g of the sequence whose label at t (from 0) is ``label``, less g(labels); 0 if that is its label already."""
        changed = labels.copy()
        changed[t] = label
        return self.count(changed) - self.count(labels)


def check_statistic(statistic: Statistic, n_labels: int, *, n_sequences: int = 50, seed: int = 0) -> None:
    """Raise unless, on random sequences of one to twelve tokens, ``count`` is a finite number, not below ``least`` nor
    above ``most``, and ``change`` agrees with it and leaves the labels alone. The ``ConstraintError`` names the
    statistic and the labels.
    """
    rng = np.random.default_rng(seed)
    for _ in range(n_sequences):
        labels = rng.integers(0, n_labels, rng.integers(1, 13)).astype(np.intp)
        if rng.random() < 0.5:  # also long segments
            labels = np.sort(labels)
        t, label = int(rng.integers(len(labels))), int(rng.integers(n_labels))
        _check_one(statistic, labels, t, label)


def _check_one(statistic: Statistic, labels: Labels, t: int, label: int) -> None:
    kept, changed = labels.copy(), labels.copy()
    changed[t] = label
    before, after = _count(statistic, labels), _count(statistic, changed)
    difference = _asked(statistic, "change", labels, t, label)
    if not np.array_equal(kept, labels):
        raise ConstraintError(
            f'The statistic "{statistic.name}" changed the labels it was given, {kept.tolist()}: let it copy them.'
        )
    if not abs(difference - (after - before)) <= _TOLERANCE * max(1.0, abs(before), abs(after)):
        raise ConstraintError(
            f'In the statistic "{statistic.name}" change and count disagree: for the labels {labels.tolist()},'
            f" change(labels, {t}, {label}) is {difference}, but count goes from {before} to {after}."
            " Correct change, or leave it out: then it is derived from count."
        )


def _asked(statistic: Statistic, method: str, labels: Labels, *arguments: int) -> float:
    try:
        return float(getattr(statistic, method)(labels, *arguments))
    except Exception as error:
        raise ConstraintError(
            f'{method} of the statistic "{statistic.name}" failed for the labels {labels.tolist()}: {error!r}.'
        ) from error


def _count(statistic: Statistic, labels: Labels) -> float:
    value = _asked(statistic, "count", labels)
    if not math.isfinite(value) or not statistic.least <= value <= statistic.most:
        floor = "" if statistic.least == -math.inf else f" of at least {statistic.least} (its attribute `least`)"
        top = "" if statistic.most == math.inf else f" of at most {statistic.most} (its attribute `most`)"
        raise ConstraintError(
            f'The statistic "{statistic.name}" must be a finite number{floor}{top}; it is {value} for the labels'
            f" {labels.tolist()}."
        )
    return value
