"""Tables of statements."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tiltfit import ConstraintSet, TiltClassifier, expect, phrase, word
from tiltfit.errors import ConstraintFileError

TABLE = """Label,Word,Share,Name,Rationale
hockey,puck,90%,,
hockey,"stanley
cup",0.95,cup,"says Ann, who knows"

baseball,,0.4,,
"""
WANTED = ConstraintSet((
    expect("hockey", given=word("puck")).about(0.9),
    expect("hockey", given=phrase("stanley\ncup")).about(0.95, name="cup", rationale="says Ann, who knows"),
    expect("baseball").about(0.4),
))  # fmt: skip


def test_the_same_as_in_python(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text(TABLE, encoding="utf-8-sig")
    (tmp_path / "s.tsv.gz").write_bytes(gzip.compress(b"share\tword\tlabel\n.9\tpuck\thockey\n"))
    (tmp_path / "comma.csv").write_text("label;word;share\nhockey;puck;0,9\n")
    assert ConstraintSet.read(tmp_path / "s.csv") == WANTED
    for name in ("s.tsv.gz", "comma.csv"):
        assert ConstraintSet.read(str(tmp_path / name)) == ConstraintSet((WANTED[0],))
    (tmp_path / "s.toml").write_text(WANTED.to_toml())
    assert ConstraintSet.read(tmp_path / "s.toml") == WANTED
    model = TiltClassifier(tmp_path / "s.csv").fit(["the puck", "a bat", "the stanley\ncup"])
    assert model.classes_.tolist() == ["baseball", "hockey"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("label,word,share\na,b,1.5\n", "line 2: the share '1.5' must be a number from 0 to 1"),
        ("label,word,share\na,b,\n", "line 2: the share '' must be"),
        ("label,word,share\na,b,nan\n", "line 2: the share 'nan' must be"),
        ("label,word,share\na,b,0.9\n,c,0.9\n", "line 3: there is no label"),
        ('label,word,share\na,"b\nc",0.9\na,d,most\n', "line 4: the share 'most' must be"),
        ("label,word,share\na,b,.9\nc,b,.1\na,B,.7\na,b,.8\n", "line 5: the same label and word stand in line 2"),
        ("label,word,share\na,b\n", "line 2: the row has 2 cells, but the header has 3"),
        ('label,word,share\na,"b,0.9\n', "line 2: not CSV"),
        ("label,words,share\na,b,.9\n", "line 1: there is no column 'words' of statements. Did you mean"),
        ("label,word\na,b\n", "line 1: the header has no column 'share'"),
        ("label,word,share,word\na,b,.9,c\n", "line 1: there are two columns 'word'"),
        ("label,word,share\n", "no statements"),
        ("", "no statements"),
    ],
)
def test_refusals(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "s.csv"
    path.write_text(text)
    with pytest.raises(ConstraintFileError) as caught:
        ConstraintSet.read(path)
    assert why in str(caught.value)
    assert str(caught.value).startswith(str(path))
