"""Constraints in notebooks."""

from __future__ import annotations

from tiltfit import ConstraintSet, expect, word


def test_a_constraint_shows_sentence_reason_and_code() -> None:
    html = expect("a", given=word("x")).about(0.9, name="<b>", rationale="a & b")._repr_html_()
    assert "&lt;b&gt;: </strong>about 90% of documents with the word &quot;x&quot; are a" in html
    assert "a &amp; b" in html
    assert "expect(&#39;a&#39;, given=word(&#39;x&#39;)).about(0.9" in html


def test_a_set_is_a_table() -> None:
    said = ConstraintSet(
        (
            expect("a").about(0.5, beta=2),
            expect("b").at_least(0.1),
            expect("a").at_most(0.8, slack=1),
            expect("b").about(0.4, within=0.05),
        )
    )
    html = said._repr_html_()
    assert "4 constraints" in html
    assert html.count('scope="row"') == 4
    for strength in ("soft, beta 2", ">hard<", "soft edge, slack 1", "soft, within 0.05"):
        assert strength in html
    assert "Rationale" not in html


def test_tokens_are_called_so() -> None:
    html = ConstraintSet((expect("a").about(0.5), expect.change().at_most(0.1)))._repr_html_()
    assert "about 50% of tokens are a" in html


def test_many_are_cut_and_none_is_no_error() -> None:
    html = ConstraintSet(tuple(expect("a", given=word(f"w{k}")).about(0.5) for k in range(130)))._repr_html_()
    assert html.count('scope="row"') == 100
    assert "Left out: 30 constraints." in html
    assert "0 constraints" in ConstraintSet()._repr_html_()
