"""What a reader must not wait for, and what looks like one token and is a whole file."""

import os

import pytest

from tiltfit.data.readers.documents import read
from tiltfit.data.readers.tagged import read_sequences
from tiltfit.errors import ConstraintFileError, DataFileError
from tiltfit.language import toml


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_in_a_folder_is_passed_over(tmp_path, caplog):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "1.txt").write_text("puck")
    os.mkfifo(tmp_path / "a" / "2.txt")
    assert read(tmp_path).X == ["puck"]
    assert "passed over 1 files" in caplog.text


@pytest.mark.parametrize("content", ["a X\rb Y\r\rc X\r", "a X\nb Y\rc X\n"])
def test_carriage_returns_alone_are_refused(tmp_path, content):
    path = tmp_path / "old.conll"
    path.write_bytes(content.encode())
    with pytest.raises(DataFileError, match=r"old.conll, line [12]: .*carriage returns.*Convert"):
        read_sequences(path)


def test_comments_of_conllu(tmp_path):
    path = tmp_path / "tree.conll"
    path.write_text("# newdoc id = d\n# sent_id = 1\n# text = a b\na\tX\n#\tY\n\n# newpar\n# sent_id = 2\nc\tX\n")
    found = read_sequences(path)
    assert found.X == [["a", "#"], ["c"]]
    assert [list(row) for row in found.y] == [["X", "Y"], ["X"]]


def test_a_number_sign_is_a_token(tmp_path):
    path = tmp_path / "tags.conll"
    path.write_text("# O\n1 B\n\n# O\n")
    assert read_sequences(path).X == [["#", "1"], ["#"]]


@pytest.mark.parametrize("form", ["{} = 1", "[{}]", "x = {{ {} = 1 }}", "  [[ {} ]]"])
def test_keys_of_very_many_parts_are_refused_before_they_are_parsed(form):
    text = "version = 1\n" + form.format(".".join(["a", '"b.c"', " 'd' "] * 40_000))
    with pytest.raises(ConstraintFileError, match="the key in line 2 has more than 32 parts"):
        toml.loads(text)


def test_dots_in_texts_are_no_keys():
    text = f'classes = ["a", "b"]\n[[constraint]]\nlabel = "a"\ngiven = {{ phrase = "{".x" * 99}" }}\nabout = 0.9\n'
    assert len(toml.loads(text)) == 1
