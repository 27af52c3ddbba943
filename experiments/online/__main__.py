"""The parts of online learning, and citations online: ``python -m experiments.online [--quick] [--page] [--fresh]``.

1. Development parts of three collections (labelled words, nothing labelled): the default beside variants that change
   one thing.
2. Cora, inductive (AP-I), test part: batch, the default steps, and the steps as printed in the paper. Development part:
   how many sequences a step.

``--quick``: one collection.
"""

import sys

from experiments.command import Experiment, Finished, run
from experiments.online.cells import A_STEP, BATCH, Citations, Variant, citation_cells
from experiments.online.page import COLLECTIONS, missed, page, plot, variants_table
from experiments.online.variants import VARIANTS

SMALL = COLLECTIONS[:1]


def variants(collections: tuple[str, ...]) -> list[Variant]:
    return [Variant(name, variant) for name in collections for variant in (BATCH, *VARIANTS)]


def everything(_: Finished) -> list[Variant | Citations]:
    return [*variants(COLLECTIONS), *citation_cells(), *citation_cells(A_STEP, "dev")]


TITLE = "Online learning: experiments"
FULL = Experiment(
    "online",
    TITLE,
    (*COLLECTIONS, "cora", "lexicons"),
    (everything,),
    page,
    plot=plot,
    missed=missed,
    stem="online-experiments",
)
QUICK = Experiment("online", TITLE, SMALL, (lambda _: variants(SMALL),), lambda found: variants_table(found, SMALL))

if __name__ == "__main__":
    sys.exit(run(FULL, QUICK))
