"""The examples of a page run when the page is read; one that does not give what it shows is a warning of the build.

In fenced blocks: lines after ``>>>`` are Python, all of a page in one session; lines after ``$`` in a block ``console``
are shell commands, run after the Python of the page. All happens in a folder that is made for the page. Of a command
without output below it only the success counts. Blocks without ``>>>`` or ``$`` (of files and names of the reader's)
are not run. ``-D run_examples=0`` leaves all of it out, for a look at a page that is being written.
"""

from __future__ import annotations

import contextlib
import doctest
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS | doctest.REPORT_NDIFF
_FENCE = re.compile(r"^(`{3,}|:{3,})(.*)$")


@dataclass(frozen=True)
class Failure:
    """An example of a page that went otherwise than the page says."""

    line: int
    message: str


def failures(text: str, name: str) -> list[Failure]:
    """Run all examples of a page."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return [*_python(text, name), *_shell(text)]


def blocks(text: str) -> Iterator[tuple[int, str, list[str]]]:
    """Fenced blocks: the number of the first line (from 1), what is said behind the fence, and the lines."""
    fence, kind, start, inside = "", "", 0, list[str]()
    for number, line in enumerate(text.splitlines(), start=1):
        found = _FENCE.match(line)
        if fence and found and found[1] == fence and not found[2].strip():
            yield start, kind, inside
            fence, inside = "", []
        elif fence:
            inside.append(line)
        elif found and found[1][0] == "`":
            fence, kind, start = found[1], found[2].strip(), number + 1


def _python(text: str, name: str) -> Iterator[Failure]:
    """The session of a page; whatever stands outside of the blocks is blank, so that lines keep their numbers."""
    lines = [""] * len(text.splitlines())
    for start, kind, inside in blocks(text):
        if kind != "console" and any(line.startswith(">>> ") for line in inside):
            lines[start - 1 : start - 1 + len(inside)] = inside
    test = doctest.DocTestParser().get_doctest("\n".join(lines) + "\n", {"__name__": "__main__"}, name, name, 0)
    told: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a reader would see it, so the page has to show it
        doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(test, out=told.append)
    for report in "".join(told).split("*" * 70 + "\n")[1:]:
        at = re.search(r", line (\d+), in", report)
        yield Failure(int(at[1]) if at else 1, report.split("\n", 1)[1].strip())


def _shell(text: str) -> Iterator[Failure]:
    environment = {k: v for k, v in os.environ.items() if k != "TILTFIT_DATA"}
    environment |= {"COLUMNS": "100", "TERM": "dumb", "PYTHONIOENCODING": "utf-8"}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment.get('PATH', '')}"
    checker = doctest.OutputChecker()
    for start, kind, inside in blocks(text):
        for line, command, shown in commands(inside) if kind == "console" else ():
            done = subprocess.run(
                command, shell=True, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
            )
            got = done.stdout + done.stderr
            if done.returncode != 0:
                yield Failure(start + line, f"{command}\nexits with {done.returncode}:\n{got}")
            elif shown and not checker.check_output(shown, got, FLAGS):
                yield Failure(start + line, f"{command}\nshows:\n{got}\ninstead of:\n{shown}")


def commands(lines: list[str]) -> Iterator[tuple[int, str, str]]:
    """Commands of a console block: the line, the command, and what is shown below it."""
    number = 0
    while number < len(lines):
        first, command = number, lines[number].removeprefix("$ ")
        while command.endswith("\\") and number + 1 < len(lines):
            number += 1
            command = command[:-1] + lines[number]
        end = next((k for k in range(number + 1, len(lines)) if lines[k].startswith("$ ")), len(lines))
        yield first, command, "".join(f"{line}\n" for line in lines[number + 1 : end])
        number = end


def setup(app: Sphinx) -> dict[str, Any]:
    """Sphinx's door."""
    from sphinx.util import logging

    logger = logging.getLogger(__name__)

    def run(app: Sphinx, page: str, source: list[str]) -> None:
        for failure in failures(source[0], page) if app.config.run_examples else ():
            logger.warning("an example fails: %s", failure.message, location=(page, failure.line))

    app.add_config_value("run_examples", default=True, rebuild="env", types=[bool])
    app.connect("source-read", run)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
