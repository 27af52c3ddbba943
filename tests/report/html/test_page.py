"""The page about a model and its data: what stands on it, and what it refuses."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from tests.report.html.conftest import CONSTRAINTS, LABELS, SEQUENCES, TAGS, TEXTS

from tiltfit import Page, TiltClassifier, TiltTagger, column, expect, feature, load, report_page, when, word
from tiltfit.errors import DataError, TiltfitWarning, UnknownLabelError, UnsupportedError
from tiltfit.explain.account import account_of, coverage_of
from tiltfit.report.account import Coverage
from tiltfit.report.constraints import ConstraintReport, Entry
from tiltfit.report.html.constraints import most_telling
from tiltfit.report.html.figures import proportions
from tiltfit.report.html.page import POLICY
from tiltfit.report.html.sequences import choose_sequences

HOSTILE = "puck <script>document.title='owned'</script><img src=x onerror=\"y\"></blockquote></style>&#60;b>\x00\ud800"


class Reader(HTMLParser):
    """Tags, ids, and the text of headings, captions and cells."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(html)
        self.close()
        assert self.open == []  # every element is closed, in order

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1] if self.open else "", data))

    def of(self, tag: str) -> list[str]:
        return [data for where, data in self.texts if where == tag and data.strip()]


@pytest.fixture(scope="module")
def page(classifier: TiltClassifier) -> Page:
    return report_page(classifier, TEXTS, LABELS)


def test_everything_is_on_the_page(page: Page) -> None:
    read = Reader(page.html)
    assert read.of("h1") == ["Constraint report"]
    headings = ["Constraints", "Disputed examples", "Label proportions", "Coverage", "Calibration", "Convergence"]
    assert read.of("h2") == page.headings == headings
    assert read.of("a") == headings
    assert read.tags.count("svg") >= 7
    assert len(read.of("caption")) == read.tags.count("table")
    for name in ("pucks", "bats"):
        assert name in read.of("strong")


def test_it_needs_and_runs_nothing_else(page: Page) -> None:
    read = Reader(page.html)
    assert set(read.tags) & {"script", "link", "img", "object", "embed", "form", "base"} == set()
    assert all(not name.startswith("on") and name not in ("src", "style") for name, _ in read.attributes)
    assert all(str(value).startswith("#") for name, value in read.attributes if name == "href")
    assert "//" not in page.html.replace("<!doctype html>", "")
    assert ("content", POLICY) in read.attributes
    assert POLICY.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:")


def test_pictures_have_words_and_links_have_goals(page: Page) -> None:
    read = Reader(page.html)
    ids = [value for name, value in read.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    goals = {str(value)[1:] for name, value in read.attributes if name == "href"}
    goals |= {value for name, value in read.attributes if name == "aria-labelledby" and value is not None}
    assert goals <= set(ids)
    labels = [value for name, value in read.attributes if name == "aria-label"]
    assert len(labels) == read.tags.count("svg") + read.tags.count("nav")
    assert all(labels)


def test_figures_are_those_of_the_model(classifier: TiltClassifier, page: Page) -> None:
    text = re.sub(r"<[^>]+>", " ", page.html)
    score = classifier.score(TEXTS, LABELS)
    assert f"{score:.1%}" in text
    assert "right, of 6 with labels" in text
    for entry in classifier.constraint_report_:
        assert entry.projected is not None
        assert f"{entry.projected:.1%}" in text


def test_the_same_model_and_data_give_the_same_page(classifier: TiltClassifier, page: Page) -> None:
    assert report_page(classifier, TEXTS, LABELS).html == page.html


def test_without_labels_it_only_says_how_sure_it_is(classifier: TiltClassifier) -> None:
    page = report_page(classifier, TEXTS)
    assert "Confidence" in page.headings
    assert "Calibration" not in page.headings
    assert "mean confidence (no labels)" in page.html


def test_text_is_never_markup(classifier: TiltClassifier) -> None:
    page = report_page(classifier, [*TEXTS, HOSTILE] * 2, title="<script>x</script>")
    read = Reader(page.html)
    assert set(read.tags) & {"script", "img"} == set()
    assert "document.title" in "".join(read.of("blockquote"))
    assert read.of("h1") == ["<script>x</script>"]
    page.html.encode("utf-8")


def test_names_of_constraints_and_labels_are_never_markup() -> None:
    label, other = '<script>"', "</style>'&amp;"
    said = [expect(label, given=word("a")).about(0.9, name="<img src=x onerror=y>"), expect(other).at_least(0.2)]
    model = TiltClassifier(said, classes=[label, other]).fit(["a b", "a c", "d"])
    read = Reader(report_page(model, ["a b", "d"], [label, other]).html)
    assert set(read.tags) & {"script", "img"} == set()
    assert "<img src=x onerror=y>" in read.of("strong")


def test_sequences_are_coloured(tagger: TiltTagger) -> None:
    page = report_page(tagger, SEQUENCES, TAGS)
    assert "Tagged sequences" in page.headings
    assert '<span class="run t' in page.html
    assert "&lt;b&gt;" in page.html
    assert "11 tokens" not in page.html
    assert "13 tokens in 3 sequences" in page.html


def test_sequences_that_are_empty_or_of_attributes(tagger: TiltTagger) -> None:
    assert "13 tokens in 4 sequences" in report_page(tagger, [*SEQUENCES, []]).html
    rows = [[["w=a"], ["w=b"]], [["w=a", "cap"]]]
    model = TiltTagger([expect("x", given=feature("cap")).about(0.9)], classes=["x", "y"]).fit(rows)
    assert "Tagged sequences" in report_page(model, rows).headings


def test_the_least_sure_sequences_come_first(tagger: TiltTagger) -> None:
    account = account_of(tagger, [*SEQUENCES, []])
    sure = [m.max(axis=1) for m in tagger.predict_marginals(SEQUENCES)]
    chosen = choose_sequences(account, 2)
    assert len(chosen) == 2
    assert 3 not in chosen
    assert [float(np.mean(account.confidence[account.offsets[k] : account.offsets[k + 1]])) for k in chosen] == sorted(
        float(np.mean(account.confidence[account.offsets[k] : account.offsets[k + 1]])) for k in range(len(sure))
    )[:2]


def test_much_data_makes_no_larger_page(classifier: TiltClassifier) -> None:
    small, large = report_page(classifier, TEXTS * 20), report_page(classifier, [*TEXTS * 200, "puck " * 5000])
    assert len(large.html) < 1.2 * len(small.html) + 2000


def test_what_is_left_out_is_said(classifier: TiltClassifier, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tiltfit.report.html.constraints._ROWS", 2)
    monkeypatch.setattr("tiltfit.report.html.figures._MOST", 1)
    monkeypatch.setattr("tiltfit.explain.account._MOST", 1)
    html = report_page(classifier, TEXTS).html
    n = len(classifier.constraint_report_)
    assert f"Left out: {n - 2} constraints." in html
    assert "Left out: 1 label." in html
    assert len(re.findall("Left out", html)) == 3


def test_the_constraints_that_are_kept_are_those_to_look_at() -> None:
    def entry(price: float | None, status: str) -> Entry:
        return Entry("n", "s", None, 1.0, 1, 0.5, 0.5, price, 0.0, status)

    report = ConstraintReport(
        tuple(entry(*e) for e in [(0.0, "met"), (3.0, "met"), (None, "rests"), (-4.0, "met"), (0.1, "violated")])
    )
    assert list(most_telling(report, 3)) == [2, 3, 4]
    assert list(most_telling(report, 9)) == [0, 1, 2, 3, 4]


def test_coverage_counts_conditions(classifier: TiltClassifier) -> None:
    found = coverage_of(classifier, TEXTS)
    # puck: 0 1 4; bat: 2 3 4; goalie: 0 1 5
    assert found == Coverage((2, 3, 3, 0), 6, 8)
    assert found.share == 0.75
    nowhere = coverage_of(classifier, ["a puck", "x"])
    assert isinstance(nowhere, Coverage)
    assert nowhere.never == ("bats", 'documents with the word "goalie" are 90% hockey and 10% baseball')


def test_proportions_are_means(classifier: TiltClassifier) -> None:
    found = {one.name: one for one in proportions(account_of(classifier, TEXTS, LABELS))}
    np.testing.assert_allclose(found["hockey"].model, classifier.predict_proba(TEXTS)[:, 1].mean())
    np.testing.assert_allclose(found["hockey"].projected or 0, classifier.project(TEXTS)[:, 1].mean())
    assert found["hockey"].labelled == pytest.approx(4 / 6)
    assert found["hockey"].stated == (0.3, 1.0)
    assert found["baseball"].stated is None


def test_matrices_and_tables() -> None:
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    model = TiltClassifier([expect(1, given=feature("a")).about(0.9)], classes=[0, 1], feature_names=["a", "b"]).fit(X)
    assert "3 rows" in report_page(model, X, [1, 0, -1]).html
    table: dict[str, Any] = {"text": ["a b", "c", "a"], "age": [1.0, 5.0, 9.0]}
    model = TiltClassifier([expect("x", given=column("age").above(4)).about(0.9)], classes=["x", "y"]).fit(table)
    assert "Disputed examples" in report_page(model, table).headings


def test_a_stream_keeps_no_rounds() -> None:
    model = TiltClassifier(CONSTRAINTS, classes=["baseball", "hockey"], vectorizer="hashing").partial_fit(TEXTS)
    assert "learned in a stream" in report_page(model, TEXTS).html


def test_no_constraints_at_all() -> None:
    model = TiltClassifier(method="supervised").fit(TEXTS[:4], LABELS[:4])
    assert "The model has no constraints." in report_page(model, TEXTS).html


def test_what_a_file_could_not_hold_is_noted(tmp_path: Path) -> None:
    said = [expect("a", given=when(lambda t: "x" in t, "has x")).about(0.9), expect("a").at_most(0.8)]
    model = TiltClassifier(said, classes=["a", "b"]).fit(["x y", "y z"])
    with pytest.warns(TiltfitWarning):
        model.save(tmp_path / "m.tilt")
    loaded = load(tmp_path / "m.tilt")
    page = report_page(loaded, ["x y", "z"])
    assert "Notes" in page.headings
    assert "could not be projected" in page.html
    assert len(re.findall('scope="row"', page.html)) >= 2  # the entry is there, though the constraint is lost


def test_warnings_become_notes(classifier: TiltClassifier) -> None:
    page = report_page(classifier, ["nothing here"])
    assert page.headings[-1] == "Notes"
    assert "never fires" in page.html


def test_saved_whole_or_not_at_all(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    page.save(path)
    assert path.read_text(encoding="utf-8") == page.html
    with pytest.raises(OSError):
        page.save(tmp_path / "missing" / "report.html")
    with pytest.raises(UnsupportedError):
        page.save(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_in_a_notebook_it_has_a_frame_of_its_own(page: Page) -> None:
    shown = page._repr_html_()
    read = Reader(shown)
    assert read.tags == ["iframe"]
    assert dict(read.attributes)["sandbox"] == ""
    assert dict(read.attributes)["srcdoc"] == page.html


def test_refusals(classifier: TiltClassifier, tagger: TiltTagger) -> None:
    with pytest.raises(UnsupportedError, match="TiltClassifier or TiltTagger, but got DummyClassifier"):
        report_page(DummyClassifier(), TEXTS)
    with pytest.raises(NotFittedError):
        report_page(TiltClassifier(CONSTRAINTS), TEXTS)
    with pytest.raises(DataError):
        report_page(classifier, [])
    with pytest.raises(DataError, match="no tokens"):
        report_page(tagger, [[]])
    with pytest.raises(DataError):
        report_page(classifier, TEXTS, LABELS[:3])
    with pytest.raises(UnknownLabelError, match="cricket"):
        report_page(classifier, TEXTS, ["cricket"] * 8)


def test_a_tag_that_the_model_does_not_know_is_a_mistake(tagger: TiltTagger) -> None:
    html = report_page(tagger, [["Lee", "2001"]], [["author", "year"]]).html
    assert "labelled year in the data" in html
    assert "right, of 2 with labels" in html


def test_empty_sequences_have_no_coverage_and_hide_none(tagger: TiltTagger) -> None:
    found, full = (coverage_of(tagger, X) for X in ([[], *SEQUENCES, []], SEQUENCES))
    assert isinstance(found, Coverage)
    assert found == full


def test_words_of_a_table_are_underlined() -> None:
    table = {"text": np.array(TEXTS, dtype=object), "length": np.arange(8.0)}
    fitted = TiltClassifier(CONSTRAINTS[:2], classes=["baseball", "hockey"]).fit(table)
    assert '<mark class="weighty">' in report_page(fitted, table).html
