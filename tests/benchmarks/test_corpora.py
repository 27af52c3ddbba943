"""What is stripped from the documents of research collections."""

from __future__ import annotations

from benchmarks.corpora import strip_header, strip_page


def test_a_message_without_its_header() -> None:
    assert strip_header("From: a\nSubject: b\n\nHello") == "Hello"


def test_the_words_of_a_web_page() -> None:
    assert strip_page("MIME-Version: 1.0\n\n<h1>R &amp; D</h1>").strip() == "R & D"
