"""The example of an extension is installed beside tiltfit, as a user would, and used in fresh processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXTENSION = Path(__file__).parents[2] / "examples" / "extension"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a process that sees the package, which is installed into a folder outside of this one's."""
    pytest.importorskip("hatchling", reason="builds the example")
    target = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    run([*pip, "--disable-pip-version-check", "--target", str(target), str(EXTENSION)], dict(os.environ))
    path = os.pathsep.join(filter(None, [str(target), os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "PYTHONPATH": path}


def run(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(
        command, env=environment, cwd=EXTENSION.parent, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_everything_works_in_fresh_processes(installed: dict[str, str]) -> None:
    printed = run([sys.executable, "-W", "error", str(EXTENSION / "tests" / "try_extras.py")], installed)
    assert printed.endswith("everything works\n")
    assert 'about 90% of documents with the word "puck" and of at most 5 words are hockey' in printed
    assert "a sequence has at most 0.2 changes straight back on average" in printed
    assert "at most 10% of transitions are steps back" in printed


def test_the_conformance_checks_pass(installed: dict[str, str]) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(EXTENSION / "tests")]
    assert "6 passed" in run([*command, "--rootdir", str(EXTENSION), "-c", os.devnull], installed)


def test_the_command_line_knows_it(installed: dict[str, str], tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('[[constraint]]\nlabel = "a"\ngiven = { longer_than = 1 }\nabout = 0.9\n')
    printed = run([sys.executable, "-m", "tiltfit", "check", str(rules)], installed)
    assert "documents of more than 1 words are a" in printed


def test_without_the_package_files_say_what_they_need(installed: dict[str, str], tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1]); import try_extras; "
        "try_extras.write(Path(sys.argv[2]))"
    )
    run([sys.executable, "-c", script, str(EXTENSION / "tests"), str(tmp_path)], installed)
    (tmp_path / "rules.toml").write_text('[[constraint]]\nlabel = "a"\ngiven = { longer_than = 1 }\nabout = 0.9\n')
    needs = {
        "classifier.tilt": "needs the penalty 'huber', which no installed package registers",
        "scaled.tilt": "needs the penalty 'huber', which no installed package registers",
        "chain.tilt": "needs the event 'steps_back', which no installed package registers",
    }
    for name, said in needs.items():
        command = [sys.executable, "-c", "import sys, tiltfit; tiltfit.load(sys.argv[1])", str(tmp_path / name)]
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
        assert done.returncode == 1
        assert said in done.stderr
    check = [sys.executable, "-m", "tiltfit", "check", str(tmp_path / "rules.toml")]
    done = subprocess.run(check, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 1
    assert "install the package that registers it" in " ".join((done.stdout + done.stderr).split())
