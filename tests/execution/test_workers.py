"""Work over ranges, on one thread and on several."""

from __future__ import annotations

import gc
import os
import pickle
import sys
import threading
import time
import weakref
from functools import partial

import numpy as np
import pytest

from tiltfit.execution import workers as workers_module
from tiltfit.execution.workers import ThreadPool, Workers


def squares(workers, n):
    out = np.zeros(n)

    def run(a, b):
        out[a:b] = np.arange(a, b) ** 2

    workers.run(run, n)
    return out


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("n", [0, 1, 7, 50_000])
def test_ranges_cover_everything(count, n):
    workers = Workers(count)
    for _ in range(3):
        np.testing.assert_array_equal(squares(workers, n), np.arange(n) ** 2)


def test_ranges_are_balanced_by_work():
    ranges = []
    work = np.concatenate([[0], np.cumsum([90_000] + [1000] * 90)])
    Workers(2).run(lambda a, b: ranges.append((a, b)), work)
    assert sorted(ranges) == [(0, 1), (1, 91)]


@pytest.mark.parametrize(("each", "parts"), [(60.0, 1), (80.0, 2)])
def test_little_work_stays_in_one_thread(monkeypatch, each, parts):
    monkeypatch.setattr(workers_module, "_WORTH", 700_000.0)
    ranges = []
    Workers(2).run(lambda a, b: ranges.append((a, b)), 10_000, each=each)
    assert len(ranges) == parts


@pytest.mark.parametrize("where", [0, 30_000])
def test_an_error_in_any_thread_is_raised_and_the_next_call_works(where):
    workers = Workers(2)

    def fail(a, b):
        if a <= where < b:
            raise ValueError(f"from {a}")

    with pytest.raises(ValueError, match="from"):
        workers.run(fail, 50_000)
    np.testing.assert_array_equal(squares(workers, 50_000), np.arange(50_000) ** 2)


def test_errors_in_all_threads_are_not_told_again():
    workers = Workers(3)

    def fail(a, b):
        raise ValueError(f"from {a}")

    with pytest.raises(ValueError, match="from 0"):
        workers.run(fail, 60_000)
    np.testing.assert_array_equal(squares(workers, 60_000), np.arange(60_000) ** 2)


def slowly(tell, k):
    time.sleep(0.002 * k)
    tell(k)


def interrupted_at(line, helpers, calls):
    """Ctrl-C before the given line (by count) of ``ThreadPool.run``; False if it has fewer."""
    lines = iter(range(line + 1))

    def in_run(frame, event, arg):
        if event == "line" and next(lines, None) == line:
            raise KeyboardInterrupt
        return in_run

    before = sys.gettrace()
    sys.settrace(lambda frame, event, arg: in_run if frame.f_code is ThreadPool.run.__code__ else None)
    try:
        helpers.run(calls)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_after_an_interrupt_at_any_line_all_calls_are_made():
    line = 0
    while True:
        helpers = ThreadPool(2)
        was_interrupted = interrupted_at(line, helpers, [lambda: None] * 3)
        done = []
        helpers.run([partial(slowly, done.append, k) for k in range(3)])
        assert sorted(done) == [0, 1, 2], f"after an interrupt at line {line}"
        del helpers
        gc.collect()  # an error while threads are told to end would be a warning
        if not was_interrupted:
            break
        line += 1
    assert line > 10


def test_an_error_holds_no_arrays():
    class Large:
        pass

    def fail():
        raise ValueError

    large = Large()
    gone = weakref.ref(large)
    gc.disable()
    try:
        with pytest.raises(ValueError):
            ThreadPool(1).run([lambda large=large: None, fail])
        del large
        assert gone() is None
    finally:
        gc.enable()


def test_two_callers_at_once():
    workers, found = Workers(2), {}

    def caller(name):
        found[name] = [squares(workers, 40_000).sum() for _ in range(200)]

    threads = [threading.Thread(target=caller, args=(name,)) for name in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert found == dict.fromkeys(range(3), [float((np.arange(40_000) ** 2.0).sum())] * 200)


def test_a_call_from_within_a_call():
    workers, inner = Workers(2), []
    workers.run(lambda a, b: inner.append(squares(workers, 30_000)[a]), 40_000 * np.arange(3))
    assert sorted(inner) == [0.0, 1.0]


def test_threads_end_with_the_helpers():
    before = set(threading.enumerate())
    helpers = ThreadPool(3)
    helpers.run([lambda: None] * 4)
    threads = set(threading.enumerate()) - before
    assert len(threads) == 3
    del helpers
    gc.collect()
    for thread in threads:
        thread.join(timeout=5)
    assert not any(thread.is_alive() for thread in threads)


def test_more_calls_than_helpers():
    done = []
    ThreadPool(1).run([lambda k=k: done.append(k) for k in range(5)])
    assert sorted(done) == [0, 1, 2, 3, 4]


def test_workers_are_pickled_without_their_threads():
    workers = Workers(2)
    squares(workers, 50_000)
    again = pickle.loads(pickle.dumps(workers))
    assert again == workers
    np.testing.assert_array_equal(squares(again, 50_000), np.arange(50_000) ** 2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_after_a_fork_one_thread_does_all():
    workers = Workers(2)
    squares(workers, 50_000)
    child = os.fork()
    if child == 0:
        right = np.array_equal(squares(workers, 50_000), np.arange(50_000) ** 2)
        os._exit(0 if right else 1)
    for _ in range(500):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.02)
    else:
        os.kill(child, 9)
        os.waitpid(child, 0)
        pytest.fail("the child waits for threads that it does not have")
    assert os.waitstatus_to_exitcode(status) == 0
