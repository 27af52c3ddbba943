"""Ctrl-C and SIGTERM while a command works on something that it can take up again later."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_Handler = Callable[[int, FrameType | None], Any]


class Terminated(KeyboardInterrupt):
    """SIGTERM: somebody other than the user wants the command to end."""


@contextmanager
def terminable() -> Iterator[None]:
    """SIGTERM interrupts the block as Ctrl-C does."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise Terminated

    with _handling(stop, signal.SIGTERM):
        yield


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ctrl-C and SIGTERM wait until the block is done: half a chunk is no place from which a run could be taken up."""
    caught: list[int] = []
    with _handling(lambda number, frame: caught.append(number), signal.SIGINT, signal.SIGTERM):
        yield
    if caught:
        raise Terminated if caught[0] == signal.SIGTERM else KeyboardInterrupt


@contextmanager
def _handling(handler: _Handler, *numbers: signal.Signals) -> Iterator[None]:
    """Handle signals in this way, unless they are ignored (``nohup``, jobs in the background)."""
    before: dict[signal.Signals, Any] = {}
    try:
        for number in numbers:
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                before[number] = signal.signal(number, handler)
    except ValueError:  # not the main thread, which alone is interrupted
        yield
        return
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
