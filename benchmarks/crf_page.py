"""The results of ``python -m benchmarks.crf``, as a section of docs/benchmarks.md."""

from __future__ import annotations

from typing import Any

from benchmarks.page import mib, table


def as_markdown(result: dict[str, Any]) -> str:
    """The section, also what is printed."""
    parts = ["## Conditional random fields\n\nWritten by `python -m benchmarks.crf --page`."]
    if result["races"]:
        parts.append(_races(result["races"]))
    if result["optimum"] is not None:
        parts.append(_optimum(result["optimum"]))
    parts.append(_gradients(result["gradients"]))
    if result["memory"]:
        parts.append(_memory(result["memory"]))
    return "\n\n".join(parts) + "\n"


def _races(races: list[dict[str, Any]]) -> str:
    rows = [
        [
            race["name"],
            f"{race['weights']:,}",
            *(f"{1e3 * race['seconds'][name]:,.1f} ms" for name in ("CRFsuite", "one", "two")),
            f"{race['ratio_one']:.1f} × (must: {race['must']:g})",
            f"{race['ratio_two']:.1f} × (goal: {race['goal']:g})",
            f"{race['ratio_one_cpu']:.1f} ×",
        ]
        for race in races
    ]
    data = "; ".join(dict.fromkeys(f"{race['description']} ({race['tokens']:,} tokens)" for race in races))
    runs = ", ".join(f"{race['short']} and {race['long']}" for race in races)
    turns = ", ".join(str(race["turns"]) for race in races)
    head = ["", "weights", "CRFsuite", "one thread", "two threads", "on one", "on two", "in CPU time"]
    return f"""**One iteration** of supervised training against python-crfsuite: {data}.
Same attributes, same objective (c2 = 1 is alpha = 2, plain transitions, a weight for every pair of labels, no weights
for first and last labels), best of {turns} turns. An iteration is the difference between a long run and a short one
({runs} iterations) by the iterations between them, for both libraries, so the set-up time cancels. Ours has one weight
for attributes that occur at the same positions while it works (`features.merging`): the same objective, fewer numbers.

{table(head, rows)}"""


def _optimum(found: dict[str, Any]) -> str:
    rows = [
        ["tiltfit", f"{found['objective']:.4f}", f"{found['f1']:.2f}"],
        ["CRFsuite", f"{found['objective_CRFsuite']:.4f}", f"{found['f1_CRFsuite']:.2f}"],
    ]
    return f"""**The same optimum.** {found["description"]}, observed weights, both to convergence; CRFsuite's weights
in our objective. Relative difference: {found["relative"]:.1e} (must: 1e-6). F1 of chunks on the test part.

{table(["", "objective", "F1"], rows)}"""


def _gradients(measured: list[dict[str, Any]]) -> str:
    rows = [
        [
            f"{row['description']}, {row['tokens']:,} tokens, {row['constraints']} constraints",
            *(f"{1e3 * row['seconds'][name]:.1f} ms" for name in ("supervised", "moment", "joint")),
            f"{row['ratio_moment']:.2f} ×",
            f"{row['ratio_joint']:.2f} ×",
            f"{row['inferred']:.1f}",
        ]
        for row in measured
    ]
    head = ["", "supervised", "M-projection", "joint", "M / supervised", "joint / supervised", "inferences of q"]
    return f"""**Gradients**, one thread. Supervised; of the M-projection (must: at most 1.1 × a supervised one); an
evaluation of the joint solver, its warm-started information projection included (must: at most 5 ×): the mean over the
way from zero weights. All on the same tokens, those of the sequences where some constraint fires, all weights.

{table(head, rows)}"""


def _memory(measured: list[dict[str, Any]]) -> str:
    rows = [[row["library"], mib(row["data"]), mib(row["peak"])] for row in measured]
    return f"""**Peak memory** of training on CoNLL-2000, all weights, above what a library's own copy of the tokens
takes; each in a separate process. Must: below CRFsuite's.

{table(["", "tokens", "training"], rows)}"""
