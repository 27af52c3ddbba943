"""How experiments are run: cells that are kept, stages that follow each other, pages that are written."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from experiments import command
from experiments.command import Experiment, Finished, complete, finished, run
from experiments.kept import Kept


@dataclass(frozen=True)
class Square:
    n: int

    @property
    def key(self) -> str:
        return f"square of {self.n}"

    def measure(self) -> dict[str, Any]:
        return {"square": float(self.n**2)}


def largest(found: Finished) -> list[Square]:
    """A choice that rests on the first stage."""
    return [Square(int(max(cell["square"] for cell in found.values())))]


def squares(*n: int, folders: tuple[str, ...] = ()) -> Experiment:
    return Experiment(
        "squares",
        "Squares",
        folders,
        (lambda _: [Square(k) for k in n], largest),
        page=lambda found: f"{len(found)} cells\n",
        summary=lambda found: {"most": max(cell["square"] for cell in found.values())},
        plot=lambda _, path: path.write_bytes(b"figure"),
        missed=lambda found: ["ten"] if len(found) < 10 else [],
    )


@pytest.fixture
def folders(tmp_path: Path) -> list[str]:
    (tmp_path / "docs").mkdir()
    return ["--kept", str(tmp_path / "kept"), "--docs", str(tmp_path / "docs")]


def test_a_later_stage_sees_the_cells_of_the_earlier_ones(tmp_path: Path) -> None:
    found = complete(squares(3, 1, 2), Kept(tmp_path / "cells.json"))
    assert {key: cell["square"] for key, cell in found.items()} == {
        "square of 3": 9, "square of 1": 1, "square of 2": 4, "square of 9": 81,
    }  # fmt: skip


def test_finished_cells_are_not_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "cells.json"
    complete(squares(2), Kept(path))
    measured: list[int] = []

    def measure(self: Square) -> dict[str, Any]:
        measured.append(self.n)
        return {"square": float(self.n**2)}

    monkeypatch.setattr(Square, "measure", measure)
    complete(squares(2, 3), Kept(path))
    assert measured == [3, 9]


def test_cells_of_other_sources_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = Kept(tmp_path / "cells.json")
    found = complete(squares(2), kept)
    assert "other sources" not in capsys.readouterr().err
    monkeypatch.setattr(command, "sources", lambda: "another day")
    assert complete(squares(2, 3), kept)["square of 2"] == found["square of 2"] == {"square": 4.0}
    assert "2 of 4 finished cells" not in capsys.readouterr().err
    complete(squares(2), kept)
    assert "2 of 2 finished cells were measured with other sources" in capsys.readouterr().err


def test_an_interrupted_run_keeps_what_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(self: Square) -> dict[str, Any]:
        if self.n == 3:
            raise KeyboardInterrupt
        return {"square": float(self.n**2)}

    monkeypatch.setattr(Square, "measure", measure)
    with pytest.raises(KeyboardInterrupt):
        complete(squares(2, 3), Kept(tmp_path / "cells.json"))
    assert "square of 2" in Kept(tmp_path / "cells.json")


def test_several_processes_find_the_same(tmp_path: Path) -> None:
    alone, beside = (complete(squares(1, 2, 3), Kept(tmp_path / f"{k}.json"), jobs=k) for k in (1, 2))
    assert list(alone.items()) == list(beside.items())


def test_the_page_its_json_and_its_figure(
    tmp_path: Path, folders: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(squares(2), squares(1), [*folders, "--page", "--jobs", "1"]) == 0
    out, err = capsys.readouterr()
    assert "2 cells" in out
    assert "Missed: ten" in err
    text = (tmp_path / "docs" / "squares.md").read_text(encoding="utf-8")
    assert text.startswith("# Squares\n\nWritten by `python -m experiments.squares --page`;")
    assert text.endswith("\n\n2 cells\n")
    data = json.loads((tmp_path / "docs" / "squares.json").read_text(encoding="utf-8"))
    assert data["command"] == "python -m experiments.squares --page"
    assert data["summary"] == {"most": 16}
    assert list(data["cells"]) == ["square of 2", "square of 4"]
    assert (tmp_path / "docs" / "figures" / "squares.png").is_file()


def test_a_page_of_what_is_finished_so_far(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "cells.json")
    complete(squares(2), kept)
    assert list(finished(squares(2, 3), kept)) == ["square of 2", "square of 4"]
    assert finished(squares(2, 3), kept)["square of 2"] == {"square": 4.0}


def test_fresh_forgets(tmp_path: Path, folders: list[str]) -> None:
    Kept(tmp_path / "kept" / "squares.json")["square of 2"] = {"square": 5.0}
    run(squares(2), squares(1), [*folders, "--fresh", "--jobs", "1"])
    assert Kept(tmp_path / "kept" / "squares.json")["square of 2"]["square"] == 4.0


def test_quick_is_measured_anew_and_keeps_nothing(
    tmp_path: Path, folders: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(squares(2, 3), squares(1), [*folders, "--quick"]) == 0
    assert "1 cells" in capsys.readouterr().out
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize(("arguments", "status"), [([], 1), (["--quick"], 0)])
def test_data_that_are_not_here(
    arguments: list[str],
    status: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("TILTFIT_DATA", str(tmp_path))
    assert run(squares(2, folders=("cora",)), squares(1, folders=("cora",)), arguments) == status
    assert "cora (TILTFIT_DATA" in capsys.readouterr().err
