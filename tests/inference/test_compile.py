"""Kernels compile and work where no cache folder can be written: that only costs time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
