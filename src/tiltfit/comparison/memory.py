"""The most memory that a piece of work takes, as the operating system sees it.

Peak resident size during the work − resident size before it. Linux reports both for the process as it is now (and the
peak can be forgotten first); ``ru_maxrss`` would not do there, since a child inherits that of its parent. macOS reports
the peak of the whole life, so its growth is used. Elsewhere it is not known: None.
"""

from __future__ import annotations

import ctypes
import gc
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_STATUS, _FORGET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def watch() -> Callable[[], int | None]:
    """Begin now; calling the result gives the bytes that came on top since, at most (None: not known here)."""
    gc.collect()
    if _STATUS.is_file():
        with suppress(OSError, AttributeError):  # what was freed, but is kept for later, would hide what comes
            ctypes.CDLL(None).malloc_trim(0)
        with suppress(OSError):
            _FORGET.write_text("5", encoding="ascii")  # the highest level so far
        before = _status("VmRSS")
        return lambda: _growth(_status("VmHWM"), before)
    if sys.platform == "darwin":
        before = _life()
        return lambda: _growth(_life(), before)
    return lambda: None


def _growth(peak: int | None, before: int | None) -> int | None:
    return None if peak is None or before is None else max(0, peak - before)


def _status(field: str) -> int | None:
    found = re.search(rf"{field}:\s+(\d+) kB", _STATUS.read_text(encoding="utf-8", errors="replace"))
    return None if found is None else 1024 * int(found[1])


def _life() -> int | None:
    import resource

    return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
