"""Peak memory, where the operating system tells it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tiltfit.comparison import worker


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="Linux tells")
def test_the_peak_is_seen_after_it_has_passed() -> None:
    size = 80_000_000
    np.ones(2 * size // 8)  # before: forgotten
    peak = worker.watch()
    np.ones(size // 8)
    found = peak()
    assert found is not None
    assert 0.9 * size < found < 1.5 * size


def test_elsewhere_nobody_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_STATUS", Path("/no/such/file"))
    monkeypatch.setattr("sys.platform", "win32")
    assert worker.watch()() is None


def test_macos_tells_of_the_whole_life(monkeypatch: pytest.MonkeyPatch) -> None:
    told = iter([100, 130])
    monkeypatch.setattr(worker, "_STATUS", Path("/no/such/file"))
    monkeypatch.setattr("sys.platform", "darwin")
    monkeypatch.setattr(worker, "_life", lambda: next(told))
    assert worker.watch()() == 30
