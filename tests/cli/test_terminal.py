"""How commands speak: one line an error, exit codes, notes, JSON."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import warnings
from collections.abc import Callable

import numpy as np
import pytest
import typer
from typer.testing import CliRunner, Result

from tiltfit.cli.options import OutputOptions
from tiltfit.cli.terminal import Settings, Terminal, dumps, one_line, session
from tiltfit.errors import DataError, InactiveConstraintWarning


def run(work: Callable[[Terminal], None], *, debug: bool = False, as_json: bool = False, quiet: bool = False) -> Result:
    app = typer.Typer(pretty_exceptions_enable=False)

    @app.command()
    def command(ctx: typer.Context) -> None:
        ctx.obj = Settings(debug=debug)
        with session(ctx, OutputOptions(as_json, quiet)) as terminal:
            work(terminal)

    return CliRunner().invoke(app, [])


def fail_with(error: BaseException) -> Callable[[Terminal], None]:
    def work(_: Terminal) -> None:
        raise error

    return work


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (DataError("X has no rows.\nPass some."), "error: X has no rows. Pass some.\n"),
        (FileNotFoundError(2, "No such file or directory", "m.tilt"), "error: m.tilt: No such file or directory.\n"),
        (DataError("bad \x1b[31m bytes"), "error: bad \\x1b[31m bytes\n"),
        (DataError("x" * 300), f"error: {'x' * 300}\n"),
        (DataError("[red]not markup[/red]"), "error: [red]not markup[/red]\n"),
    ],
)
def test_errors_are_one_line_and_exit_code_2(error: Exception, line: str) -> None:
    result = run(fail_with(error))
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", line)


def test_an_error_that_nobody_expected_says_how_to_see_more() -> None:
    result = run(fail_with(ZeroDivisionError("division by zero")))
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ZeroDivisionError: division by zero (for the details: tiltfit --debug")
    assert "Traceback" not in result.output


def test_debug_lets_the_error_through() -> None:
    result = run(fail_with(DataError("no")), debug=True)
    assert isinstance(result.exception, DataError)


def test_keyboard_interrupt_exits_130() -> None:
    result = run(fail_with(KeyboardInterrupt()))
    assert (result.exit_code, result.stderr) == (130, "error: interrupted.\n")


def test_errors_under_json_are_one_document() -> None:
    result = run(fail_with(DataError("no rows")), as_json=True)
    assert result.exit_code == 2
    assert json.loads(result.stdout) == {"error": "no rows", "kind": "DataError"}
    assert result.stderr == "error: no rows\n"


def complain(_: Terminal) -> None:
    for _ignored in range(2):
        warnings.warn("it never fires", InactiveConstraintWarning, stacklevel=1)
    warnings.warn("overflow", RuntimeWarning, stacklevel=1)
    warnings.warn("old", DeprecationWarning, stacklevel=1)
    logging.getLogger("tiltfit.data").warning("passed over %d", 3)


def test_warnings_and_logs_become_notes_once() -> None:
    result = run(complain)
    assert result.stderr == "note: it never fires\nnote: RuntimeWarning: overflow\nnote: passed over 3\n"
    assert result.stdout == ""
    assert run(complain, quiet=True).stderr == ""


def test_logging_is_left_as_it_was() -> None:
    before = list(logging.getLogger("tiltfit").handlers)
    run(complain)
    assert logging.getLogger("tiltfit").handlers == before


def test_json_and_quiet_keep_stdout_clean() -> None:
    def work(terminal: Terminal) -> None:
        terminal.show("for people")
        terminal.document({"n": 1})

    assert run(work).stdout == "for people\n"
    assert json.loads(run(work, as_json=True).stdout) == {"n": 1}
    assert run(work, quiet=True).stdout == ""


def test_dumps_makes_plain_json_of_numpy() -> None:
    document = {1: np.float64(0.5), "nan": np.nan, "inf": [np.inf], "array": np.array([1, 2]), "s": np.str_("é")}
    assert dumps(document, encoding="utf-8") == '{"1": 0.5, "nan": null, "inf": [null], "array": [1, 2], "s": "é"}'
    assert "\\u00e9" in dumps(document, encoding="ascii")


def test_one_line() -> None:
    assert one_line("a\r\nb\n") == "a b"
    assert one_line("é\x07") == "é\\x07"


LONG = """
import sys
import typer
from tiltfit.cli.options import OutputOptions
from tiltfit.cli.terminal import session
def command(ctx: typer.Context) -> None:
    with session(ctx, OutputOptions({as_json})) as terminal:
        for k in range(20000):
            {write}
        terminal.document({{"rows": "x" * 200000}})
typer.run(command)
"""


@pytest.mark.parametrize(
    ("write", "as_json"),
    [('sys.stdout.write("a line\\n")', False), ('terminal.show("a line")', False), ("pass", True)],
    ids=["written", "shown", "json"],
)
def test_a_reader_that_has_seen_enough_ends_the_command_quietly(write: str, as_json: bool) -> None:
    program = [sys.executable, "-c", LONG.format(write=write, as_json=as_json)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()  # as `head -1` does
        assert process.stderr.read() == ""
        assert process.wait() == 0
