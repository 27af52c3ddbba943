"""``constraints_from_labels``: the numbers by hand, what is kept, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats

from tiltfit import ConstraintSet, TiltClassifier, TiltTagger, constraints_from_labels, expect, punctuation, regex, word
from tiltfit.errors import ConstraintError, DataError, TiltfitWarning, UnknownLabelError, UnsupportedError

TEXTS = ["Puck on ice", "the puck", "a puck", "ice", "bat and ball", "the bat", "a bat", "the ball", "puck bat", "so"]
SPORT = ["hockey"] * 4 + ["baseball"] * 4 + [None, None]

SENTENCES = [
    ["A", ".", "B", ",", "on", "x", ".", "1999"],
    ["C", ",", "on", "y", ".", "2001"],
    ["D", ".", "the", "z", ",", "1987"],
    ["E", ",", "on", "x", "of", "y", ".", "2001"],
    ["F", ".", "on", "y", "."],
]
FIELDS = [
    ["author"] * 4 + ["title"] * 3 + ["date"],
    ["author"] * 2 + ["title"] * 3 + ["date"],
    ["author"] * 2 + ["title"] * 3 + ["date"],
    ["author"] * 2 + ["title"] * 5 + ["date"],
    None,
]


def wilson(k, n, confidence=0.95):
    there = stats.binomtest(k, n).proportion_ci(confidence, method="wilson")
    return np.floor(there.low * 1000) / 1000, np.ceil(there.high * 1000) / 1000


def stated(constraints, event=None, given=None):
    """The one constraint on this, or None."""
    found = [c for c in constraints if c.event == event.event and c.given == event.given]
    assert len(found) <= 1
    return found[0] if found else None


def documents(**options):
    return constraints_from_labels(TEXTS, SPORT, **{"min_support": 2, "confidence": 0.8} | options)


def tokens(**options):
    return constraints_from_labels(SENTENCES, FIELDS, **{"min_support": 3, "confidence": 0.8} | options)


# The numbers


def test_a_word_in_documents():
    puck = stated(documents(), expect("hockey", given=word("puck")))
    assert puck == expect("hockey", given=word("puck")).at_least(
        wilson(3, 3, 0.8)[0], rationale="3 of 3 labelled documents"
    )


def test_a_word_among_tokens():
    on = stated(tokens(), expect("title", given=word("on")))
    assert on.rationale == "3 of 3 labelled tokens"
    assert on.relation.interval[0] == wilson(3, 3, 0.8)[0]


def test_both_sides_are_stated_where_both_say_something():
    X, y = ["a"] * 20 + ["b"] * 20, ["x"] * 14 + ["y"] * 6 + ["y"] * 20
    found = stated(constraints_from_labels(X, y), expect("x", given=word("a")))
    assert found.relation.interval == wilson(14, 20)


def test_a_higher_confidence_widens_and_more_labels_narrow():
    X, y = ["a"] * 20 + ["b"] * 20, ["x"] * 14 + ["y"] * 6 + ["y"] * 20

    def width(times, confidence):
        found = constraints_from_labels(X * times, y * times, confidence=confidence)
        low, high = stated(found, expect("x", given=word("a"))).relation.interval
        return high - low

    assert width(1, 0.8) < width(1, 0.95)
    assert width(10, 0.95) < width(1, 0.95) / 2


def test_structure_of_sequences():
    found = tokens(templates=["changes", "starts", "segments", "repeats", "appears"])
    change = stated(found, expect.change(given=~punctuation.before))
    assert change.rationale == "0 of 15 labelled transitions"
    assert wilson(0, 15, 0.8)[1] < change.relation.interval[1] < wilson(0, 8, 0.8)[1]  # four sequences
    after = stated(found, expect.change(given=punctuation.before))
    assert after.rationale == "8 of 9 labelled transitions"
    assert stated(found, expect.start("author")) == expect.start("author").at_least(
        wilson(4, 4, 0.8)[0], rationale="4 of 4 labelled sequences"
    )
    one = stated(found, expect.segments("title"))
    assert one.rationale == "1 on average in 4 labelled sequences"
    assert one.relation.interval == pytest.approx((1 - wilson(0, 4, 0.8)[1], 1 + wilson(0, 4, 0.8)[1]), abs=2e-3)
    assert (
        stated(found, expect.repeats("title")).relation
        == expect.repeats("title").at_most(wilson(0, 4, 0.8)[1]).relation
    )
    assert stated(found, expect.appears("date")).rationale == "4 of 4 labelled sequences"


def test_partly_labelled_sequences_tell_what_they_can():
    y = [[None] * 4 + ["title"] * 3 + [None], *FIELDS[1:]]
    found = constraints_from_labels(SENTENCES, y, min_support=3, confidence=0.8)
    assert stated(found, expect.segments("title")).rationale.endswith("3 labelled sequences")
    assert stated(found, expect.start("author")).rationale == "3 of 3 labelled sequences"
    changes = stated(found, expect.change(given=~punctuation.before))
    assert changes.rationale == "0 of 13 labelled transitions"


def test_entities_have_segments_not_tags():
    X = [["Ann", "and", "Bob", "Lee", "ran"]] * 5
    y = [["B-PER", "O", "B-PER", "I-PER", "O"]] * 5
    found = constraints_from_labels(X, y, templates="segments")
    assert [c.event for c in found] == [expect.segments("PER").event]
    assert found[0].rationale == "2 on average in 5 labelled sequences"


# What is kept


def test_of_two_classes_one_side_is_enough():
    found = documents()
    assert stated(found, expect("baseball", given=word("puck"))) is None
    assert {c.event.names for c in found if c.given == word("puck")} == {("hockey",)}


def test_what_makes_no_difference_is_not_stated():
    found = documents()
    assert {"the", "a"}.isdisjoint(w for c in found if c.given is not None for w in c.given.words)


def test_support_is_counted_on_labelled_documents_only():
    everything = ["words", expect("hockey")]
    assert stated(documents(templates=everything, min_support=3), expect("hockey", given=word("puck"))) is not None
    assert stated(documents(templates=everything, min_support=4), expect("hockey", given=word("puck"))) is None


def test_words_that_only_labelled_documents_have_would_rest():
    assert stated(documents(), expect("hockey", given=word("ice"))) is None
    alone = constraints_from_labels(TEXTS[:8], SPORT[:8], min_support=2, confidence=0.8)
    assert stated(alone, expect("hockey", given=word("ice"))) is not None


def test_top_keeps_the_furthest_from_the_base_rate_of_each_label():
    X, y = ["a b"] * 9 + ["a"] * 11 + ["b"] + ["c"] * 19, ["x"] * 20 + ["y"] * 20
    everything = constraints_from_labels(X, y, templates="words")
    assert {c.given.words[0] for c in everything} == {"a", "b", "c"}
    best = constraints_from_labels(X, y, templates="words", top=1)
    assert [(c.event.names[0], c.given.words[0]) for c in best] == [("x", "a"), ("y", "c")]


def test_one_sequence_is_not_enough():
    X = [["so"] * 20, ["no"] * 20, ["no", "go", "go"]]
    y = [["a"] * 20, ["b"] * 20, ["b", "a", "b"]]
    found = constraints_from_labels(X, y, templates="words")
    assert {c.given.words[0] for c in found} == {"no"}


def test_a_condition_and_an_expectation_as_templates():
    found = tokens(templates=[regex("^[0-9]+$"), expect.end("date"), expect("author", "date", given=word("on"))])
    assert stated(found, expect("date", given=regex("^[0-9]+$"))).rationale == "4 of 4 labelled tokens"
    assert stated(found, expect.end("date")).rationale == "4 of 4 labelled sequences"
    assert stated(found, expect("author", "date", given=word("on"))).relation.interval[1] == wilson(0, 3, 0.8)[1]
    assert tokens(templates=expect(given=word("on"))) == tokens(templates=word("on"))


def test_slack_is_given_to_all():
    assert {c.slack for c in documents(slack=0.1)} == {0.1}


def test_it_can_be_written_and_used():
    found = documents()
    assert ConstraintSet.from_toml(found.to_toml()) == found
    # One unlabelled text speaks of both sports, so hard statements of single words would contradict each other.
    clf = TiltClassifier([*documents(slack=0.1), expect("hockey").about(0.5)]).fit(TEXTS, SPORT)
    assert clf.predict(["ice puck"]).tolist() == ["hockey"]
    tagger = TiltTagger(tokens()).fit(SENTENCES, FIELDS)
    assert tagger.predict([["G", ",", "on", "x", ".", "1999"]]) == [FIELDS[1]]


def test_the_classes_are_those_of_the_labels():
    assert documents().classes == ("baseball", "hockey")
    assert documents(classes=["hockey", "baseball", "golf"]).classes == ("baseball", "golf", "hockey")


# Kinds of X


def test_tables_and_matrices():
    frame = pd.DataFrame({"title": TEXTS, "body": ["x"] * 10})
    found = constraints_from_labels(frame, SPORT, min_support=2, confidence=0.8)
    assert "column('title').word('puck')" in {repr(c.given) for c in found}
    matrix = np.array([["puck" in t.lower(), "bat" in t] for t in TEXTS], dtype=float)
    for X in (matrix, sparse.csr_array(matrix), sparse.coo_matrix(matrix)):
        found = constraints_from_labels(X, SPORT, feature_names=["puck", "bat"], min_support=2, confidence=0.8)
        assert stated(found, expect("hockey", given=word("puck"))).rationale == "3 of 3 labelled rows"


def test_attributes():
    X = [[[f"w={t}"] for t in tokens] for tokens in SENTENCES]
    found = constraints_from_labels(X, FIELDS, min_support=3, confidence=0.8)
    assert stated(found, expect.start("author")) is not None


def test_words_whose_case_folds_oddly_do_no_harm():
    X, y = ["İs ꭰ"] * 6 + ["no"] * 6, ["x"] * 6 + ["y"] * 6
    words = {c.given.words[0]: c for c in constraints_from_labels(X, y, templates="words")}
    assert "no" in words
    for constraint in words.values():
        assert constraint.rationale == "6 of 6 labelled documents"


# Refusals


@pytest.mark.parametrize("y", [None, [None] * 10, [float("nan")] * 10, [[None], None]], ids=str)
def test_nothing_labelled(y):
    with pytest.raises(DataError, match="constraints_from_labels needs labels"):
        constraints_from_labels(TEXTS, y)


def test_minus_one_is_no_label():
    with pytest.raises(DataError, match="constraints_from_labels needs labels"):
        constraints_from_labels(TEXTS, [-1] * 10, classes=[0, 1])


def test_nothing_found_is_said():
    with pytest.warns(TiltfitWarning, match="min_support= .now 50."):
        assert len(documents(min_support=50)) == 0


def test_a_template_that_says_nothing_is_named():
    with pytest.warns(TiltfitWarning, match=r"word\('nowhere'\)"):
        documents(templates=["words", word("nowhere")])
    with pytest.warns(TiltfitWarning, match=r"expect.start\('author'\)"):
        tokens(templates=["words", expect.start("author")], min_support=5, confidence=0.1)


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"confidence": 1.0}, DataError, "confidence=1.0"),
        ({"confidence": "0.9"}, DataError, "confidence='0.9'"),
        ({"top": 0}, DataError, "top=0"),
        ({"top": 1.5}, DataError, "top=1.5"),
        ({"min_support": 0}, DataError, "min_support=0"),
        ({"min_support": None}, DataError, "min_support=None"),
        ({"templates": "word"}, ConstraintError, 'Did you mean "words"'),
        ({"templates": 3}, ConstraintError, "holds 3"),
        ({"templates": [expect("hockey").about(0.9)]}, ConstraintError, "leave the relation out"),
        ({"templates": "segments"}, UnsupportedError, "is about sequences"),
        ({"templates": expect.start("hockey")}, UnsupportedError, "is about sequences"),
        ({"templates": expect("hockey", per="instance")}, UnsupportedError, "of= and per="),
        ({"templates": expect("hokey")}, UnknownLabelError, "'hokey'"),
    ],
    ids=str,
)
def test_bad_options(options, error, says):
    with pytest.raises(error) as said:
        documents(**options)
    assert says in str(said.value)


def test_bad_data():
    with pytest.raises(DataError, match="different lengths"):
        constraints_from_labels(TEXTS, SPORT[:-1])
    with pytest.raises(ConstraintError, match="feature_names="):
        constraints_from_labels(np.eye(10), SPORT)
    with pytest.raises(DataError, match="feature_names has 2 names"):
        constraints_from_labels(np.eye(10), SPORT, feature_names=["a", "b"])
    with pytest.raises(DataError, match="neither a list of texts"):
        constraints_from_labels(SENTENCES, ["a", "b", "a", "b", None])
