"""The progress bar: what it shows, and that it stays away where nobody looks."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from tiltfit.cli.render import progress_bar
from tiltfit.cli.terminal import Terminal
from tiltfit.methods.history import Round

NOW = Round(7, 50, objective=1234.5, information=0, moment=0, gap=0, worst_violation=0.25, gradient=0, evaluations=0)


def drawn(*, is_terminal: bool, quiet: bool = False) -> str:
    err = io.StringIO()
    console = Console(file=err, force_terminal=is_terminal, width=100, color_system=None)
    with progress_bar(Terminal(Console(file=io.StringIO()), console, quiet=quiet)) as update:
        assert update(NOW) is None  # anything true would stop the training
    return err.getvalue()


def test_shows_round_objective_and_worst_violation() -> None:
    text = drawn(is_terminal=True)
    for part in ("round 7", "objective 1,234.5", "worst violation 0.250"):
        assert part in text


@pytest.mark.parametrize(("is_terminal", "quiet"), [(False, False), (True, True)])
def test_draws_nothing_where_nobody_looks(is_terminal: bool, quiet: bool) -> None:
    assert drawn(is_terminal=is_terminal, quiet=quiet) == ""
