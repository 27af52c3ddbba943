"""What imports what, and what an import costs. Each question is put to a fresh interpreter."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

import tiltfit

ROOT = Path(__file__).resolve().parents[1]
EVERYTHING = "from tiltfit import *"
CLASSIFIER = f"{EVERYTHING}; TiltClassifier([expect('a', given=word('b')).about(0.9)])"
OTHERS = "import sklearn, numba"
HELP = [sys.executable, "-c", "from tiltfit.cli.main import app; app()", "--help"]
# Heavy, and not among the dependencies: users who have them pay only when they pass a frame.
# (scikit-learn itself imports pandas where it finds it; that is not ours to change.)
FOREIGN = {"pandas", "polars", "pyarrow", "matplotlib", "IPython", "torch"}


def run(code: str, **environment: str) -> str:
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@functools.cache
def loaded_after(code: str) -> set[str]:
    """Top-level packages in memory once ``code`` has run."""
    return set(run(f"{code}\nimport sys\nprint(*{{name.split('.')[0] for name in sys.modules}})").split())


@pytest.fixture(scope="module")
def bytecode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the bytecode of all packages, which takes long to compile."""
    return tmp_path_factory.mktemp("bytecode")


def extra_cost(statement: str, bytecode: Path, *, limit: float, runs: int = 6) -> float:
    """Seconds that ``statement`` takes once scikit-learn is there: the least of a few runs, or the first under limit.

    CPU time, because the other workers of a parallel test run compete for the clock; and with the bytecode that an
    installed package has, since a checkout may be told not to write any and would compile all sources each time.
    """
    code = f"import sklearn, time; t = time.process_time(); {statement}; print(time.process_time() - t)"
    compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(bytecode)}
    run(code, **compiled)
    least = float("inf")
    for _ in range(runs):
        least = min(least, float(run(code, **compiled)))
        if least <= limit:
            break
    return least


def modules() -> list[str]:
    found = pkgutil.walk_packages(tiltfit.__path__, "tiltfit.")
    return [module.name for module in found if not module.name.endswith("__main__")]


def test_each_package_imports_only_what_is_below_it() -> None:
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        status = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)
    assert status == EXIT_STATUS_SUCCESS, told.getvalue()


def test_import_costs_little_more_than_scikit_learn(bytecode: Path) -> None:
    assert extra_cost("import tiltfit", bytecode, limit=0.3) <= 0.3


def test_the_first_line_of_the_readme_costs_little_more_than_scikit_learn(bytecode: Path) -> None:
    # `import tiltfit` is lazy, so this is the cost that people feel.
    statement = "from tiltfit import TiltClassifier, expect, word"
    assert extra_cost(statement, bytecode, limit=0.3) <= 0.3


def test_import_alone_loads_neither_scikit_learn_nor_numba() -> None:
    assert loaded_after("import tiltfit") & {"sklearn", "scipy", "numba"} == set()


def test_numba_waits_for_the_first_fit() -> None:
    assert "numba" not in loaded_after(CLASSIFIER)


def test_public_names_import_nothing_foreign() -> None:
    assert (loaded_after(CLASSIFIER) - loaded_after(OTHERS)) & FOREIGN == set()


def test_the_command_line_imports_nothing_heavy() -> None:
    assert loaded_after("import tiltfit.cli.main") & {*FOREIGN, "sklearn", "scipy", "numba"} == set()


def test_no_module_imports_anything_foreign_or_compiles() -> None:
    # Importing the kernels loads Numba; their dispatchers must still be empty.
    code = f"""
import importlib, sys
for name in {modules()!r}:
    if name != "tiltfit.torch":  # for those who have PyTorch: it says so to all others
        importlib.import_module(name)
from numba.core.dispatcher import Dispatcher
compiled = [
    f"{{name}}.{{key}}"
    for name, module in sys.modules.items() if name.startswith("tiltfit.")
    for key, value in vars(module).items() if isinstance(value, Dispatcher) and value.signatures
]
assert not compiled, compiled
"""
    assert (loaded_after(code) - loaded_after(OTHERS)) & FOREIGN == set()


def test_every_public_name_resolves() -> None:
    for name in tiltfit.__all__:
        assert getattr(tiltfit, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tiltfit.nothing  # noqa: B018


def test_help_answers_within_a_second() -> None:
    def once() -> float:
        before = os.times()
        done = subprocess.run(HELP, capture_output=True, text=True, check=True)
        after = os.times()
        assert "demo" in done.stdout
        return sum(after[2:4]) - sum(before[2:4])  # CPU time of the child, for the same reason as above

    assert any(once() <= 1.0 for _ in range(3))
