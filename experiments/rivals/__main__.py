"""The methods of the paper side by side: ``python -m experiments.rivals [--quick] [--page] [--fresh]``.

1. MALLET's set-up on 20 newsgroups: GE and AP with KL and L2, and all labels, beside the figures of MALLET 2.1.1. What
   is chosen is chosen on a development part.
2. Labelled words and nothing labelled, four collections, the defaults of every method: are GE and AP within 0.03
   macro-F1 of each other, as in Table 1?
3. The same with two labels of each class.

``--quick``: one small collection.
"""

import sys
from functools import partial

from experiments.command import Experiment, run
from experiments.rivals import plan as plans
from experiments.rivals.page import missed, page, plot
from experiments.rivals.plan import Plan


def experiment(plan: Plan) -> Experiment:
    return Experiment(
        "rivals",
        "The methods side by side: experiments",
        tuple(plan.collections),
        (lambda _: plan.cells(),),
        partial(page, plan),
        plot=partial(plot, plan),
        missed=partial(missed, plan),
        stem="rivals-experiments",
    )


FULL, QUICK = experiment(plans.FULL), experiment(plans.QUICK)

if __name__ == "__main__":
    sys.exit(run(FULL, QUICK))
