"""Sums over shards of the data: all that an engine sees, and all that crosses between threads, processes or machines.

    executor.sum(task, shards, broadcast) = task(shard₁, broadcast) + task(shard₂, broadcast) + …

A task is a function at the top level of a module, a shard a value that can be pickled, the broadcast a few arrays, and
the result of a task a value that can be merged. A shard may remember what it computed last, which saves work, but it
must give the same result without. Parts are merged in the order of the shards: the result depends on the cut and not on
the executor. Within a shard, kernels still write in place over threads (``workers``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, Protocol, Self, TypeVar

from tiltfit.arrays import FloatArray


class Mergeable(Protocol):
    """The result of a task."""

    def merge(self, other: Self, /) -> Self:
        """The result over both sets of instances."""
        ...


S = TypeVar("S", bound=Mergeable)
Task = Callable[[Any, Any], S]


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over some instances: a value such as Σ ω·log Z, a vector such as Σ ω·E[f], and Σ ω."""

    log_z: float
    expectation: FloatArray
    count: float

    def merge(self, other: Moments) -> Moments:
        """The sums over both sets of instances."""
        return Moments(self.log_z + other.log_z, self.expectation + other.expectation, self.count + other.count)


class Executor(Protocol):
    """A place where tasks run."""

    def sum(self, task: Task[S], shards: Sequence[Any], broadcast: Any) -> S:
        """Σ task(shard, broadcast), merged in the order of ``shards``."""
        ...


@dataclass(frozen=True)
class Serial:
    """One shard after the other, in this thread."""

    def sum(self, task: Task[S], shards: Sequence[Any], broadcast: Any) -> S:
        return _merged(task(shard, broadcast) for shard in shards)


@dataclass(frozen=True)
class Threads:
    """Up to ``count`` shards at a time, each in a thread of its own."""

    count: int = 2

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.count)

    def sum(self, task: Task[S], shards: Sequence[Any], broadcast: Any) -> S:
        return _merged(self._pool.map(task, shards, [broadcast] * len(shards)))

    def __getstate__(self) -> dict[str, int]:
        return {"count": self.count}  # a pool of threads cannot be pickled, and is remade on first use

    def __setstate__(self, state: dict[str, int]) -> None:
        object.__setattr__(self, "count", state["count"])


def _merged(parts: Iterable[S]) -> S:
    return reduce(lambda one, other: one.merge(other), parts)
