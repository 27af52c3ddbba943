"""docs/defaults.md: the tables behind the defaults, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import fmean, stdev
from textwrap import fill

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from experiments.cells import REFERENCES, ROUNDS, Cell, Score, Setting, Store
from experiments.plan import CHOSEN, Plan

COMMAND = "python -m experiments.defaults"

HOW = """\
# Defaults, chosen by experiment

Written by `{command}`; change that program, not this page. Numbers are macro-F1.

{data}

**Spread.** ± is the standard deviation over the splits of a collection. *Loss* is how far a setting stays behind the
best one of each collection, on average over the collections; *worst* is the largest of these distances; *rank* is the
mean rank. Different splits move all settings alike, so differences between rows are more certain than ± suggests.

## The choice

{choice}
"""

DATA = (
    "**Data.** {collections}. Only the training part of a collection is read, split again 70 : 30 into texts to learn "
    "from and texts to judge by; what `python -m benchmarks.text` tests on is never seen. No document is labelled: the "
    'constraints say "about 90% of the documents with this word have this label" for the most informative words of '
    "each label, as in that benchmark."
)

GRID = """\
## Scale, β and the length of documents

All with α = 1, tf-idf, joint solver. Length and α are nearly one parameter: documents c times as long are α divided by
c². Sorted by loss; the chosen setting is bold.
"""

FACTORS = """\
## One factor at a time

Around the chosen setting, on the first split of each collection; in brackets the change against it.
"""

SOLVERS = """\
## Solver

The chosen setting, first split. *s*: seconds of processor time of `fit`, one thread. Alternation is stopped after
{rounds} rounds (*: not converged by then). Both minimise the same objective, which is not convex.
"""

SIZES = """\
## One default for 200 and for 11,000 documents

Fewer texts to learn from (at random, smaller sets within larger ones; mean over the splits), the same texts to judge
by, and the same constraints: what people know does not depend on how many documents they have collected. A word that
none of the texts contains rests; *acting* counts the others. The last row of 20newsgroups also learns from the
*texts* of the judged side, without their labels. The best of each row is bold; *loss* is the chosen
setting's distance to it.
"""


def page(plan: Plan, store: Store) -> str:
    """The whole page."""
    sections = [
        HOW.format(
            command=COMMAND,
            data=_data(plan, store),
            choice=_choice(plan, store),
        ),
        GRID + "\n" + _grid(plan, store),
        FACTORS + "\n" + _factors(plan, store),
        SOLVERS.format(rounds=ROUNDS["alternating"]) + "\n" + _solvers(plan, store),
        SIZES + "\n" + _sizes(plan, store),
    ]
    return "\n".join(sections)


# The grid


def _choice(plan: Plan, store: Store) -> str:
    means = _means(plan, store, plan.grid)
    row = plan.grid.index(CHOSEN)
    loss, worst, rank = (values[row] for values in _standing(means))
    place = 1 + int(np.sum(_standing(means)[0] < loss - 1e-9))
    return (
        f"`scale={CHOSEN.scale!r}`, `beta={CHOSEN.beta:g}`, `alpha={CHOSEN.alpha:g}`, {CHOSEN.vectorizer}, "
        f"`solver={CHOSEN.solver!r}`. Of {len(plan.grid)} settings of scale, β and length it is number {place} by mean "
        f"loss ({loss:.3f}), has mean rank {rank:.1f}, and is at most {worst:.3f} behind the best setting of any "
        "collection.\n\n" + _rivals(plan, store)
    )


def _rivals(plan: Plan, store: Store) -> str:
    """Split by split against its neighbours: how often better, and by how much on average."""
    lines = []
    for other in (s for s in plan.grid if s.length == CHOSEN.length and s != CHOSEN):
        gains = [
            fmean(store[Cell(n, i, CHOSEN)].macro_f1 - store[Cell(n, i, other)].macro_f1 for i in range(k))
            for n, k in plan.seeds.items()
        ]
        pairs = [(store[a].macro_f1, store[b].macro_f1) for a, b in _paired(plan, other)]
        better = sum(a > b for a, b in pairs)
        lines.append([f"{other.scale} β={other.beta:g}", f"{better} of {len(pairs)}", f"{fmean(gains):+.3f}"])
    return _table(["chosen against", "better on splits", "mean gain"], lines)


def _paired(plan: Plan, other: Setting) -> list[tuple[Cell, Cell]]:
    return list(zip(plan.splits([CHOSEN]), plan.splits([other]), strict=True))


def _grid(plan: Plan, store: Store) -> str:
    loss, worst, rank = _standing(_means(plan, store, plan.grid))
    rows = []
    for k in np.argsort(loss, kind="stable"):
        setting = plan.grid[k]
        name = f"{setting.scale} β={setting.beta:g}, length {setting.length:g}"
        cells = [_spread(plan, store, n, setting) for n in plan.seeds]
        row = [name, *cells, f"{loss[k]:.3f}", f"{worst[k]:.3f}", f"{rank[k]:.1f}"]
        rows.append([f"**{text}**" for text in row] if setting == CHOSEN else row)
    for reference in REFERENCES:
        rows.append([f"*{reference}*", *(_spread(plan, store, n, reference) for n in plan.seeds), "", "", ""])
    return _table(["setting", *plan.seeds, "loss", "worst", "rank"], rows)


def _means(plan: Plan, store: Store, settings: Sequence[Setting]) -> npt.NDArray[np.float64]:
    """Settings × collections."""
    return np.array([[fmean(_scores(plan, store, name, s)) for name in plan.seeds] for s in settings])


def _standing(means: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], ...]:
    """Mean loss, worst loss and mean rank of each row."""
    behind = means.max(axis=0) - means
    return behind.mean(axis=1), behind.max(axis=1), rankdata(-means, axis=0).mean(axis=1)


def _scores(plan: Plan, store: Store, name: str, method: Setting | str, size: str = "all") -> list[float]:
    return [store[Cell(name, seed, method, size)].macro_f1 for seed in range(plan.seeds[name])]


def _spread(plan: Plan, store: Store, name: str, method: Setting | str) -> str:
    scores = _scores(plan, store, name, method)
    return f"{fmean(scores):.3f}" + (f" ± {stdev(scores):.3f}" if len(scores) > 1 else "")


# The other factors


def _factors(plan: Plan, store: Store) -> str:
    base = [store[Cell(name, 0, CHOSEN)].macro_f1 for name in plan.seeds]
    rows = [["**chosen**", *(f"{f1:.3f}" for f1 in base), "", "0"]]
    for setting in plan.variations:
        found = [store[Cell(name, 0, setting)] for name in plan.seeds]
        changes = [score.macro_f1 - f1 for score, f1 in zip(found, base, strict=True)]
        cells = [f"{s.macro_f1:.3f} ({c:+.3f})" for s, c in zip(found, changes, strict=True)]
        rows.append([_change(setting), *cells, f"{fmean(changes):+.3f}", f"{max(s.rounds for s in found)}"])
    rows[0][-2:] = ["", f"{max(store[Cell(name, 0, CHOSEN)].rounds for name in plan.seeds)}"]
    return _table(["", *plan.seeds, "mean change", "most rounds"], rows)


def _change(setting: Setting) -> str:
    if setting.alpha != CHOSEN.alpha:
        return f"α={setting.alpha:g}"
    return f"tol={setting.tol:g}" if setting.tol != CHOSEN.tol else setting.vectorizer


def _solvers(plan: Plan, store: Store) -> str:
    rows = []
    for name in plan.alternating:
        both = [store[Cell(name, 0, replace(CHOSEN, solver=s))] for s in ("joint", "alternating")]
        rows.append([name, *(text for score in both for text in _run(score))])
    head = [f"{solver} {what}" for solver in ("joint", "alternating") for what in ("F1", "rounds", "s")]
    return _table(["", *head], rows)


def _run(score: Score) -> list[str]:
    return [f"{score.macro_f1:.3f}", f"{score.rounds}{'' if score.converged else '*'}", f"{score.seconds:.1f}"]


def _sizes(plan: Plan, store: Store) -> str:
    rows = []
    for name, sizes in plan.sizes.items():
        numbered = [size for size in sizes if size.isdecimal()]
        for size in [*numbered, "all", *(size for size in sizes if size not in numbered)]:
            means = [fmean(_scores(plan, store, name, s, size)) for s in plan.sized]
            first = store[Cell(name, 0, CHOSEN, size)]
            loss = max(means) - means[plan.sized.index(CHOSEN)]
            cells = [f"**{m:.3f}**" if m == max(means) else f"{m:.3f}" for m in means]
            rows.append([name, f"{first.documents:,}", f"{first.constraints}", *cells, f"{loss:.3f}"])
    return _table(["", "documents", "acting", *(f"{s.scale} {s.beta:g}" for s in plan.sized), "loss"], rows)


def _data(plan: Plan, store: Store) -> str:
    sizes = []
    for name, n in plan.seeds.items():
        score = store[Cell(name, 0, CHOSEN)]
        splits = f"{n} splits" if n > 1 else "one split"
        sizes.append(f"{name} ({splits}, {score.documents:,} texts to learn from, {score.constraints} constraints)")
    return fill(DATA.format(collections=", ".join(sizes)), 120)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---", *("---:" for _ in head[1:])], *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)
