"""How commands print: results on stdout, everything else on stderr, errors as one line and an exit code. Below an error
about text that is not TOML stands the line of the file.

==== =============================================================
code meaning
==== =============================================================
0    done, or the reader of stdout has closed it
1    ``check`` found a problem
2    an error: bad arguments, bad files, a combination that is refused
130  interrupted from the keyboard
143  interrupted by SIGTERM, where that is treated in the same way
==== =============================================================
"""

from __future__ import annotations

import io
import json
import logging
import math
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any, TextIO

import typer

from tiltfit.cli.options import OutputOptions
from tiltfit.errors import ConstraintError, ConstraintFileError, TiltfitError, TiltfitWarning

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_PIPE_WIDTH = 100  # of tables that go to a file or a pipe, which have no width

ERROR = 2
INTERRUPTED = 130
TERMINATED = 143
_ALL = OutputOptions()


@dataclass(frozen=True)
class Settings:
    """The options before the command's name."""

    debug: bool = False


@dataclass(frozen=True)
class Terminal:
    """The two streams of one command. With ``as_json`` stdout carries one JSON document and nothing else."""

    out: Console
    err: Console
    as_json: bool = False
    quiet: bool = False
    _said: set[str] = field(default_factory=set)

    def show(self, *things: RenderableType) -> None:
        """Print for people: silent under ``--json`` and ``--quiet``."""
        if not self.as_json and not self.quiet:
            for thing in things:
                if isinstance(thing, str):
                    self.out.print(one_line(thing), markup=False, highlight=False, soft_wrap=True)
                else:
                    self.out.print(thing)

    def document(self, document: Mapping[str, Any]) -> None:
        """Print for machines: only under ``--json``."""
        if self.as_json:
            sys.stdout.write(dumps(document, encoding=sys.stdout.encoding, indent=2) + "\n")

    def note(self, message: str) -> None:
        """Print one line on stderr, once."""
        line = one_line(message)
        if line not in self._said and not self.quiet:
            self._said.add(line)
            self._line("note:", "yellow", line)

    def status(self, message: str) -> None:
        """Print one line on stderr about work in progress."""
        if not self.quiet:
            self.err.print(one_line(message), markup=False, highlight=False, soft_wrap=True)

    def error(self, message: str) -> None:
        """Print one line on stderr, always."""
        self._line("error:", "bold red", one_line(message))

    def excerpt(self, lines: str) -> None:
        """Print lines of a file on stderr, below an error about them."""
        for line in lines.split("\n"):
            self.err.print(f"  {one_line(line)}", markup=False, highlight=False, soft_wrap=True)

    def _line(self, head: str, style: str, line: str) -> None:
        from rich.text import Text

        self.err.print(Text.assemble((head, style), " ", line), soft_wrap=True)


def one_line(message: object) -> str:
    """Return text as one line without control characters: messages quote files, and files may hold anything."""
    text = re.sub(r"[\r\n]+", " ", str(message)).rstrip()
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def dumps(document: Any, *, encoding: str | None, indent: int | None = None) -> str:
    """Return JSON: NumPy's numbers as numbers, non-finite ones as null, non-ASCII unescaped where the encoding can."""
    utf8 = (encoding or "").lower().replace("-", "") == "utf8"
    return json.dumps(plain(document), indent=indent, ensure_ascii=not utf8, allow_nan=False)


def plain(value: Any) -> Any:
    """Return ``value`` made of the types that JSON has."""
    if hasattr(value, "tolist"):  # NumPy arrays and scalars
        return plain(value.tolist())
    match value:
        case Mapping():
            return {str(k): plain(v) for k, v in value.items()}
        case list() | tuple():
            return [plain(v) for v in value]
        case float():
            return value if math.isfinite(value) else None
        case str() | int() | None:
            return value
    return str(value)


def class_name(value: Any) -> str:
    """Return a class as the text that JSON uses for keys: true and false in lower case, as in files."""
    value = plain(value)
    return str(value).lower() if value is True or value is False else str(value)


@contextmanager
def session(ctx: typer.Context, output: OutputOptions = _ALL) -> Iterator[Terminal]:
    """Yield the terminal of one command. Its errors end here: one line on stderr, an exit code, no traceback."""
    _prepare_streams()
    terminal = Terminal(_console(sys.stdout), _console(sys.stderr), output.as_json, output.quiet)
    debug = getattr(ctx.obj, "debug", False)
    options = _options_of(ctx)
    try:
        with _notes(terminal, options):
            yield terminal
        sys.stdout.flush()
    except (typer.Exit, typer.BadParameter):
        raise
    except BrokenPipeError:
        # The reader of stdout, such as `head`, has closed it. The rest must not fail again when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit from None
    except KeyboardInterrupt:
        terminal.error("interrupted.")
        raise typer.Exit(INTERRUPTED) from None
    except Exception as error:
        if debug:
            raise
        _report(terminal, error, options)
        raise typer.Exit(ERROR) from None


def _prepare_streams() -> None:
    """Let every text be shown: what a terminal's encoding lacks is escaped. A closed stderr takes nothing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - for the rest of the process
    if sys.stdout is None:
        sys.stderr.write("error: standard output is closed. Send it to a file or to /dev/null instead.\n")
        raise typer.Exit(ERROR)


def _console(stream: TextIO) -> Console:
    from rich.console import Console

    class Piped(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # for ``session``; Rich would end the program with another exit code

    console = Piped(file=stream)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _PIPE_WIDTH
    return console


def _report(terminal: Terminal, error: Exception, options: Mapping[str, str]) -> None:
    # A constraint file has its own keys, such as beta: errors about it keep their words.
    of_file = isinstance(error, ConstraintError | ConstraintFileError)
    message = _message(error) if of_file else in_options(_message(error), options)
    terminal.error(message)
    for note in getattr(error, "__notes__", ()):
        terminal.excerpt(note)
    option = options.get(getattr(error, "parameter", None) or "")
    terminal.document(
        {"error": one_line(message), "kind": type(error).__name__, **({"option": option} if option else {})}
    )


def _message(error: Exception) -> str:
    if isinstance(error, TiltfitError):
        return str(error)
    if isinstance(error, OSError):
        named = f"{error.filename}: " if error.filename else ""
        return f"{named}{error.strerror or error}."
    why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"{why} (for the details: tiltfit --debug {' '.join(sys.argv[1:2])} ...)"


@contextmanager
def _notes(terminal: Terminal, options: Mapping[str, str]) -> Iterator[None]:
    """Turn warnings and warning logs into notes; deprecations are for developers, not for users of a command."""

    def show(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
        ours = issubclass(category, TiltfitWarning)
        terminal.note(in_options(str(message), options) if ours else f"{category.__name__}: {message}")

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            terminal.note(record.getMessage())

    handler = Handler(logging.WARNING)
    logger = logging.getLogger("tiltfit")
    logger.addHandler(handler)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for category in (RuntimeWarning, UserWarning):
                warnings.simplefilter("always", category)
            warnings.showwarning = show
            yield
    finally:
        logger.removeHandler(handler)


# Ctrl-C and SIGTERM, while a chunk is learned or the model is written.

_Handler = Callable[[int, FrameType | None], Any]


class Terminated(KeyboardInterrupt):
    """SIGTERM: somebody other than the user wants the command to end."""

    code = TERMINATED


@contextmanager
def terminable() -> Iterator[None]:
    """Let SIGTERM interrupt the block as Ctrl-C does."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise Terminated

    with _handling(stop, signal.SIGTERM):
        yield


@contextmanager
def undisturbed() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM wait until the block is done: a run cannot be resumed from half a chunk."""
    caught: list[int] = []
    with _handling(lambda number, frame: caught.append(number), signal.SIGINT, signal.SIGTERM):
        yield
    if caught:
        raise Terminated if caught[0] == signal.SIGTERM else KeyboardInterrupt


@contextmanager
def _handling(handler: _Handler, *numbers: signal.Signals) -> Iterator[None]:
    """Handle signals in this way, unless they are ignored (``nohup``, background jobs)."""
    before: dict[signal.Signals, Any] = {}
    try:
        for number in numbers:
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                before[number] = signal.signal(number, handler)
    except ValueError:  # not the main thread, which alone is interrupted
        yield
        return
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


# The library names its parameters (``batch_size=0``); a command shows what is typed there. This is for display
# alone: programs get the option at fault from ``error.parameter``.

_OTHERWISE = {
    "n_jobs": "jobs", "random_state": "seed", "columns": "column", "top": "constraints_from_labels",
    "method_options": "method_option", "n_topics": "topics",
}  # fmt: skip
"""Parameters whose options have another name."""

_METHOD_OPTION = r"""\bmethod_options=\{'(\w+)': ([^}]*\}*)\}"""  # of a dict that is typed NAME=VALUE
_QUOTED = r"""(?<!\w)'[^'\n]*'|"[^"\n]*\""""


def _options_of(ctx: typer.Context) -> dict[str, str]:
    """Return the option of a command for every parameter that has one."""
    found = {p.name: p.opts[0] for p in ctx.command.params if p.name is not None and p.opts[0].startswith("--")}
    return found | {name: found[option] for name, option in _OTHERWISE.items() if option in found}


def in_options(message: str, options: Mapping[str, str]) -> str:
    """Return the message with options in place of parameters, for display; quoted names and values stay as they are.

    >>> in_options("online batch_size=0 must be more. Use init='zeros', or text=.", {"batch_size": "--batch-size",
    ...            "init": "--init", "text": "--text"})
    "--batch-size 0 must be more. Use --init 'zeros', or --text."
    """
    if not options:
        return message
    if "method_options" in options:
        message = re.sub(_METHOD_OPTION, rf"{options['method_options']} \1=\2", message)
    names = "|".join(map(re.escape, options))
    pattern = rf"({_QUOTED})|(?:\bonline )?(?<![\w.-])({names})=(?:True\b)?(?=([^\s.,;:)])?)"

    def typed(found: re.Match[str]) -> str:
        quoted, name, value = found.groups()
        return str(quoted) if quoted else options[name] + (" " if value else "")

    return re.sub(pattern, typed, message)
