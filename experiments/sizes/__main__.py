"""Sizes of data and numbers of labels: ``python -m experiments.sizes [--quick] [--page] [--fresh] [--jobs N]``.

Training and development parts, default settings; nothing is chosen here. ``--quick``: generated data alone.
"""

import sys
from functools import partial

from experiments.command import Experiment, run
from experiments.sizes.page import FULL as FULL_PLAN
from experiments.sizes.page import QUICK as QUICK_PLAN
from experiments.sizes.page import Plan, missed, page, summary


def experiment(plan: Plan, folders: tuple[str, ...]) -> Experiment:
    return Experiment(
        "sizes",
        "Sizes of data, numbers of labels",
        folders,
        (lambda _: plan.cells(),),
        partial(page, plan),
        partial(summary, plan),
        missed=partial(missed, plan),
    )


FOLDERS = tuple(dict.fromkeys([*(task.folder for task in FULL_PLAN.tasks if task.folder), "cora"]))
FULL, QUICK = experiment(FULL_PLAN, FOLDERS), experiment(QUICK_PLAN, ())

if __name__ == "__main__":
    sys.exit(run(FULL, QUICK))
