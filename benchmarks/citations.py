"""Token accuracy on real citations (Cora): ``python -m benchmarks.citations [--json FILE] [--page] [--part dev]``.

Supervised on N labelled citations, and with the constraints (3)–(11) of the paper's Table 2 on unlabelled ones, all at
0.99 as in the paper: transductively (on the very citations that are scored) and inductively (on 1,000 others). Default
templates plus the lexicons, default parameters. N = 5 and 20: the first N of each of five subsets; mean and spread.
Nothing was chosen on the test part; ``--part dev`` scores the part that was looked at while templates were chosen.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.corpora import collection, data_root
from benchmarks.page import table, write_section
from tiltfit import Constraint, TiltTagger, expect, regex, word
from tiltfit.data.readers.tagged import SequenceDataset, read_sequences
from tiltfit.language.conditions import any_of

LABELS = (
    "author", "booktitle", "date", "editor", "institution", "journal", "location", "note", "pages", "publisher", "tech",
    "title", "volume",
)  # fmt: skip
SUBSETS = 5
MUST = {(300, "supervised"): 0.950, (20, "supervised"): 0.86, (5, "supervised"): 0.70}
GAIN = {20: 0.015, 5: 0.04}
WAYS = ("supervised", "transductive", "inductive")


def table_2(share: float = 0.99) -> list[Constraint]:
    """The constraints (3) to (11)."""

    def words(*listed: str) -> Any:
        return any_of([word(w) for w in listed])

    events = [
        expect.start("author", "editor"),
        expect("pages", given=words("pp", "pages")),
        expect("date", given=regex(r"^(19|20)\d\d$")),
        expect("title", given=regex(r"^(\"|``|''|“|”)$")),
        expect("note", given=words("note", "submitted", "appear")),
        expect("location", given=words("CA", "Australia", "NY")),
        expect("tech", given=words("tech", "technical")),
        expect("journal", "booktitle", given=words("proc", "journal", "proceedings", "ACM")),
        expect("editor", given=words("ed", "editors")),
    ]
    return [event.about(share) for event in events]


def folder() -> Path | None:
    """The path of the citations, if they are on this machine."""
    root = data_root()
    return root / "cora" if root is not None and (root / "cora").is_dir() else None


def citations(name: str, *, labelled: bool = True) -> SequenceDataset:
    """One file of citations."""
    where = collection("cora")
    return read_sequences(
        where / f"citation_{name}.txt", format="conll", delimiter="\t", label=1 if labelled else None, blank="replace"
    )


def few_labelled(n: int, subset: int) -> tuple[list[Any], list[Any]]:
    """Tokens and labels: all 300 citations, or the first ``n`` of a subset."""
    train = citations("train.300.0" if n == 300 else f"train.25.{subset}")
    return list(train.tokens)[:n], list(train.y or [])[:n]


def lexicons() -> dict[str, list[str]]:
    """The word lists beside the citations, by name."""
    files = sorted(collection("lexicons").glob("*.txt"))
    return {f.stem: [w for w in f.read_text(encoding="utf-8").split("\n") if w.strip()] for f in files}


def measure(part: str) -> dict[str, Any]:
    """Accuracy and seconds for every N, way and subset."""
    scored, pool, features = citations(part), citations("unlabeled", labelled=False), {"lexicons": lexicons()}
    found: dict[str, Any] = {"part": part, "citations": len(scored.ids), "rows": []}
    for n in (5, 20, 300):
        for way in WAYS:
            accuracies, seconds = [], []
            for k in range(1 if n == 300 else SUBSETS):
                X, y = few_labelled(n, k)
                more = {"supervised": [], "transductive": list(scored.tokens), "inductive": list(pool.tokens)}[way]
                said = table_2() if more else []
                tagger = TiltTagger(said, classes=LABELS, features=features)
                started = time.perf_counter()
                tagger.fit(X + more, y + [None] * len(more))
                seconds.append(time.perf_counter() - started)
                accuracies.append(tagger.score(scored.tokens, scored.y))
            found["rows"].append({"n": n, "way": way, "accuracies": accuracies, "seconds": seconds})
            print(f"N = {n}, {way}: {np.mean(accuracies):.3f}", file=sys.stderr, flush=True)
    return found


def missed(found: dict[str, Any]) -> list[str]:
    """The figures that fall short of their limits."""
    mean = {(r["n"], r["way"]): float(np.mean(r["accuracies"])) for r in found["rows"]}
    short = [f"N = {n}, {way}: {mean[n, way]:.3f} < {must}" for (n, way), must in MUST.items() if mean[n, way] < must]
    for n, gain in GAIN.items():
        if mean[n, "transductive"] - mean[n, "supervised"] < gain:
            short.append(f"N = {n}: constraints gain {mean[n, 'transductive'] - mean[n, 'supervised']:.3f} < {gain}")
    return short


def as_markdown(found: dict[str, Any]) -> str:
    """The section of docs/benchmarks.md, also what is printed."""
    rows = []
    for n in (5, 20, 300):
        cells = []
        for way in WAYS:
            row = next(r for r in found["rows"] if (r["n"], r["way"]) == (n, way))
            spread = f" ± {np.std(row['accuracies'], ddof=1):.3f}" if len(row["accuracies"]) > 1 else ""
            cells.append(f"{np.mean(row['accuracies']):.3f}{spread} ({np.mean(row['seconds']):.1f} s)")
        rows.append([str(n), *cells])
    return f"""
## Citations

Written by `python -m benchmarks.citations --page`: Cora, {found["citations"]} citations of the {found["part"]} part.
Token accuracy; N labelled citations, the first N of each of five subsets (mean ± standard deviation; N = 300: one).
The constraints (3)–(11) of the paper's Table 2 at 0.99; default templates with lexicons, default parameters.

{table(["N", "supervised", "constraints, transductive", "constraints, inductive"], rows)}

The paper (Table 3): supervised 0.622, 0.798, 0.940; transductive 0.756, 0.854, 0.943; inductive 0.746, 0.851, 0.948,
with whole-sequence constraints as well.
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    parser.add_argument("--page", action="store_true", help="write the section of docs/benchmarks.md")
    parser.add_argument("--part", default="test", choices=("dev", "test"))
    arguments = parser.parse_args()
    if folder() is None:
        print("The citations are not on this machine: TILTFIT_DATA names the folder that holds cora/.", file=sys.stderr)
        return 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # words of a constraint that a subset does not have
        found = measure(arguments.part)
    print(as_markdown(found))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    if arguments.page:
        write_section("citations", as_markdown(found))
    for short in missed(found):
        print(f"missed: {short}", file=sys.stderr)
    return 1 if missed(found) else 0


if __name__ == "__main__":
    sys.exit(main())
