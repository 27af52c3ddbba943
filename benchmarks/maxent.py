"""Speed and memory of the maximum-entropy half: ``python -m benchmarks.maxent [--json FILE] [--page]``.

1. The M-projection on hard labels is supervised multinomial logistic regression: seconds per L-BFGS iteration against
   scikit-learn's ``LogisticRegression(solver="lbfgs")``, same matrix, same ridge, intercepts free, as many iterations.
2. A whole ``fit`` from 300 labelled words (15 a class) against supervised fits to the same tolerance.
3. Peak memory of both kinds of fit.

20 newsgroups, all words, where it is on this machine (``TILTFIT_DATA`` names its folder), else generated documents.
Exit status 1 if a figure misses what it must reach.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from benchmarks import memory
from benchmarks.documents import Documents, newsgroups
from benchmarks.interleaved import take_turns
from benchmarks.page import mib, table, write_section
from tiltfit import TiltClassifier
from tiltfit.execution.workers import Workers
from tiltfit.features.attributes import AttributeFeatures
from tiltfit.inference.independent import Independent
from tiltfit.models.log_linear import LogLinear
from tiltfit.optimize.result import Minimum
from tiltfit.projections.moment import moment_projection

ALPHA = 1.0
FASTER_ON_ONE, FASTER_ON_TWO, FITS = 2.0, 3.0, 15.0


def iterations(documents: Documents, *, n_iter: int, turns: int) -> dict[str, Any]:
    """Seconds an iteration of our M-projection on one and two threads, and of scikit-learn's fit."""
    found: dict[str, Any] = {}

    def ours(threads: int) -> float:
        found["ours"] = supervised_projection(documents, Workers(threads), n_iter)
        return float(found["ours"].n_iter)

    def theirs() -> float:
        found["theirs"] = LogisticRegression(C=1 / ALPHA, tol=1e-12, max_iter=n_iter).fit(documents.X, documents.labels)
        return float(found["theirs"].n_iter_[0])

    contestants: dict[str, Callable[[], float]] = {
        "one": partial(ours, 1),
        "two": partial(ours, 2),
        "scikit-learn": theirs,
    }
    timings = take_turns(contestants, turns)
    return {
        "iterations": n_iter,
        "turns": turns,
        "timings": {name: asdict(timing) for name, timing in timings.items()},
        "ratio_one": timings["scikit-learn"].seconds / timings["one"].seconds,
        "ratio_one_cpu": timings["scikit-learn"].cpu / timings["one"].cpu,
        "ratio_two": timings["scikit-learn"].seconds / timings["two"].seconds,
        "objective": found["ours"].value,
        "objective_scikit_learn": _objective(documents, found["theirs"]),
    }


def supervised_projection(documents: Documents, workers: Workers, n_iter: int) -> Minimum:
    """The M-projection onto the labels, from zero: the transpose and the target are part of the work."""
    features = AttributeFeatures(documents.X, documents.n_classes, workers)
    model = LogLinear(features, Independent(len(documents.labels)))
    n = len(documents.labels)
    hard = np.zeros((n, documents.n_classes))
    hard[np.arange(n), documents.labels] = 1.0
    return moment_projection(
        partial(model.moments, weight=np.ones(n)),
        features.expect(hard),
        _ridge(features),
        np.zeros(model.n_weights),
        gradient_tol=1e-12,
        max_iter=n_iter,
        workers=workers,
    )


def fits(documents: Documents, *, turns: int, per_label: int = 15) -> dict[str, Any]:
    """A fit from constraints alone, and a fit from all labels, both to convergence with the default tolerance."""
    common: dict[str, Any] = {"classes": range(documents.n_classes), "feature_names": documents.words}
    constrained = TiltClassifier(documents.constraints(per_label), **common)
    supervised = TiltClassifier(**common)

    def fit(classifier: TiltClassifier, labels: Any) -> float:
        classifier.fit(documents.X, labels)
        return 1.0

    contestants: dict[str, Callable[[], float]] = {
        "constraints": partial(fit, constrained, None),
        "labels": partial(fit, supervised, documents.labels),
    }
    timings = take_turns(contestants, turns)
    return {
        "constraints": len(constrained.constraints),
        "turns": turns,
        "timings": {name: asdict(timing) for name, timing in timings.items()},
        "rounds": {"constraints": constrained.n_iter_, "labels": supervised.n_iter_},
        "converged": {"constraints": constrained.converged_, "labels": supervised.converged_},
        "ratio": timings["constraints"].seconds / timings["labels"].seconds,
        "ratio_cpu": timings["constraints"].cpu / timings["labels"].cpu,
    }


def measure(documents: Documents, *, n_iter: int = 30, turns: int = 5, fit_turns: int = 2) -> dict[str, Any]:
    """All three parts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # both libraries say that they were stopped early: on purpose
        return {
            "documents": documents.name,
            "shape": list(documents.X.shape),
            "nonzeros": int(documents.X.nnz),
            "classes": documents.n_classes,
            "iteration": iterations(documents, n_iter=n_iter, turns=turns),
            "fit": fits(documents, turns=fit_turns),
            "memory": [memory.measure(documents, kind) for kind in memory.KINDS],
        }


def missed(result: dict[str, Any]) -> list[str]:
    """The figures that fall short of their limits (goals do not count)."""
    checks = {
        "M-projection on one thread": result["iteration"]["ratio_one"] >= FASTER_ON_ONE,
        "fit from constraints": result["fit"]["ratio"] <= FITS,
        **{f"memory of a fit from {m['kind']}": m["traced"] <= m["limit"] for m in result["memory"]},
    }
    return [name for name, met in checks.items() if not met]


def as_markdown(result: dict[str, Any]) -> str:
    """The section of docs/benchmarks.md, also what is printed."""
    step, fit = result["iteration"], result["fit"]
    times = step["timings"]
    n, d = result["shape"]
    rows = [
        ["tiltfit, one thread", f"{1e3 * times['one']['seconds']:.0f} ms", f"{step['ratio_one']:.1f} ×"],
        ["tiltfit, two threads", f"{1e3 * times['two']['seconds']:.0f} ms", f"{step['ratio_two']:.1f} ×"],
        ["scikit-learn (lbfgs)", f"{1e3 * times['scikit-learn']['seconds']:.0f} ms", "1"],
    ]
    fit_rows = [
        [
            f"from {name}",
            f"{fit['timings'][kind]['seconds']:.1f} s",
            str(fit["rounds"][kind]),
            "yes" if fit["converged"][kind] else "no",
        ]
        for name, kind in ((f"{fit['constraints']} labelled words", "constraints"), ("all labels", "labels"))
    ]
    memory_rows = [
        [f"from {m['kind']}", mib(m["traced"]), mib(m["resident"]), mib(m["limit"])] for m in result["memory"]
    ]
    reached = f"{step['objective']:.2f}, scikit-learn {step['objective_scikit_learn']:.2f}"
    csr = mib(result["memory"][0]["csr_bytes"])
    return f"""
## Maximum entropy

Written by `python -m benchmarks.maxent --page`: {result["documents"]};
{n:,} documents × {d:,} words, {result["nonzeros"]:,} non-zeros, {result["classes"]} classes.

**One iteration** of supervised multinomial logistic regression (the M-projection on hard labels).
{step["iterations"]} iterations from zero, best of {step["turns"]} turns. Objective reached: {reached}.
In CPU time, one thread is {step["ratio_one_cpu"]:.1f} × as fast.
Must: {FASTER_ON_ONE:.0f} × on one thread. Goal: {FASTER_ON_TWO:.0f} × on two.

{table(["", "an iteration", "times as fast"], rows)}

**A whole fit**, one thread, to the same tolerance, best of {fit["turns"]} turns.
From constraints it takes {fit["ratio"]:.1f} × as long as from labels. Must: at most {FITS:.0f} ×.

{table(["", "time", "iterations", "converged"], fit_rows)}

**Peak memory**, the CSR input ({csr}) included.
The limit is 3 × the CSR input + 24 copies of the weights + 6 arrays of documents × classes.

{table(["", "traced", "resident", "limit"], memory_rows)}
"""


def _ridge(features: AttributeFeatures) -> Any:
    ridge = np.full(features.n_weights, ALPHA)
    features.unpack(ridge)[1][:] = 0.0
    return ridge


def _objective(documents: Documents, fitted: LogisticRegression) -> float:
    """Σ −log p(y|x) + α/2·‖W‖² at scikit-learn's weights."""
    features = AttributeFeatures(documents.X, documents.n_classes)
    weights = np.vstack([fitted.coef_.T, fitted.intercept_]).ravel()
    marginals = LogLinear(features, Independent(len(documents.labels))).infer(weights)
    likelihood = np.log(marginals.node[np.arange(len(documents.labels)), documents.labels]).sum()
    return float(0.5 * weights @ (_ridge(features) * weights) - likelihood)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    parser.add_argument("--page", action="store_true", help="write the section of docs/benchmarks.md")
    parser.add_argument("--turns", type=int, default=5)
    arguments = parser.parse_args()
    result = measure(newsgroups(), turns=arguments.turns)
    print(as_markdown(result))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    if arguments.page:
        write_section("maxent", as_markdown(result))
    for name in missed(result):
        print(f"missed: {name}", file=sys.stderr)
    return 1 if missed(result) else 0


if __name__ == "__main__":
    sys.exit(main())
