"""Cost of the tagger against tokens and labels: ``python -m benchmarks.crf_scaling [--json FILE] [--page]``.

1. Supervised training on generated sequences, a fixed number of iterations, one thread: 1,000 to 1,000,000 tokens with
   13 labels, then 30,000 tokens with 5 to 60 labels, each in a separate process. Cost is linear in tokens and
   quadratic in labels if the slopes in the doubly logarithmic plot are at most one and two.
2. All of `apartments` (971,747 tokens, none of them labelled) with its prototypes as constraints, default settings:
   seconds and memory of ``TiltTagger.fit``. Left out where the data is absent.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.corpora import data_root
from benchmarks.memory import resident_growth
from benchmarks.page import FIGURES, mib, table, write_section
from benchmarks.tokens import generate
from benchmarks.training import supervised
from tiltfit import Constraint, TiltTagger, expect, word
from tiltfit.data.readers.tagged import read_sequences
from tiltfit.execution.workers import Workers
from tiltfit.methods.history import Round
from tiltfit.methods.joint import solve_jointly
from tiltfit.methods.method import Run

TOKENS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
LABELS = (5, 10, 20, 30, 40, 50, 60)
USUAL_LABELS, USUAL_TOKENS = 13, 30_000
MAX_ITER = 12


def measure(n_tokens: int, n_labels: int) -> dict[str, Any]:
    """One size, in this process: seconds of an iteration and of its forward–backward alone; the best of several."""
    _train(500, 4)  # compiles the kernels
    return {"tokens": n_tokens, "labels": n_labels, **_train(n_tokens, n_labels)}


def _train(n_tokens: int, n_labels: int) -> dict[str, float]:
    tokens = generate(n_tokens, n_labels=n_labels)
    problem = supervised(tokens, Workers())
    clock: list[float] = []

    def tick(_: Round) -> None:
        clock.append(time.perf_counter())

    weights = solve_jointly(
        problem, np.zeros(problem.model.n_weights), Run(max_iter=MAX_ITER, tol=1e-12, callback=tick)
    ).weights  # fmt: skip
    potentials = problem.model.potentials(weights)
    inference = []
    for _ in range(5):
        started = time.perf_counter()
        problem.model.structure.infer(potentials, Workers())
        inference.append(time.perf_counter() - started)
    return {"iteration": float(np.min(np.diff(clock))), "inference": min(inference)}


def slope(rows: list[dict[str, Any]], against: str, field: str, least: int) -> float:
    """d log cost / d log size by least squares, from size ``least`` on."""
    large = [row for row in rows if row[against] >= least]
    if len(large) < 2:
        return float("nan")
    return float(np.polyfit(np.log([row[against] for row in large]), np.log([row[field] for row in large]), 1)[0])


def apartments() -> dict[str, Any] | None:
    """Fit on every advertisement there is, labels unseen; None where the data is absent."""
    root = data_root()
    folder = None if root is None else root / "apartments"
    if folder is None or not (folder / "prototypes.tsv").is_file():
        return None
    path = folder / "ads_unlabeled.txt.bz2"
    sequences = read_sequences(path, unlabelled="?", blank="replace").tokens
    tagger = TiltTagger(prototypes(folder / "prototypes.tsv"), n_jobs=2)
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        peak = resident_growth(lambda: tagger.fit(sequences))
    return {
        "sequences": len(sequences),
        "tokens": sum(map(len, sequences)),
        "labels": len(tagger.classes_),
        "constraints": len(tagger.constraints),
        "seconds": time.perf_counter() - started,
        "iterations": tagger.n_iter_,
        "peak": peak,
        "warnings": [str(warning.message) for warning in said],
    }


def prototypes(path: Path) -> list[Constraint]:
    """About 90 % of the tokens of a label's prototypes have it; nine of ten transitions stay in their field."""
    words: defaultdict[str, list[str]] = defaultdict(list)
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith(("#", "BOUNDARY")):
            label, *found = line.split("\t")
            words[label] += [w for cell in found for w in cell.split()]
    listed = [expect(label, given=word(w, case=True)).about(0.9) for label, ws in words.items() for w in ws]
    return [*listed, expect.stay().about(0.9)]


def as_markdown(result: dict[str, Any]) -> str:
    """The section of docs/benchmarks.md, also what is printed."""
    rows = [
        [
            f"{row['tokens']:,}",
            str(row["labels"]),
            f"{1e3 * row['iteration']:,.2f} ms",
            f"{1e6 * row['iteration'] / row['tokens']:.2f} µs",
            f"{1e3 * row['inference']:,.2f} ms",
        ]
        for row in (*result["by_tokens"], *result["by_labels"])
    ]
    head = ["tokens", "labels", "an iteration", "a token", "forward–backward"]
    by_tokens = slope(result["by_tokens"], "tokens", "iteration", 30_000)
    by_labels = {f: slope(result["by_labels"], "labels", f, 10) for f in ("iteration", "inference")}
    text = f"""
## Cost of the tagger against tokens and labels

Written by `python -m benchmarks.crf_scaling --page`: supervised training on generated sequences of 24 tokens, seven
attributes per token, one thread; the best of {MAX_ITER - 1} iterations. Slopes, both axes logarithmic: {by_tokens:.2f}
in tokens (from 30,000 on: below, work on the weights is most of an iteration), {by_labels["iteration"]:.2f} in labels
(from 10 on), {by_labels["inference"]:.2f} for forward–backward alone. 1 is linear, 2 is quadratic.

{table(head, rows)}

![An iteration against tokens and labels](figures/crf_scaling.png)
"""
    found = result["apartments"]
    if found is not None:
        text += f"""
**A million unlabelled tokens.** `TiltTagger` with default templates and settings, two threads, on all
{found["sequences"]:,} advertisements of apartments ({found["tokens"]:,} tokens, {found["labels"]} labels, no label
known) with {found["constraints"]} constraints (prototypes at 0.9, nine of ten transitions stay):
{found["seconds"]:,.0f} s, {found["iterations"]} iterations, {mib(found["peak"])} at the peak above what the tokens
themselves take.
"""
    return text


def plot(result: dict[str, Any], path: Path) -> bool:
    """Draw both; False where Matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    for place, (part, against, power) in enumerate((("by_tokens", "tokens", 1), ("by_labels", "labels", 2)), start=1):
        axes = figure.add_subplot(1, 2, place, xscale="log", yscale="log", xlabel=against, ylabel="seconds")
        size = np.array([row[against] for row in result[part]], dtype=np.float64)
        for field, label in (("iteration", "an iteration"), ("inference", "forward–backward")):
            axes.plot(size, [row[field] for row in result[part]], "o-", label=label)
        guide = result[part][-1]["inference"] * (size / size[-1]) ** power
        axes.plot(size, guide, ":", color="gray", label="linear" if power == 1 else "quadratic")
        if against == "labels":
            axes.set_xticks(size, [f"{n:.0f}" for n in size])
            axes.minorticks_off()
        axes.grid(alpha=0.3)
        axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120, metadata={"Software": None})
    return True


def _in_own_process(*arguments: str) -> Any:
    command = [sys.executable, "-m", "benchmarks.crf_scaling", "--here", *arguments]
    print(" ".join(arguments), file=sys.stderr, flush=True)
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    parser.add_argument("--page", action="store_true", help="write the section of docs/benchmarks.md and the figure")
    parser.add_argument("--here", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.here:
        with threadpool_limits(1):
            one = apartments() if arguments.here == ["apartments"] else measure(*map(int, arguments.here))
        print(json.dumps(one))
        return 0
    result = {
        "by_tokens": [_in_own_process(str(n), str(USUAL_LABELS)) for n in TOKENS],
        "by_labels": [_in_own_process(str(USUAL_TOKENS), str(k)) for k in LABELS],
        "apartments": _in_own_process("apartments"),
    }
    print(as_markdown(result))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    if arguments.page:
        write_section("crf_scaling", as_markdown(result))
        if not plot(result, FIGURES / "crf_scaling.png"):
            print("Matplotlib is not installed: no figure.", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
