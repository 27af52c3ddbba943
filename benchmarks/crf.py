"""Speed and memory of the tagger: ``python -m benchmarks.crf [--json FILE] [--page] [--turns N]``.

1. Supervised training against python-crfsuite: seconds per L-BFGS iteration, same attributes, same objective, in turns.
   The time of an iteration is the difference between a long and a short run by the number of iterations between them,
   for both libraries, so that reading, encoding and setting up cancel.
2. The same optimum: both to convergence on CoNLL-2000, CRFsuite's weights in our objective; chunk F1 on the test part.
3. A gradient of the M-projection, and an evaluation of the joint solver with its information projection, against a
   supervised gradient on the same tokens.
4. Peak memory of training, each library in a separate process.

CoNLL-2000 and Cora where they are (``TILTFIT_DATA`` names their folder), else generated sequences of their shape.
Exit status 1 if a figure misses what it must reach.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from benchmarks import citations as cora
from benchmarks import crf_memory, crfsuite
from benchmarks.crf_page import as_markdown
from benchmarks.interleaved import take_turns
from benchmarks.page import write_section
from benchmarks.tokens import Tokens, chunks, chunks_with_test, citations, has_chunks
from benchmarks.training import Timed, constrained, labelled_words, model, supervised
from tiltfit import Constraint
from tiltfit.execution.workers import Workers
from tiltfit.features.chains import ChainFeatures
from tiltfit.methods.alternating_projections import moment_target
from tiltfit.methods.joint import solve_jointly
from tiltfit.methods.method import Run
from tiltfit.methods.problem import Problem
from tiltfit.models.log_linear import LogLinear
from tiltfit.projections.moment import moment_objective
from tiltfit.report.segments import score_tags

MOMENT, JOINT = 1.1, 5.0
SAME, SAME_F1 = 1e-6, 0.1


@dataclass(frozen=True)
class Race:
    """Training with all or the observed weights, in runs of ``short`` and ``long`` iterations. ``must``: how many times
    as fast as CRFsuite on one thread; ``goal``: on two. ``often``: so many times as many turns, for short runs, whose
    differences are small beside what else the machine does."""

    name: str
    data: str
    observed: bool
    short: int
    long: int
    must: float
    goal: float
    often: int = 1


RACES = (
    Race("CoNLL-2000, all weights", "chunks", False, 3, 13, 3.0, 5.0),
    Race("CoNLL-2000, observed weights", "chunks", True, 5, 25, 2.3, 3.5),
    Race("Cora, all weights", "citations", False, 10, 60, 8.0, 11.0, often=5),
)


def iterations(race: Race, tokens: Tokens, turns: int) -> dict[str, Any]:
    """Seconds an iteration of ours on one and two threads, and of CRFsuite."""
    turns = turns * race.often
    ours = {k: supervised(tokens, Workers(k), observed=race.observed, alpha=crfsuite.ALPHA) for k in (1, 2)}
    theirs = crfsuite.trainer(tokens, observed=race.observed)

    def run(threads: int, n_iter: int) -> float:
        solve_jointly(ours[threads], np.zeros(ours[threads].model.n_weights), Run(max_iter=n_iter, tol=1e-12))
        return 1.0

    def their_run(n_iter: int, path: Path) -> float:
        crfsuite.train(theirs, n_iter, path)
        return 1.0

    contestants: dict[str, Callable[[], float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for n_iter in (race.short, race.long):
            contestants[f"one {n_iter}"] = partial(run, 1, n_iter)
            contestants[f"two {n_iter}"] = partial(run, 2, n_iter)
            contestants[f"CRFsuite {n_iter}"] = partial(their_run, n_iter, Path(folder) / "model")
        with threadpool_limits(1):
            for threads in ours:
                run(threads, 2)  # compiles what needs compiling, and transposes
        found = take_turns(contestants, turns, warm_up=False)

    def each(name: str, field: str) -> float:
        long, short = (getattr(found[f"{name} {n}"], field) for n in (race.long, race.short))
        return float(long - short) / (race.long - race.short)

    seconds, cpu = ({name: each(name, f) for name in ("one", "two", "CRFsuite")} for f in ("seconds", "cpu"))
    return {
        **asdict(race),
        "description": tokens.name,
        "tokens": len(tokens.tokens),
        "weights": ours[1].model.n_weights,
        "turns": turns,
        "seconds": seconds,
        "cpu": cpu,
        "ratio_one": seconds["CRFsuite"] / seconds["one"],
        "ratio_two": seconds["CRFsuite"] / seconds["two"],
        "ratio_one_cpu": cpu["CRFsuite"] / cpu["one"],
    }


def optimum(train: Tokens, test: Tokens, *, tol: float = 1e-6, threads: int = 2) -> dict[str, Any]:
    """Observed weights, both libraries to convergence: our objective at both results, and segment F1 on ``test``."""
    ours = supervised(train, Workers(threads), observed=True, alpha=crfsuite.ALPHA)
    assert isinstance(ours.model, LogLinear)
    features = ours.model.features
    assert isinstance(features, ChainFeatures)
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        path = Path(folder) / "model"
        crfsuite.train(crfsuite.trainer(train, observed=True, epsilon=1e-9, delta=1e-10, period=10), 3000, path)
        theirs = features.flat(*crfsuite.tables(path, train))
        their_tags = crfsuite.predict(path, test)
        fit = solve_jointly(ours, np.zeros(ours.model.n_weights), Run(max_iter=3000, tol=tol))
        value = ours.evaluate(theirs, None, 1e-6).value
    truth = [test.tags(s) for s in range(test.n_sequences)]
    return {
        "description": train.name,
        "tokens": len(train.tokens),
        "iterations": len(fit.history),
        "objective": fit.objective,
        "objective_CRFsuite": value,
        "relative": abs(fit.objective - value) / abs(value),
        "f1": 100 * score_tags(truth, predict(ours, fit.weights, test)).segment.f1,
        "f1_CRFsuite": 100 * score_tags(truth, their_tags).segment.f1,
    }


def predict(trained: Problem, weights: npt.NDArray[np.float64], test: Tokens) -> list[list[str]]:
    """The labels that trained weights give to tokens with the same attributes."""
    assert isinstance(trained.model, LogLinear)
    features = trained.model.features
    assert isinstance(features, ChainFeatures)
    W, T = features.tables(weights)
    here = model(test, Workers())
    best, _ = here.structure.best(here.potentials(np.concatenate([W.ravel(), T.ravel()])))
    named = [test.classes[k] for k in best.tolist()]
    return [named[a:b] for a, b in zip(test.offsets[:-1], test.offsets[1:], strict=True)]


def gradients(tokens: Tokens, constraints: list[Constraint], turns: int, *, max_iter: int = 25) -> dict[str, Any]:
    """A supervised gradient, a gradient of the M-projection, and an evaluation of the joint solver (the mean on its way
    from zero weights), on the same tokens: those of the sequences where some constraint fires."""
    whole = constrained(tokens, constraints, Workers())
    free, known = whole.active, supervised(tokens, Workers()).take(whole.touched)
    weights = 0.1 * np.random.default_rng(0).normal(size=free.model.n_weights)
    target, _ = moment_target(free, weights, free.evaluate(weights, None, 1e-6))
    evaluations: list[float] = []
    inferred = 0.0

    def gradient() -> float:
        known.evaluate(weights, None, 1e-6)
        return 1.0

    def moment() -> float:
        moment_objective(free.model.moments(weights, free.omega), weights, target, free.alpha)
        return 1.0

    def joint() -> float:
        nonlocal inferred
        timed = Timed.around(free)
        solve_jointly(timed, np.zeros(free.model.n_weights), Run(max_iter=max_iter, tol=1e-3))
        evaluations.append(float(np.mean(timed.spent)))
        inferred = float(np.mean(timed.inferred))
        return 1.0

    rounds = {f"{name} {k}": work for k in range(5) for name, work in (("supervised", gradient), ("moment", moment))}
    found = take_turns({**rounds, "joint": joint}, turns)
    seconds = {n: min(t.seconds for name, t in found.items() if name.startswith(n)) for n in ("supervised", "moment")}
    return {
        "description": tokens.name,
        "tokens": len(known.labels),
        "constraints": len(constraints),
        "seconds": {**seconds, "joint": min(evaluations)},
        "ratio_moment": seconds["moment"] / seconds["supervised"],
        "ratio_joint": min(evaluations) / seconds["supervised"],
        "inferred": inferred,
    }


def measure(turns: int) -> dict[str, Any]:
    """All parts."""
    data = {"chunks": chunks(), "citations": citations()}
    words = labelled_words(data["chunks"], 40, least=200)
    statements = table_of(data["citations"])
    result: dict[str, Any] = {
        "gradients": [gradients(data[name], c, turns) for name, c in (("citations", statements), ("chunks", words))],
        "races": [],
        "optimum": None,
        "memory": [],
    }
    if not crfsuite.installed():
        print(crfsuite.MISSING, file=sys.stderr)
        return result
    result["races"] = [iterations(race, data[race.data], turns) for race in RACES]
    result["optimum"] = optimum(*chunks_with_test()) if has_chunks() else None
    result["memory"] = crf_memory.measure()
    return result


def table_of(tokens: Tokens) -> list[Constraint]:
    """Table 2's constraints on Cora, labelled words on generated tokens."""
    return cora.table_2() if tokens.classes == list(cora.LABELS) else labelled_words(tokens, 9, least=20)


def missed(result: dict[str, Any]) -> list[str]:
    """The figures that fall short of their limits (goals do not count)."""
    checks = {f"{r['name']} on one thread": r["ratio_one"] >= r["must"] for r in result["races"]}
    for row in result["gradients"]:
        checks[f"gradient of the M-projection, {row['description']}"] = row["ratio_moment"] <= MOMENT
        checks[f"evaluation of the joint solver, {row['description']}"] = row["ratio_joint"] <= JOINT
    if result["optimum"] is not None:
        found = result["optimum"]
        checks["the same optimum"] = found["relative"] <= SAME
        checks["the same F1"] = abs(found["f1"] - found["f1_CRFsuite"]) <= SAME_F1
    if result["memory"]:
        peak = {row["library"]: row["peak"] for row in result["memory"]}
        checks["memory"] = peak["tiltfit"] < peak["CRFsuite"]
    return [name for name, met in checks.items() if not met]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    parser.add_argument("--page", action="store_true", help="write the section of docs/benchmarks.md")
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    result = measure(arguments.turns)
    print(as_markdown(result))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    if arguments.page:
        write_section("crf", as_markdown(result))
    for name in missed(result):
        print(f"missed: {name}", file=sys.stderr)
    return 1 if missed(result) else 0


if __name__ == "__main__":
    sys.exit(main())
