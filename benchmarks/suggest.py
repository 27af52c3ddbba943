"""The value of suggestions: ``python -m benchmarks.suggest [--json] [--top N] [--seeds N] [NAME …]``.

An oracle fills in a skeleton: for every suggestion, the label that most documents with the word have, and their share,
rounded to 5 %. It does the same for as many words drawn at random from the thousand most frequent ones that are in at
most half of the documents. No document is labelled in either case. Accuracy of ``TiltClassifier`` with its defaults on
a third of the documents, which neither the suggestions nor the oracle have seen.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.corpora import available, load_corpus
from benchmarks.page import table, write_section
from tiltfit import Constraint, TiltClassifier, expect, suggest
from tiltfit.data.inputs import TextInputs
from tiltfit.language.conditions import Condition
from tiltfit.suggesting.candidates import document_candidates

NAMES = ("webkb", "movie")
SUGGEST = Path(__file__).resolve().parents[1] / "docs" / "suggest.md"
FREQUENT = 1000
STEP = 20
MIN_SUPPORT = 5


def fill_in(conditions: Sequence[Condition], texts: list[str], labels: np.ndarray) -> list[Constraint]:
    """The statements of the oracle: the most frequent label of documents with the word, and its share."""
    inputs = TextInputs(texts)
    stated = []
    for condition in conditions:
        names, counts = np.unique(labels[condition.fires(inputs)], return_counts=True)
        share = round(counts.max() / counts.sum() * STEP) / STEP
        stated.append(expect(str(names[counts.argmax()]), given=condition).about(min(share, 1 - 1 / STEP)))
    return stated


def random_words(texts: list[str], n: int, seed: int) -> list[Condition]:
    """Frequent words, drawn."""
    found = document_candidates(TextInputs(texts), MIN_SUPPORT, 1)
    frequent = np.argsort(-found.counts, kind="stable")[:FREQUENT]
    drawn = np.random.default_rng(seed).choice(frequent, n, replace=False)
    return [found.conditions[j] for j in drawn]


def measure(name: str, seed: int, top: int) -> dict[str, Any]:
    """One split: accuracy with suggestions from topics, with half of them and the rest by the model's doubts, and with
    random words."""
    corpus = load_corpus(name)
    rows = np.arange(len(corpus.texts))
    train, test = train_test_split(rows, test_size=1 / 3, random_state=seed, stratify=corpus.labels)
    texts, labels = [corpus.texts[i] for i in train], corpus.labels[train]
    classes = sorted(set(labels.tolist()))

    def accuracy(constraints: list[Constraint]) -> tuple[float, TiltClassifier]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = TiltClassifier(constraints, classes=classes).fit(texts)
        return float(model.score([corpus.texts[i] for i in test], corpus.labels[test])), model

    began = time.perf_counter()
    found = suggest(texts, classes=classes, top=top, min_support=MIN_SUPPORT, random_state=seed)
    seconds = time.perf_counter() - began
    half = fill_in([s.condition for s in found][: top // 2], texts, labels)
    _, model = accuracy(half)
    more = suggest(texts, model=model, top=top - top // 2, min_support=MIN_SUPPORT)
    return {
        "collection": name,
        "seed": seed,
        "seconds": seconds,
        "topics": accuracy(fill_in([s.condition for s in found], texts, labels))[0],
        "model": accuracy([*half, *fill_in([s.condition for s in more], texts, labels)])[0],
        "random": accuracy(fill_in(random_words(texts, top, seed), texts, labels))[0],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--page", action="store_true", help="write the table of docs/suggest.md")
    parser.add_argument("--top", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    rows = []
    for name in arguments.names:
        if not available(name):
            print(f"{name}: not on this machine, skipped (TILTFIT_DATA names its folder)", file=sys.stderr)
            continue
        for seed in range(arguments.seeds):
            rows.append(measure(name, seed, arguments.top))
            if not arguments.json:
                _show(rows[-1], header=len(rows) == 1)
    if arguments.json:
        print(json.dumps(rows, indent=2))
    if arguments.page:
        write_section("figures", _table(rows), SUGGEST)
    return 0


def _table(rows: Sequence[dict[str, Any]]) -> str:
    """Mean, and each split."""

    def told(name: str, way: str) -> str:
        values = [row[way] for row in rows if row["collection"] == name]
        return f"{np.mean(values):.3f} ({', '.join(f'{value:.3f}' for value in values)})"

    names = dict.fromkeys(row["collection"] for row in rows)
    head = ["", "random frequent words", "20 by topics", "10 by topics, then 10 by the model"]
    return table(head, [[name, *[told(name, way) for way in ("random", "topics", "model")]] for name in names])


def _show(row: dict[str, Any], *, header: bool) -> None:
    if header:
        print("collection      split  random words  by topics  half by topics, half by the model  seconds")
    print(
        f"{row['collection']:<14}  {row['seed']:>5}  {row['random']:>12.3f}  {row['topics']:>9.3f}  "
        f"{row['model']:>33.3f}  {row['seconds']:>7.1f}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
