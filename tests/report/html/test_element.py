"""Text is text whatever it holds; markup is what we make of elements."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tiltfit.report.html.element import Element, element, escape, visible
from tiltfit.report.html.layout import Column, fragment, table

HOSTILE = '</p><script>x</script><img src=x onerror="y">\'&lt;&#60;</style><!--\x00\x1b\x7f\x85\ud800\ufffe\U0001ffff'
texts = st.text(st.characters(exclude_categories=[]) | st.sampled_from("<>&\"'/=\x00\r\ud800\ufffe"), max_size=40)


class Reader(HTMLParser):
    """What a parser of HTML makes of it: tags with attributes, and all text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, list[tuple[str, str | None]]]] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, attrs))

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError("a comment")


@given(texts, texts)
@example(HOSTILE, HOSTILE)
def test_any_text_comes_back_as_text_and_nothing_else(inside: str, attribute: str) -> None:
    html = str(element("span", inside, title=attribute))
    html.encode("utf-8")  # no half of a surrogate pair is left
    read = Reader(html)
    assert read.tags == [("span", [("title", visible(attribute))])]
    assert read.text == visible(inside)
    assert ET.fromstring(html).text == (visible(inside) or None)  # and valid as XML: no character that it forbids


@given(texts)
def test_only_what_no_page_may_hold_is_changed(text: str) -> None:
    kept = text.replace("\r\n", "\n").replace("\r", "\n")
    assert len(visible(text)) == len(kept)
    assert all(a == b or b in "␡\ufffd" or "␀" <= b <= "␟" for a, b in zip(kept, visible(text), strict=True))


def test_control_characters_are_seen() -> None:
    assert escape("a\x00b\x1b\x7f\x9f\ud800\n\t") == "a␀b␛␡\ufffd\ufffd\n\t"


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("script", {}),
        ("img", {}),
        ("object", {}),
        ("link", {}),
        ("base", {}),
        ("p><script", {}),
        ("p", {"onclick": "x"}),
        ("p", {"style": "x"}),
        ("p", {'x" onload="': "x"}),
        ("a", {"href": "https://example.org"}),
        ("a", {"href": "javascript:x"}),
        ("a", {"href": "//x"}),
        ("iframe", {"src": "x"}),
    ],
)
def test_there_is_no_way_to_load_or_run_anything(name: str, attributes: dict[str, str]) -> None:
    with pytest.raises(ValueError):
        Element(name, tuple(attributes.items()))


@pytest.mark.parametrize("css", ["</style><script>", "a{background:url(x)}", "@import 'x'", "<!--", "</ STYLE>"])
def test_a_style_sheet_neither_ends_itself_nor_loads(css: str) -> None:
    with pytest.raises(ValueError):
        element("style", css)


def test_what_is_empty_stays_so() -> None:
    assert str(element("meta", charset="utf-8")) == '<meta charset="utf-8">\n'
    with pytest.raises(ValueError):
        element("meta", "text")
    assert str(element("span", None, "", title=None)) == "<span></span>"


def test_cells_know_their_headings_and_roles() -> None:
    root = ET.fromstring(str(table("All <of> it", [Column("Name"), Column("n", True)], [("<b>", "1"), ("c", None)])))
    assert root.find("caption").text == "All <of> it"  # type: ignore[union-attr]
    assert [th.text for th in root.iter("th")] == ["Name", "n", "<b>", "c"]
    assert [td.get("data-label") for td in root.iter("td")] == ["n", "n"]
    assert [td.get("class") for td in root.iter("td")] == ["number", "number empty"]
    assert {e.get("role") for e in root.iter()} >= {"table", "row", "cell", "columnheader", "rowheader"}


def test_a_fragment_styles_only_itself() -> None:
    html = fragment(element("p", HOSTILE))
    style = html.split("<style>")[1].split("</style>")[0]
    selectors = [s for rule in style.split("}")[:-1] for s in rule.split("{")[0].split(",")]
    assert all(s.strip().startswith(".tiltfit") for s in selectors)
    assert "<script" not in html
