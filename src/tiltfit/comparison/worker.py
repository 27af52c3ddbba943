"""One cell: fit its estimator, predict the test part. Here, or in a separate process.

Seconds are those of ``fit``. A small part of the data is fitted first, so that no cell is charged with loading compiled
code; memory is what ``fit`` took on top of data and program.

A separate process is a fresh one for every cell: its memory is its own, and a crash takes nothing else with it. Not
``multiprocessing``: that would run the user's script again, which few scripts are written for. What is sent is pickled
with cloudpickle, which joblib brings, and which also takes functions of a script or of a notebook.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from sklearn.utils import _safe_indexing

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.comparison.cells import Cell
from tiltfit.errors import TiltfitError, UnsupportedError
from tiltfit.estimators.classifier import TiltClassifier
from tiltfit.estimators.estimator import TiltEstimator
from tiltfit.estimators.tagger import TiltTagger
from tiltfit.language.constraint import ConstraintSet
from tiltfit.methods.catalogue import METHODS
from tiltfit.models.registry import MODELS
from tiltfit.registry import GROUP
from tiltfit.report.constraints import ConstraintReport
from tiltfit.samples.task import Task

_FEW = 100  # instances that are fitted first
_ADVICE = "Use isolate=False, which does without a process for each method (and without its memory)."
_STATUS, _FORGET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass(frozen=True, eq=False)
class Work:
    """The task, the data (``n`` instances to learn from) and the constraints that all cells share."""

    task: Task
    constraints: ConstraintSet
    classes: list[Any]
    X: Any
    y: list[Any] | None
    n: int
    X_test: Any
    seed: int

    @property
    def estimator(self) -> type[TiltClassifier] | type[TiltTagger]:
        return TiltTagger if self.task.is_sequences else TiltClassifier


@dataclass(frozen=True, eq=False)
class Done:
    """The outcome of a cell. ``predicted``: a class number for each position of the test part, ``proba``: positions ×
    classes. ``worst``: how far the model is from the constraint that it misses most, and which that is."""

    predicted: IntArray
    proba: FloatArray
    model: str
    seconds: float
    memory: int | None
    rounds: int
    converged: bool
    worst: tuple[float, str] | None
    warnings: tuple[str, ...] = ()
    status: Literal["ok"] = "ok"


@dataclass(frozen=True)
class Failed:
    """The reason for no outcome: ``refused`` on purpose, with the reason, or ``failed``."""

    status: Literal["refused", "failed"]
    reason: str
    trace: str = ""


def run(work: Work, cell: Cell, *, alone: bool = False) -> Done | Failed:
    """Fit and predict; whatever goes wrong is a result. ``alone``: nothing else goes on in this process, so that its
    memory is the cell's."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("ignore")
        for category in (RuntimeWarning, UserWarning):
            warnings.simplefilter("always", category)
        try:
            done = _run(work, cell, alone)
        except TiltfitError as error:
            return Failed("refused", str(error))
        except Exception as error:
            reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            return Failed("failed", reason, traceback.format_exc())
    told = tuple(dict.fromkeys(str(warning.message) for warning in said))
    return replace(done, warnings=told)


def _run(work: Work, cell: Cell, alone: bool) -> Done:
    if alone:
        _refuse_unknown(cell)
    _warm_up(work, cell)
    estimator = _estimator(work, cell)
    peak, start = watch() if alone else lambda: None, time.perf_counter()
    estimator.fit(work.X, work.y)
    seconds, memory = time.perf_counter() - start, peak()
    predicted, proba = _predict(estimator, work)
    return Done(
        predicted=predicted,
        proba=proba,
        model=str(estimator.model_),
        seconds=seconds,
        memory=memory,
        rounds=int(estimator.n_iter_),
        converged=bool(estimator.converged_),
        worst=_worst(estimator.constraint_report_),
    )


def _refuse_unknown(cell: Cell) -> None:
    """Refuse, in a new process, a method or model that only the process of the caller knows."""
    for name, known in (("method", METHODS), ("model", MODELS)):
        word = cell.parameters.get(name)
        if isinstance(word, str) and word not in known:
            raise UnsupportedError(
                f"{name}={word!r} is registered in the calling process only, and a new one does not know it. Pass "
                f"isolate=False, or give the extension an entry point in the group {GROUP!r}.",
                parameter=name,
            )


def _estimator(work: Work, cell: Cell, **parameters: Any) -> Any:
    given = {**cell.parameters, **parameters}
    said = work.constraints if METHODS[cell.method].takes else ()
    return work.estimator(said, classes=work.classes, random_state=work.seed, **given)


def _warm_up(work: Work, cell: Cell) -> None:
    """Fit a few instances in two rounds, some of them labelled. Errors there are left to the fit of all."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            labelled = [i for i, label in enumerate(work.y or ()) if label is not None][: _FEW // 2]
            rows = sorted({*labelled, *range(min(_FEW, work.n))})
            y = None if work.y is None else [work.y[i] for i in rows]
            _estimator(work, cell, max_iter=2).fit(_take(work.X, rows), y)
        except Exception:
            return


def _take(X: Any, rows: list[int]) -> Any:
    if isinstance(X, Mapping):
        return {name: _safe_indexing(column, rows) for name, column in X.items()}
    return _safe_indexing(X, rows)


def _predict(estimator: TiltEstimator, work: Work) -> tuple[IntArray, FloatArray]:
    number = {label: k for k, label in enumerate(estimator.classes_.tolist())}
    if [*number] != work.classes:
        raise TiltfitError(f"It was fitted for the classes {[*number]} instead of {work.classes}.")
    labels = work.task.flat(estimator.predict(work.X_test))
    proba = estimator.infer(work.X_test).marginals.node
    if not np.all(np.isfinite(proba)):
        raise TiltfitError("It predicts probabilities that are not numbers.")
    return np.array([number[label] for label in labels], dtype=np.intp), np.asarray(proba, dtype=np.float64)


def _worst(report: ConstraintReport) -> tuple[float, str] | None:
    """By how much the model itself misses the constraint that it misses most."""
    missed = [(e.relative(e.model_violation, e.model), e.title) for e in report if e.model_violation is not None]
    return max(missed, key=lambda miss: miss[0], default=None)


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


def serve() -> None:
    """Answer one question: work and cell come on standard input, the answer goes to standard output."""
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever else is printed must not mix with the answer
    work, cell = pickle.load(sys.stdin.buffer), pickle.load(sys.stdin.buffer)
    with answer:
        pickle.dump(run(work, cell, alone=True), answer)


def watch() -> Callable[[], int | None]:
    """Begin now; calling the result gives the bytes that came on top since, at most (None: not known here).

    Peak resident size since − resident size now. Linux reports both for the process as it is now (and the peak can be
    forgotten first); ``ru_maxrss`` would not do there, since a child inherits that of its parent. macOS reports the
    peak of the whole life, so its growth is used.
    """
    gc.collect()
    if _STATUS.is_file():
        with suppress(OSError, AttributeError):  # what was freed, but is kept for later, would hide what comes
            ctypes.CDLL(None).malloc_trim(0)
        with suppress(OSError):
            _FORGET.write_text("5", encoding="ascii")  # the highest level so far
        before = _status("VmRSS")
        return lambda: _growth(_status("VmHWM"), before)
    if sys.platform == "darwin":
        before = _life()
        return lambda: _growth(_life(), before)
    return lambda: None


def _growth(peak: int | None, before: int | None) -> int | None:
    return None if peak is None or before is None else max(0, peak - before)


def _status(field: str) -> int | None:
    found = re.search(rf"{field}:\s+(\d+) kB", _STATUS.read_text(encoding="utf-8", errors="replace"))
    return None if found is None else 1024 * int(found[1])


def _life() -> int | None:
    import resource

    return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
