"""Citations with few labels (Table 3 of the paper): ``python -m experiments.citations [--quick] [--fresh]``.

Cora; token accuracy with N = 5, 20 (the first N of each of five subsets) and 300 labelled citations (five seeds of the
sampler). Supervised; transductive (AP-T: constraints on the very citations that are scored); inductive (AP-I:
constraints on 1,000 other unlabelled ones).

Which constraints, and how strong, is decided on the development part alone, transductively, by the mean over N = 5 and
20: ``CHOICES``. Only what won there is run on the test part. Writes docs/citations.md and docs/citations.json; finished
cells are kept in ``.experiments/``. ``--quick``: two subsets of N = 5, development part, printed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.citations import LABELS, citations, folder, lexicons, table_2

from experiments.kept import Kept
from tiltfit import Constraint, TiltTagger, expect, punctuation

ROOT = Path(__file__).resolve().parents[1]
PAGE, KEPT = ROOT / "docs" / "citations.md", ROOT / ".experiments" / "citations.json"
PAPER = {
    5: {"supervised": 0.622, "transductive": 0.756, "inductive": 0.746},
    20: {"supervised": 0.798, "transductive": 0.854, "inductive": 0.851},
    300: {"supervised": 0.940, "transductive": 0.943, "inductive": 0.948},
}
GOALS = {(5, "transductive"): 0.80, (5, "inductive"): 0.79, (20, "transductive"): 0.90, (20, "inductive"): 0.89,
         (300, "transductive"): 0.965, (300, "inductive"): 0.962}  # fmt: skip

ONCE = [expect.repeats().at_most(0.3, name="fields come once")]
ON_PUNCTUATION = [expect.change(given=~punctuation.before).at_most(0.01, name="fields change on punctuation")]
OF_CHANGES = [
    expect.change(given=punctuation.before, of=expect.change()).at_least(0.9, name="changes are on punctuation")
]
MUST = [
    expect.appears("author").at_least(0.95),
    expect.appears("title").at_least(0.97),
    expect.appears("date").at_least(0.95),
]

CHOICES: dict[str, list[Constraint]] = {
    "words (3)–(11)": [],
    "words, (2) on punctuation": ON_PUNCTUATION,
    "words, (2) as a share of changes": OF_CHANGES,
    "words, (1) once": ONCE,
    "words, must appear": MUST,
    "words, (1) once, must appear": ONCE + MUST,
    "words, (1), (2): Table 2": ONCE + ON_PUNCTUATION,
}
"""Constraints beside the words: Table 2, and what must appear (Chang et al. 2007; targets from the 300 labelled)."""


@dataclass(frozen=True)
class Run:
    """One fit. ``more``: which constraints of ``CHOICES``; None is supervised. ``part``: what is scored."""

    n: int
    subset: int
    way: str
    more: str | None
    part: str

    @property
    def key(self) -> str:
        return f"{self.part} | {self.way} | {self.more} | {self.n} | {self.subset}"

    def measure(self) -> dict[str, Any]:
        """Accuracy of p, accuracy of q, seconds."""
        scored = citations(self.part)
        train = citations("train.300.0" if self.n == 300 else f"train.25.{self.subset}")
        X, y = list(train.tokens)[: self.n], list(train.y or [])[: self.n]
        unlabelled: list[list[str]] = []
        if self.way == "transductive":
            unlabelled = list(scored.tokens)
        elif self.way == "inductive":
            unlabelled = list(citations("unlabeled", labelled=False).tokens)
        said = [] if self.more is None else [*table_2(), *CHOICES[self.more]]
        tagger = TiltTagger(
            said, classes=LABELS, features={"lexicons": lexicons()}, random_state=self.subset, n_jobs=2
        )  # fmt: skip
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # words that a subset does not have, constraints that are not quite met
            tagger.fit(X + unlabelled, y + [None] * len(unlabelled))
            seconds = time.perf_counter() - started
            found = {"p": tagger.score(scored.tokens, scored.y), "seconds": seconds, "rounds": tagger.n_iter_}
            if said:
                tags = tagger.project(list(scored.tokens), decode=True)
                pairs = [
                    (a, b)
                    for row, truth in zip(tags, scored.y or [], strict=True)
                    for a, b in zip(row, truth or [], strict=True)
                ]
                found["q"] = float(np.mean([a == b for a, b in pairs]))
        return found


def development(subsets: int, sizes: Sequence[int]) -> list[Run]:
    """What the choice rests on."""
    return [Run(n, k, "transductive", more, "dev") for more in CHOICES for n in sizes for k in range(subsets)]


def final(more: str) -> list[Run]:
    """The table."""
    ways = [("supervised", None), ("transductive", more), ("inductive", more)]
    return [Run(n, k, way, chosen, "test") for n in PAPER for way, chosen in ways
            for k in range(1 if n == 300 and chosen is None else 5)]  # fmt: skip


def complete(runs: Sequence[Run], kept: Kept) -> None:
    """Measure what is missing."""
    missing = [run for run in runs if run.key not in kept]
    for number, run in enumerate(missing, start=1):
        kept[run.key] = run.measure()
        print(f"{number}/{len(missing)} {run.key}: {kept[run.key]['p']:.3f} ({kept[run.key]['seconds']:.1f} s)",
              file=sys.stderr, flush=True)  # fmt: skip


def of(kept: Kept, n: int, way: str, more: str | None, part: str, field: str = "p") -> list[float]:
    """The figures of one cell, subset by subset."""
    runs = [Run(n, k, way, more, part) for k in range(5)]
    return [float(kept[run.key][field]) for run in runs if run.key in kept]


def chosen(kept: Kept, sizes: Sequence[int]) -> str:
    """What is best on the development part."""
    return max(CHOICES, key=lambda more: np.mean([np.mean(of(kept, n, "transductive", more, "dev")) for n in sizes]))


def choice_table(kept: Kept, sizes: Sequence[int]) -> str:
    lines = ["| constraints | " + " | ".join(f"N = {n}" for n in sizes) + " | seconds |",
             "|---|" + "---:|" * (len(sizes) + 1)]  # fmt: skip
    for more in CHOICES:
        cells = [_mean(of(kept, n, "transductive", more, "dev")) for n in sizes]
        seconds = np.mean([np.mean(of(kept, n, "transductive", more, "dev", "seconds")) for n in sizes])
        lines.append(f"| {more} | {' | '.join(cells)} | {seconds:.1f} |")
    return "\n".join(lines)


def result_table(kept: Kept, more: str) -> str:
    lines = ["| N | way | paper | goal | ours (p) | ours (q) | seconds |", "|---:|---|---:|---:|---:|---:|---:|"]
    for n, paper in PAPER.items():
        for way, theirs in paper.items():
            which = None if way == "supervised" else more
            goal = GOALS.get((n, way))
            q = "" if which is None else _mean(of(kept, n, way, which, "test", "q"))
            seconds = np.mean(of(kept, n, way, which, "test", "seconds"))
            ours = _mean(of(kept, n, way, which, "test"))
            lines.append(f"| {n} | {way} | {theirs:.3f} | {goal or ''} | {ours} | {q} | {seconds:.1f} |")
    return "\n".join(lines)


def page(kept: Kept, sizes: Sequence[int]) -> str:
    """docs/citations.md."""
    more = chosen(kept, sizes)
    return f"""# Citations with few labels

Written by `python -m experiments.citations`. Cora, default templates with lexicons, default parameters. Token accuracy,
mean ± standard deviation over five subsets (N = 300: over five seeds). p: the model's own labels; q: those of its
projection onto the constraints, on the citations scored. Nothing was chosen on the test part.

## The choice, on the development part (transductive)

{choice_table(kept, sizes)}

Chosen: **{more}**.

## The test part

{result_table(kept, more)}

"Paper" is Table 3 of Bellare, Druck & McCallum (2009), with all of Table 2.
"""


def _mean(values: Sequence[float]) -> str:
    spread = f" ± {np.std(values, ddof=1):.3f}" if len(values) > 1 else ""
    return f"{np.mean(values):.3f}{spread}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments.citations", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two subsets of N = 5, development part; print")
    parser.add_argument("--fresh", action="store_true", help="forget finished cells")
    parser.add_argument("--kept", type=Path, default=KEPT, help="where finished cells are kept")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page to write")
    given = parser.parse_args(arguments)
    if folder() is None:
        print("The citations are not on this machine: TILTFIT_DATA names the folder that holds cora/.", file=sys.stderr)
        return 0
    if given.fresh:
        given.kept.unlink(missing_ok=True)
    kept = Kept(given.kept)
    sizes = (5,) if given.quick else (5, 20)
    complete(development(2 if given.quick else 5, sizes), kept)
    if given.quick:
        print(choice_table(kept, sizes))
        return 0
    complete(final(chosen(kept, sizes)), kept)
    given.page.write_text(page(kept, sizes), encoding="utf-8")
    cells = {run.key: kept[run.key] for run in (*development(5, sizes), *final(chosen(kept, sizes)))}
    given.page.with_suffix(".json").write_text(json.dumps(cells, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
