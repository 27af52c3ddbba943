"""The defaults, chosen by experiment: ``python -m experiments.defaults [--quick] [--page] [--fresh] [--jobs N]``.

Training and development parts only; the criterion is in ``experiments.defaults.plan``. ``--quick``: the demo's
generated data and three settings. A change of the mathematics calls for ``--fresh``.
"""

import sys
from functools import partial

from experiments.command import Experiment, run
from experiments.defaults import plan as plans
from experiments.defaults.figure import plot
from experiments.defaults.page import page, summary
from experiments.defaults.plan import Plan


def experiment(plan: Plan) -> Experiment:
    return Experiment(
        "defaults",
        "Defaults, chosen once for everything",
        tuple(dict.fromkeys(task.folder for task in plan.tasks if task.folder)),
        plan.stages,
        partial(page, plan),
        partial(summary, plan),
        partial(plot, plan),
    )


FULL, QUICK = experiment(plans.FULL), experiment(plans.QUICK)

if __name__ == "__main__":
    sys.exit(run(FULL, QUICK))
