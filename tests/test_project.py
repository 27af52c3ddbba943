"""The promises that pyproject.toml, the constraint files and the Makefile make to each other."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import tiltfit

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CORE = [Requirement(text) for text in PROJECT["project"]["dependencies"]]
EXTRAS = {
    name: [Requirement(text) for text in texts] for name, texts in PROJECT["project"]["optional-dependencies"].items()
}
TOOLS = [r for extra in EXTRAS.values() for r in extra if r.name != "tiltfit"]

each_core = pytest.mark.parametrize("requirement", CORE, ids=lambda r: r.name)
each_file = pytest.mark.parametrize("name", ["ci", "newest", "oldest"])
posix = pytest.mark.skipif(os.name != "posix", reason="the Makefile needs a POSIX shell")


def lines(name: str) -> list[str]:
    text = (ROOT / "constraints" / f"{name}.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def pins(name: str) -> dict[str, Version]:
    pairs = (line.split("==") for line in lines(name))
    return {canonicalize_name(package): Version(version) for package, version in pairs}


def bound(requirement: Requirement, operator: str) -> Version:
    (found,) = [s.version for s in requirement.specifier if s.operator == operator]
    return Version(found)


def test_core_dependencies_are_these_six() -> None:
    assert {r.name for r in CORE} == {"numpy", "scipy", "scikit-learn", "numba", "typer", "rich"}


@each_core
def test_lower_bound_is_what_test_oldest_runs(requirement: Requirement) -> None:
    assert pins("oldest")[requirement.name] == bound(requirement, ">=")


@each_core
def test_upper_bound_is_the_first_series_after_what_test_newest_runs(requirement: Requirement) -> None:
    upper = bound(requirement, "<").release
    tested = pins("newest")[requirement.name].release[: len(upper)]
    assert upper == (*tested[:-1], tested[-1] + 1)


@each_core
def test_ci_runs_a_version_within_bounds(requirement: Requirement) -> None:
    assert pins("ci")[requirement.name] in requirement.specifier


@pytest.mark.parametrize("name", ["ci", "newest"])
def test_every_tool_is_pinned_within_bounds(name: str) -> None:
    have = pins(name)
    for tool in TOOLS:
        assert have[tool.name] in tool.specifier, tool
    assert "hatchling" in have


def test_oldest_pins_the_lowest_tools_that_the_tests_need() -> None:
    have = pins("oldest")
    assert {r.name: have[r.name] for r in EXTRAS["test"]} == {r.name: bound(r, ">=") for r in EXTRAS["test"]}


@each_file
def test_constraint_files_name_versions_and_nothing_else(name: str) -> None:
    # No hosts, no paths, no options: the same file works with every package index.
    odd = [line for line in lines(name) if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line)]
    assert odd == []
    assert len(pins(name)) == len(lines(name)), "a package is pinned twice"


def test_classifiers_begin_at_the_oldest_python() -> None:
    minors = [int(c.rsplit(".", 1)[1]) for c in PROJECT["project"]["classifiers"] if re.search(r":: 3\.\d+$", c)]
    assert minors == list(range(minors[0], minors[-1] + 1))
    assert PROJECT["project"]["requires-python"] == f">=3.{minors[0]}"


def test_version_has_one_home() -> None:
    assert "version" in PROJECT["project"]["dynamic"]
    assert (ROOT / PROJECT["tool"]["hatch"]["version"]["path"]).samefile(Path(tiltfit.__file__))
    assert str(Version(tiltfit.__version__)) == tiltfit.__version__


def test_design_draws_the_layers_that_are_enforced() -> None:
    design = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    section = design.split("## Layers", 1)[1]
    drawn = [line.split()[0] for line in section.split("```")[1].splitlines() if re.match(r"[a-z]", line)]
    (contract,) = [c for c in PROJECT["tool"]["importlinter"]["contracts"] if c["type"] == "layers"]
    assert drawn == contract["layers"]


def test_changelog_has_a_place_for_the_next_change() -> None:
    assert "## [Unreleased]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@posix
@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_help_lists_the_targets() -> None:
    told = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {"demo", "test", "lint", "dist", "clean"} <= {line.split()[0] for line in told.splitlines()}


def find_python(**environment: str) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if k not in {"PYTHON", "OLDEST", "NEWEST"}}
    command = ["/bin/sh", str(ROOT / ".ci" / "find-python")]
    return subprocess.run(command, env=clean | environment, capture_output=True, text=True, check=False)


@posix
def test_an_interpreter_asked_for_by_name_is_taken() -> None:
    assert find_python(PYTHON=sys.executable).stdout.strip() == sys.executable


@posix
def test_an_interpreter_that_is_too_old_is_refused_politely(tmp_path: Path) -> None:
    told = find_python(PYTHON=sys.executable, OLDEST="8.0")
    assert told.returncode == 1
    assert "older than Python 8.0" in told.stderr


@posix
def test_a_stub_that_does_not_run_is_passed_over(tmp_path: Path) -> None:
    for name, body in {"python3.13": "exit 127", "python3": f'exec "{sys.executable}" "$@"'}.items():
        stub = tmp_path / name
        stub.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        stub.chmod(0o755)
    assert find_python(PATH=str(tmp_path)).stdout.strip() == "python3"


@posix
def test_no_interpreter_at_all_says_what_to_do(tmp_path: Path) -> None:
    told = find_python(PATH=str(tmp_path), PYENV_ROOT=str(tmp_path))
    assert told.returncode == 1
    assert "make PYTHON=" in told.stderr


@posix
def test_an_interpreter_that_pyenv_keeps_is_found(tmp_path: Path) -> None:
    python = tmp_path / "versions" / "3.12.1" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    assert find_python(PATH=str(tmp_path), PYENV_ROOT=str(tmp_path)).stdout.strip() == str(python)


@posix
def test_no_browser_is_no_failure(tmp_path: Path) -> None:
    command = ["/bin/sh", str(ROOT / ".ci" / "install-browser")]
    told = subprocess.run(command, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=True)
    assert "will be skipped" in told.stdout
    (tmp_path / "chromium").write_text("#!/bin/sh\n")
    (tmp_path / "chromium").chmod(0o755)
    told = subprocess.run(command, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=True)
    assert told.stdout == "chromium is there\n"
