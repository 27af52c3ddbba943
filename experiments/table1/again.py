"""Only the column *AP, defaults* of Table 1, measured anew: ``python -m experiments.table1.again [--jobs N]``.

A change of the library's defaults changes this column alone: the others state their own settings. All other figures of
``docs/table1.json`` stay as they are, and so do the numbers of words, which were chosen on development data.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from typing import Any

from experiments.command import DOCS, KEPT, SOURCES, Cell, measured, sources, write
from experiments.kept import Kept
from experiments.table1.__main__ import FULL
from experiments.table1.cells import OURS
from experiments.table1.plan import FULL as PLAN


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments.table1.again")
    parser.add_argument("--jobs", type=int, default=1, help="how many cells to measure beside each other")
    jobs = parser.parse_args().jobs
    if FULL.absent:
        print(f"Not on this machine: {', '.join(FULL.absent)} (TILTFIT_DATA names their folder)", file=sys.stderr)
        return 1
    found: dict[str, Any] = json.loads((DOCS / "table1.json").read_text(encoding="utf-8"))["cells"]
    kept, now = Kept(KEPT / "table1-again.json"), sources()
    listed = PLAN.final(found)
    ours: dict[str, Cell] = {cell.key: replace(cell, methods=(OURS,)) for cell in listed}
    missing = [cell for cell in ours.values() if f"{cell.key} | {now}" not in kept]
    for number, (cell, figures) in enumerate(measured(missing, jobs), start=1):
        kept[f"{cell.key} | {now}"] = figures
        print(f"{number}/{len(missing)} {cell.key}", file=sys.stderr, flush=True)
    for key, cell in ours.items():
        for amount, figures in kept[f"{cell.key} | {now}"]["amounts"].items():
            found[key]["amounts"][amount]["methods"][OURS] = figures["methods"][OURS]
    finished = Kept(KEPT / "table1.json")  # so that the next page of the whole table has them, too
    for key in ours:
        finished[key] = {**found[key], SOURCES: now}
    print(FULL.text(found))
    write(FULL, found, DOCS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
