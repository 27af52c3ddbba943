"""docs/defaults.md: the tables behind the defaults, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import fmean, stdev
from textwrap import fill

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from experiments.defaults.cells import REFERENCES, ROUNDS, Cell, Score, Scores, Setting
from experiments.defaults.plan import CHOSEN, Plan
from experiments.development import TICKETS

HOW = """\
Numbers are macro-F1.

{data}

**Spread.** ± is the standard deviation over the splits of a collection. *Loss* is how far a setting stays behind the
best one of each collection, on average over the collections; *worst* is the largest of these distances; *rank* is the
mean rank. Different splits move all settings together, so differences between rows are more certain than ± suggests.

## The choice

![Macro-F1 by β, one line per collection](figures/defaults.png)

{choice}
"""

DATA = (
    "**Data.** {collections}. Only the training part of a collection is read, split again 70 : 30 into texts to learn "
    "from and texts to evaluate on; what `python -m benchmarks.text` tests on is never seen. No document is labelled: "
    'the constraints say "about 90% of the documents with this word have this label" for the most informative words of '
    "each label, as in that benchmark."
)

CHOICE = """\
Scale, vectorizer and length follow from the averages below, the solver from its cost; α was fixed beforehand, and
nothing here contradicts it. `unit` leads by far where targets are rough, all 0.9; with true targets (below) it hardly
leads.

**β is a compromise, made with the results known.** The plan was to choose by the collections alone. By them β = 0.1 is
ahead of 0.05, by little but on nearly every split. It then turned out to cost the demo's tickets more than it gains, so
the tickets and β = 0.05 were added *after* the first results. With the tickets counted as one more collection 0.05 has
the smallest loss; that weight is a judgement, and with another weight 0.1 or a smaller β wins. Reliable conclusions:
0.03 to 0.1 are close to each other, on average ahead of the paper's 0.01 on the collections, and 0.3 is too soft. An
earlier run of the grid is not shown: its solver stopped too early, with some settings at the very start.

Length 10; *missed* is the mean distance of q from the targets of the collections. A split counts as better by any
margin.
"""

GRID = """\
## Scale, β and the length of documents

All with α = 1, tf-idf, joint solver. Length and α are nearly one parameter: making documents c times as long is like
dividing α by c². Sorted by loss; the chosen setting is bold.
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

Fewer texts to learn from (at random, smaller sets within larger ones; mean over the splits), the same texts to evaluate
on, and the same constraints: what people know does not depend on how many documents they have collected. A word that
none of the texts contains is inactive; *acting* counts the others. Two kinds of row go beyond the texts to learn from:
11,314 documents of 20newsgroups are those of both sides (without any label), and in the last row of webkb and of
20newsgroups each text counts ten times, which stands in for a larger collection but brings no new words. The best of
each row is bold; *loss* is the chosen setting's distance to it. At 200 documents a softer β is often better.

`unit` need not lose its effect as documents are added, for a reason: with more documents it is more expensive to tilt q
away from p, and in the limit q = p and the objective is U(E_p[f′]) + α/2·‖λ‖², which contains shares but no number of
documents.
"""

TARGETS = """\
## Rough and true targets

All splits, length 10: with 0.9 for every word as above, and with each label's true share among the texts that have the
word. Added after the first results, to see why a smaller β is better for the tickets: where targets are true, a tighter
β is better on most collections, though not on all.
"""

STATEMENTS = """\
## A dozen careful statements

The demo's constraints on its generated tickets (not those on which the demo is evaluated): words, phrases and patterns
with targets near the truth.
"""


def page(plan: Plan, store: Scores) -> str:
    """The whole page."""
    sections = [
        HOW.format(
            data=_data(plan, store),
            choice=_choice(plan, store),
        ),
        GRID + "\n" + _grid(plan, store),
        FACTORS + "\n" + _factors(plan, store),
        SOLVERS.format(rounds=ROUNDS["alternating"]) + "\n" + _solvers(plan, store),
        SIZES + "\n" + _sizes(plan, store),
        TARGETS + "\n" + _targets(plan, store),
        STATEMENTS + "\n" + _tickets(plan, store),
    ]
    return "\n".join(sections)


# The grid


def _choice(plan: Plan, store: Scores) -> str:
    """Over all: the collections and, as one more, the tickets."""
    behind = _behind(plan, store, plan.grid)
    scores = [fmean(_ticket_scores(plan, store, s, "all")) for s in plan.sized]
    rows = []
    for setting, f1 in zip(plan.sized, scores, strict=True):
        losses = behind[plan.grid.index(setting)]
        tickets = max(scores) - f1
        overall = (losses.sum() + tickets) / (len(losses) + 1)
        row = [f"{setting.scale} β={setting.beta:g}", f"{losses.mean():.3f}", f"{tickets:.3f}", f"{overall:.3f}"]
        row += [
            f"{max(losses.max(), tickets):.3f}",
            _duel(plan, store, setting),
            f"{_missed(plan, store, setting):.2f}",
        ]
        rows.append(_bold(row) if setting == CHOSEN else row)
    chosen = (
        f"`scale={CHOSEN.scale!r}`, `beta={CHOSEN.beta:g}`, `alpha={CHOSEN.alpha:g}`, {CHOSEN.vectorizer}, "
        f"`solver={CHOSEN.solver!r}`.\n\n"
    )
    head = ["", "loss, collections", "loss, tickets", "loss, all", "worst", "chosen is better on", "missed"]
    return f"{chosen}{CHOICE}\n{_table(head, rows)}".rstrip()


def _duel(plan: Plan, store: Scores, other: Setting) -> str:
    if other == CHOSEN:
        return ""
    pairs = list(zip(plan.splits([CHOSEN]), plan.splits([other]), strict=True))
    return f"{sum(store[a].macro_f1 > store[b].macro_f1 for a, b in pairs)} of {len(pairs)} splits"


def _missed(plan: Plan, store: Scores, setting: Setting) -> float:
    return fmean(store[cell].missed for cell in plan.splits([setting]))


def _grid(plan: Plan, store: Scores) -> str:
    behind = _behind(plan, store, plan.grid)
    loss, worst, rank = behind.mean(axis=1), behind.max(axis=1), rankdata(behind, axis=0).mean(axis=1)
    rows = []
    for k in np.argsort(loss, kind="stable"):
        setting = plan.grid[k]
        name = f"{setting.scale} β={setting.beta:g}, length {setting.length:g}"
        cells = [_spread(plan, store, n, setting) for n in plan.seeds]
        row = [name, *cells, f"{loss[k]:.3f}", f"{worst[k]:.3f}", f"{rank[k]:.1f}"]
        rows.append(_bold(row) if setting == CHOSEN else row)
    for reference in REFERENCES:
        rows.append([f"*{reference}*", *(_spread(plan, store, n, reference) for n in plan.seeds), "", "", ""])
    return _table(["setting", *plan.seeds, "loss", "worst", "rank"], rows)


def _behind(plan: Plan, store: Scores, settings: Sequence[Setting]) -> npt.NDArray[np.float64]:
    """The distance of each setting from the best, by collection: settings × collections."""
    means = np.array([[fmean(_scores(plan, store, name, s)) for name in plan.seeds] for s in settings])
    return np.asarray(means.max(axis=0) - means)


def _scores(plan: Plan, store: Scores, name: str, method: Setting | str, size: str = "all") -> list[float]:
    return [store[Cell(name, seed, method, size)].macro_f1 for seed in range(plan.seeds[name])]


def _spread(plan: Plan, store: Scores, name: str, method: Setting | str) -> str:
    return _pm(_scores(plan, store, name, method))


def _pm(scores: list[float]) -> str:
    return f"{fmean(scores):.3f}" + (f" ± {stdev(scores):.3f}" if len(scores) > 1 else "")


# The other factors


def _factors(plan: Plan, store: Scores) -> str:
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


def _solvers(plan: Plan, store: Scores) -> str:
    rows = []
    for name in plan.alternating:
        both = [store[Cell(name, 0, replace(CHOSEN, solver=s))] for s in ("joint", "alternating")]
        rows.append([name, *(text for score in both for text in _run(score))])
    head = [f"{solver} {what}" for solver in ("joint", "alternating") for what in ("F1", "rounds", "s")]
    return _table(["", *head], rows)


def _run(score: Score) -> list[str]:
    return [f"{score.macro_f1:.3f}", f"{score.rounds}{'' if score.converged else '*'}", f"{score.seconds:.1f}"]


def _sizes(plan: Plan, store: Scores) -> str:
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


def _targets(plan: Plan, store: Scores) -> str:
    rows = []
    for name in plan.seeds:
        for true in (False, True):
            settings = [replace(s, true_targets=true) for s in plan.sized]
            means = [fmean(_scores(plan, store, name, s)) for s in settings]
            cells = [f"**{m:.3f}**" if m == max(means) else f"{m:.3f}" for m in means]
            rows.append([name, "true" if true else "0.9", *cells])
    return _table(["", "targets", *(f"{s.scale} {s.beta:g}" for s in plan.sized)], rows)


def _tickets(plan: Plan, store: Scores) -> str:
    rows = []
    for size in plan.tickets:
        scores = [_ticket_scores(plan, store, s, size) for s in plan.sized]
        best = max(fmean(found) for found in scores)
        cells = [f"**{_pm(found)}**" if fmean(found) == best else _pm(found) for found in scores]
        rows.append([f"{store[Cell(TICKETS, 0, CHOSEN, size)].documents:,}", *cells])
    return _table(["documents", *(f"{s.scale} {s.beta:g}" for s in plan.sized)], rows)


def _ticket_scores(plan: Plan, store: Scores, setting: Setting, size: str) -> list[float]:
    return [store[Cell(TICKETS, seed, setting, size)].macro_f1 for seed in range(plan.tickets[size])]


def _data(plan: Plan, store: Scores) -> str:
    sizes = []
    for name, n in plan.seeds.items():
        score = store[Cell(name, 0, CHOSEN)]
        splits = f"{n} splits" if n > 1 else "one split"
        sizes.append(f"{name} ({splits}, {score.documents:,} texts to learn from, {score.constraints} constraints)")
    return fill(DATA.format(collections=", ".join(sizes)), 120)


def _bold(row: Sequence[str]) -> list[str]:
    return [f"**{text}**" if text else "" for text in row]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---", *("---:" for _ in head[1:])], *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)
