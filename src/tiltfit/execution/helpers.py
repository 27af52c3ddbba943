"""Threads that wait for one call at a time.

A pool of the standard library takes a tenth of a millisecond to hand over a call and to hear that it is done; with two
locks a thread it is a fifth of that, and an iteration of a solver hands over seven.
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
    """What a thread and those who call it share: ``wanted`` is free when there is something to do, ``done`` when it is
    done. A call of None ends the thread."""

    wanted: threading.Lock = field(default_factory=threading.Lock)
    done: threading.Lock = field(default_factory=threading.Lock)
    call: Call | None = None
    error: BaseException | None = None

    def __post_init__(self) -> None:
        self.wanted.acquire()
        self.done.acquire()

    def work(self) -> None:
        while True:
            self.wanted.acquire()
            call, self.call = self.call, None
            if call is None:
                return
            try:
                call()
            except BaseException as error:  # told to whoever asked for it
                self.error = error
            del call
            self.done.release()


class Helpers:
    """``count`` threads. They end when nobody holds the helpers any more."""

    def __init__(self, count: int) -> None:
        self._posts = [_Post() for _ in range(count)]
        self._free = threading.Lock()
        self._process = os.getpid()
        for post in self._posts:
            threading.Thread(target=post.work, name="tiltfit", daemon=True).start()
            weakref.finalize(self, post.wanted.release).atexit = False

    def run(self, calls: list[Call]) -> None:
        """Run all calls, the first in this thread, and raise the first error. If the helpers are busy (another thread
        has asked for them), or were left behind by a fork, this thread runs them all."""
        mine = (
            os.getpid() == self._process and len(calls) <= len(self._posts) + 1 and self._free.acquire(blocking=False)
        )
        if not mine:
            for call in calls:
                call()
            return
        posts = self._posts[: len(calls) - 1]
        try:
            for post, call in zip(posts, calls[1:], strict=True):
                post.call = call
                post.wanted.release()
            try:
                calls[0]()
            finally:
                self._wait_for(posts)
            errors = [post.error for post in posts]
            for post in posts:
                post.error = None
            for error in errors:
                if error is not None:
                    raise error
        finally:
            self._free.release()

    def _wait_for(self, posts: list[_Post]) -> None:
        heard = 0
        try:
            for post in posts:
                post.done.acquire()
                heard += 1
        finally:
            if heard < len(posts):  # interrupted: what is done is not known, so they are not asked again
                self._process = -1
