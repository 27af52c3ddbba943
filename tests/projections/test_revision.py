"""Labels revise statements: the mean of a Beta posterior, of labels that are counted one by one."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta as beta_distribution
from scipy.stats import binom

from tiltfit import TiltClassifier, TiltTagger, column, expect, load, punctuation, word
from tiltfit.errors import DataError, ModelFileError
from tiltfit.language.relations import About
from tiltfit.projections.revision import CONFIDENCE, Revision, confidence, is_revised, revise
from tiltfit.samples.sample import make_sample
from tiltfit.samples.task import DOCUMENTS, SEQUENCES
from tiltfit.storage.container import read, write

CLASSES = ["a", "b"]
TEXTS = ["x u", "x v", "x w w", "y u", "y v", "z", "x y", "x z", "u v", "y w"]
LABELS = ["a", "b", None, "b", None, None, "a", None, None, None]
WEIGHT = [1.0, 2.0, 1.0, 0.5, 1.0, 1.0, 3.0, 1.0, 1.0, 1.0]
SAID = [expect("a", given=word("x")).about(0.9), expect("b", given=word("y")).about(0.8, within=0.1)]
TOKENS = [["p", ",", "q"], ["q", ".", "p", "p"], ["p", "q"], ["q", ",", "q", "p"]]
TAGS = [["a", "a", "b"], ["b", None, "a", "a"], None, ["b", "b", "b", "a"]]


@pytest.mark.parametrize(("u", "n0", "n", "h"), [(0.9, 10, 12, 7), (0.5, 4, 3, 0), (0.2, 30, 5, 5)])
def test_the_target_is_the_mean_of_the_posterior(u, n0, n, h):
    def joint(share):
        return beta_distribution.pdf(share, n0 * u, n0 * (1 - u)) * binom.pmf(h, n, share)

    mean = quad(lambda share: share * joint(share), 0, 1)[0] / quad(joint, 0, 1)[0]
    assert Revision(u, n0, n, h).target == pytest.approx(mean, rel=1e-6)


@pytest.mark.parametrize(("u", "within"), [(0.9, 0.05), (0.5, 0.2), (0.99, 0.01), (0.3, 0.1)])
def test_within_is_the_standard_deviation_of_the_prior(u, within):
    n0 = confidence(About(u, within=within))
    assert beta_distribution.std(n0 * u, n0 * (1 - u)) == pytest.approx(within)


def test_confidence_at_the_ends():
    assert confidence(About(0.9)) == CONFIDENCE
    assert confidence(About(1.0, within=0.02)) == confidence(About(0.98, within=0.02))  # a Beta cannot be at 1
    assert confidence(About(0.9, within=0.4)) == 1.0  # wider than any Beta that has a mode
    assert confidence(About(0.5, within=0.9)) == 1.0


def test_labels_of_documents_count_by_their_weights():
    found = revise(SAID, make_sample(DOCUMENTS, TEXTS, LABELS, WEIGHT, classes=CLASSES))
    assert (found[SAID[0]].places, found[SAID[0]].hits) == (1 + 2 + 3, 1 + 3)
    assert (found[SAID[1]].places, found[SAID[1]].hits) == (0.5 + 3, 0.5)
    assert found[SAID[1]].confidence == pytest.approx(0.8 * 0.2 / 0.1**2 - 1)


def test_labels_of_sequences_count_one_by_one():
    said = [
        expect("b", given=word("q")).about(0.7),
        expect.stay().about(0.9),
        expect.change(given=~punctuation.before).about(0.1),
        expect.start("a").about(0.6),
    ]
    found = revise(said, make_sample(SEQUENCES, TOKENS, TAGS, classes=CLASSES))
    nodes, stays, inside, starts = [], [], [], []
    for tokens, tags in zip(TOKENS, TAGS, strict=True):
        known = tags or [None] * len(tokens)
        starts += [known[0] == "a"] if known[0] is not None else []
        nodes += [tag == "b" for token, tag in zip(tokens, known, strict=True) if token == "q" and tag is not None]
        for before, left, right in zip(tokens, known, known[1:], strict=False):
            if left is not None and right is not None:
                stays.append(left == right)
                inside += [left != right] if before not in ",." else []
    for constraint, happened in zip(said, (nodes, stays, inside, starts), strict=True):
        assert (found[constraint].places, found[constraint].hits) == (len(happened), sum(happened)), str(constraint)


def test_only_shares_that_are_about_the_unlabelled_data_are_revised():
    assert all(map(is_revised, SAID))
    others = [
        expect("a").at_least(0.3),
        expect("a").at_most(0.9),
        expect("a").exactly(0.5),
        expect("a").between(0.2, 0.6),
        expect().distributed_as({"a": 0.5, "b": 0.5}),
        expect("a", on="all").about(0.5),
        expect("a", per=column("of")).about(0.5),
        expect("a", per="instance").about(0.5),
        expect.change(given=punctuation.before, of=expect.change()).about(0.9),
        expect.segments("a").about(1.5),
        expect.repeats().about(0.1),
    ]
    assert not any(map(is_revised, others))


def test_a_fit_is_that_of_the_revised_statements():
    usual = {"classes": CLASSES, "tol": 1e-9}
    revised = TiltClassifier(SAID, **usual).fit(TEXTS, LABELS)
    targets = [revised.revisions_[c].target for c in SAID]
    assert targets == pytest.approx([(18 + 2) / (20 + 3), (15 * 0.8 + 1) / (15 + 2)])
    again = [
        expect("a", given=word("x")).about(targets[0]),
        expect("b", given=word("y")).about(targets[1], within=0.1),
    ]
    stated = TiltClassifier(again, revise=None, **usual).fit(TEXTS, LABELS)
    np.testing.assert_allclose(revised.coef_, stated.coef_, atol=1e-12)
    np.testing.assert_allclose(revised.project(TEXTS), stated.project(TEXTS), atol=1e-12)
    assert revised.constraints_ == TiltClassifier(SAID, revise=None, **usual).fit(TEXTS, LABELS).constraints_


def test_without_labels_or_by_wish_statements_stay_as_they_are():
    plain, none = (TiltClassifier(SAID, classes=CLASSES, revise=r).fit(TEXTS) for r in ("auto", None))
    np.testing.assert_array_equal(plain.coef_, none.coef_)
    assert plain.revisions_ == {}
    assert all(entry.revised is None and entry.revision is None for entry in plain.constraint_report_)
    asked = TiltClassifier(SAID, classes=CLASSES, revise=None).fit(TEXTS, LABELS)
    assert asked.revisions_ == {}


def test_streams_and_methods_that_follow_no_statement_revise_nothing():
    fitted = TiltClassifier(SAID, classes=CLASSES).fit(TEXTS, LABELS)
    assert fitted.revisions_
    assert fitted.set_params(solver="online", vectorizer="hashing").fit(TEXTS, LABELS).revisions_ == {}
    assert TiltClassifier(SAID, classes=CLASSES, method="supervised").fit(TEXTS, LABELS).revisions_ == {}


def test_the_report_says_what_labels_said():
    entry = TiltClassifier(SAID, classes=CLASSES).fit(TEXTS, LABELS).constraint_report_[0]
    assert (entry.labels, entry.agreeing, entry.revised) == (3, 2, pytest.approx(20 / 23))
    assert entry.sentence.startswith("about 90%")
    assert entry.revision == "2 of 3 labels agree: target 87.0%"
    assert entry.revision in entry.full_verdict
    assert entry.revision in str(TiltClassifier(SAID, classes=CLASSES).fit(TEXTS, LABELS).constraint_report_)
    assert entry.violation == pytest.approx(abs(entry.projected - 20 / 23))


@pytest.mark.parametrize("kind", ["documents", "sequences"])
def test_a_file_keeps_it(kind, tmp_path):
    if kind == "documents":
        model, X, y = TiltClassifier(SAID, classes=CLASSES), TEXTS, LABELS
    else:
        model, X, y = (
            TiltTagger([expect("b", given=word("q")).about(0.7)], classes=CLASSES, revise="auto"),
            TOKENS,
            TAGS,
        )
    model.fit(X, y).save(tmp_path / "m.tilt")
    again = load(tmp_path / "m.tilt")
    assert again.revise == "auto"
    assert again.revisions_ == model.revisions_ != {}
    for mine, theirs in zip(model.project(X), again.project(X), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    document, arrays = read(tmp_path / "m.tilt")
    for wrong in ([0, 2, 3], [0, 0, 0], [-1, 2, 1], [7, 2, 1], [0, 2]):
        write(tmp_path / "damaged.tilt", {**document, "revisions": [wrong]}, arrays)
        with pytest.raises(ModelFileError):
            load(tmp_path / "damaged.tilt")
    del document["revisions"], document["parameters"]["revise"]  # as earlier versions wrote it
    write(tmp_path / "old.tilt", document, arrays)
    assert load(tmp_path / "old.tilt").revisions_ == {}


@pytest.mark.parametrize("wrong", ["always", True, 3])
def test_other_values_are_refused(wrong):
    with pytest.raises(DataError, match=r"revise=.* must be 'auto' .* or None"):
        TiltClassifier(SAID, classes=CLASSES, revise=wrong).fit(TEXTS)
