"""``tiltfit demo`` hands over to the demo and keeps its exit code."""

from __future__ import annotations

import json
import sys
from types import ModuleType

import pytest
from rich.console import Console
from typer.testing import CliRunner

from tiltfit.cli.main import app


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """A demo that only tells how it was called."""

    def run(*, as_json: bool = False, console: Console | None = None) -> int:
        if as_json:
            sys.stdout.write(json.dumps({"console": console is not None}))
            return 0
        assert console is not None
        console.print("hello")
        return 3

    module = ModuleType("tiltfit.demo.run")
    module.run = run  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tiltfit.demo.run", module)


def test_for_people() -> None:
    result = CliRunner().invoke(app, ["demo"])
    assert (result.exit_code, result.stdout) == (3, "hello\n")


def test_for_machines() -> None:
    result = CliRunner().invoke(app, ["demo", "--json"])
    assert (result.exit_code, json.loads(result.stdout)) == (0, {"console": False})
