"""What is stripped from the documents of research collections."""

from __future__ import annotations

import pytest
from benchmarks import citations, tokens
from benchmarks.corpora import load_corpus, strip_header, strip_page

from tiltfit.errors import DataFileError


def test_a_message_without_its_header() -> None:
    assert strip_header("From: a\nSubject: b\n\nHello") == "Hello"


def test_the_words_of_a_web_page() -> None:
    assert strip_page("MIME-Version: 1.0\n\n<h1>R &amp; D</h1>").strip() == "R & D"


@pytest.mark.parametrize(
    ("needed", "name"),
    [
        (lambda: citations.citations("dev"), "cora"),
        (citations.lexicons, "lexicons"),
        (tokens.chunks_with_test, "conll2000"),
        (lambda: load_corpus("movie"), "movie"),
    ],
)
def test_a_collection_that_is_not_here_is_named(needed, name: str, tmp_path, monkeypatch) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        monkeypatch.setenv("TILTFIT_DATA", str(folder))
        with pytest.raises(DataFileError, match=f"'{name}' is not here. Set TILTFIT_DATA"):
            needed()
