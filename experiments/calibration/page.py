"""docs/calibration.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.page import table

from experiments.calibration.cells import (
    AP,
    GE,
    LABEL_MODEL,
    MODEL,
    PROJECTED,
    SUPERVISED,
    TILTED,
    TRUE_SHARES,
    VOTE,
    Believed,
    Plan,
)
from experiments.command import Finished
from experiments.spread import mean
from tiltfit.report.reliability import BINS

NAMES = {
    AP: "AP, words at 0.9",
    TRUE_SHARES: "AP, words at their true shares",
    GE: "GE, words at 0.9",
    VOTE: "majority vote → LR",
    LABEL_MODEL: "label model → LR",
    SUPERVISED: "all labels",
}


def values(plan: Plan, found: Finished, name: str, way: str, of: str, what: str) -> list[float]:
    """One figure of p or q on every split."""
    return [found[Believed(name, seed, way).key][of][what] for seed in range(plan.seeds[name])]


def too_sure(plan: Plan, found: Finished, name: str, way: str, of: str) -> float:
    """Its mean confidence minus its accuracy."""
    sure, right = (np.mean(values(plan, found, name, way, of, what)) for what in ("sure", "accuracy"))
    return float(sure - right)


def errors_table(plan: Plan, found: Finished) -> str:
    """Calibration error, and in brackets how much too sure."""
    rows = []
    for way in plan.ways:
        for of in (MODEL, TILTED) if way in PROJECTED else (MODEL,):
            row = [NAMES[way] if of == MODEL else f"{NAMES[way]}: q"]
            for name in plan.seeds:
                error = mean(values(plan, found, name, way, of, "calibration_error"))
                row.append(f"{error} ({too_sure(plan, found, name, way, of):+.3f})")
            rows.append(row)
    return table(["calibration error (too sure by)", *plan.seeds], rows)


def others_table(plan: Plan, found: Finished) -> str:
    """Accuracy and log-loss."""
    rows = []
    for way in plan.ways:
        for of in (MODEL, TILTED) if way in PROJECTED else (MODEL,):
            row = [NAMES[way] if of == MODEL else f"{NAMES[way]}: q"]
            for name in plan.seeds:
                row += [mean(values(plan, found, name, way, of, what)) for what in ("accuracy", "log_loss")]
            rows.append(row)
    return table(["", *(f"{name}: {what}" for name in plan.seeds for what in ("accuracy", "log-loss"))], rows)


def summary(plan: Plan) -> Callable[[Finished], dict[str, Any]]:
    """Calibration error of p by collection and method."""
    return lambda found: {
        name: {way: float(np.mean(values(plan, found, name, way, MODEL, "calibration_error"))) for way in plan.ways}
        for name in plan.seeds
    }


def page(plan: Plan) -> Callable[[Finished], str]:
    def make(found: Finished) -> str:
        splits = ", ".join(f"{name} {n}" for name, n in plan.seeds.items())
        return f"""\
![How often predictions are right by how sure they are](figures/calibration.png)

{errors_table(plan, found)}

The calibration error of `tiltfit compare`: {BINS} bins of equal mass by the probability of the predicted label; the
mean of |how often right − how sure|. In brackets: how sure on average minus how often right, so + means too sure.
Labelled words of the benchmarks (ten per label, movie fifty), nothing labelled, tf-idf, defaults; test parts, mean and
standard error over splits ({splits}).
*q*: projected onto the constraints on the test part. *All labels*: no constraints. Nothing is chosen here (the defaults
were chosen earlier, on part of the same collections: [how](defaults.md)); *true shares* and *all labels* are not
available to somebody who has only constraints.

{LESSONS}
Other measures of probabilities:

{others_table(plan, found)}
"""

    return make


LESSONS = """\
- **AP and GE are too modest**, on every collection and above all with twenty classes: predictions are right more often
  than their probabilities say. On the three larger collections the order is right: surer predictions are more often
  right (figure).
- **q is a little better than p**, because it meets the targets on the test part itself. GE is like AP.
- **True shares do not help**: the error is larger on all four. On the three larger collections most of them are below
  0.9, which makes the model even less sure; a target above the truth compensates for some of the modesty.
- **Votes are too sure** on three of four collections: each vote counts as a label. Their calibration *error* is smaller
  than AP's on all four; their predictions are worse on all four, and so is their log-loss on all but youtube.
- **A label model** varies: as good as all labels on movie, sure and mostly wrong on 20 newsgroups.
- **youtube** has 250 test comments, 17 per bin: there the error is mostly noise, which only adds to it. The
  statements here are labelled words, not the ten rules of [the other page](youtube.md).
- After a fit all scores are multiplied by [one number](mathematics.md#sharpness), where statements or labels ask for
  it. If you need probabilities, and not only predictions, use some labels to check them.
"""
