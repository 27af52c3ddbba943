"""Memory is lent once at a time, and used again."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest

from tiltfit.execution.buffers import Buffers
from tiltfit.execution.workers import Workers

N = 10_000


def test_arrays_that_live_at_the_same_time_share_nothing():
    room = Buffers()
    first, second = room.empty(N), room.empty(100, 100)
    assert not np.shares_memory(first, second)
    first[:], second[:] = 1.0, 2.0
    assert first.sum() == N
    assert second.flags.c_contiguous
    assert second.flags.writeable


@pytest.mark.parametrize(
    "view", [lambda a: a[5:], lambda a: a.reshape(100, -1)[:, ::3], lambda a: a.reshape(-1).view()]
)
def test_a_view_keeps_the_memory(view):
    room = Buffers()
    whole = room.empty(N)
    whole[:] = 7.0
    part = view(whole)
    del whole
    other = room.empty(N)
    other[:] = 0.0
    assert np.all(part == 7.0)
    place = part.ctypes.data
    del part
    assert abs(room.empty(N).ctypes.data - place) < 8 * N


@pytest.mark.parametrize("holder", [memoryview, lambda a: a.ctypes, lambda a: np.asarray(a.data)])
def test_whatever_looks_at_an_array_keeps_its_memory(holder):
    room = Buffers()
    first = room.empty(N)
    place, held = first.ctypes.data, holder(first)
    del first
    other = room.empty(N)
    assert other.ctypes.data != place
    del held
    assert room.empty(N).ctypes.data == place


def test_threads_are_lent_different_memory():
    room, places = Buffers(), []

    def lend():
        mine = [room.empty(N) for _ in range(50)]
        places.extend(a.ctypes.data for a in mine)
        start.wait()  # all are held at the same time

    start = threading.Barrier(8)
    threads = [threading.Thread(target=lend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert len(set(places)) == len(places) == 400


def test_memory_goes_to_the_next_array_of_its_size_only():
    room = Buffers()
    place = room.empty(N).ctypes.data
    assert room.empty(N, 2).ctypes.data != place
    assert room.empty(N // 2, 2).ctypes.data == place


def test_a_room_that_is_dropped_gives_its_memory_back():
    room = Buffers()
    kept = room.empty(N)
    kept[:] = 3.0
    room.empty(N, 3)
    gone = weakref.ref(room)
    del room
    gc.collect()
    assert gone() is None
    assert kept.sum() == 3.0 * N


def test_small_arrays_and_copies():
    room = Buffers()
    assert room.empty(2, 3).shape == (2, 3)
    strided = np.arange(2.0 * N)[::2]
    copy = room.copy(strided)
    assert np.array_equal(copy, strided)
    assert not np.shares_memory(copy, strided)


@pytest.mark.parametrize(
    ("count", "work"), [(1, 5), (3, 5), (3, 50_000), (4, np.array([0, 10**6, 10**6, 2 * 10**6])), (2, 0)]
)
def test_ranges_cover_everything_once(count, work):
    n = work if isinstance(work, int) else len(work) - 1
    seen = np.zeros(n, dtype=int)

    def run(a, b):
        seen[a:b] += 1

    Workers(count).run(run, work)
    assert np.all(seen == 1)


def test_an_error_in_any_thread_is_raised():
    def fail(a, b):
        if a > 0:
            raise ValueError(f"from {a}")

    with pytest.raises(ValueError, match="from"):
        Workers(3).run(fail, 100_000)
