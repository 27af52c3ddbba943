"""Finished cells in a file, written after every cell; a run can be interrupted. The folder ignores itself."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


class Kept:
    """Plain data by key. ``key in kept``, ``kept[key]``, ``kept[key] = data``."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.parent / ".gitignore").write_text("*\n", encoding="utf-8")
        self._cells: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}

    def __contains__(self, key: str) -> bool:
        return key in self._cells

    def __getitem__(self, key: str) -> Any:
        return self._cells[key]

    def __setitem__(self, key: str, data: Any) -> None:
        self._cells[key] = data
        beside = self._path.with_suffix(".new")
        beside.write_text(json.dumps(self._cells, indent=1), encoding="utf-8")
        os.replace(beside, self._path)
