"""The README's tables, from the pages' JSON files: ``python -m experiments.readme``. Nothing in them is typed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.page import table, write_section

from experiments.command import DOCS, ROOT
from experiments.table3.plan import ALL_OF_TABLE_2, PROCEDURE

README = ROOT / "README.md"
SECTION = "experiments"


def section(docs: Path = DOCS) -> str:
    """All tables, each with the command that made it."""
    parts = ((_table_1, "table1"), (_apartments, "apartments"), (_table_3, "table3"))
    return "\n\n".join(make(_read(docs, name)) for make, name in parts)


def _read(docs: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((docs / f"{name}.json").read_text(encoding="utf-8"))
    return found


def _table_1(data: dict[str, Any]) -> str:
    rows = []
    for row in data["summary"]["rows"]:
        ours, errors = row["ours"], row["standard_error"]
        told = [_with_error(ours[m], errors[m]) for m in ("AP", "AP, defaults")]
        paper = [f"{row['paper'][m]:.3f}" for m in ("base", "GE", "AP")]
        more = [f"{ours[m]:.3f}" for m in ("GE", "vote", "supervised")]
        name, words = f"{row['collection']}, {row['words']}", f"{row['labelled']:,.0f}"
        rows.append([name, words, *paper, f"{row['goal']:.2f}", *told, *more])
    head = [
        "macro-F1",
        "words",
        "paper: base",
        "paper: GE",
        "paper: AP",
        "our goal",
        "ours: AP, its setting",
        "**ours: AP, defaults**",
        "ours: GE, its setting",
        "ours: vote",
        "ours: all labels",
    ]
    return f"""**Labelled words** (Table 1; [page](docs/table1.md), `{data["command"]}`): only words are
labelled. An oracle that sees the labels chooses them by information gain, or labels those of topics (LDA), and states
0.9; the paper's number of words is not known. *Base* sees these words alone. Mean ± standard error of
{data["summary"]["splits"]} random splits; fits at the paper's setting did not all converge (starred on the page).

{table(head, rows)}"""


def _apartments(data: dict[str, Any]) -> str:
    rows = []
    for row in data["summary"]["rows"]:
        ours = [_with_error(cell["ours"], cell["standard_error"]) for cell in row.values() if isinstance(cell, dict)]
        rows.append([row["said"], f"{row['paper']:.3f}", f"{row['goal']:.2f}", *ours])
    sources = [name for name, cell in data["summary"]["rows"][0].items() if isinstance(cell, dict)]
    head = ["token accuracy", "paper", "goal", *[f"ours, {name}" for name in sources]]
    return f"""**Fields of classified advertisements from 33 words** (§5.2; [page](docs/apartments.md),
`{data["command"]}`): learned from 202 unlabelled ads; the last column uses lists of similarly used words from
further unlabelled ads. The attributes were chosen on development labels; the paper's features and words are not known.

{table(head, rows)}"""


def _table_3(data: dict[str, Any]) -> str:
    columns = list(dict.fromkeys(row["column"] for row in data["summary"]["rows"]))
    shown = [name for name in columns if name != "CODL-T"]
    rows = []
    for n in dict.fromkeys(row["n"] for row in data["summary"]["rows"]):
        found = {row["column"]: row for row in data["summary"]["rows"] if row["n"] == n}
        rows.append([str(n), *[f"{found[name]['paper']:.3f} → {found[name]['ours']:.3f}" for name in shown]])
    return f"""**Citations with few labels** (Table 3; [page](docs/table3.md), `{data["command"]}`): token
accuracy with N labelled citations, the paper's → ours; labels alone, alternating projections on the citations that are
scored (T) and on 1,000 others (I), and constraint-driven learning. Our labels alone start higher, and constraints add
less to them (AP-T: {_gains(data)}).
The statements were chosen on other citations; how often a field must appear was counted in all 300 labelled ones.
{_papers_own(data)}

{table(["N", *shown], rows)}"""


def _papers_own(data: dict[str, Any]) -> str:
    """What all of the paper's own statements give, with our defaults and, if that was run, by its own procedure."""
    others = data["summary"]["others"]
    told = f"With all of the paper's own statements, AP-T is at {_listed(others[ALL_OF_TABLE_2])} with our defaults"
    if PROCEDURE in others:
        told += f", and at {_listed(others[PROCEDURE])} by the paper's own procedure"
    return f"{told} ([page](docs/table3.md))."


def _listed(accuracies: list[float]) -> str:
    return ", ".join(f"{value:.3f}" for value in accuracies)


def _gains(data: dict[str, Any]) -> str:
    """The gain of AP-T over labels alone, the paper's and ours."""
    found = {(row["n"], row["column"]): row for row in data["summary"]["rows"]}
    told = []
    for n in (n for n, column in found if column == "AP-T"):
        gains = [found[n, "AP-T"][who] - found[n, "Sup"][who] for who in ("paper", "ours")]
        told.append(f"N = {n} {gains[0]:+.3f} in the paper, {gains[1]:+.3f} here")
    return "; ".join(told)


def _with_error(value: float, error: float) -> str:
    return f"{value:.3f} ± {error:.3f}" if error else f"{value:.3f}"


def main() -> int:
    write_section(SECTION, section(), README)
    return 0


if __name__ == "__main__":
    sys.exit(main())
