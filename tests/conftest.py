"""Fixtures and settings for the whole suite."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from unittest import mock

import pytest
import typer.testing
from benchmarks.corpora import data_root
from hypothesis import settings

import tiltfit
from tiltfit.execution import workers

# The first call of a kernel compiles it, so the time of an example says nothing: no deadlines.
# In CI the examples are the same on every run; at home each run tries new ones.
settings.register_profile("home", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, database=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "home"))


def pytest_configure(config: pytest.Config) -> None:
    """Forget compiled kernels that are older than the source of any: Numba looks at a kernel's own file alone, not at
    those of the kernels that it calls."""
    kernels = Path(tiltfit.__file__).parent / "kernels"
    compiled = list(kernels.rglob("__pycache__/*.nb[ci]"))
    is_worker = hasattr(config, "workerinput")
    newest = max(path.stat().st_mtime for path in kernels.rglob("*.py"))
    if not is_worker and any(path.stat().st_mtime < newest for path in compiled):
        for path in compiled:
            path.unlink(missing_ok=True)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real collections; a test that asks for it is skipped where there is none."""
    root = data_root()
    if root is None:
        pytest.skip("the real collections are not on this machine; TILTFIT_DATA names their folder")
    return root


@pytest.fixture(scope="session", autouse=True)
def threads_share_small_work() -> Iterator[None]:
    """What tests give to several threads is seldom worth a thread by itself, and would all be done by one."""
    with mock.patch.object(workers, "_WORTH", 0.0):
        yield


@pytest.fixture(scope="session", autouse=True)
def commands_are_built_once() -> Iterator[None]:
    """Typer builds all commands anew for every call; that takes longer than what most tests ask of them."""
    with mock.patch.object(typer.testing, "_get_command", cache(typer.testing._get_command)):
        yield
