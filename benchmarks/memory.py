"""Peak memory of one ``fit``, in a separate process; ``python -m benchmarks.maxent`` calls it.

KIND is ``constraints`` (nothing labelled) or ``labels``. Two measures, above what the process held before ``fit``:
``traced`` counts every array and object (tracemalloc); ``resident`` is what the operating system saw, in a second
process, since tracing itself takes memory.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from benchmarks.documents import Documents, generate
from tiltfit import TiltClassifier

KINDS = ("constraints", "labels")
PER_LABEL = 15


def limit(documents: Documents) -> int:
    """3 × the CSR input + 24 copies of the weights + 6 arrays of documents × classes, in bytes."""
    n, d = documents.X.shape
    labels = documents.n_classes
    return 3 * documents.csr_bytes + 8 * labels * (24 * (d + 1) + 6 * n)


def measure(documents: Documents, kind: str, max_iter: int = 12) -> dict[str, Any]:
    """Peak bytes of a fit, the CSR input included, by both measures. The peak is reached in the first iterations."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "documents.npz"
        _write(path, documents)
        found = {how: _ask(path, kind, how, max_iter) for how in ("traced", "resident")}
    own = documents.csr_bytes
    return {
        "kind": kind,
        "csr_bytes": own,
        "limit": limit(documents),
        "traced": own + found["traced"],
        "resident": own + found["resident"],
    }


def traced_peak(work: Callable[[], object]) -> int:
    """The most bytes that arrays and objects made during ``work`` took at once."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def resident_growth(work: Callable[[], object]) -> int:
    """The peak of memory during ``work`` in bytes, above what this process held before (Linux; elsewhere 0)."""
    forget = Path("/proc/self/clear_refs")
    if forget.exists():
        forget.write_text("5")  # the highest level so far
    before = resident()
    work()
    return max(0, _status("VmHWM") - before)


def resident() -> int:
    """The memory that this process holds, in bytes (Linux; elsewhere 0)."""
    return _status("VmRSS")


def _status(field: str) -> int:
    status = Path("/proc/self/status")
    if not status.is_file():
        return 0
    found = re.search(rf"{field}:\s+(\d+) kB", status.read_text())
    return 1024 * int(found.group(1)) if found else 0


def _write(path: Path, documents: Documents) -> None:
    X = documents.X
    np.savez(
        path,
        data=X.data,
        indices=X.indices,
        indptr=X.indptr,
        shape=X.shape,
        labels=documents.labels,
        words=documents.words,
    )


def _read(path: Path) -> Documents:
    with np.load(path) as file:
        X = sparse.csr_array((file["data"], file["indices"], file["indptr"]), shape=tuple(file["shape"]))
        return Documents(path.stem, X, file["labels"], file["words"].tolist())


def _ask(path: Path, kind: str, how: str, max_iter: int) -> int:
    command = [sys.executable, "-m", "benchmarks.memory", str(path), kind, how, str(max_iter)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(json.loads(done.stdout))


def _peak_of_fit(documents: Documents, kind: str, how: str, max_iter: int) -> int:
    small = generate(200, n_words=300, n_classes=3, length=30)
    _fit(small, kind, 2)()  # compiles the kernels
    fit = _fit(documents, kind, max_iter)
    return traced_peak(fit) if how == "traced" else resident_growth(fit)


def _fit(documents: Documents, kind: str, max_iter: int) -> Callable[[], object]:
    constraints = documents.constraints(PER_LABEL) if kind == "constraints" else ()
    classifier = TiltClassifier(
        constraints,
        classes=range(documents.n_classes),
        feature_names=documents.words,
        max_iter=max_iter,
        tol=1e-12,
    )
    return lambda: classifier.fit(documents.X, None if kind == "constraints" else documents.labels)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("documents", type=Path)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("how", choices=("traced", "resident"))
    parser.add_argument("max_iter", type=int)
    arguments = parser.parse_args()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit is stopped on purpose
        print(_peak_of_fit(_read(arguments.documents), arguments.kind, arguments.how, arguments.max_iter))
    return 0


if __name__ == "__main__":
    sys.exit(main())
