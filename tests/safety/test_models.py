"""Model files whose checksums are right and whose content is not: they are loaded and predict, or are refused."""

from __future__ import annotations

import contextlib
import stat
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.safety import seeds
from tests.safety.mutations import damaged, fuzz
from tests.storage.test_damage import places, put
from typer.testing import CliRunner

from tiltfit import load
from tiltfit.cli.main import app
from tiltfit.errors import ModelFileError, TiltfitError
from tiltfit.storage import container

GOLDEN = Path(__file__).parents[1] / "golden"
ODD = st.sampled_from(
    [
        None,
        True,
        -1,
        0,
        1,
        2**31,
        2**70,
        1e300,
        -0.5,
        "",
        "x",
        "maxent",
        "../x",
        [],
        [1],
        ["a", "a"],
        [[]],
        {},
        {"a": 1},
        "a" * 5000,
        [None],
        ["b", "a"],
        {"word": "x"},
        {"regex": "("},
        "\u0130",
        3,
    ]
)
NEW = {"classifier-1.tilt": ["our goalie", "", "\u0130"], "tagger-1.tilt": [["small", "room"], ["x"]]}
each = pytest.mark.parametrize("name", NEW)


@each
@given(data=st.data())
@fuzz
def test_any_value_in_the_document(tmp_path: Path, name: str, data: st.DataObject) -> None:
    document, arrays = container.read(GOLDEN / name)
    for _ in range(data.draw(st.integers(1, 2))):
        document = put(document, data.draw(st.sampled_from(places(document)[1:])), data.draw(ODD))
    _load(tmp_path, name, document, arrays)


@each
@given(data=st.data())
@fuzz
def test_any_array(tmp_path: Path, name: str, data: st.DataObject) -> None:
    document, arrays = container.read(GOLDEN / name)
    which = data.draw(st.sampled_from(sorted(arrays)))
    array = arrays[which]
    changed: Any = data.draw(
        st.sampled_from(
            [
                array[:0],
                array[..., :-1],
                array.astype(np.int8),
                array.reshape(-1),
                array[None],
                -array - 1,
                np.full_like(array, 120),
                np.full(array.shape, np.nan),
                np.full(array.shape, 1e308),
            ]
        )
    )
    new = {key: value for key, value in arrays.items() if key != which}
    _load(tmp_path, name, document, new | ({which: changed} if data.draw(st.integers(0, 4)) else {}))


@pytest.mark.parametrize("key", ["sentence", "support", "price", "violation", "groups"])
def test_a_report_that_cannot_be_told_is_refused_on_loading(tmp_path: Path, key: str) -> None:
    document, arrays = container.read(GOLDEN / "classifier-1.tilt")
    container.write(tmp_path / "m.tilt", put(document, ("report", 0, key), None), arrays)
    with pytest.raises(ModelFileError, match=r"m\.tilt is damaged"):
        load(tmp_path / "m.tilt")


def _load(folder: Path, name: str, document: dict[str, Any], arrays: dict[str, Any]) -> None:
    try:
        container.write(folder / "m.tilt", document, arrays)
    except TiltfitError:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = load(folder / "m.tilt")
        except ModelFileError:
            return
        with contextlib.suppress(TiltfitError), np.errstate(all="ignore"):
            model.predict(NEW[name])
            str(model.constraint_report_)


@given(content=damaged([(GOLDEN / "classifier-1.tilt").read_bytes()]))
@fuzz
def test_damaged_bytes(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "m.tilt").write_bytes(content)
    with contextlib.suppress(ModelFileError):
        load(tmp_path / "m.tilt")


# Commands: whatever they read, they write what they were told to and nothing else.

COMMANDS: dict[str, tuple[list[str], str, list[bytes]]] = {
    "predict": (["predict", "../safe/classifier-1.tilt", "in.jsonl", "-o", "out.jsonl"], "in.jsonl", seeds.JSONL),
    "check": (["check", "in.toml", "--data", "../safe/d.jsonl"], "in.toml", seeds.TOML),
    "suggest": (["suggest", "--data", "in.csv", "-o", "out.toml", "--min-support", "1"], "in.csv", seeds.CSV),
    "convert": (["convert", "mallet-constraints", "in.txt", "-o", "out.toml"], "in.txt", seeds.MALLET),
    "votes": (["convert", "snorkel", "in.csv", "-o", "out.jsonl"], "in.csv", seeds.VOTES),
}


@pytest.mark.parametrize("kind", COMMANDS)
@given(data=st.data())
@fuzz
def test_commands_write_nothing_but_their_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, data: st.DataObject
) -> None:
    arguments, name, files = COMMANDS[kind]
    work, safe = tmp_path / "work", tmp_path / "safe"
    if not safe.exists():
        for folder in (work, safe):
            folder.mkdir()
        (safe / "classifier-1.tilt").write_bytes((GOLDEN / "classifier-1.tilt").read_bytes())
        (safe / "d.jsonl").write_bytes(seeds.JSONL[0])
        safe.chmod(stat.S_IRUSR | stat.S_IXUSR)
    before = {p: p.read_bytes() for p in safe.iterdir()}
    monkeypatch.chdir(work)
    (work / name).write_bytes(data.draw(damaged(files)))
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code in (0, 1, 2), result.exception
    assert "Traceback" not in result.output
    output = arguments[arguments.index("-o") + 1] if "-o" in arguments else None
    expected = {name, output} if result.exit_code == 0 and output else {name}
    assert {p.name for p in work.iterdir()} == expected
    assert {p.name for p in tmp_path.iterdir()} == {"work", "safe"}
    assert {p: p.read_bytes() for p in safe.iterdir()} == before
    for path in work.iterdir():
        path.unlink()
