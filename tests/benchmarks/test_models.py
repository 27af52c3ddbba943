"""Which features, which model: what the page says of made-up cells, and contestants that must agree."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from benchmarks.models import contestants as models
from benchmarks.models import page
from benchmarks.models.cells import figures
from benchmarks.models.contestants import BATCHES, BOTH, STATIC, TORCH, VECTORS, WORDS, Contestant, Judged, Vectors
from benchmarks.models.plan import Plan
from experiments.believe.cells import Given

from tiltfit import ConstraintSet
from tiltfit.demo.tickets import CONSTRAINTS, generate


def nothing(given, vectors, seed):
    raise AssertionError


HERE = [Contestant(title, nothing) for title in (WORDS, STATIC, BOTH, VECTORS, TORCH, BATCHES)]
PLAN = Plan(("trec", "sms"), 2, (*HERE, Contestant("elsewhere", nothing, ("no_such_package",))))


def made_up(**scores):
    """Every cell; ``scores`` by collection and contestant's first word."""
    found = {}
    for cell in PLAN.cells():
        score = scores.get(cell.name, {}).get(cell.title, 0.7)
        found[cell.key] = {"score": score, "log_loss": 0.5, "calibration": 0.1, "seconds": 1.0, "memory": 2**20}
        found[cell.key]["objective"] = 100.9 if cell.title == BATCHES else 100.0
    return found


def test_the_musts_are_read_from_the_cells():
    reached = made_up(trec={STATIC: 0.741, BOTH: 0.81, VECTORS: 0.8, TORCH: 0.797}, sms={STATIC: 0.695})
    assert page.missed(PLAN, reached) == []
    text = page.page(PLAN, reached)
    assert "| words+sentences against words, trec | +4.0 points | +11.0 points | yes |" in text
    assert "| mini-batches, objective above that of the full batch | 1 % | 0.9 % | yes |" in text
    assert "| goal: the best on trec | 0.80 | 0.810 (words+sentences) | yes |" in text
    missed = page.missed(PLAN, made_up(trec={STATIC: 0.73, BOTH: 0.81, TORCH: 0.71}, sms={STATIC: 0.68}))
    assert [line.split(":")[0] for line in missed] == [
        "words+meaning against words, trec",
        "words+meaning against words, worst collection",
        "torch and native, both linear, largest mean difference",
    ]


def test_what_is_not_installed_is_left_out_with_a_word():
    assert not any("elsewhere" in cell.key for cell in PLAN.cells())
    assert "- elsewhere: no_such_package not installed." in page.page(PLAN, made_up())


def test_slow_contestants_and_long_texts():
    slow, sentences = Contestant("slow", nothing, slow=True), Contestant("s", nothing, sentences=True)
    keys = [cell.key for cell in Plan(("trec", "20newsgroups"), 2, (slow, sentences)).cells()]
    assert keys == ["trec | 0 | s", "trec | 0 | slow", "20newsgroups | 0 | slow", "trec | 1 | s"]


def test_a_page_of_what_is_finished_says_what_is_missing():
    found = made_up(trec={BOTH: 0.9})
    for cell in PLAN.cells()[1:]:
        del found[cell.key]
    assert "**Not finished**: 23 of 24 cells are missing" in page.page(PLAN, found)
    assert page.missed(PLAN, {}) == []


def test_figures_of_known_probabilities():
    given = Given([], np.array([]), [], ["a", "b"], np.array(["x", "y"]))
    found = figures("trec", given, Judged(np.array(["x", "y"]), np.array([[0.75, 0.25], [0.75, 0.25]])))
    assert found == {
        "score": 0.5,
        "log_loss": pytest.approx(-0.5 * np.log(0.75 * 0.25)),
        "calibration": pytest.approx(0.25),
    }


@pytest.fixture(scope="module")
def tickets():
    """Generated tickets; the vectors are their words."""
    from tiltfit.features.text import fit_bag_of_words

    written, judged = generate(300, 1), generate(100, 2)
    said = list(ConstraintSet.from_toml(CONSTRAINTS))
    given = Given(list(written.texts), np.array(written.labels), said, list(judged.texts), np.array(judged.labels))
    bag, matrix = fit_bag_of_words(given.texts, "tfidf")
    return given, Vectors(matrix.toarray() / 10, bag.transform(given.judged).toarray() / 10)


def fitted(fit, given, vectors):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit(given, vectors, 0)


def test_linear_models_of_both_kinds_are_the_same(tickets):
    pytest.importorskip("torch")
    native, torch = (fitted(fit, *tickets) for fit in (models.sentences, models.torch_linear))
    assert torch.objective == pytest.approx(native.objective, rel=1e-2)
    np.testing.assert_allclose(torch.p, native.p, atol=0.05)


def test_boosting_gives_probabilities(tickets, monkeypatch):
    pytest.importorskip("lightgbm")
    monkeypatch.setattr(models, "N_TREES", 10)
    found = fitted(models.boosted, *tickets)
    np.testing.assert_allclose(found.p.sum(axis=1), 1)
    assert figures("trec", tickets[0], found)["score"] > 0.4


def test_kept_vectors_stand_in_for_the_sentence_encoder(tickets):
    from tiltfit.features.vectors import ENCODERS, SENTENCES

    before = ENCODERS.find(SENTENCES)
    found = fitted(models.words_and_sentences, *tickets)
    assert found.p.shape == (100, len(tickets[0].classes))
    assert ENCODERS.find(SENTENCES) is before
