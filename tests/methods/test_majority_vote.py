"""Majority vote against the rule of its docstring, applied by hand and row by row."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltfit import Constraint, expect, regex, word
from tiltfit.data.inputs import TextInputs
from tiltfit.errors import DataError, UnknownLabelError, UnsupportedError
from tiltfit.language.relations import About, AtLeast, AtMost, Between, DistributedAs, Exactly
from tiltfit.methods.votes import majority_vote

CLASSES = ["a", "b", "c", "d"]
WORDS = ["w0", "w1", "w2", "w3"]
TEXTS = ["w0", "w1", "w0 w1", "nothing"]


def winners(*constraints: Constraint, texts: list[str] = TEXTS) -> list[str | None]:
    votes = majority_vote(constraints, TextInputs(texts), CLASSES)
    return [None if k < 0 else CLASSES[k] for k in votes.winner]


@pytest.mark.parametrize(
    ("relation", "votes"),
    [
        (About(0.51), True),
        (About(0.5), False),
        (Exactly(0.8), True),
        (Exactly(0.2), False),
        (AtLeast(0.6), True),
        (AtLeast(0.5), False),
        (AtMost(0.9), False),
        (Between(0.4, 0.7), True),
        (Between(0.3, 0.7), False),
    ],
)
def test_votes_only_if_the_stated_share_is_above_one_half(
    relation: About | Exactly | AtLeast | AtMost | Between, votes: bool
) -> None:
    constraint = Constraint(expect("b", given=word("w0")).about(0.1).event, relation, given=word("w0"))
    assert winners(constraint) == (["b", None, "b", None] if votes else [None] * 4)


def test_a_distribution_votes_for_its_majority() -> None:
    clear = expect(given=word("w0")).distributed_as({"a": 0.2, "c": 0.6, "d": 0.2})
    even = expect(given=word("w1")).distributed_as({"a": 0.5, "b": 0.5})
    assert winners(clear, even) == ["c", None, "c", None]
    assert isinstance(clear.relation, DistributedAs)


def test_a_class_proportion_never_votes() -> None:
    assert winners(expect("a").at_least(0.9)) == [None] * 4


def test_the_lead_decides_and_ties_abstain() -> None:
    a0, b1 = expect("a", given=word("w0")).about(0.9), expect("b", given=word("w1")).about(0.6)
    assert winners(a0, b1) == ["a", "b", None, None]
    assert winners(a0, b1, expect("b", given=regex("w0 w1")).about(0.7)) == ["a", "b", "b", None]


def test_labels_of_one_event_share_its_vote() -> None:
    pair = expect("a", "b", given=word("w0")).at_least(0.9)
    votes = majority_vote([pair], TextInputs(["w0"]), CLASSES)
    assert votes.counts.tolist() == [[0.5, 0.5, 0.0, 0.0]]
    assert not votes.decided.any()
    assert winners(pair, expect("b", given=word("w1")).about(0.8))[2] == "b"


def test_three_thirds_tie_with_one() -> None:
    thirds = [expect("a", x, y, given=word("w0")).about(0.9) for x, y in [("b", "c"), ("b", "d"), ("c", "d")]]
    assert winners(*thirds, expect("b", given=word("w1")).about(0.9), texts=["w0", "w0 w1"]) == ["a", "b"]
    one = expect("b", given=word("w0")).about(0.9)
    three = [expect("a", "c", "d", given=word("w0")).about(share) for share in (0.7, 0.8, 0.9)]
    assert winners(one, *three, texts=["w0"]) == [None]


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_equals_counting_fractions_row_by_row(data: st.DataObject) -> None:
    said = data.draw(
        st.lists(
            st.tuples(
                st.sampled_from(WORDS),
                st.lists(st.sampled_from(CLASSES), min_size=1, max_size=3, unique=True),
                st.sampled_from([0.2, 0.5, 0.6, 0.9]),
            ),
            max_size=6,
        )
    )
    texts = data.draw(st.lists(st.sets(st.sampled_from(WORDS)).map(lambda ws: " ".join(sorted(ws))), max_size=6))
    constraints = [expect(*labels, given=word(w)).about(u) for w, labels, u in said]
    votes = majority_vote(constraints, TextInputs(texts), CLASSES)
    assert votes.counts.shape == (len(texts), 4)
    for text, counts, winner in zip(texts, votes.counts, votes.winner, strict=True):
        exact = {y: Fraction(0) for y in CLASSES}
        for w, labels, u in said:
            for label in labels:
                exact[label] += Fraction(w in text.split() and u > 0.5, len(labels))
        np.testing.assert_allclose(counts, [float(exact[y]) for y in CLASSES], atol=1e-12)
        best = [y for y in CLASSES if exact[y] == max(exact.values()) > 0]
        assert winner == (CLASSES.index(best[0]) if len(best) == 1 else -1)


def test_unknown_label_is_refused_by_name() -> None:
    with pytest.raises(UnknownLabelError, match="'A'"):
        winners(expect("A", given=word("w0")).about(0.9))


def test_constraints_on_sequences_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="sequences"):
        winners(expect.stay().about(0.9))


def test_no_classes_are_refused() -> None:
    with pytest.raises(DataError, match="classes is empty"):
        majority_vote([expect("a", given=word("w0")).about(0.9)], TextInputs(TEXTS), [])
