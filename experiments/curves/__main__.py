"""Macro-F1 by the number of labelled words and by the number of labels."""

from __future__ import annotations

import sys

from experiments.command import Experiment, run
from experiments.curves.cells import FURTHER, LABELS, Curves, Plan
from experiments.curves.figure import plot
from experiments.curves.page import page, summary


def experiment(plan: Plan) -> Experiment:
    return Experiment(
        "curves",
        "How many labels are constraints worth?",
        tuple(plan.curves),
        (plan.cells,),
        page(plan),
        summary=summary(plan),
        plot=plot(plan),
    )


FULL = experiment(
    Plan(
        {
            "webkb": Curves(3),
            "movie": Curves(3, alone=(*LABELS, FURTHER, 2 * FURTHER)),
            "20newsgroups": Curves(1, told=(1, 5, 20, 100)),
        }
    )
)
QUICK = experiment(Plan({"youtube": Curves(1, (1, 10), (1, 10), (1, 10, 100))}))

if __name__ == "__main__":
    sys.exit(run(FULL, QUICK))
