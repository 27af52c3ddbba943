"""The results of a comparison: values that print, plot and travel as JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiltfit.comparison.figures import METRICS, Figure, Metric
from tiltfit.errors import DataError, FileError, did_you_mean

if TYPE_CHECKING:
    from rich.console import RenderableType

VERSION = 1


@dataclass(frozen=True)
class Row:
    """One of those compared. ``status``: ``ok``, ``refused`` (with the ``reason``) or ``failed``.

    ``figures``: by the keys of ``METRICS``. ``worst_violation``: how far the model is, on the training data, from the
    constraint that it misses most (``worst_constraint``); a share, of a count's target where that is above one.
    ``notes``: what was done for it that was not asked for. ``seconds``: of ``fit``. ``memory``: bytes that it took at
    most besides data and program (None: not measured).
    """

    name: str
    method: str
    model: str | None
    parameters: Mapping[str, Any]
    status: str
    reason: str | None = None
    figures: Mapping[str, Figure] = field(default_factory=dict)
    worst_violation: float | None = None
    worst_constraint: str | None = None
    seconds: float | None = None
    memory: int | None = None
    rounds: int | None = None
    converged: bool | None = None
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.status == "ok"


@dataclass(frozen=True)
class Comparison:
    """The rows in the order in which they were asked for. ``reference``: the name of the first that ran, to which the
    others are compared. ``train``, ``labelled``, ``test``: numbers of documents or sequences; ``positions``: of
    labelled documents or tokens in the test part. ``print`` it; ``to_dict``, ``to_json`` and ``plot`` say the same."""

    task: str
    rows: tuple[Row, ...]
    reference: str | None
    train: int
    labelled: int
    test: int
    positions: int
    n_bootstrap: int
    level: float
    seed: int

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __getitem__(self, key: int | str) -> Row:
        """A row by its number or its name."""
        if isinstance(key, int):
            return self.rows[key]
        for row in self.rows:
            if row.name == key:
                return row
        names = [row.name for row in self.rows]
        raise KeyError(f"No method is called {key!r}.{did_you_mean(key, names)} There are: {', '.join(names)}.")

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Those that there are figures of."""
        return tuple(m for m in METRICS if any(m.key in row.figures for row in self.rows))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON; ``from_dict`` gives back an equal comparison."""
        return {"version": VERSION, **asdict(self), "rows": [_row_as_dict(row) for row in self.rows]}

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> Comparison:
        """The inverse of ``to_dict``."""
        if not isinstance(document, Mapping) or document.get("version") != VERSION:
            raise DataError(f"This is not a comparison of version {VERSION}: use what to_dict or to_json gave.")
        try:
            rows = tuple(_row_of_dict(row) for row in document["rows"])
            rest = {key: value for key, value in document.items() if key not in ("version", "rows")}
            return Comparison(rows=rows, **rest)
        except (KeyError, TypeError, AttributeError) as error:
            raise DataError(f"This is not a complete comparison: {error}. Use what to_dict or to_json gave.") from error

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, which is replaced whole or not at all."""
        from tiltfit.storage.atomic import replacing

        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        with replacing(path) as file:
            file.write(text.encode("utf-8") + b"\n")

    @staticmethod
    def from_json(path: str | os.PathLike[str]) -> Comparison:
        """Read what ``to_json`` wrote."""
        try:
            return Comparison.from_dict(json.loads(Path(path).read_text(encoding="utf-8")))
        except ValueError as error:  # DataError among them
            raise FileError(f"{path}: {error}") from error

    def to_tables(self) -> list[RenderableType]:
        """The text that ``print`` shows, for a terminal (rich): the best figures bold."""
        from tiltfit.comparison.tables import tables

        return tables(self)

    def plot(self, where: Any, metric: str | None = None) -> None:
        """Dots and intervals: all figures into a file (its ending says the format), or one into matplotlib axes."""
        from tiltfit.comparison.plots import draw, save

        if isinstance(where, str | os.PathLike):
            save(self, where)
        else:
            draw(self, where, metric or "accuracy")

    def __str__(self) -> str:
        import io

        from rich.console import Console

        console = Console(file=io.StringIO(), width=80, color_system=None, legacy_windows=False)
        for thing in self.to_tables():
            console.print(thing)
        shown = console.file.getvalue()  # type: ignore[attr-defined]
        return "\n".join(line.rstrip() for line in shown.splitlines())


def _row_as_dict(row: Row) -> dict[str, Any]:
    return {**asdict(row), "warnings": list(row.warnings), "notes": list(row.notes)}


def _row_of_dict(document: Mapping[str, Any]) -> Row:
    figures = {key: Figure(**value) for key, value in document["figures"].items()}
    lists = {key: tuple(document.get(key, ())) for key in ("warnings", "notes")}
    return Row(**{**document, "figures": figures, **lists})


def plain(value: Any) -> Any:
    """A value that JSON has, as it is; anything else as its text."""
    match value:
        case None | str() | int():
            return value
        case float():
            return value if abs(value) < float("inf") else repr(value)
        case Mapping():
            return {str(k): plain(v) for k, v in value.items()}
        case list() | tuple():
            return [plain(v) for v in value]
    return repr(value)[:200]
