"""The defaults, chosen by experiment: ``python -m experiments.defaults [--quick] [--page] [--fresh]``.

Development splits only: see ``experiments.development``. ``--quick``: one small collection. A change of the mathematics
calls for ``--fresh``.
"""

import sys

from experiments.command import Experiment, Finished, run
from experiments.defaults import plan as plans
from experiments.defaults.cells import Scores
from experiments.defaults.figure import plot
from experiments.defaults.page import page
from experiments.defaults.plan import Plan


def experiment(plan: Plan) -> Experiment:
    def whole_page(found: Finished) -> str:
        return page(plan, Scores(found))

    return Experiment(
        "defaults",
        "Defaults, chosen by experiment",
        tuple(plan.seeds),
        (lambda _: plan.cells(),),
        whole_page,
        plot=plot(plan),
    )


FULL, QUICK = experiment(plans.FULL), experiment(plans.QUICK)

if __name__ == "__main__":
    sys.exit(run(FULL, QUICK))
