"""A tagger that the tests of several commands use."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.ads import CONSTRAINTS, ads, conll, jsonl, run

TEXTS = '{"text": "a big room", "label": "size"}\n{"text": "call", "label": "contact"}\n'


@pytest.fixture(scope="session")
def tagging(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data, constraints and a tagger trained on them without labels."""
    folder = tmp_path_factory.mktemp("tagging")
    (folder / "train.conll").write_text(conll(ads(60, 0)))
    (folder / "test.conll").write_text(conll(ads(20, 1)))
    (folder / "test.jsonl").write_text(jsonl(ads(20, 1)))
    (folder / "c.toml").write_text(CONSTRAINTS)
    (folder / "texts.jsonl").write_text(TEXTS)
    code, out, err = run(
        "train", folder / "train.conll", "-c", folder / "c.toml", "--ignore-labels", "-o", folder / "m.tilt"
    )
    assert code == 0, err
    (folder / "train.out").write_text(out)
    code, _, err = run("train", folder / "texts.jsonl", "-o", folder / "classifier.tilt")
    assert code == 0, err
    return folder
