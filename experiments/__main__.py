"""All experiments, one after the other: ``python -m experiments [--quick] [--jobs N]``.

Writes every page, and the README's tables. What is finished is kept; a run can be interrupted. ``--quick``: a
small part of each, and nothing is written.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence

from experiments.command import JOBS, ROOT

EXPERIMENTS = (
    "table1",
    "apartments",
    "table3",
    "curves",
    "wrong",
    "calibration",
    "youtube",
    "online",
    "rivals",
    "defaults",
    "believe",
    "sizes",
)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small part of each; write nothing")
    parser.add_argument("--jobs", type=int, default=JOBS, help="how many cells to measure beside each other")
    given = parser.parse_args(arguments)
    failed = []
    for name in EXPERIMENTS:
        started = time.perf_counter()
        flags = ["--quick" if given.quick else "--page", "--jobs", str(given.jobs)]
        command = [sys.executable, "-m", f"experiments.{name}", *flags]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=False)
        if done.returncode:
            failed.append(name)
        print(f"{name}: {'failed' if done.returncode else 'done'}, {time.perf_counter() - started:.0f} s", flush=True)
    if not given.quick and not failed:
        subprocess.run([sys.executable, "-m", "experiments.readme"], cwd=ROOT, check=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
