"""Online learning: ``python -m benchmarks.online [--json FILE] [--page] [--turns N] [--documents N]``.

1. 20 newsgroups, training part, labelled words, nothing labelled: macro-F1 on the test part, Eq. 6 and seconds after
   each pass, beside the batch solver on the same matrix; how many passes until 97 % of the batch's macro-F1.
2. Seconds a document against the number of features, 1 k to 1 M, documents of one length.
3. Resident memory while a stream of generated texts grows tenfold, to a million documents, in a separate process.

Exit status 1 if a figure misses what it must reach.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import f1_score
from threadpoolctl import threadpool_limits

from benchmarks.corpora import available
from benchmarks.labelled_words import load_task
from benchmarks.memory import resident
from benchmarks.page import mib, table, write_section
from tiltfit import ConstraintSet, TiltClassifier, expect, feature, word
from tiltfit.estimators.encoders import TextEncoder
from tiltfit.estimators.options import Options, online_options
from tiltfit.estimators.stream import Stream
from tiltfit.features.attributes import AttributeFeatures
from tiltfit.inference.independent import Independent
from tiltfit.methods.joint import solve_jointly
from tiltfit.methods.method import Run
from tiltfit.methods.online import Learner
from tiltfit.methods.problem import Problem
from tiltfit.models.log_linear import LogLinear
from tiltfit.projections.grounding import Grounded, Grounding, ground
from tiltfit.samples.labels import row_targets
from tiltfit.samples.sample import Sample

ENOUGH, MUST_PASSES, GOAL_TIME = 0.97, 5, 1 / 3
MUST_GROWTH = 0.10
WIDTHS = (1_000, 10_000, 100_000, 1_000_000)
FLAT = 2.0
"""The largest ratio of times per document, widest to narrowest table: rows of a wide one wait for memory."""
PASSES = 5
_CHUNK = 4096


@dataclass(frozen=True)
class Prepared:
    """Documents as both solvers take them: texts are encoded and constraints looked up before the clock starts."""

    name: str
    problem: Problem
    grounded: Grounded
    test: sparse.csr_array
    test_labels: np.ndarray[Any, Any]
    classes: np.ndarray[Any, Any]
    options: Options

    @staticmethod
    def of(name: str, *, development: bool = False) -> Prepared:
        """A collection with labelled words, defaults of ``TiltClassifier``; ``development``: without its test part."""
        task = load_task(name, development=development)
        options, constraints = Options.of(TiltClassifier()), ConstraintSet.of(task.constraints)
        encoder, matrix = TextEncoder.fit(task.train, "auto")
        named = [name for constraint in constraints for name in constraint.names]
        classes, labels, _ = row_targets(None, len(task.train), constraints.classes, named)
        features, weight = AttributeFeatures(matrix, len(classes)), np.ones(len(task.train))
        model = LogLinear(features, Independent(len(task.train)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # words that only the other part has
            grounded = ground(
                constraints.with_classes(classes.tolist()),
                Sample(encoder.inputs(task.train), classes.tolist(), model.structure, labels, weight),
                options.strength,
                Grounding(online=True),
            )
        problem = Problem(model, labels, weight, np.ones(model.n_weights), 1.0, grounded.tilt, grounded.touched)
        return Prepared(
            name, problem, grounded, sparse.csr_array(encoder.matrix(task.test)), task.test_labels, classes, options
        )  # fmt: skip

    def macro_f1(self, weights: np.ndarray[Any, Any]) -> float:
        """On the test part."""
        table = weights.reshape(-1, len(self.classes))
        best = (self.test @ table[:-1] + table[-1]).argmax(axis=1)
        return float(f1_score(self.test_labels, self.classes[best], average="macro"))

    def learner(self, **online: Any) -> tuple[Learner, np.ndarray[Any, Any]]:
        """That of ``fit(solver="online")``, and the rows of the constraints in its ledger."""
        options = replace(self.options, online=online_options({**online, "horizon": len(self.problem.weight)}))
        estimator = TiltClassifier(random_state=0)
        estimator.classes_, estimator.strength_ = self.classes, options.strength
        estimator.n_features_in_ = self.problem.model.n_weights // len(self.classes) - 1
        stream = Stream.begin(options, estimator)
        rows = stream.enter(self.grounded, self.classes.tolist())
        if stream.learner.online.is_printed:
            stream.learner.unlabelled_in_all = len(self.problem.weight)
            stream.learner.ledger.declared[rows] = self.grounded.support
        return stream.learner, rows


def batch(data: Prepared) -> dict[str, float]:
    started = time.perf_counter()
    fit = solve_jointly(data.problem, np.zeros(data.problem.model.n_weights), Run(max_iter=500, tol=data.options.tol))
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "macro_f1": data.macro_f1(fit.weights), "objective": fit.objective,
            "rounds": len(fit.history)}  # fmt: skip


def online(data: Prepared, *, passes: int = PASSES, seed: int = 0, **options: Any) -> list[dict[str, float]]:
    """Pass by pass: seconds of learning alone, scores and objectives are taken while the clock stands."""
    learner, rows = data.learner(**options)
    rng, found, seconds = np.random.default_rng(seed), [], 0.0
    for _ in range(passes):
        order = rng.permutation(len(data.problem.weight))
        started = time.perf_counter()
        learner.learn(data.problem, data.grounded, order, rows)
        seconds += time.perf_counter() - started
        weights = learner.flat_weights()
        value = data.problem.evaluate(weights, None, 1e-4).value
        found.append({"seconds": seconds, "macro_f1": data.macro_f1(weights), "objective": value})
    return found


def passes(turns: int) -> dict[str, Any]:
    """Scores and seconds pass by pass, and of the batch solver; seconds are the least of the turns."""
    data = Prepared.of("20newsgroups")
    found: dict[str, list[dict[str, float]]] = {}
    contestants: dict[str, Callable[[], list[dict[str, float]]]] = {
        "batch": lambda: [batch(data)],
        "online": lambda: online(data),
        "as printed": lambda: online(data, steps="printed"),
    }
    with threadpool_limits(1):
        online(data, passes=1)  # compiles
        for turn in range(turns):
            for name, run in contestants.items():
                if name == "as printed" and turn:
                    continue  # one instance a step takes long, and its time is no figure of interest
                for old, new in zip(found.setdefault(name, rows := run()), rows, strict=True):
                    old["seconds"] = min(old["seconds"], new["seconds"])
    of_batch = found.pop("batch")[0]
    enough = ENOUGH * of_batch["macro_f1"]
    reached = next((k for k, row in enumerate(found["online"], 1) if row["macro_f1"] >= enough), None)
    seconds = found["online"][reached - 1]["seconds"] if reached else float("nan")
    return {"documents": len(data.problem.weight), "constraints": len(data.grounded.support), "batch": of_batch,
            "enough": enough, "passes": found, "reached": reached,
            "share_of_time": seconds / of_batch["seconds"]}  # fmt: skip


def widths(turns: int, n: int = 4_000, length: int = 100) -> list[dict[str, float]]:
    """Microseconds a document in tables of different widths: the least of the turns, which the widths take in turns."""
    streams = {d: _wide(d, n, length) for d in WIDTHS}
    best = dict.fromkeys(WIDTHS, float("inf"))
    for turn in range(turns + 1):
        for d, (classifier, X) in streams.items():
            started = time.perf_counter()
            with threadpool_limits(1):
                classifier.partial_fit(X)
            if turn:  # the first begins the stream, and compiles
                best[d] = min(best[d], (time.perf_counter() - started) / n)
    return [{"features": d, "seconds": best[d]} for d in WIDTHS]


def _wide(d: int, n: int, length: int) -> tuple[TiltClassifier, sparse.csr_array]:
    rng = np.random.default_rng(0)
    # Frequent words are frequent whatever the width; the others come from all of it.
    columns = np.where(
        rng.random((n, length)) < 0.3, rng.integers(0, 100, (n, length)), rng.integers(0, d, (n, length))
    )
    row = np.repeat(np.arange(n), length)
    X = sparse.csr_array((np.ones(n * length), (row, columns.ravel())), shape=(n, d))
    names = [f"w{j}" for j in range(d)]
    said = [expect("abcde"[j % 5], given=feature(f"w{j}")).about(0.9) for j in range(20)]
    return TiltClassifier(said, classes=list("abcde"), feature_names=names), X


def texts(n: int, seed: int = 0) -> Iterator[str]:
    """Documents of 20 words; new words never stop coming."""
    rng = np.random.default_rng(seed)
    for start in range(0, n, 1000):
        ranks = rng.zipf(1.3, size=(1000, 20))
        for i, row in enumerate(ranks):
            yield " ".join([f"w{r % 1_000_003}" for r in row] + [f"new{(start + i) // 50}"])


def grow(n: int) -> dict[str, Any]:
    """Resident memory and seconds at a tenth of a stream of ``n`` texts and at its end; in this process."""
    said = [expect("abcde"[j % 5], given=word(f"w{j}")).about(0.9) for j in range(1, 21)]
    classifier = TiltClassifier(said, classes=list("abcde"), online={"horizon": n})
    chunk: list[str] = []
    marks: list[dict[str, float]] = []
    taken, started = 0, time.perf_counter()
    with threadpool_limits(1):
        for text in texts(n):
            chunk.append(text)
            taken += 1
            if len(chunk) == _CHUNK or taken == n:
                classifier.partial_fit(chunk)
                chunk = []
                if len(marks) < 10 * taken // n:
                    marks.append({"documents": taken, "bytes": resident(), "seconds": time.perf_counter() - started})
    return {"marks": marks, "growth": marks[-1]["bytes"] / marks[0]["bytes"] - 1}


def _ask_growth(n: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.online", "--grow", str(n)]
    return dict(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout))


def as_markdown(result: dict[str, Any]) -> str:
    parts = ["## Online learning", "", "Written by `python -m benchmarks.online --page`.", ""]
    if "passes" in result:
        parts += _passes_part(result["passes"])
    rows = [[f"{row['features']:,}", f"{1e6 * row['seconds']:.0f}"] for row in result["widths"]]
    parts += ["", "Time per document against the number of features (100 words per document, 5 classes, "
              "20 constraints, `partial_fit` of a matrix, everything included):", "",
              table(["features", "µs a document"], rows)]  # fmt: skip
    marks = result["memory"]["marks"]
    rows = [[f"{m['documents']:,}", mib(m["bytes"]), f"{m['seconds']:.0f}"] for m in (marks[0], marks[-1])]
    parts += ["", "Resident memory of a process that learns from a stream of generated texts (21 words each, 2¹⁸ "
              "hashed columns, 5 classes; new words never stop coming): "
              f"{100 * result['memory']['growth']:+.1f} % while it grows tenfold.", "",
              table(["documents", "resident", "seconds"], rows)]  # fmt: skip
    return "\n".join(parts)


def _passes_part(found: dict[str, Any]) -> list[str]:
    batch = found["batch"]
    rows = [["batch (joint)", f"{batch['rounds']:.0f} rounds", f"{batch['macro_f1']:.3f}", f"{batch['objective']:.1f}",
             f"{batch['seconds']:.2f}"]]  # fmt: skip
    for name, listed in found["passes"].items():
        rows += [[name, f"pass {k}", f"{r['macro_f1']:.3f}", f"{r['objective']:.1f}", f"{r['seconds']:.2f}"]
                 for k, r in enumerate(listed, 1)]  # fmt: skip
    told = f"{found['reached']} pass{'es' if found['reached'] != 1 else ''}" if found["reached"] else "not reached"
    return [
        f"20 newsgroups, training part ({found['documents']:,} documents, {found['constraints']} labelled words at "
        "0.9, nothing labelled), one thread, minima over turns. Macro-F1 on the test part; the objective is Eq. 6 at "
        "the weights. The clock counts learning alone, of both.",
        "",
        table(["solver", "after", "macro-F1", "objective", "seconds"], rows),
        "",
        f"97 % of the batch's macro-F1 ({found['enough']:.3f}): {told}, in {100 * found['share_of_time']:.0f} % of its "
        "time.",
    ]


def _missed(result: dict[str, Any]) -> list[str]:
    missed = []
    if "passes" in result and not (result["passes"]["reached"] or 99) <= MUST_PASSES:
        missed.append("97 % of the batch's macro-F1 within five passes")
    seconds = [row["seconds"] for row in result["widths"]]
    if max(seconds) > FLAT * min(seconds):
        missed.append("time a document is not flat")
    if result["memory"]["growth"] > MUST_GROWTH:
        missed.append("memory grows with the stream")
    return missed


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.online", description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--page", action="store_true", help="write the section of docs/benchmarks.md")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--documents", type=int, default=1_000_000, help="of the stream whose memory is measured")
    parser.add_argument("--grow", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.grow:
        print(json.dumps(grow(given.grow)))
        return 0
    result: dict[str, Any] = {"widths": widths(given.turns), "memory": _ask_growth(given.documents)}
    if available("20newsgroups"):
        result["passes"] = passes(given.turns)
    else:
        print("20newsgroups: not on this machine, skipped (TILTFIT_DATA names its folder)", file=sys.stderr)
    print(as_markdown(result))
    if given.json:
        given.json.write_text(json.dumps(result, indent=2), encoding="utf-8")
    if given.page:
        write_section("online", as_markdown(result))
    missed = _missed(result)
    for what in missed:
        print(f"missed: {what}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
