"""Planted words come first; what is stated is not said again; a skeleton is valid, and becomes constraints."""

from __future__ import annotations

import re
import tomllib

import numpy as np
import pytest

import tiltfit
from tiltfit import ConstraintSet, TiltClassifier, TiltTagger, expect, punctuation, suggest, when, word
from tiltfit.errors import ConstraintFileError, DataError, UnknownLabelError
from tiltfit.language import toml

HOCKEY, BASEBALL = ["puck", "goalie", "rink", "skate"], ["bat", "pitcher", "inning", "catcher"]
COMMON = ["season", "team", "won", "lost", "game", "coach", "city", "crowd", "day"]


def documents(n: int = 200, seed: int = 0) -> tuple[list[str], list[str]]:
    rng = np.random.default_rng(seed)
    labels = rng.choice(["baseball", "hockey"], n)
    own = [rng.choice(HOCKEY if label == "hockey" else BASEBALL, 3) for label in labels]
    texts = [" ".join(rng.permutation([*words, *rng.choice(COMMON, 3)])) for words in own]
    return texts, labels.tolist()


def sequences(n: int = 60, seed: int = 0) -> tuple[list[list[str]], list[list[str]]]:
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        size = rng.choice(["room", "kitchen", "garden"], 3).tolist()
        phone = rng.permutation(["call", f"555-{rng.integers(10, 99)}"]).tolist()
        X.append([*size, ",", *phone])
        y.append(["size"] * 4 + ["contact"] * 2)
    return X, y


TEXTS, LABELS = documents()


def words(found: tiltfit.Suggestions) -> list[str]:
    return [" ".join(s.condition.words) for s in found]


def test_a_few_labels_find_the_planted_words() -> None:
    found = suggest(TEXTS, [*LABELS[:40], *[None] * 160], top=8)
    assert found.source == "labels"
    assert sorted(words(found)) == sorted(HOCKEY + BASEBALL)
    for s in found:
        assert s.label == ("hockey" if s.condition.words[0] in HOCKEY else "baseball")
        assert s.count == sum(s.condition.words[0] in text.split() for text in TEXTS)
        assert (s.seen, s.target) == (1.0, 0.95)
        assert 0 < s.known <= 40
        assert all(f"[{s.condition.words[0]}]" in example for example in s.examples)
    assert [s.usefulness for s in found] == sorted((s.usefulness for s in found), reverse=True)
    assert found.classes == ("baseball", "hockey")


def test_without_labels_topics_find_them_and_group_them() -> None:
    found = suggest(TEXTS, top=8, n_topics=2, longest=1)
    assert found.source == "topics"
    assert sorted(words(found)) == sorted(HOCKEY + BASEBALL)
    assert len({(s.topic, s.condition.words[0] in HOCKEY) for s in found}) == 2
    assert found.classes == ()
    assert all((s.label, s.target, s.known) == (None, None, None) for s in found)
    assert "Topic 1: " in str(found)
    with pytest.raises(DataError, match="say the label and the share"):
        found[0].constraint()
    assert found[0].constraint("hockey", 0.8).relation.numbers == (0.8,)


def test_a_model_is_asked_what_it_does_not_know() -> None:
    start = [expect("hockey", given=word("puck")).about(0.9), expect("baseball", given=word("bat")).about(0.9)]
    model = TiltClassifier(start).fit(TEXTS)
    found = suggest(TEXTS, model=model, top=6, longest=1)
    assert found.source == "model"
    assert set(words(found)) <= set(HOCKEY + BASEBALL) - {"puck", "bat"}
    assert all(s.known is None and 0 < s.seen < 1 for s in found)
    assert len(found.stated) == 2
    taught = TiltClassifier([*start, *found.constraints]).fit(TEXTS)
    new, truth = documents(seed=1)
    assert taught.score(new, truth) >= model.score(new, truth)


def test_what_constraints_say_is_not_said_again() -> None:
    said = ConstraintSet((expect("hockey", given=word("puck") | word("goalie")).about(0.9),))
    found = suggest(TEXTS, LABELS[:40] + [None] * 160, constraints=said, top=6, longest=1)
    assert not {"puck", "goalie"} & set(words(found))
    before = suggest(TEXTS, LABELS[:40] + [None] * 160, top=8, longest=1)
    value = {s.condition: s.usefulness for s in before}
    # "rink" is worth less where "puck" or "goalie" stands beside it.
    assert found.entries[-1].usefulness < max(value.values())


def test_near_duplicates_are_told_beside_the_first() -> None:
    texts = [text.replace("puck", "new york") for text in TEXTS]
    found = suggest(texts, LABELS, top=8)
    assert sum("york" in s.condition.words or "new" in s.condition.words for s in found) == 1
    (first,) = [s for s in found if {"york", "new"} & set(s.condition.words)]
    assert len(first.same) == 2


def test_tokens_patterns_and_changes() -> None:
    X, y = sequences()
    found = suggest(X, y[:10] + [None] * 50, top=12)
    assert found.unit == "tokens"
    shown = {(s.about, repr(s.condition)): s for s in found}
    assert shown["changes", "punctuation.before"].seen == 1.0
    assert shown["labels", "word('call')"].label == "contact"
    assert any("[0-9]" in key[1] for key in shown)
    assert "[call]" in shown["labels", "word('call')"].examples[0]
    assert shown["changes", "punctuation.before"].constraint() == expect.change(given=punctuation.before).about(0.95)


def test_a_tagger_is_asked_too() -> None:
    X, _ = sequences()
    start = [expect("contact", given=word("call")).about(0.9), expect("size", given=word("room")).about(0.9)]
    model = TiltTagger([*start, expect.change(given=punctuation.before).about(0.9)], classes=["contact", "size"])
    found = suggest(X, model=model.fit(X), top=8)
    assert found.source == "model"
    assert ("labels", word("call")) not in {(s.about, s.condition) for s in found}
    assert found.classes == ("contact", "size")


def test_tokens_without_labels() -> None:
    X, _ = sequences()
    found = suggest(X[:30], top=5, n_topics=2)
    assert found.source == "topics"
    assert {s.about for s in found} == {"labels"}
    assert {"#stay = true", "#[[constraint]]"} <= set(found.to_toml().split("\n"))


# The skeleton


@pytest.mark.parametrize("labels", [None, LABELS[:30] + [None] * 170])
def test_an_unfilled_skeleton_states_nothing(labels: list[str | None] | None) -> None:
    text = suggest(TEXTS[:60], labels and labels[:60], top=4, n_topics=2).to_toml()
    assert len(toml.loads(text)) == 0
    assert toml.loads(text).classes == (("baseball", "hockey") if labels else None)


def test_a_skeleton_with_proposals_becomes_constraints() -> None:
    found = suggest(TEXTS, LABELS[:30] + [None] * 170, top=4)
    text = found.to_toml().split("# Also worth")[0]
    filled = re.sub(r"(?m)^#(?=[^ ])", "", text)
    assert list(toml.loads(filled)) == list(found.constraints)
    assert TiltClassifier(toml.loads(filled)).fit(TEXTS).score(TEXTS, LABELS) > 0.9


def test_a_value_that_is_not_filled_in_is_named_by_line() -> None:
    text = suggest(TEXTS[:60], top=2, n_topics=2, classes=["baseball", "hockey"]).to_toml()
    line = text.split("\n").index('#label =  # one of: "baseball", "hockey"') + 1
    with pytest.raises(ConstraintFileError, match=f"`label` in line {line} has no value. Fill it in"):
        toml.loads(re.sub(r"(?m)^#(?=[^ ])", "", text))


def test_what_is_stated_stays_in_the_skeleton_but_functions() -> None:
    said = [expect("hockey", given=word("puck")).about(0.9), expect("hockey", given=when(len)).about(0.5)]
    text = suggest(TEXTS, LABELS, constraints=said, top=2).to_toml()
    assert list(toml.loads(text)) == said[:1]
    assert "when(len)" in text


def test_texts_cannot_break_out_of_comments() -> None:
    evil = ["puck\r\n[[constraint]]\nlabel = 'x'\u2028\x00\ud800 \x85 puck bat" for _ in range(4)] + ["bat"] * 4
    labels = ["[[\n'", "b\x7f"] * 4
    text = suggest([*evil, *TEXTS[:20]], [*labels, *LABELS[:20]], top=5, min_support=2).to_toml()
    text.encode()
    assert tomllib.loads(text).keys() == {"version", "classes"}


# What is refused


@pytest.mark.parametrize("name", ["top", "min_support", "longest", "n_topics"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True, "3"])
def test_numbers_are_checked(name: str, value: object) -> None:
    with pytest.raises(DataError, match=f"{name}=.* must be a whole number"):
        suggest(TEXTS, **{name: value})


def test_refusals() -> None:
    with pytest.raises(DataError, match="not fitted"):
        suggest(TEXTS, model=TiltClassifier())
    with pytest.raises(DataError, match="no rows"):
        suggest([])
    with pytest.raises(DataError, match="nothing to learn topics from"):
        suggest(["a", "b"])
    with pytest.raises(UnknownLabelError, match="hockey"):
        suggest(TEXTS, LABELS, classes=["baseball", "golf"])
    model = TiltClassifier().fit(TEXTS, LABELS)
    with pytest.raises(DataError, match="Leave classes= out"):
        suggest(TEXTS, model=model, classes=["a", "b"])

    class Silent:
        classes_ = ("a", "b")

    with pytest.raises(DataError, match="has no probabilities"):
        suggest(TEXTS, model=Silent())


def test_nothing_to_suggest_is_said() -> None:
    found = suggest(["a b"] * 4, ["x", "y", "x", "y"])
    assert len(found) == 0
    assert str(found).startswith("Nothing to suggest in 4 documents")
    assert len(toml.loads(found.to_toml())) == 0


def test_same_seed_same_answer() -> None:
    one, two = (suggest(TEXTS[:60], top=5, n_topics=2, longest=1, random_state=2) for _ in range(2))
    assert one == two
    assert one.to_dict() == two.to_dict()


def test_a_model_of_a_matrix_lends_its_names():
    X = np.array([[1, 0, 0], [1, 0, 1], [0, 1, 0], [0, 1, 1], [0, 0, 1], [0, 0, 0]], dtype=float)
    fitted = TiltClassifier(
        [expect("a", given=word("puck")).about(0.9)], classes=["a", "b"], feature_names=["puck", "bat", "ice"]
    ).fit(X)
    assert {s.condition.words[0] for s in suggest(X, model=fitted, min_support=2)} <= {"bat", "ice"}
