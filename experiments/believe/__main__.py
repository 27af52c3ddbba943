"""What a user gets without turning a knob: ``python -m experiments.believe [--quick] [--page] [--fresh]``.

Test parts, default settings; nothing is chosen here. The figures of Tables 1 and 3 are read from their pages, so run
``table1`` and ``table3`` before. ``--quick``: rules, sources and generated data, scored on development parts.
"""

import sys
from functools import partial

from experiments.believe import plan as plans
from experiments.believe.page import missed, page, plot, summary
from experiments.believe.plan import Plan
from experiments.command import Experiment, run


def experiment(plan: Plan) -> Experiment:
    return Experiment(
        "believe",
        "What the defaults give",
        plan.folders,
        (lambda _: plan.cells(),),
        partial(page, plan),
        partial(summary, plan),
        partial(plot, plan),
        partial(missed, plan),
    )


FULL, QUICK = experiment(plans.FULL), experiment(plans.QUICK)

if __name__ == "__main__":
    sys.exit(run(FULL, QUICK))
