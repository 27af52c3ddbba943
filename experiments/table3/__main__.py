"""Citations with few labels, Table 3 of the paper: ``python -m experiments.table3 [--quick] [--page] [--fresh]``.

Cora; token accuracy with N = 5, 20 (the first N of each of five subsets) and 300 labelled citations: labels alone,
alternating projections and constraint-driven learning, transductive and inductive. ``--quick``: two subsets of N = 5
and the words alone, scored on the development part.
"""

import sys
from functools import partial

from experiments.command import Experiment, run
from experiments.table3 import plan as plans
from experiments.table3.page import missed, page, plot, summary
from experiments.table3.plan import Plan


def experiment(plan: Plan) -> Experiment:
    return Experiment(
        "table3",
        "Citations with few labels (Table 3)",
        ("cora", "lexicons"),
        plan.stages,
        partial(page, plan),
        partial(summary, plan),
        partial(plot, plan),
        partial(missed, plan),
    )


FULL, QUICK = experiment(plans.FULL), experiment(plans.QUICK)

if __name__ == "__main__":
    sys.exit(run(FULL, QUICK))
