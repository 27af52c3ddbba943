from __future__ import annotations

from pathlib import Path

import pytest

from tiltfit.errors import ConstraintFileError
from tiltfit.language.conditions import word
from tiltfit.language.expect import expect
from tiltfit.language.mallet import parse_mallet, read_mallet


def test_lines_become_constraints(tmp_path: Path) -> None:
    path = tmp_path / "c.txt"
    path.write_text(
        "\ufeffpuck hockey:0.9 baseball:0.1\r\n\r\n# a comment\n  bat\tbaseball:0.7,0.95 hockey:0,0.3\n"
        "goalie hockey:0.8\nurl a:b:1e0\nmix hockey:0.5 baseball:0.1,0.2\n",
        encoding="utf-8",
    )
    assert list(read_mallet(path)) == [
        expect(given=word("puck")).distributed_as({"hockey": 0.9, "baseball": 0.1}),
        expect("baseball", given=word("bat")).between(0.7, 0.95),
        expect("hockey", given=word("bat")).between(0, 0.3),
        expect("hockey", given=word("goalie")).about(0.8),
        expect(given=word("url")).distributed_as({"a:b": 1}),
        expect("hockey", given=word("mix")).about(0.5),
        expect("baseball", given=word("mix")).between(0.1, 0.2),
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("puck", "no label follows the feature 'puck'"),
        ("puck hockey", "'hockey' is neither label:share nor label:low,high"),
        ("puck :0.9", "':0.9' is neither"),
        ("puck hockey:", "is neither"),
        ("puck hockey:x", "is neither"),
        ("puck hockey:1,2,3", "is neither"),
        ("puck hockey:0.9 baseball:0.9", "sum to 1.8, which is more than 1"),
        ("puck hockey:-0.1", "cannot be negative"),
        ("puck hockey:nan", "must be finite"),
        ("puck hockey:0.9,0.1", "the lower bound comes first"),
        ("puck hockey:0.5,1.5", "is not a share"),
        ("puck hockey:0.5 hockey:0.5", "twice"),
        ("bat hockey:1", "has been seen in line 1"),
    ],
)
def test_bad_lines_are_refused_with_their_number(line: str, message: str) -> None:
    with pytest.raises(ConstraintFileError) as caught:
        parse_mallet(["bat hockey:1", "", line], "rules.txt")
    assert str(caught.value).startswith("rules.txt, line 3: ")
    assert message in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConstraintFileError, match="cannot be read"):
        read_mallet(tmp_path / "missing")
    (tmp_path / "x").write_bytes(b"\xff\xfe")
    with pytest.raises(ConstraintFileError, match="not UTF-8"):
        read_mallet(tmp_path / "x")
