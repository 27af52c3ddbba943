"""Constraint-driven learning on citations: ``python -m experiments.constraint_driven [--way inductive] [--subsets 5]``.

Cora, development part only: token accuracy of the model with N = 5 and 20 labelled citations and the words (3)–(11) of
the paper's Table 2, alone and with (1) and (2), of supervised learning, alternating projections and constraint-driven
learning with several ``tau`` and ``top_k``, from which its defaults were chosen. Prints a table.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from benchmarks.citations import LABELS, citations, few_labelled, folder, lexicons, table_2

from experiments.table3.cells import CHOICES
from tiltfit import TiltTagger

WORDS, PUNCTUATION, TABLE_2 = "words (3)–(11)", "words, (2) on punctuation", "words, (1), (2): Table 2"
SIZES = (5, 20)


@dataclass(frozen=True)
class Trial:
    """A method with its options, and the constraints beside the words."""

    more: str
    method: str
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        told = ", ".join(f"{name} = {value}" for name, value in self.options.items())
        return f"{self.method}{f' ({told})' if told else ''} | {self.more}"

    def measure(self, n: int, subset: int, way: str) -> tuple[float, float]:
        """Accuracy on the development part, and seconds."""
        scored = citations("dev")
        more = scored if way == "transductive" else citations("unlabeled", labelled=False)
        X, y = few_labelled(n, subset)
        tagger = TiltTagger(
            [*table_2(), *CHOICES[self.more]],
            classes=LABELS,
            features={"lexicons": lexicons()},
            method=self.method,
            method_options=self.options,
            random_state=subset,
        )
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # words that a subset does not have, constraints that labels contradict
            tagger.fit(X + list(more.tokens), y + [None] * len(more.tokens))
        return float(tagger.score(scored.tokens, scored.y)), time.perf_counter() - started


TRIALS = (
    Trial(WORDS, "supervised"),
    Trial(WORDS, "ap"),
    *(Trial(WORDS, "codl", {"tau": tau, "top_k": k}) for tau in (0.9, 0.5, 0.3, 0.1) for k in (1, 10)),
    *(Trial(WORDS, "codl", {"rho": rho}) for rho in (1.0, 5.0)),
    Trial(PUNCTUATION, "ap"),
    Trial(PUNCTUATION, "codl"),
    Trial(TABLE_2, "codl"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments.constraint_driven", description=__doc__)
    parser.add_argument("--way", choices=("transductive", "inductive"), default="transductive")
    parser.add_argument("--subsets", type=int, default=5)
    given = parser.parse_args(arguments)
    if folder() is None:
        print("The citations are not on this machine: TILTFIT_DATA names the folder that holds cora/.", file=sys.stderr)
        return 0
    print("| method | constraints | " + " | ".join(f"N = {n}" for n in SIZES) + " | seconds |")
    print("|---|---|" + "---:|" * (len(SIZES) + 1))
    for trial in TRIALS:
        found = np.array([[trial.measure(n, k, given.way) for k in range(given.subsets)] for n in SIZES])
        accuracy = " | ".join(f"{mean:.3f}" for mean in found[:, :, 0].mean(axis=1))
        print(f"| {trial} | {accuracy} | {found[:, :, 1].mean():.1f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
