"""What the model learns from, and which model it is: ``python -m benchmarks.models [--quick] [--page] [--fresh]``.

Test parts, no labels, statements at 0.9. Rows whose packages are not installed are left out, with a word
(``pip install 'tiltfit[embeddings,sentences,torch,lightgbm]'``). ``--quick``: one split of youtube.
"""

import sys
from functools import partial

from experiments.command import Experiment, run

from benchmarks.models import plan as plans
from benchmarks.models.page import missed, page, summary
from benchmarks.models.plan import Plan


def experiment(plan: Plan) -> Experiment:
    return Experiment(
        "models",
        "Which features, which model",
        plan.folders,
        (lambda _: plan.encoded(), lambda _: plan.cells()),
        partial(page, plan),
        partial(summary, plan),
        missed=partial(missed, plan),
        package="benchmarks",
    )


FULL, QUICK = experiment(plans.FULL), experiment(plans.QUICK)

if __name__ == "__main__":
    sys.exit(run(FULL, QUICK))
