"""Times that can be compared: contestants take turns (A B A B …) in one process, and the best turn of each counts.

A machine is never quite idle. Whatever else runs slows all contestants down alike when they take turns, and the minimum
over turns is the time with the least of it. BLAS and OpenMP are held to one thread: threads are then only those that a
contestant asks for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from threadpoolctl import threadpool_limits


@dataclass(frozen=True)
class Timing:
    """The best turn: ``seconds`` on the clock and ``cpu`` seconds of all threads, each a unit of work."""

    seconds: float
    cpu: float
    turns: int


def take_turns(
    contestants: Mapping[str, Callable[[], float]], turns: int, *, warm_up: bool = True
) -> dict[str, Timing]:
    """Time each contestant ``turns`` times, in turns. It returns how many units of work (iterations, fits) it did.

    One untimed turn comes first (``warm_up``): it compiles what needs compiling.
    """
    clock: dict[str, list[float]] = {name: [] for name in contestants}
    cpu: dict[str, list[float]] = {name: [] for name in contestants}
    with threadpool_limits(1):
        for turn in range(0 if warm_up else 1, turns + 1):
            for name, work in contestants.items():
                started, cpu_started = time.perf_counter(), time.process_time()
                units = work()
                seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_started
                if turn > 0:
                    clock[name].append(seconds / units)
                    cpu[name].append(cpu_seconds / units)
    return {name: Timing(min(clock[name]), min(cpu[name]), turns) for name in contestants}
