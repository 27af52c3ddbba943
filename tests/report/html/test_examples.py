"""Words that a condition looks at are found where it fires, and marked."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltfit import column, phrase, regex, word
from tiltfit.data.inputs import TextInputs
from tiltfit.language.condition import Condition
from tiltfit.report.html.examples import Span, marked, spans, spans_of_words

texts = st.text(st.sampled_from("aAbB .-ßİ"), max_size=20)
CONDITIONS = [word("a"), word("A"), word("ab"), phrase("a b"), phrase("B a"), regex("a+b"), regex("^A"), word("ß")]


@pytest.mark.parametrize("condition", CONDITIONS, ids=repr)
@settings(max_examples=25)
@given(texts)
def test_something_is_marked_where_the_condition_fires_and_nowhere_else(condition: Condition, text: str) -> None:
    fires = bool(condition.fires(TextInputs([text]))[0])
    assert bool(spans(condition, text)) == fires


def test_what_must_be_absent_is_not_marked() -> None:
    assert spans(~word("a") & word("b"), "a b") == [Span(2, 3)]
    assert spans(None, "a b") == []


def test_spans_do_not_overlap() -> None:
    assert spans(phrase("a b") | word("a") | word("b"), "a b") in ([Span(0, 1), Span(2, 3)], [Span(0, 3)])


def test_marks_of_both_kinds() -> None:
    text = "the puck and the bat"
    html = str(marked(text, spans(word("puck"), text), spans_of_words(["BAT", "puck"], text)))
    assert '<mark class="asked">puck</mark>' in html
    assert '<mark class="weighty">bat</mark>' in html
    assert html.count("<mark") == 2


def test_a_long_text_is_cut_around_the_first_mark() -> None:
    text = "x " * 400 + "puck " + "y " * 400
    html = str(marked(text, spans(word("puck"), text)))
    assert "puck</mark>" in html
    assert html.startswith('<blockquote dir="auto">… ')
    assert len(html) < 500


def test_a_mark_longer_than_the_excerpt_is_cut_with_it() -> None:
    text = "b " * 200 + "a" * 1000
    assert len(str(marked(text, spans(regex("a+"), text)))) < 1500


def test_markup_in_a_text_stays_text() -> None:
    text = "<b>puck</b> & <script>"
    html = str(marked(text, spans(word("puck"), text)))
    assert '>&lt;b&gt;<mark class="asked">puck</mark>&lt;/b&gt; &amp; &lt;script&gt;<' in html


def test_other_columns_are_not_looked_for() -> None:
    assert spans(column("age").above(3), "a 4") == []
