"""A fresh process for every cell: its memory is its own, and a crash takes nothing else with it.

Not ``multiprocessing``: that would run the user's script again, which few scripts are written for. What is sent is
pickled with cloudpickle, which joblib brings, and which also takes functions of a script or of a notebook.
"""

from __future__ import annotations

import importlib
import pickle
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from typing import IO, Any

from tiltfit.comparison.cells import Cell
from tiltfit.comparison.worker import Done, Failed, Work
from tiltfit.errors import UnsupportedError

_ADVICE = "Use isolate=False, which does without a process for each method (and without its memory)."


def possible() -> bool:
    """Return whether there is an interpreter to start (embedded ones do not say where they are)."""
    return bool(sys.executable)


def packed(thing: Work | Cell, what: str) -> bytes:
    """``thing`` as bytes for another process; raises by name."""
    try:
        return bytes(_pickler().dumps(thing))
    except Exception as error:  # picklers raise what they like
        raise UnsupportedError(f"{what} cannot be sent to another process: {error}. {_ADVICE}") from error


def _pickler() -> Any:
    """joblib depends on cloudpickle, of which older versions bring a copy."""
    for name in ("cloudpickle", "joblib.externals.cloudpickle"):
        with suppress(ImportError):
            return importlib.import_module(name)
    return pickle


def run_apart(work: bytes, cell: Cell) -> Done | Failed:
    """``worker.run`` in a separate process; ``work`` is packed once for all cells."""
    question = packed(cell, f"What {cell.name!r} is given")
    path = [str(folder) for folder in sys.path]
    code = f"import sys; sys.path[:] = {path!r}; from tiltfit.comparison.worker import serve; serve()"
    with tempfile.TemporaryFile() as told:  # not a pipe, which nobody would empty while the question is written
        process = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=told
        )
        try:
            answer = _ask(process, work, question)
        except BaseException:  # Ctrl-C among them: nobody waits for the answer any more
            process.kill()
            process.wait()
            raise
        if process.returncode == 0 and answer:
            found: Done | Failed = pickle.loads(answer)
            return found
        return Failed("failed", _epitaph(process.returncode, told))


def _ask(process: subprocess.Popen[bytes], work: bytes, question: bytes) -> bytes:
    assert process.stdin is not None
    try:
        process.stdin.write(work)
        process.stdin.write(question)
    except OSError:  # it has already ended, and said why elsewhere
        pass
    answer: Any = process.communicate()[0]
    return bytes(answer)


def _epitaph(code: int, told: IO[bytes]) -> str:
    if code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        out_of_memory = ", as happens when memory runs out" if -code == getattr(signal, "SIGKILL", None) else ""
        return f"Its process was ended by {name}{out_of_memory}."
    told.seek(0)
    lines = told.read().decode("utf-8", "replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")
    return f"Its process ended with code {code}: {last}. {_ADVICE}"
