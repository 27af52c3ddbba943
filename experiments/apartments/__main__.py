"""Fields of advertisements without a label, §5.2 of the paper: ``python -m experiments.apartments [--quick] [--page]``.

33 words, three for each of 11 labels, with and without "90 % of transitions are self-transitions"; token accuracy on
the test ads. What the model looks at and how strong penalties are is chosen on the development part. ``--quick``: 25
texts, two sets of templates, scored on the development part.
"""

import sys
from functools import partial

from experiments.apartments import plan as plans
from experiments.apartments.data import FOLDER
from experiments.apartments.page import missed, page, plot, summary
from experiments.apartments.plan import Plan
from experiments.command import Experiment, run


def experiment(plan: Plan) -> Experiment:
    return Experiment(
        "apartments",
        "Fields of apartment advertisements, without a label (§5.2)",
        (FOLDER,),
        plan.stages,
        partial(page, plan),
        partial(summary, plan),
        partial(plot, plan),
        partial(missed, plan),
    )


FULL, QUICK = experiment(plans.FULL), experiment(plans.QUICK)

if __name__ == "__main__":
    sys.exit(run(FULL, QUICK))
