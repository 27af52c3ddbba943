"""A comparison as text, as JSON and as a plot."""

from __future__ import annotations

import io
import json
import re
import sys
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tiltfit import Comparison
from tiltfit.comparison.figures import Figure
from tiltfit.comparison.result import Row, plain
from tiltfit.errors import DataError, FileError, UnsupportedError

VALUES = {"accuracy": 0.8, "macro_f1": 0.7, "segment_f1": 0.6, "log_loss": 1.234, "calibration_error": 0.05}


def row(name: str, shift: float, first: bool = False) -> Row:
    figures = {}
    for key, value in VALUES.items():
        at = value + shift
        figures[key] = Figure(
            at, at - 0.02, at + 0.03, *((None,) * 3 if first else (shift, shift - 0.03, shift + 0.02))
        )
    return Row(
        name, "ap", "crf", {"beta": 0.1}, "ok", None, figures, 0.4, "the [bold]first", 12.3, 123_456_789, 7, True,
        ("slow",),
    )  # fmt: skip


REFUSED = Row("ge", "ge", None, {}, "refused", "hard constraints have no gradient; nearest that works: ap. " * 3)
COMPARISON = Comparison(
    task="tag",
    rows=(
        row("ap", 0.0, first=True), row("label_regularization", -0.1), row("AP, a long name [red]\x1b", 0.01), REFUSED,
    ),
    reference="ap", train=300, labelled=20, test=200, positions=7000, n_bootstrap=1000, level=0.95, seed=0,
)  # fmt: skip


def test_it_is_readable_in_80_columns() -> None:
    told = str(COMPARISON)
    assert max(map(len, told.splitlines())) <= 80
    assert "300 sequences to learn from, 20 labelled; 200 to be judged on (7,000 tokens)" in told
    for piece in (
        "0.800",
        ".78–.83",
        "40.0%",
        "12.3",
        "123 MB",
        "-0.100",
        "-.13…-.08*",
        "-.02…+.03",
        "[red]",
        "[bold]",
    ):
        assert piece in told
    assert "ge refused: hard constraints have no gradient" in told
    assert "\x1b" not in told


def test_the_best_are_bold() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100, color_system="standard")
    for thing in COMPARISON.to_tables():
        console.print(thing)
    shown = out.getvalue()
    assert re.search(r"\x1b\[1m *0\.810", shown)  # the highest accuracy
    assert re.search(r"\x1b\[1m *1\.134", shown)  # the lowest log-loss
    assert not re.search(r"\x1b\[1m *1\.244", shown)
    assert re.search(r"\x1b\[31m *-0\.100", shown)  # surely worse


def test_one_row_has_no_best_and_no_differences() -> None:
    told = str(replace(COMPARISON, rows=COMPARISON.rows[:1]))
    assert "difference" not in told


def test_without_intervals() -> None:
    figures = {"accuracy": Figure(0.5)}
    bare = Row("ap", "ap", "maxent", {}, "ok", figures=figures, seconds=0.1)
    told = str(replace(COMPARISON, task="classify", rows=(bare,), n_bootstrap=0, labelled=0))
    assert "none labelled" in told
    assert "interval" not in told
    assert "0.500" in told


def test_json_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "found.json"
    COMPARISON.to_json(path)
    assert Comparison.from_json(path) == COMPARISON
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document == COMPARISON.to_dict()
    assert document["rows"][1]["figures"]["accuracy"]["difference_low"] == pytest.approx(-0.13)
    assert [p.name for p in tmp_path.iterdir()] == ["found.json"]


@pytest.mark.parametrize("text", ["[]", '{"version": 2}', '{"version": 1}', "not JSON", '{"version": 1, "rows": [3]}'])
def test_what_is_no_comparison(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(FileError, match=r"x\.json: "):
        Comparison.from_json(tmp_path / "x.json")


def test_rows_by_name_and_number() -> None:
    assert COMPARISON["ge"] is COMPARISON[3]
    assert len(COMPARISON) == 4
    with pytest.raises(KeyError, match="No method is called .*gee.*mean .ge"):
        COMPARISON["gee"]
    with pytest.raises(FrozenInstanceError):
        COMPARISON.seed = 3  # type: ignore[misc]


def test_parameters_become_what_json_knows() -> None:
    assert plain({"a": (1, 2.5, None), "b": float("inf"), "c": {1: True}, "d": {1}}) == {
        "a": [1, 2.5, None], "b": "inf", "c": {"1": True}, "d": "{1}",
    }  # fmt: skip


def test_plot(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure as Canvas

    COMPARISON.plot(tmp_path / "p.png")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    COMPARISON.plot(str(tmp_path / "p.svg"))
    drawn = (tmp_path / "p.svg").read_text(encoding="utf-8")
    assert drawn.startswith("<?xml")
    ax: Any = Canvas().subplots()
    COMPARISON.plot(ax, "log_loss")
    assert ax.get_title() == "log-loss (lower is better)"
    assert [t.get_text() for t in ax.get_yticklabels()] == [
        "ap", "label_regularization", r"AP, a long name [red]\x1b", *(row.name for row in COMPARISON if not row.ok),
    ]  # fmt: skip
    told = {text.get_text(): text.xy[1] for text in ax.texts}
    assert {row.status: k for k, row in enumerate(COMPARISON) if not row.ok}.items() <= told.items()
    intervals = [line.get_xdata() for line in ax.lines if len(line.get_xdata()) == 2 and line.get_linestyle() == "-"]
    assert [list(x) for x in intervals] == [
        [r.figures["log_loss"].low, r.figures["log_loss"].high] for r in COMPARISON if r.ok
    ]


def test_bad_plots(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure as Canvas

    with pytest.raises(DataError, match=r"p\.txt: a plot is written as .*png"):
        COMPARISON.plot(tmp_path / "p.txt")
    with pytest.raises(DataError, match="matplotlib axes"):
        COMPARISON.plot(3)
    ax = Canvas().subplots()
    with pytest.raises(DataError, match="metric='acuracy' is unknown.*mean .accuracy"):
        COMPARISON.plot(ax, "acuracy")
    with pytest.raises(DataError, match="no method has a figure"):
        replace(COMPARISON, rows=(REFUSED,)).plot(ax)


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(UnsupportedError, match=r'pip install "tiltfit\[plot\]"'):
        COMPARISON.plot(tmp_path / "p.png")
