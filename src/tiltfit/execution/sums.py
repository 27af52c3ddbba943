"""Sums over shards of the data: all that an engine sees, and all that crosses between threads, processes or machines.

    executor.sum(task, shards, broadcast) = task(shard₁, broadcast) + task(shard₂, broadcast) + …

A task is a function at the top level of a module, a shard a value that can be pickled (it may remember what it computed
last, but does not depend on it), the broadcast a few small arrays. Parts are merged in the order of the shards, so that
the result depends on the cut alone and not on the executor. Within a shard, kernels still write in place over threads
(``workers``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol

from tiltfit.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over some instances: a value such as Σ ω·log Z, a vector such as Σ ω·E[f], and Σ ω."""

    log_z: float
    expectation: FloatArray
    count: float

    def merge(self, other: Moments) -> Moments:
        """The sums over both sets of instances."""
        return Moments(self.log_z + other.log_z, self.expectation + other.expectation, self.count + other.count)


Task = Callable[[Any, Any], Moments]


class Executor(Protocol):
    """A place where tasks run."""

    def sum(self, task: Task, shards: Sequence[Any], broadcast: Any) -> Moments:
        """Σ task(shard, broadcast), merged in the order of ``shards``."""
        ...


@dataclass(frozen=True)
class Serial:
    """One shard after the other, in this thread."""

    def sum(self, task: Task, shards: Sequence[Any], broadcast: Any) -> Moments:
        return reduce(Moments.merge, (task(shard, broadcast) for shard in shards))


@dataclass(frozen=True)
class Threads:
    """Up to ``count`` shards at a time, each in a thread of its own."""

    count: int = 2

    def sum(self, task: Task, shards: Sequence[Any], broadcast: Any) -> Moments:
        with ThreadPoolExecutor(min(self.count, len(shards))) as pool:
            return reduce(Moments.merge, pool.map(task, shards, [broadcast] * len(shards)))
