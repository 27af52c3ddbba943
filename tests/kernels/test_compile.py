"""Kernels compile and work where compiled code cannot be kept or read: that only costs time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tiltfit.kernels.compile import kernel

SCRIPT = """
import sys
import numba.core.caching as caching

# As on a machine where neither the package's folder nor the user's can be written.
class Nowhere(caching._CacheLocator):
    @classmethod
    def from_function(cls, py_func, py_file):
        return None

caching.CacheImpl._locator_classes = [Nowhere]
import numpy as np
from tiltfit.inference.independent import infer
from tiltfit.inference.potentials import Potentials
print(infer(Potentials(np.log(np.array([[1.0, 3.0]])))).node.tolist())
"""


def test_an_unwritable_cache_only_costs_time(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[[0.25, 0.75]]"


def doubling(folder: Path) -> Any:
    """A kernel whose source, and so its cache, is in this folder."""
    source = folder / "doubling.py"
    if not source.exists():
        source.write_text("def double(x):\n    return 2 * x\n", "utf-8")
    found: dict[str, Any] = {"__name__": "doubling"}
    exec(compile(source.read_text("utf-8"), str(source), "exec"), found)
    return kernel(found["double"])


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_a_damaged_cache_is_compiled_anew(tmp_path: Path, ending: str) -> None:
    assert doubling(tmp_path)(2.0) == 4.0
    (damaged,) = tmp_path.rglob(f"*.{ending}")
    damaged.write_bytes(damaged.read_bytes()[:40])
    again = doubling(tmp_path)
    assert again(3.0) == 6.0
    assert not again.stats.cache_hits
    repaired = doubling(tmp_path)
    assert repaired(4.0) == 8.0
    assert repaired.stats.cache_hits


def test_a_full_disk_only_costs_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = doubling(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(made._cache._cache, "save_overload", full)
    assert made(2.0) == 4.0
    np.testing.assert_array_equal(made(np.arange(3)), [0, 2, 4])
