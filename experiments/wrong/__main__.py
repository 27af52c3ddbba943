"""Targets that are off, and words with the wrong label."""

from __future__ import annotations

import sys

from experiments.command import Experiment, run
from experiments.wrong.cells import Plan
from experiments.wrong.figure import plot
from experiments.wrong.page import costs, page


def experiment(plan: Plan) -> Experiment:
    return Experiment(
        "wrong",
        "What a wrong constraint costs",
        tuple(plan.seeds),
        (plan.cells,),
        page(plan),
        summary=costs(plan),
        plot=plot(plan),
    )


FULL = experiment(Plan({"webkb": 3, "movie": 3}))
QUICK = experiment(Plan({"youtube": 1}, (-0.2, 0.0, 0.2), (0, 1)))

if __name__ == "__main__":
    sys.exit(run(FULL, QUICK))
