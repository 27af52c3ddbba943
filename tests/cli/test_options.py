"""Groups of options as dataclasses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer
from typer.testing import CliRunner

from tiltfit.cli.options import Only, command, option


@dataclass(frozen=True)
class Group:
    first: int = option(1, "The first.")
    second: str | None = option(None, "The second.", "--second", "-s")
    third: bool = option(False, "The third.", "--third", panel="More")


def test_the_help_shows_the_options_and_unwraps_the_text() -> None:
    app = typer.Typer()

    @app.command()
    @command
    def run(*, group: Group) -> None:
        """Say what
        was given."""

    shown = CliRunner().invoke(app, ["--help"]).stdout
    assert "Say what was given." in shown
    assert all(text in shown for text in ("--first", "The first.", "--second", "--third"))


def test_values_reach_the_group_and_the_rest_are_defaults() -> None:
    app = typer.Typer()
    seen: list[object] = []

    @app.command()
    @command
    def run(*, name: str, count: int = 3, group: Annotated[Group, Only("second", "third")]) -> None:
        seen.append((name, count, group))

    result = CliRunner().invoke(app, ["x", "-s", "two", "--third", "--count", "4"])
    assert result.exit_code == 0, result.output
    assert seen == [("x", 4, Group(second="two", third=True))]
    assert CliRunner().invoke(app, ["x", "--first", "2"]).exit_code == 2


def test_a_parameter_may_be_an_option_itself() -> None:
    app = typer.Typer()
    seen: list[object] = []

    @app.command()
    @command
    def run(*, top: int = option(20, "How many.", "--top", "-t", metavar="N"), must: str = option(..., "Say.")) -> None:
        seen.append((top, must))

    runner = CliRunner()
    assert runner.invoke(app, ["--must", "a", "-t", "3"]).exit_code == 0
    assert runner.invoke(app, ["--must", "b"]).exit_code == 0
    assert seen == [(3, "a"), (20, "b")]
    assert runner.invoke(app, ["-t", "3"]).exit_code == 2  # it must be given
