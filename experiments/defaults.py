"""The defaults, chosen by experiment: ``python -m experiments.defaults [--quick] [--fresh]``.

Writes docs/defaults.md; ``--quick`` prints the page for one small collection instead. Development splits only: see
``experiments.development``. Finished cells are kept in ``.experiments/``, so the run can be interrupted; ``--fresh``
begins anew, which a change of the mathematics calls for.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.cells import Store
from experiments.defaults_page import page
from experiments.plan import FULL, QUICK
from tiltfit.data.corpora import available

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "defaults.md"
KEPT = ROOT / ".experiments" / "defaults.json"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments.defaults", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one small collection; print, write no page")
    parser.add_argument("--fresh", action="store_true", help="forget finished cells")
    parser.add_argument("--kept", type=Path, default=KEPT, help="where finished cells are kept")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page to write")
    given = parser.parse_args(arguments)
    plan = QUICK if given.quick else FULL
    missing = [name for name in plan.seeds if not available(name)]
    if missing:
        print(f"Not on this machine: {', '.join(missing)} (TILTFIT_DATA names their folder)", file=sys.stderr)
        return 1
    if given.fresh:
        given.kept.unlink(missing_ok=True)
    store = Store(given.kept)
    store.complete(plan.cells(), lambda line: print(line, file=sys.stderr, flush=True))
    if given.quick:
        print(page(plan, store))
    else:
        given.page.write_text(page(plan, store), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
