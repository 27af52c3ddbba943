"""Small advertisements as sequences, and the command line as a function."""

from __future__ import annotations

import json
import random
from typing import Any

from typer.testing import CliRunner

from tiltfit.cli.main import app

CONSTRAINTS = """
version = 1
classes = ["contact", "size"]
[[constraint]]
name = "call"
label = "contact"
given = { any = [{ word = "call" }, { word = "phone" }] }
about = 0.95
[[constraint]]
name = "rooms"
label = "size"
given = { any = [{ word = "room" }, { word = "garden" }] }
about = 0.95
[[constraint]]
name = "goes on"
stay = true
about = 0.8
[[constraint]]
name = "sizes first"
start = ["size"]
at_least = 0.9
"""
WORDS = {
    "size": ["big", "sunny", "small", "room", "garden", "kitchen"],
    "contact": ["call", "phone", "Ann", "Bob", "evenings", "5551234"],
}
Ad = tuple[list[str], list[str]]


def ads(n: int, seed: int) -> list[Ad]:
    """Words about the size, a comma, words about whom to call."""
    rng = random.Random(seed)
    found = []
    for _ in range(n):
        size, contact = rng.choices(WORDS["size"], k=rng.randint(3, 5)), rng.choices(WORDS["contact"], k=3)
        tokens = [*size, ",", *contact]
        found.append((tokens, ["size"] * (len(size) + 1) + ["contact"] * len(contact)))
    return found


def conll(rows: list[Ad], line: str = "{token}\t{tag}") -> str:
    return "\n".join(
        "".join(line.format(token=token, tag=tag) + "\n" for token, tag in zip(tokens, tags, strict=True))
        for tokens, tags in rows
    )


def jsonl(rows: list[Ad], **columns: Any) -> str:
    return "".join(
        json.dumps({"id": f"ad{k}", "tokens": t, "tags": y} | {name: v[k] for name, v in columns.items()}) + "\n"
        for k, (t, y) in enumerate(rows)
    )


def run(*arguments: object, stdin: bytes | None = None) -> tuple[int, str, str]:
    result = CliRunner(env={"COLUMNS": "100"}).invoke(app, [str(a) for a in arguments], input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    return result.exit_code, result.stdout, result.stderr


def document(*arguments: object) -> Any:
    code, out, err = run(*arguments, "--json")
    assert code == 0, err
    return json.loads(out)


def refused(*arguments: object, stdin: bytes | None = None) -> str:
    code, out, err = run(*arguments, stdin=stdin)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    return err
