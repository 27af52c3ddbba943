"""docs/wrong.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.page import table

from experiments.command import Finished
from experiments.spread import mean
from experiments.wrong.cells import (
    ABOUT,
    HOWS,
    LABEL_MODEL,
    RELATIONS,
    SLACK,
    VOTE,
    WIDTH,
    Mislabelled,
    Off,
    Plan,
)

NAMES = {VOTE: "majority vote → LR", LABEL_MODEL: "label model → LR"}


def off(plan: Plan, found: Finished, name: str, relation: str, offset: float) -> list[float]:
    """Macro-F1 on every split."""
    return [found[Off(name, seed, relation, offset).key]["macro_f1"] for seed in range(plan.seeds[name])]


def mislabelled(plan: Plan, found: Finished, name: str, tenths: int, how: str) -> list[float]:
    """Macro-F1 on every split."""
    return [found[Mislabelled(name, seed, tenths, how).key]["macro_f1"] for seed in range(plan.seeds[name])]


def _told(cells: list[dict[str, Any]]) -> str:
    """Macro-F1; a star where a fit did not converge."""
    return mean([cell["macro_f1"] for cell in cells]) + ("" if all(cell["converged"] for cell in cells) else "\\*")


def offsets_table(plan: Plan, found: Finished, name: str) -> str:
    """Relations × how far targets are off."""
    seeds = range(plan.seeds[name])
    rows = [
        [relation, *(_told([found[Off(name, s, relation, offset).key] for s in seeds]) for offset in plan.offsets)]
        for relation in RELATIONS
    ]
    return table(["", *(f"{offset:+.1f}" if offset else "true" for offset in plan.offsets)], rows)


def mislabelled_table(plan: Plan, found: Finished, name: str) -> str:
    """Methods × how many words in ten have the wrong label."""
    seeds = range(plan.seeds[name])
    rows = []
    for how in HOWS:
        cells = [[found[Mislabelled(name, seed, tenths, how).key] for seed in seeds] for tenths in plan.tenths]
        rows.append([NAMES.get(how, f"AP, {how}"), *map(_told, cells)])
    return table(["each word at 0.9", *(f"{tenths} in ten" if tenths else "none" for tenths in plan.tenths)], rows)


def costs(plan: Plan) -> Callable[[Finished], dict[str, Any]]:
    """The cost of each mistake in macro-F1, by collection: against the true shares, and against right labels."""

    def make(found: Finished) -> dict[str, Any]:
        shown: dict[str, Any] = {}
        for name in plan.seeds:
            right = {relation: np.mean(off(plan, found, name, relation, 0.0)) for relation in RELATIONS}
            shown[name] = {
                f"{relation}, {offset:+g}": float(np.mean(off(plan, found, name, relation, offset)) - right[relation])
                for relation in RELATIONS
                for offset in plan.offsets
            }
            for how in HOWS:
                least = np.mean(mislabelled(plan, found, name, 0, how))
                for tenths in plan.tenths:
                    cost = float(np.mean(mislabelled(plan, found, name, tenths, how)) - least)
                    shown[name][f"{how}, {tenths} in ten mislabelled"] = cost
        return shown

    return make


def page(plan: Plan) -> Callable[[Finished], str]:
    def make(found: Finished) -> str:
        parts = []
        for name, n in plan.seeds.items():
            usual = mean(mislabelled(plan, found, name, 0, ABOUT))
            splits = f"{n} splits: mean and standard error" if n > 1 else "one split"
            parts.append(f"""## {name}

{splits}. `about(0.9)` for every word: {usual}.

{offsets_table(plan, found, name)}

{mislabelled_table(plan, found, name)}
""")
        return f"""\
![Macro-F1 by how wrong the constraints are](figures/wrong.png)

Labelled words of the benchmarks (ten per label, movie fifty), nothing labelled, tf-idf, defaults; macro-F1 on test
parts. Nothing is chosen here; the defaults were, earlier, on part of the same collections
([how](defaults.md)); splits other than the first share documents with it.

- **Targets that are off**: every word's target is its true share on the training part plus the offset, all in the same
  direction (cut to 0.01 … 0.99). `between` is ± {WIDTH} around the target; *slack* is `slack={SLACK}`, a soft edge as
  that of `about`; the others are hard.
- **Words with the wrong label**: this many in ten, chosen at random, are stated for another random label, each at 0.9.

{LESSONS}
{chr(10).join(parts)}
\\* a fit stopped before it converged. Where hard constraints contradict each other, a warning names them and recommends
`slack=`.
"""

    return make


LESSONS = """\
- **Too high costs nothing, if the statement is soft**: `about`, and bounds with slack, lose nothing that
  could be measured with every target 0.4 too high, when nearly all are 0.99. Which label a word indicates matters more
  than the number.
- **Too low costs.** 0.1 is a point or two; at 0.2 to 0.4 many targets fall to what a word would have by chance and
  below it, and `about` and `between` then say the *opposite* of what is meant (movie: worse than chance). `at_least`
  cannot: a bound that is too low only says less.
- **Hard bounds that are too high contradict each other.** The fit warns, names them, recommends `slack=`, and continues
  with a little slack for all. The result is less accurate than with soft statements, the more so the more is wrong.
  True hard bounds are as good as soft ones, or a point better.
- **So `at_least` with slack degrades best where targets are far off**: where they are too high it is `about`, and where
  they are far too low it keeps most of what it has. (0.1 or 0.2 too low, `about` can be a point better.)
- **Words with the wrong label** are different: one in ten costs AP a few points, three in ten many (tables below), with
  every relation. On webkb soft AP stays ahead of votes and label model. On movie, with a hundred words and two labels,
  it is no better than votes, and the label model is hardly affected: with so many words it learns which of them
  disagree with the others. AP trusts them all; use `leave_one_out` and the pulls in the constraint report to find such
  words.
"""
