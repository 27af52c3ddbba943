"""Threads that wait for one call at a time.

A pool of the standard library takes a tenth of a millisecond to hand over a call and to hear that it is done; with two
locks per thread it is a fifth of that, and an iteration of a solver hands over seven.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field

Call = Callable[[], object]


@dataclass(eq=False)
class _Post:
    """The state that a thread and its callers share: ``wanted`` is free when there is something to do, ``done`` when it
    is done."""

    wanted: threading.Lock = field(default_factory=threading.Lock)
    done: threading.Lock = field(default_factory=threading.Lock)
    call: Call | None = None
    error: BaseException | None = None
    ended: bool = False

    def __post_init__(self) -> None:
        self.wanted.acquire()
        self.done.acquire()

    def work(self) -> None:
        while not self.ended:
            self.wanted.acquire()
            call, self.call = self.call, None
            if call is None:
                return
            try:
                call()
            except BaseException as error:  # raised again by the caller
                self.error = error
            del call
            self.done.release()

    def end(self) -> None:
        """The thread ends, with its call if it has one: an interrupt may have left it at work."""
        self.ended = True
        if self.wanted.locked():
            self.wanted.release()


class ThreadPool:
    """``count`` threads. They end when nobody holds the helpers any more."""

    def __init__(self, count: int) -> None:
        self._posts = [_Post() for _ in range(count)]
        self._free = threading.Lock()
        self._process = os.getpid()
        for post in self._posts:
            threading.Thread(target=post.work, name="tiltfit", daemon=True).start()
            weakref.finalize(self, post.end).atexit = False

    def run(self, calls: list[Call]) -> None:
        """Run all calls, the first in this thread, and raise the first error. If the helpers are busy (another thread
        has asked for them), or were left behind by a fork or an interrupt, this thread runs them all."""
        here = os.getpid() == self._process and len(calls) <= len(self._posts) + 1
        if not here or not self._free.acquire(blocking=False):
            for call in calls:
                call()
            return
        posts = self._posts[: len(calls) - 1]
        for post, call in zip(posts, calls[1:], strict=True):
            post.call = call
            post.wanted.release()
        try:
            calls[0]()
        finally:
            for post in posts:
                post.done.acquire()
            errors = [post.error for post in posts if post.error is not None]
            for post in posts:
                post.error = None
            # Last, and nowhere else: after an interrupt before this line who is at work is not known, and nobody is
            # asked again.
            self._free.release()
        if errors:
            try:
                raise errors[0]
            finally:
                del errors  # or the error would hold itself, and the arrays of all frames that it passed
