"""A generated collection in the place of a real one."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from experiments import development, stated_words
from experiments.rivals import cells as rivals_cells

LABELS = ("earth", "fire", "water")


@pytest.fixture
def elements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """240 texts of ten words: three from the label's own twelve, two of any label, five of none; by the name of a
    collection with a split."""
    rng = np.random.default_rng(7)
    rows = []
    for i in range(240):
        label, part = LABELS[i % 3], "test" if i % 4 == 0 else "train"
        of = [label] * 3 + [LABELS[j] for j in rng.integers(0, 3, 2)]
        words = [f"{own}{rng.integers(0, 12)}" for own in of] + [f"plain{j}" for j in rng.integers(0, 20, 5)]
        rows.append({"id": str(i), "label": label, "split": part, "text": " ".join(words)})
    (tmp_path / "youtube").mkdir()
    with gzip.open(tmp_path / "youtube" / "youtube.jsonl.gz", "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)
    monkeypatch.setenv("TILTFIT_DATA", str(tmp_path))
    _forget()
    yield tmp_path
    _forget()


def _forget() -> None:
    for cached in (stated_words.scene, rivals_cells.split_of, development.features):
        cached.cache_clear()
