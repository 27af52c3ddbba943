"""AP against majority vote and the label model on ``youtube``, with its ten rules as conditions."""

from __future__ import annotations

import sys

from experiments.command import Experiment, run
from experiments.youtube.cells import OWN, USUAL, Plan
from experiments.youtube.collection import Split
from experiments.youtube.figure import plot
from experiments.youtube.page import page, summary

SPLITS = 10


def experiment(plan: Plan) -> Experiment:
    return Experiment(
        "youtube",
        "Ten keyword rules as conditions",
        ("youtube",),
        (plan.first, plan.second),
        page(plan),
        summary=summary(plan),
        plot=plot(plan),
    )


FULL = experiment(Plan((OWN, *(Split(seed, once) for once in (False, True) for seed in range(SPLITS)))))
QUICK = experiment(Plan((OWN,), (USUAL,)))

if __name__ == "__main__":
    sys.exit(run(FULL, QUICK))
