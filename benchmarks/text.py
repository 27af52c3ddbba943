"""Macro-F1 on real collections from labelled words alone: ``python -m benchmarks.text [--json] [--jobs N] [NAME …]``.

No document is labelled. Constraints: the most informative words of each label, "about 90 % of the documents with this
word have this label". Defaults of ``TiltClassifier``; scores on the test part.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

from sklearn.metrics import accuracy_score, f1_score

from benchmarks.corpora import available
from benchmarks.labelled_words import load_task
from tiltfit import TiltClassifier

NAMES = ("20newsgroups", "movie", "webkb")
MUST = {"movie": 0.80}


def measure(name: str, *, seed: int = 0, **options: Any) -> dict[str, Any]:
    """One collection, one split: scores, seconds of ``fit``, rounds."""
    task = load_task(name, seed=seed)
    classifier = TiltClassifier(task.constraints, **options)
    started = time.perf_counter()
    classifier.fit(task.train)
    seconds = time.perf_counter() - started
    predicted = classifier.predict(task.test)
    return {
        "collection": name,
        "documents": len(task.train),
        "classes": len(classifier.classes_),
        "constraints": len(task.constraints),
        "macro_f1": f1_score(task.test_labels, predicted, average="macro"),
        "accuracy": accuracy_score(task.test_labels, predicted),
        "seconds": seconds,
        "rounds": classifier.n_iter_,
        "converged": classifier.converged_,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--solver", default="auto")
    parser.add_argument("--vectorizer", default="auto")
    arguments = parser.parse_args()
    rows = []
    for name in arguments.names:
        if not available(name):
            print(f"{name}: not on this machine, skipped (TILTFIT_DATA names its folder)", file=sys.stderr)
            continue
        options = {"solver": arguments.solver, "vectorizer": arguments.vectorizer}
        rows.append(measure(name, n_jobs=arguments.jobs, **options))
        if not arguments.json:
            _show(rows[-1], header=len(rows) == 1)
    if arguments.json:
        print(json.dumps(rows, indent=2))
    missed = [r["collection"] for r in rows if r["macro_f1"] < MUST.get(r["collection"], 0.0)]
    return 1 if missed else 0


def _show(row: dict[str, Any], *, header: bool) -> None:
    if header:
        print("collection      documents  classes  constraints  macro-F1  accuracy  seconds  rounds")
    print(
        f"{row['collection']:<14}  {row['documents']:>9,}  {row['classes']:>7}  {row['constraints']:>11}  "
        f"{row['macro_f1']:>8.3f}  {row['accuracy']:>8.3f}  {row['seconds']:>7.1f}  {row['rounds']:>6}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
