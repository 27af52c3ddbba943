"""Documents and sequences to learn from online, and small chunks, so that few of them make many."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.ads import CONSTRAINTS as OF_ADS
from tests.cli.ads import ads, conll, run

from tiltfit import TiltClassifier

CONSTRAINTS = """
version = 1
classes = ["baseball", "hockey"]
[[constraint]]
name = "puck"
label = "hockey"
given = { word = "puck" }
about = 0.9
[[constraint]]
name = "bat"
label = "baseball"
given = { word = "bat" }
at_least = 0.8
"""
WORDS = {
    "hockey": ["puck", "goalie", "ice", "rink", "skate"],
    "baseball": ["bat", "pitcher", "inning", "base", "glove"],
}
CHUNK = 64
N = 300  # four whole chunks and a short one


def documents(n: int = N, seed: int = 0, labelled: float = 0.1) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    rows = []
    for i in range(n):
        label, other = random.Random(f"{seed} {i}").sample(sorted(WORDS), 2)
        words = rng.choices(WORDS[label], k=4) + rng.choices(WORDS[other][1:], k=1)
        row: dict[str, Any] = {"id": f"doc{i}", "text": " ".join(words), "season": i % 4}
        rows.append(row | ({"label": label} if rng.random() < labelled else {}))
    return rows


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def folder_of(path: Path) -> Path:
    """``d.jsonl`` with ``c.toml``, and ``s.conll`` with ``s.toml``."""
    (path / "d.jsonl").write_text(lines(documents()))
    (path / "c.toml").write_text(CONSTRAINTS)
    rng = random.Random(0)
    tagged = [(tokens, tags if rng.random() < 0.1 else ["?"] * len(tags)) for tokens, tags in ads(N, 0)]
    (path / "s.conll").write_text(conll(tagged))
    (path / "s.toml").write_text(OF_ADS)
    return path


def online(folder: Path, *arguments: object, stdin: bytes | None = None, data: str = "d.jsonl") -> tuple[int, str, str]:
    """Train on the documents (``data="s.conll"``: on the sequences) as if in that folder."""
    constraints = folder / ("s.toml" if data == "s.conll" else "c.toml")
    own = ("--unlabelled", "?") if data == "s.conll" else ()
    source = "-" if stdin is not None else folder / data
    if stdin is not None and own:
        own = ("--task", "tag", *own)
    return run("train", "--online", source, "-c", constraints, *own, *arguments, stdin=stdin)


def trained(folder: Path, *arguments: object, **how: Any) -> tuple[str, str]:
    code, out, err = online(folder, *arguments, **how)
    assert code == 0, err
    return out, err


def failing_at(monkeypatch: pytest.MonkeyPatch, call: int, act: Callable[[], None]) -> None:
    """Do something when the classifier has learned from so many chunks."""
    calls, learn = [0], TiltClassifier.partial_fit

    def partial_fit(self: TiltClassifier, *arguments: Any) -> TiltClassifier:
        learn(self, *arguments)
        calls[0] += 1
        if calls[0] == call:
            act()
        return self

    monkeypatch.setattr(TiltClassifier, "partial_fit", partial_fit)
