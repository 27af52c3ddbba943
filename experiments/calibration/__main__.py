"""Calibration error and reliability diagrams."""

from __future__ import annotations

import sys

from experiments.calibration.cells import Plan
from experiments.calibration.figure import plot
from experiments.calibration.page import page, summary
from experiments.command import Experiment, run


def experiment(plan: Plan) -> Experiment:
    return Experiment(
        "calibration",
        "Can the probabilities be believed?",
        tuple(plan.seeds),
        (plan.cells,),
        page(plan),
        summary=summary(plan),
        plot=plot(plan),
    )


FULL = experiment(Plan({"webkb": 3, "movie": 3, "20newsgroups": 1, "youtube": 1}))
QUICK = experiment(Plan({"youtube": 1}))

if __name__ == "__main__":
    sys.exit(run(FULL, QUICK))
