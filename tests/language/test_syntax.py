"""What is said of text that is not TOML."""

from __future__ import annotations

import pytest

from tiltfit import ConstraintSet
from tiltfit.errors import ConstraintFileError


def error_of(line: str) -> ConstraintFileError:
    with pytest.raises(ConstraintFileError) as caught:
        ConstraintSet.from_toml(f"version = 1\n[[constraint]]\n{line}\nabout = 0.9\n")
    return caught.value


@pytest.mark.parametrize(
    ("line", "cure", "at"),
    [
        ("label = hockey", 'Text stands in quotes: write "hockey".', "hockey"),
        ("label = ice hockey # fast", 'Text stands in quotes: write "ice hockey".', "ice"),
        ("labels = [hockey, baseball]", 'Text stands in quotes: write "hockey".', "hockey"),
        ("given = { word = puck }", 'Text stands in quotes: write "puck".', "puck"),
        ("label = Émile", 'Text stands in quotes: write "Émile".', "Émile"),
        ("label = “ice hockey”", 'Use straight quotes: write "ice hockey".', "“"),
        ("stay = True", "Write true, in lower case.", "True"),
        ("at_least = 90%", "Shares are numbers from 0 to 1: write 0.9.", "%"),
        ("at_least = 0,9", "Write numbers with a point: 0.9.", ","),
    ],
)
def test_the_line_the_place_and_what_to_write(line: str, cure: str, at: str) -> None:
    error = error_of(line)
    assert str(error).startswith("line 3: this is not valid TOML: ")
    assert str(error).endswith(cure)
    (note,) = error.__notes__
    shown, caret = note.split("\n")
    assert shown == f"3 | {line}"
    assert shown[caret.index("^") :].startswith(at)


def test_no_cure_where_none_is_clear() -> None:
    assert str(error_of("= 3")) == "line 3: this is not valid TOML: invalid statement."


def test_long_lines_and_control_characters_are_cut() -> None:
    (note,) = error_of('name = "' + "x" * 500 + '" \x1b[31m oops').__notes__
    shown, caret = note.split("\n")
    assert "\x1b" not in note
    assert len(caret) <= len(shown) <= 100


@pytest.mark.parametrize("text", ['label = "open', "labels = [1,"])
def test_text_that_ends_too_early(text: str) -> None:
    with pytest.raises(ConstraintFileError, match="this is not valid TOML"):
        ConstraintSet.from_toml(f"[[constraint]]\n{text}")


@pytest.mark.parametrize(("key", "instead"), [("word", "words = "), ("phrase", "any = ")])
def test_several_words_under_the_key_of_one(key: str, instead: str) -> None:
    error = error_of(f'label = "a"\ngiven = {{ {key} = ["b", "c"] }}')
    assert f"`given.{key}` must be a string, but is an array" in str(error)
    assert instead in str(error)
