"""docs/curves.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from benchmarks.labelled_words import DEFAULT_WORDS, WORDS_A_LABEL
from benchmarks.page import table

from experiments.command import Finished
from experiments.curves.cells import METHODS, Labels, Plan, Words
from experiments.spread import mean

NAMES = {"ap": "AP", "vote": "vote → LR"}


def words(plan: Plan, found: Finished, name: str, n: int, method: str, what: str = "macro_f1") -> list[float]:
    """A figure on every split, with this many words per label."""
    return [found[Words(name, seed, n, method).key][what] for seed in range(plan.curves[name].seeds)]


def labels(plan: Plan, found: Finished, name: str, n: object, with_words: bool) -> list[float]:
    """Macro-F1 on every split, with this many labels per class."""
    return [found[Labels(name, seed, str(n), with_words).key]["macro_f1"] for seed in range(plan.curves[name].seeds)]


def worth(plan: Plan, found: Finished, name: str) -> float | None:
    """The number of labels per class that reaches what the words reach without any: between two points by the logarithm
    of the number; None if no number that was tried does."""
    goal = float(np.mean(labels(plan, found, name, 0, True)))
    tried = plan.curves[name].alone
    means = [float(np.mean(labels(plan, found, name, n, False))) for n in tried]
    return crossing(tried, means, goal)


def crossing(x: Sequence[float], y: Sequence[float], goal: float) -> float | None:
    """The first x, on a logarithmic scale, at which y reaches the goal; x[0] if it does at once."""
    for k, value in enumerate(y):
        if value >= goal:
            if k == 0:
                return float(x[0])
            part = (goal - y[k - 1]) / (value - y[k - 1])
            return float(x[k - 1] * (x[k] / x[k - 1]) ** part)
    return None


def usual(name: str) -> int:
    """The numbers of words per label."""
    return WORDS_A_LABEL.get(name, DEFAULT_WORDS)


def worth_in_words(plan: Plan, found: Finished, name: str) -> str:
    """As a phrase."""
    number = worth(plan, found, name)
    return f"more than {plan.curves[name].alone[-1]}" if number is None else f"about {number:.0f}"


def worth_table(plan: Plan, found: Finished) -> str:
    rows = []
    for name in plan.curves:
        first = f"{usual(name)} words per label, no labels: {mean(labels(plan, found, name, 0, True))}"
        every = mean(labels(plan, found, name, "all", False))
        rows.append([name, first, worth_in_words(plan, found, name), every])
    return table(["", "AP", "labels per class that reach it", "all labels"], rows)


def words_table(plan: Plan, found: Finished) -> str:
    """Words per label × collections."""
    names = list(plan.curves)
    rows = []
    for n in sorted({n for c in plan.curves.values() for n in c.words}):
        row = [str(n)]
        for name in names:
            known = n in plan.curves[name].words
            row += [mean(words(plan, found, name, n, method)) if known else "" for method in METHODS]
        rows.append(row)
    return table(["words per label", *(f"{name}: {NAMES[method]}" for name in names for method in METHODS)], rows)


def labels_table(plan: Plan, found: Finished) -> str:
    """Labels a class × collections."""
    names = list(plan.curves)
    points = [0, *sorted({n for c in plan.curves.values() for n in c.alone}), "all"]
    rows = []
    for n in points:
        row = [str(n)]
        for name in names:
            c = plan.curves[name]
            row.append(mean(labels(plan, found, name, n, True)) if n in (0, *c.told) else "")
            row.append(mean(labels(plan, found, name, n, False)) if n in (*c.alone, "all") else "")
        rows.append(row)
    return table(["labels per class", *(f"{name}: {what}" for name in names for what in ("AP", "alone"))], rows)


def summary(plan: Plan) -> Callable[[Finished], dict[str, Any]]:
    """By collection: macro-F1 without labels, and how many labels per class reach it."""
    return lambda found: {
        name: {
            "words a label": usual(name),
            "macro_f1": float(np.mean(labels(plan, found, name, 0, True))),
            "labels per class that reach it": worth(plan, found, name),
            "all labels": float(np.mean(labels(plan, found, name, "all", False))),
        }
        for name in plan.curves
    }


def page(plan: Plan) -> Callable[[Finished], str]:
    def make(found: Finished) -> str:
        splits = ", ".join(f"{name} {c.seeds}" for name, c in plan.curves.items())
        return f"""\
![Macro-F1 by the number of words and of labels](figures/curves.png)

{worth_table(plan, found)}

Labelled words at 0.9, most informative ones first, tf-idf, defaults; macro-F1 on test parts, mean and standard error
over splits ({splits}). Nothing is chosen here; the defaults were, earlier, on part of the same collections
([how](defaults.md)); splits other than the first share documents with it.
The words come from an oracle that sees the labels of the training part. A person will choose worse ones, so the figures
show what *good* words are worth.

{LESSONS}
## Words

Nothing labelled.

{words_table(plan, found)}

## Labels

Labels are drawn at random from each class; larger draws contain the smaller ones. *AP*: with ten words per label
(movie: fifty), all other training texts unlabelled. *Alone*: the labels and nothing else (`method="supervised"`);
without constraints AP is the same, because q = p on unlabelled texts.

{labels_table(plan, found)}
"""

    return make


LESSONS = """\
- **The first word of a label is worth most** where it says a lot (webkb: one per label is nearly as good as ten); where
  single words say little (movie) it takes many. Beyond ten words, a few points can be gained on movie and 20
  newsgroups, none on webkb.
- **AP makes more of the same words than majority vote** at every number.
- **Labels add little to the words** until there are as many as the words are worth (on movie: nothing up to a hundred).
  With both, AP is ahead of labels alone at every number that was tried.
- A few hundred labels per class alone are better than the words alone, and all labels are better than anything here.
"""
