"""Cost of a fit against the number of documents: ``python -m benchmarks.scaling [--json FILE] [--page] [N …]``.

Generated documents (20,000 words, about 50 different ones a document, 10 classes), a dozen labelled words, nothing else
labelled, the default solver with a fixed number of iterations. Each size runs in a separate process.
Cost is linear if the slope in the doubly logarithmic plot is one.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.documents import Documents, generate
from benchmarks.memory import limit, traced_peak
from benchmarks.page import FIGURES, mib, table, write_section
from tiltfit import TiltClassifier, expect, word
from tiltfit.methods.history import Round

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
N_WORDS, N_CLASSES, LENGTH = 20_000, 10, 53
MAX_ITER = 20
FLAT = 10_000
"""Below this many documents, work on the weights (which does not grow with n) is most of an iteration."""


def measure(n: int, *, n_words: int = N_WORDS, n_jobs: int = 1) -> dict[str, Any]:
    """One size, in this process: seconds of the fit and of one iteration, bytes at the peak above those before."""
    _fit(generate(300, n_words=200, n_classes=N_CLASSES, length=LENGTH), n_jobs)  # compiles the kernels
    documents = generate(n, n_words=n_words, n_classes=N_CLASSES, length=LENGTH)
    started = time.perf_counter()
    clock, classifier = _fit(documents, n_jobs)
    seconds = time.perf_counter() - started
    return {
        "n": n,
        "nonzeros": int(documents.X.nnz),
        "csr_bytes": documents.csr_bytes,
        "fit": seconds,
        "iteration": (clock[-1] - clock[0]) / (len(clock) - 1),
        "iterations": classifier.n_iter_,
        # A second fit, since tracing takes time; the first iterations reach the peak.
        "peak": documents.csr_bytes + traced_peak(lambda: _fit(documents, n_jobs, max_iter=3)),
        "limit": limit(documents),
    }


def slope(rows: list[dict[str, Any]], field: str) -> float:
    """d log cost / d log n by least squares, over the sizes where documents are most of the work."""
    large = [row for row in rows if row["n"] >= FLAT] or rows
    if len(large) < 2:
        return float("nan")
    return float(np.polyfit(np.log([row["n"] for row in large]), np.log([row[field] for row in large]), 1)[0])


def as_markdown(rows: list[dict[str, Any]]) -> str:
    """The section of docs/benchmarks.md, also what is printed."""
    body = [
        [
            f"{row['n']:,}",
            f"{row['nonzeros']:,}",
            f"{1e3 * row['iteration']:,.1f} ms",
            f"{1e6 * row['iteration'] / row['n']:.2f} µs",
            f"{row['fit']:,.2f} s",
            mib(row["csr_bytes"]),
            mib(row["peak"]),
            mib(row["limit"]),
        ]
        for row in rows
    ]
    fit = f"fit ({MAX_ITER} iterations)"
    head = ["documents", "non-zeros", "an iteration", "a document", fit, "input", "peak", "limit"]
    return f"""
## Cost against the number of documents

Written by `python -m benchmarks.scaling --page`: generated documents of {LENGTH} words each, a vocabulary of
{N_WORDS:,}, {N_CLASSES} classes, a dozen constraints, one thread. "Peak" is the most memory that arrays and objects
took at once, including the input; the limit is 3 × the input + 24 copies of the weights + 6 arrays
of documents × classes.
Slope of time against n from {FLAT:,} documents on, both logarithmic: {slope(rows, "iteration"):.2f} for an iteration,
{slope(rows, "fit"):.2f} for the whole fit. 1 is linear.

{table(head, body)}

![Seconds against documents](figures/scaling.png)
"""


def plot(rows: list[dict[str, Any]], path: Path) -> bool:
    """Draw time against n; False where Matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot(xscale="log", yscale="log", xlabel="documents", ylabel="seconds")
    n = np.array([row["n"] for row in rows], dtype=np.float64)
    for field, label in (("fit", f"whole fit, {MAX_ITER} iterations"), ("iteration", "one iteration")):
        values = np.array([row[field] for row in rows])
        axes.plot(n, values, "o-", label=label)
        axes.plot(n, values[-1] * n / n[-1], ":", color="gray", label="linear" if field == "iteration" else None)
    axes.grid(alpha=0.3)
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120, metadata={"Software": None})
    return True


def _fit(documents: Documents, n_jobs: int, max_iter: int = MAX_ITER) -> tuple[list[float], TiltClassifier]:
    clock: list[float] = []

    def tick(_: Round) -> None:
        clock.append(time.perf_counter())

    # Frequent words: each fires on about a fifth of the documents and all together on nine tenths, whatever n.
    chosen = [(y, 2 * N_CLASSES + y) for y in range(N_CLASSES)] + [(0, 5 * N_CLASSES), (1, 5 * N_CLASSES + 1)]
    classifier = TiltClassifier(
        [expect(y, given=word(documents.words[j])).about(0.9) for y, j in chosen],
        classes=range(N_CLASSES),
        feature_names=documents.words,
        max_iter=max_iter,
        tol=1e-12,
        n_jobs=n_jobs,
        callback=tick,
    )
    return clock, classifier.fit(documents.X)


def _in_own_process(n: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.scaling", "--here", str(n)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return dict(json.loads(done.stdout))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", type=int, metavar="N", help=f"default: {' '.join(map(str, SIZES))}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    parser.add_argument("--page", action="store_true", help="write the section of docs/benchmarks.md and the figure")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.here:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit is stopped on purpose
            print(json.dumps(measure(arguments.sizes[0])))
        return 0
    rows = []
    for n in arguments.sizes or SIZES:
        rows.append(_in_own_process(n))
        print(f"{n:,} documents: {rows[-1]['fit']:.2f} s", file=sys.stderr, flush=True)
    print(as_markdown(rows))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    if arguments.page:
        write_section("scaling", as_markdown(rows))
        if not plot(rows, FIGURES / "scaling.png"):
            print("Matplotlib is not installed: no figure.", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
