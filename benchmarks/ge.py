"""A gradient of generalized expectation against one of alternating projections: ``python -m benchmarks.ge [--page]``.

1. On the same tokens, all weights, one thread, in turns: a gradient of the M-projection (one inference pass and two
   products with the attributes), an evaluation of the joint solver with its warm-started information projection, and a
   gradient of GE; with labelled words alone, and with "nine of ten transitions stay" in addition.
2. Against the number of labels, on generated tokens, features included: the same, and the schemes that were published:
   for constraints on labels one pass of covariances per label, O(n·L³) (Mann & McCallum 2008), for transitions one per
   pair of labels, O(n·L⁴). Their passes are those of our own kernel, so only the scheme differs.

CoNLL-2000 and Cora where they are (``TILTFIT_DATA`` names their folder), else generated sequences of their shape.
Exit status 1 if a gradient of GE costs more than 1.4 of one of alternating projections.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.interleaved import take_turns
from benchmarks.page import FIGURES, table, write_section
from benchmarks.tokens import Tokens, chunks, citations, generate
from benchmarks.training import constrained, labelled_words
from tiltfit import Constraint, expect
from tiltfit.execution.workers import Workers
from tiltfit.inference.potentials import Potentials
from tiltfit.inference.tangent import Direction
from tiltfit.methods.alternating_projections import moment_target
from tiltfit.methods.generalized_expectation import ExpectationPenalty
from tiltfit.methods.problem import Problem
from tiltfit.projections.moment import moment_objective

MUST = 1.4
LABELS = (5, 10, 20, 30, 40, 50, 60)
N_TOKENS = 1_200
STAY = expect.stay().about(0.9)
FIELDS = {
    "ap": "AP: M-projection",
    "joint": "AP: joint evaluation",
    "labels": "GE, labels",
    "transitions": "GE, transitions",
    "cubic": "published, labels",
    "quartic": "published, transitions",
}


def works(tokens: Tokens, constraints: list[Constraint]) -> dict[str, Callable[[], float]]:
    """The timed calls on one set of constraints: a gradient of AP, an evaluation of its joint solver, one of GE."""
    problem = constrained(tokens, constraints, Workers()).active
    weights = 0.1 * np.random.default_rng(0).normal(size=problem.model.n_weights)
    now = problem.evaluate(weights, None, 1e-6)
    target, _ = moment_target(problem, weights, now)
    penalty = _penalty(problem)

    def moment() -> float:
        moment_objective(problem.model.moments(weights, problem.omega), weights, target, problem.alpha)
        return 1.0

    def joint() -> float:
        problem.evaluate(weights, now.start, 1e-3)
        return 1.0

    def ge() -> float:
        penalty(weights)
        return 1.0

    return {"ap": moment, "joint": joint, "ge": ge}


def published(tokens: Tokens, constraints: list[Constraint], *, pairs: bool) -> Callable[[], float]:
    """The gradient of GE by one pass of covariances for every label, or for every pair of labels."""
    penalty = _penalty(constrained(tokens, constraints, Workers()).active)
    model, tilt, n_labels = penalty.model, penalty.tilt, tokens.n_labels
    weights = 0.1 * np.random.default_rng(0).normal(size=model.n_weights)

    def gradient() -> float:
        potentials = model.potentials(weights)
        assert potentials.edge is not None
        assert tilt.parent is not None
        here = tilt.structure.tangent(
            Potentials(potentials.node, potentials.edge[tilt.parent]), tilt.workers, tilt.weight
        )
        slope = tilt.penalty.grad(tilt.shared_expectation(here.marginals))
        assert slope is not None
        whole = tilt.features.score(slope / tilt.support)
        assert whole.edge is not None or not pairs
        node, edge = np.zeros(whole.node.shape), np.zeros((len(tilt.parent), n_labels, n_labels))
        for k in range(n_labels):
            for j in range(n_labels) if pairs else (0,):
                part = Potentials(np.zeros(whole.node.shape))
                if not pairs or j == 0:
                    part.node[:, k] = whole.node[:, k]
                if pairs and whole.edge is not None:
                    part = Potentials(part.node, np.zeros(whole.edge.shape))
                    assert part.edge is not None
                    part.edge[:, k, j] = whole.edge[:, k, j]
                more, beside = here.along(Direction.along(part))
                assert beside is not None
                node += more
                edge += beside
        found = model.pull(weights, node, tilt.for_model(edge, len(potentials.edge)))
        if not np.allclose(found, penalty(weights).gradient, atol=1e-9):
            raise AssertionError("The schemes disagree.")
        return 1.0

    return gradient


def _penalty(problem: Problem) -> ExpectationPenalty:
    assert problem.tilt is not None
    return ExpectationPenalty(problem.model.take(problem.touched), problem.tilt)


def gradients(tokens: Tokens, words: list[Constraint], turns: int) -> dict[str, Any]:
    """One data set; each with and without the constraint on transitions."""
    plain, more = works(tokens, words), works(tokens, [*words, STAY])
    named = {f"{name} {k}": work for k, part in enumerate((plain, more)) for name, work in part.items()}
    seconds = {name: timing.seconds for name, timing in take_turns(named, turns).items()}
    return {"name": tokens.name, "tokens": len(tokens.labels), "labels": tokens.n_labels, "seconds": seconds}


def by_labels(turns: int, n_tokens: int = N_TOKENS) -> list[dict[str, Any]]:
    """Generated tokens with 5 to 60 labels."""
    rows = []
    for n_labels in LABELS:
        tokens = generate(n_tokens, n_labels=n_labels, n_words=2_000)
        words = labelled_words(tokens, 2 * n_labels, least=3)
        plain, more = works(tokens, words), works(tokens, [*words, STAY])
        contestants = {"ap": plain["ap"], "joint": plain["joint"], "labels": plain["ge"], "transitions": more["ge"]}
        found = take_turns(contestants, 4 * turns)
        slow = take_turns({"cubic": published(tokens, words, pairs=False)}, turns)
        slow |= take_turns({"quartic": published(tokens, [*words, STAY], pairs=True)}, 1, warm_up=False)
        rows.append({"L": n_labels, **{name: timing.seconds for name, timing in {**found, **slow}.items()}})
        print(rows[-1], file=sys.stderr, flush=True)
    return rows


def ratios(row: dict[str, Any]) -> dict[str, float]:
    """GE by AP, with labelled words alone (0) and with transitions (1)."""
    s = row["seconds"]
    return {f"{of} {k}": s[f"ge {k}"] / s[f"{of} {k}"] for of in ("ap", "joint") for k in (0, 1)}


def as_markdown(result: dict[str, Any]) -> str:
    """The section of docs/benchmarks.md, also what is printed."""
    rows = []
    for row in result["gradients"]:
        for k, said in enumerate(("labelled words", "and transitions")):
            s = row["seconds"]
            rows.append(
                [
                    f"{row['name']}, {said}",
                    *(f"{1e3 * s[f'{name} {k}']:.1f} ms" for name in ("ap", "joint", "ge")),
                    *(f"{ratios(row)[f'{of} {k}']:.2f} ×" for of in ("ap", "joint")),
                ]
            )
    head = ["", "M-projection", "joint", "GE", "GE / M-projection", "GE / joint"]
    grown = [[str(r["L"]), *(f"{1e3 * r[name]:,.2f}" for name in FIELDS)] for r in result["by_labels"]]
    return f"""
## Generalized expectation against alternating projections

Written by `python -m benchmarks.ge --page`: one gradient on the same tokens, all weights, one thread. Must: a gradient
of GE costs at most {MUST} × one of AP. The M-projection's is one inference pass and two products with the attributes; a
step of AP also projects, which the joint evaluation includes. Directions on edges move all positions and cost two more
products each.

{table(head, rows)}

Against the number of labels, {N_TOKENS:,} generated tokens, milliseconds. The published schemes run the kernel of ours
once per label (O(n·L³)) or once per pair of labels (O(n·L⁴)), and give the same gradient.

{table(["labels", *FIELDS.values()], grown)}

![A gradient against the number of labels](figures/ge.png)
"""


def plot(rows: list[dict[str, Any]], path: Path) -> bool:
    """Seconds against labels; False where Matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    axes = figure.add_subplot(xscale="log", yscale="log", xlabel="labels", ylabel="milliseconds a gradient")
    labels = [row["L"] for row in rows]
    styles = {"ap": "o-", "labels": "s-", "transitions": "^-", "cubic": "s:", "quartic": "^:"}
    names = {
        **FIELDS,
        "ap": "alternating projections",
        "labels": "GE here, labels",
        "transitions": "GE here, transitions",
    }
    for name, style in styles.items():
        axes.plot(labels, [1e3 * row[name] for row in rows], style, label=names[name])
    axes.set_xticks(labels, [str(n) for n in labels])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120, metadata={"Software": None})
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    parser.add_argument("--page", action="store_true", help="write the section of docs/benchmarks.md and the figure")
    parser.add_argument("--turns", type=int, default=5)
    arguments = parser.parse_args()
    cora, conll = citations(), chunks()
    result = {
        "gradients": [
            gradients(cora, labelled_words(cora, 13, least=20), 4 * arguments.turns),
            gradients(conll, labelled_words(conll, 40, least=200), arguments.turns),
        ],
        "by_labels": by_labels(arguments.turns),
    }
    print(as_markdown(result))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    if arguments.page:
        write_section("ge", as_markdown(result))
        if not plot(result["by_labels"], FIGURES / "ge.png"):
            print("Matplotlib is not installed: no figure.", file=sys.stderr)
    worst = max(ratios(row)["ap 0"] for row in result["gradients"])
    if worst > MUST:
        print(f"missed: a gradient of GE costs {worst:.2f} of one of AP", file=sys.stderr)
    return 1 if worst > MUST else 0


if __name__ == "__main__":
    sys.exit(main())
