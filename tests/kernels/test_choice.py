"""Which inner loops are used, and that compiled code of one kind is never taken for the other."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tiltfit
from tiltfit.errors import UnsupportedError
from tiltfit.kernels import choice
from tiltfit.kernels.choice import choose

BROKEN = """
import numba.extending
del numba.extending.intrinsic  # as a release of Numba might
"""
PRODUCT = """
import hashlib, numpy as np
from tiltfit.kernels.choice import MODE
from tiltfit.kernels.whole_few import _product

rng, out = np.random.default_rng(0), np.empty((1, 16))
_product(rng.random((1, 16)), 0, rng.random((1, 16, 16)), 0, 16, out, 0)
print(MODE, hashlib.sha256(out.tobytes()).hexdigest())
"""


def run(script: str, cache: Path, mode: str | None = None) -> subprocess.CompletedProcess[str]:
    """Python in an environment with this cache folder and value of TILTFIT_KERNELS."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    environment.pop("TILTFIT_KERNELS", None)
    if mode is not None:
        environment["TILTFIT_KERNELS"] = mode
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False)


def test_unknown_kinds_are_refused_by_name() -> None:
    with pytest.raises(UnsupportedError, match="TILTFIT_KERNELS must be .* not 'quick'"):
        choose("quick")


def test_an_import_that_fails_selects_the_twins_with_one_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert (choose("auto"), choose("fast"), choose("plain")) == ("fast", "fast", "plain")
    warned: list[str] = []
    monkeypatch.setattr(choice.logger, "warning", lambda text, *values: warned.append(text % values))
    monkeypatch.setitem(sys.modules, "tiltfit.kernels.llvm.tiles", None)
    assert choose("auto") == "plain"
    (told,) = warned
    assert "TILTFIT_KERNELS=plain" in told
    with pytest.raises(UnsupportedError, match="TILTFIT_KERNELS=plain"):
        choose("fast")


def test_a_release_of_numba_without_its_internals_is_survived(tmp_path: Path) -> None:
    done = run(BROKEN + PRODUCT, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("plain")
    assert done.stderr.count("fast kernels do not work") == 1


def test_compiled_code_of_both_kinds_is_kept_apart(tmp_path: Path) -> None:
    """The kinds round differently, so their results tell which code was run, whichever came first."""
    orders = (("fast", "plain", "fast", "plain"), ("plain", "fast"))
    found: dict[str, set[str]] = {"fast": set(), "plain": set()}
    for number, order in enumerate(orders):
        for mode in order:
            done = run(PRODUCT, tmp_path / str(number), mode)
            assert done.returncode == 0, done.stderr
            told, digest = done.stdout.split()
            assert told == mode
            found[mode].add(digest)
    assert len(found["fast"]) == len(found["plain"]) == 1
    assert found["fast"] != found["plain"]


def test_only_one_package_builds_on_internals() -> None:
    root = Path(tiltfit.__file__).parent
    internals = re.compile(r"^\s*(from|import) (llvmlite|numba\.core)|import intrinsic", re.MULTILINE)
    found = {path.parent for path in root.rglob("*.py") if internals.search(path.read_text("utf-8"))}
    assert found == {root / "kernels" / "llvm"}
