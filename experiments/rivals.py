"""The methods of the paper side by side: ``python -m experiments.rivals [--quick] [--page] [--fresh]``.

1. MALLET's set-up on 20 newsgroups: GE and AP with KL and L2, and all labels, beside the figures of MALLET 2.1.1. What
   is chosen is chosen on a development part.
2. Labelled words and nothing labelled, four collections, the defaults of every method: are GE and AP within 0.03
   macro-F1 of each other, as in Table 1?
3. The same with two labels of each class.

Prints the page; ``--page`` writes docs/rivals-experiments.md, the JSON beside it and the figure. ``--quick``: one small
collection, printed. Finished cells are kept in ``.experiments/``, so that the run can be interrupted; ``--fresh``
begins anew. Exit status 1 if MALLET's figures are not reached, or if GE and AP are further apart on most collections.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.rivals_page import WITHIN, apart, figures, page, plot, short_of_mallet
from experiments.rivals_plan import FULL, QUICK, Store
from tiltfit.data.corpora import available

ROOT = Path(__file__).resolve().parents[1]
DOCS, KEPT = ROOT / "docs", ROOT / ".experiments" / "rivals.json"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments.rivals", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one small collection; print")
    parser.add_argument("--page", action="store_true", help="write the page, the JSON and the figure")
    parser.add_argument("--fresh", action="store_true", help="forget finished cells")
    parser.add_argument("--kept", type=Path, default=KEPT, help="where finished cells are kept")
    parser.add_argument("--docs", type=Path, default=DOCS, help="where the page is written")
    given = parser.parse_args(arguments)
    plan = QUICK if given.quick else FULL
    missing = [name for name in plan.collections if not available(name)]
    if missing:
        print(f"Not on this machine: {', '.join(missing)} (TILTFIT_DATA names their folder)", file=sys.stderr)
        return 1
    if given.fresh:
        given.kept.unlink(missing_ok=True)
    store = Store(given.kept)
    store.complete(plan.cells())
    print(page(plan, store))
    if given.page:
        (given.docs / "rivals-experiments.md").write_text(page(plan, store), encoding="utf-8")
        data = json.dumps(figures(plan, store), indent=1, ensure_ascii=False)
        (given.docs / "rivals-experiments.json").write_text(data + "\n", encoding="utf-8")
        if not plot(plan, store, given.docs / "figures" / "rivals.png"):
            print("Matplotlib is not installed: no figure.", file=sys.stderr)
    if given.quick:
        return 0
    short = short_of_mallet(store, plan)
    far = [name for name, difference in apart(store, plan).items() if abs(difference) > WITHIN]
    if short or 2 * len(far) >= len(plan.seeds):
        print(f"missed: below MALLET: {short}; GE and AP apart: {far}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
