"""Labelled words, Table 1 of the paper: ``python -m experiments.table1 [--quick] [--page] [--fresh] [--jobs N]``.

Four collections, ten random splits each, nothing labelled but words, which come from information gain or from topics
learned without labels. How many words is chosen on development data. ``--quick``: one split of 300 movie reviews.
"""

import sys
from functools import partial

from experiments.command import Experiment, run
from experiments.table1 import plan as plans
from experiments.table1.figure import plot
from experiments.table1.page import missed, page, summary
from experiments.table1.plan import Plan


def experiment(plan: Plan) -> Experiment:
    return Experiment(
        "table1",
        "Labelled words (Table 1)",
        tuple(dict.fromkeys(collection for collection, _ in plan.settings)),
        plan.stages,
        partial(page, plan),
        partial(summary, plan),
        partial(plot, plan),
        partial(missed, plan),
    )


FULL, QUICK = experiment(plans.FULL), experiment(plans.QUICK)

if __name__ == "__main__":
    sys.exit(run(FULL, QUICK))
