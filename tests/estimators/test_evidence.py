"""Evidence and votes beside X: fits are those of the same conditions on X itself, and the model sees neither."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from tiltfit import (
    ConstraintSet,
    TiltClassifier,
    TiltTagger,
    WithEvidence,
    WithFeatures,
    column,
    disputes,
    expect,
    leave_one_out,
    load,
    objective,
    report_page,
    why,
    witness,
    word,
)
from tiltfit.data.votes import Votes
from tiltfit.errors import ConstraintError, ConstraintFileError, DataError

TEXTS = ["the puck and the goalie", "a bat and a ball", "goalie saves the puck", "the pitcher has a bat", "home run"]
ROWS = {"source": ["nhl", "mlb", "nhl", "mlb", None], "copy": TEXTS, "length": [5, 5, 4, 5, 2]}
VOTES = {
    "gpt": ["hockey", "baseball", "hockey", None, "abstain"],
    "rule": [None, "baseball", None, "baseball", "hockey"],
}
TOKENS = [["Ann", "met", "Bob"], ["in", "Oslo"], ["Ann"]]
POS = {"pos": [["N", "V", "N"], ["P", "N"], ["N"]], "genre": ["news", "news", "mail"]}
TAGS = {"old": [["who", None, "who"], ["O", "where"], None], "other": [None, ["O", None], ["who"]]}


# Fits of the same sums: their last digit depends on where arrays lie in memory, and a search carries that on.
np_close = partial(np.testing.assert_allclose, rtol=1e-6, atol=1e-9)


def weights(estimator) -> np.ndarray:  # type: ignore[no-untyped-def]
    return np.concatenate([estimator.coef_.ravel(), getattr(estimator, "transitions_", np.empty(0)).ravel()])


def classifier(hockey, baseball) -> TiltClassifier:  # type: ignore[no-untyped-def]
    return TiltClassifier([expect("hockey", given=hockey).about(0.9), expect("baseball", given=baseball).about(0.8)])


def tagger(who, where) -> TiltTagger:  # type: ignore[no-untyped-def]
    said = [expect("who", given=who).about(0.9), expect("where", given=where).about(0.8), expect.stay().at_most(0.5)]
    return TiltTagger(said, classes=["O", "where", "who"])


@pytest.mark.parametrize("form", [dict, pd.DataFrame])
def test_evidence_of_rows_is_what_a_condition_on_x_would_be(form) -> None:  # type: ignore[no-untyped-def]
    plain = classifier(word("puck"), word("bat")).fit(TEXTS)
    found = classifier(column("copy").word("puck"), column("copy").word("bat")).fit(TEXTS, evidence=form(ROWS))
    np_close(weights(plain), weights(found))
    np_close(plain.project(TEXTS), found.project(TEXTS, evidence=form(ROWS)))
    assert found.n_features_in_ == plain.n_features_in_  # the model sees the texts alone
    assert found.predict(TEXTS).tolist() == plain.predict(TEXTS).tolist()  # without evidence


def test_evidence_of_rows_of_any_kind() -> None:
    given = WithEvidence(TEXTS, ROWS)
    said = ConstraintSet(
        (
            expect("a", given=column("length").above(4)).about(0.9),
            expect("a", given=~column("source").equals("nhl")).about(0.9),  # what is missing is neither
            expect("a", given=column("copy").lexicon(["the puck"]) & word("goalie")).about(0.9),
        )
    )
    assert [entry.support for entry in said.check(given)] == [3, 2, 2]
    matrix = 10 * np.eye(5)  # rows of the length for which alpha=1 is mild
    found = classifier(column("source").equals("nhl"), column("source").equals("mlb")).fit(matrix, evidence=ROWS)
    assert found.n_features_in_ == 5
    found = classifier(column("source").equals("nhl"), column("age").above(2)).fit(
        pd.DataFrame({"age": np.arange(5.0)}), evidence=ROWS
    )
    assert found.feature_names_in_.tolist() == ["age"]


def test_evidence_of_tokens_is_what_a_condition_on_tokens_would_be() -> None:
    copy = {"copy": TOKENS}
    a = tagger(word("Ann") | word("met").before, word("in").before).fit(TOKENS)
    same = column("copy").equals("Ann") | column("copy").equals("met").before, column("copy").equals("in").before
    b = tagger(*same).fit(TOKENS, evidence=copy)
    np_close(weights(a), weights(b))
    for p, q in zip(a.project(TOKENS, prices="solve"), b.project(TOKENS, evidence=copy, prices="solve"), strict=True):
        np_close(p, q)
    assert a.predict(TOKENS) == b.predict(TOKENS)


def test_neighbours_look_at_evidence_within_a_sequence() -> None:
    said = ConstraintSet(
        (
            expect("a", given=column("pos").isin("V", "P").before).about(0.9),
            expect("a", given=column("pos").equals("N").after).about(0.9),
            expect("a", given=column("genre").equals("news")).about(0.9),
            expect("a", given=column("pos").lexicon(["v n"])).about(0.9),  # a phrase of tags in a row
        )
    )
    assert [entry.support for entry in said.check(TOKENS, evidence=POS)] == [2, 2, 5, 2]


def test_a_value_per_sequence_is_a_column_of_the_table() -> None:
    rows = {"tokens": TOKENS, "genre": POS["genre"]}
    who = word("Ann") & column("genre").equals("mail")
    a = tagger(who, word("Oslo")).fit(rows)
    b = tagger(who, word("Oslo")).fit(TOKENS, evidence={"genre": POS["genre"]})
    np_close(weights(a), weights(b))


def test_votes_are_what_conditions_on_columns_would_be() -> None:
    a = classifier(column("gpt").equals("hockey"), ~column("rule").equals("x")).fit(TEXTS, evidence=VOTES)
    b = classifier(witness("gpt", says="hockey"), witness("rule")).fit(TEXTS, votes=VOTES)
    np_close(weights(a), weights(b))
    np_close(a.project(TEXTS, evidence=VOTES), b.project(TEXTS, votes=VOTES))
    old = column("old").equals("who") & ~column("other").equals("O"), column("old").equals("where")
    same = witness("old", says="who") & ~witness("other", says="O"), witness("old", says="where")
    other = {"other": [["who"] * len(row) if o is None else o for row, o in zip(TOKENS, TAGS["other"], strict=True)]}
    a = tagger(*old).fit(TOKENS, evidence=TAGS | other)
    b = tagger(*same).fit(TOKENS, votes=TAGS)
    np_close(weights(a), weights(b))


def test_votes_of_every_form() -> None:
    classes = ["baseball", "hockey"]
    numbers = np.array([[1, -1], [0, 0], [1, -1], [-1, 0], [-1, 1]])
    stored = sparse.coo_array(
        ([1, 0, 1, 0, 0, 1], ([0, 1, 2, 1, 3, 4], [0, 0, 0, 1, 1, 1])), shape=(5, 2)
    )  # 0 is stored: a class
    frames = [pd.DataFrame(VOTES), pd.DataFrame(numbers, columns=["gpt", "rule"]), VOTES]
    wanted = Votes.of(VOTES).among(classes)
    for form in (*frames, numbers, stored, stored.tocsr(), numbers.astype(float)):
        found = Votes.of(form, 5).among(classes)
        for name, other in zip(wanted.sources, found.sources, strict=True):
            for says in (None, *classes):
                assert found.fires(other, says).tolist() == wanted.fires(name, says).tolist()
    assert Votes.of(numbers).sources == ["rule_0", "rule_1"]
    signs = Votes.of({"a": [1, -1, None, True]}).among([-1, 1, True])  # -1 is a class here, and True is not 1
    assert [signs.fires("a", says).tolist().index(True) for says in (1, -1, True)] == [0, 1, 3]


def test_everything_that_takes_x_takes_what_is_beside_it() -> None:
    found = classifier(witness("gpt", says="hockey"), column("source").equals("mlb"))
    given = WithEvidence(TEXTS, ROWS, VOTES)
    assert found.fit_predict(TEXTS, evidence=ROWS, votes=VOTES).tolist()[:2] == ["hockey", "baseball"]
    np_close(found.project(given), found.project(TEXTS, evidence=ROWS, votes=VOTES))
    assert [d.title for d in disputes(found, given)] == [c.title for c in found.constraints_]
    assert why(found, given, project=True)[0].tilts
    assert "where gpt says hockey" in str(report_page(found, given))
    assert len(leave_one_out(found, given)) == 2
    loss = objective(found.constraints, given, classes=["baseball", "hockey"])
    assert loss.value_and_grad(np.zeros((5, 2)))[1][0, 1] < 0  # towards hockey
    vectors = np.arange(10.0).reshape(5, 2)
    a = found.fit(TEXTS, features=vectors, evidence=ROWS, votes=VOTES).coef_
    b = found.fit(WithEvidence(WithFeatures(TEXTS, vectors), ROWS, VOTES)).coef_
    c = found.fit(given, features=vectors).coef_
    np_close(a, b)
    np_close(a, c)
    found = tagger(witness("old", says="who"), column("pos").equals("P").before)
    given = WithEvidence(TOKENS, POS, TAGS)
    arrays = [np.eye(3)[: len(row)] for row in TOKENS]
    a = found.fit(TOKENS, features=arrays, evidence=POS, votes=TAGS).coef_
    b = found.fit(WithEvidence(WithFeatures(TOKENS, arrays), POS, TAGS)).coef_
    np_close(a, b)
    assert found.fit_predict(TOKENS, evidence=POS, votes=TAGS)[0][0] == "who"
    assert "where old says who" in str(report_page(found, given))
    assert len(disputes(found, given)) == 3


def test_streams_take_them() -> None:
    a = classifier(word("puck"), word("bat")).partial_fit(TEXTS, classes=["baseball", "hockey"])
    b = classifier(column("copy").word("puck"), column("copy").word("bat"))
    b.partial_fit(TEXTS, classes=["baseball", "hockey"], evidence=ROWS)
    np_close(weights(a), weights(b))
    a = tagger(word("Ann"), word("Oslo")).partial_fit(TOKENS)
    b = tagger(column("copy").equals("Ann"), column("copy").equals("Oslo"))
    b.partial_fit(TOKENS, evidence={"copy": TOKENS})
    np_close(weights(a), weights(b))


def test_sequences_without_tokens_have_none() -> None:
    found = tagger(witness("old", says="who"), column("pos").equals("P").before).fit(TOKENS, evidence=POS, votes=TAGS)
    rows = [TOKENS[0], [], *TOKENS[1:]]
    pos = {"pos": [POS["pos"][0], [], *POS["pos"][1:]], "genre": ["news", "mail", "news", "mail"]}
    tags = {name: [values[0], [], *values[1:]] for name, values in TAGS.items()}
    q = found.project(rows, evidence=pos, votes=tags)
    assert q[1].shape == (0, 3)
    for a, b in zip(q[:1] + q[2:], found.project(TOKENS, evidence=POS, votes=TAGS), strict=True):
        np_close(a, b)


def test_files_keep_witnesses(tmp_path: Path) -> None:
    found = classifier(witness("gpt", says="hockey"), ~witness("rule", says="hockey") & witness("rule"))
    found.fit(TEXTS, votes=VOTES).save(tmp_path / "m.tilt")
    again = load(tmp_path / "m.tilt")
    np_close(again.project(TEXTS, votes=VOTES), found.project(TEXTS, votes=VOTES))
    said = found.constraints_
    assert ConstraintSet.from_toml(said.to_toml()) == said
    assert 'given = { witness = "gpt", says = "hockey" }' in said.to_toml()
    assert str(said[0]) == "about 90% of documents where gpt says hockey are hockey"
    with pytest.raises(ConstraintFileError, match="says"):
        ConstraintSet.from_toml('[[constraint]]\nlabel = "a"\ngiven = { says = "a" }\nabout = 0.9\n')


EVIDENCE_REFUSED = [
    (TOKENS, {"pos": [["N", "V"], ["P", "N"], ["N"]]}, r"Sequence 0 \('Ann met Bob'\) has 3 tokens, but column 'pos'"),
    (TOKENS, {"pos": [["N"]]}, "Column 'pos' of evidence= has 1 lists, but X has 3 sequences"),
    (TOKENS, {"pos": [["N", "V", "N"], "PN", ["N"]]}, "has lists for other sequences, but 'PN' for sequence 1"),
    (TOKENS, {"g": ["a", "b"]}, "Column 'g' of evidence= has 2 values, but X has 3 sequences"),
    (TOKENS, {"tokens": TOKENS}, "evidence= has a column 'tokens', but X has one of this name already"),
    (TEXTS, {"g": ["a"]}, "Column 'g' of evidence= has 1 values, but X has 5 documents"),
    (TEXTS, {"g": [["a"]] * 5}, "Column 'g' of evidence= holds lists, where one value per row"),
    (TEXTS, {"g": "abcde"}, "Column 'g' must be a list of values"),
    (TEXTS, [1] * 5, "evidence= must be a data frame or a dict of columns, but is of type list"),
    (TEXTS, pd.DataFrame([[1, 2]] * 5), "columns of evidence= must have names, but one is 0"),
    (TEXTS, pd.DataFrame([[1, 2]] * 5, columns=["a", "a"]), "evidence= has two columns called 'a'"),
    (pd.DataFrame({"g": [1.0] * 5}), {"g": [1] * 5}, "evidence= has a column 'g', but X has one of this name"),
]


@pytest.mark.parametrize(("X", "evidence", "why"), EVIDENCE_REFUSED)
def test_evidence_that_is_refused(X, evidence, why: str) -> None:  # type: ignore[no-untyped-def]
    estimator = TiltTagger if X is TOKENS else TiltClassifier
    with pytest.raises(DataError, match=why):
        estimator([expect("a").about(0.9)], classes=["a", "b"]).fit(X, evidence=evidence)


VOTES_REFUSED = [
    (TEXTS, {"a": ["hockey"]}, "votes= of the source 'a' has 1 entries, but there are 5 rows"),
    (TEXTS, np.zeros((4, 2)), "votes= of the source 'rule_0' has 4 entries, but there are 5 rows"),
    (TEXTS, {"a": ["hocky"] * 5}, "source 'a' say 'hocky' of row 0, which is not one of the classes.*hockey"),
    (TEXTS, {"a": [None, 2, None, None, 1]}, "source 'a' say 2 of row 1"),
    (TEXTS, np.zeros(5), "votes= must be a data frame or a dict"),
    (TEXTS, {}, "votes= has no sources"),
    (TEXTS, {"a": [None, ["hockey", "hockey"], ["hockey"], None, ["hockey"]]}, "the list .* for row 1: give one vote"),
    (TEXTS, {"a": [None, {"hockey"}, None, None, None]}, "the list {'hockey'} for row 1: give one vote per row"),
    (TOKENS, {"a": [[["who"], "O", "who"], None, None]}, r"hold \['who'\], which is no label"),
    (TEXTS, pd.DataFrame([["hockey"] * 2] * 5, columns=["a", "a"]), "votes= has two columns called 'a'"),
    (TOKENS, {"a": [["who"], None, None]}, r"Sequence 0 \('Ann met Bob'\) has 3 tokens, but the source 'a' of votes="),
    (TOKENS, {"a": [None, "O", ["who"]]}, "must be a list aligned with the tokens of sequence 1"),
    (TOKENS, {"a": [None, ["O", "when"], None]}, "say 'when' of token 1 of sequence 1"),
]


@pytest.mark.parametrize(("X", "votes", "why"), VOTES_REFUSED)
def test_votes_that_are_refused(X, votes, why: str) -> None:  # type: ignore[no-untyped-def]
    tagged = X is TOKENS
    classes = ["O", "where", "who"] if tagged else ["baseball", "hockey"]
    with pytest.raises(DataError, match=why):
        (TiltTagger if tagged else TiltClassifier)([expect(classes[1]).about(0.5)], classes=classes).fit(X, votes=votes)


def test_what_else_is_refused() -> None:
    found = classifier(witness("gpt", says="hockey"), witness("rule")).fit(TEXTS, votes=VOTES)
    with pytest.raises(ConstraintError, match=r"witness\('gpt', says='hockey'\) looks at votes, but there are none"):
        found.project(TEXTS)
    with pytest.raises(ConstraintError, match=r"no source called 'gpt', but 'gtp'.*[Dd]id you mean"):
        found.project(TEXTS, votes={"gtp": VOTES["gpt"], "rule": VOTES["rule"]})
    with pytest.raises(ConstraintError, match="'gpt' can say one of the classes .*, but not 'hocky'"):
        classifier(witness("gpt", says="hocky"), witness("rule")).fit(TEXTS, votes=VOTES)
    for estimator, X, given in ((TiltClassifier, TEXTS, ROWS), (TiltTagger, TOKENS, POS)):
        said = [expect("a", given=column("sorce").equals("N")).about(0.9)]
        with pytest.raises(ConstraintError, match="Neither X nor evidence= has a column 'sorce'. evidence= has '"):
            estimator(said, classes=["a", "b"]).fit(X, evidence=given)
    with pytest.raises(DataError, match="evidence= is given twice"):
        found.fit(WithEvidence(TEXTS, ROWS), evidence=ROWS)
    with pytest.raises(DataError, match="numbers of classes, which mean them in sorted order"):
        TiltClassifier([expect("hockey", given=witness("rule_0")).about(0.9)], classes=["hockey", "baseball"]).fit(
            TEXTS, votes=np.zeros((5, 1))
        )
    with pytest.raises(ConstraintError, match="source of witness"):
        witness("")
    with pytest.raises(ConstraintError, match="says= of witness"):
        witness("a", says=["b"])


def test_numbers_that_are_names_of_classes_mean_these() -> None:
    """Tables and frames have ratings as numbers, where labels of a CSV are texts."""
    stars = ["1", "3", "4"]
    numbers = Votes.of({"gpt": [1, 3, None, 4, 4.0]}).among(stars)
    assert [numbers.fires("gpt", says).tolist() for says in stars] == [
        [True, False, False, False, False],
        [False, True, False, False, False],
        [False, False, False, True, True],
    ]
    assert Votes.of({"gpt": [-1, 1]}).among(["-1", "1"]).fires("gpt", "-1").tolist() == [True, False]
    assert Votes.of({"gpt": [0, 1, -1]}).among(["0", "1"]).fires("gpt", "1").tolist() == [False, True, False]
    assert Votes.of({"gpt": [0, 1, -1]}).among(["ham", "spam"]).fires("gpt", "spam").tolist() == [False, True, False]
    with pytest.raises(DataError, match="votes= say 1, which is the name of a class, and 0, which is none"):
        Votes.of({"gpt": [0, 1, 2]}).among(["1", "2", "3"])


def test_what_is_beside_x_twice_is_refused() -> None:
    with pytest.raises(DataError, match="X of WithEvidence is one itself"):
        WithEvidence(WithEvidence(TEXTS, ROWS), votes=VOTES)
    for X in (WithEvidence(TEXTS, ROWS), WithFeatures(TEXTS, np.ones((5, 2)))):
        with pytest.raises(DataError, match=r"write WithEvidence\(WithFeatures\(X, V\), evidence\)"):
            WithFeatures(X, np.ones((5, 2)))


def test_rows_in_another_order_are_refused() -> None:
    X = pd.Series(TEXTS)
    shuffled = [4, 2, 0, 1, 3]
    for name, columns in (("evidence", ROWS), ("votes", VOTES)):
        frame = pd.DataFrame(columns)
        clf = classifier(word("puck"), word("bat"))
        with pytest.raises(DataError, match=rf"rows of {name}= are in another order.*{name}\.loc\[X\.index\]"):
            clf.fit(X, **{name: frame.iloc[shuffled]})
        clf.fit(X.iloc[shuffled], **{name: frame.iloc[shuffled]})
        clf.fit(X, **{name: frame.set_index(pd.Index(list("vwxyz")))})  # nobody says what belongs to what: by place
        clf.fit(TEXTS, **{name: frame})
