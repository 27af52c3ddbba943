"""Statements of votes against counting, enumeration and the sources that made generated votes."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp
from scipy.stats import beta

from tiltfit import ConstraintSet, TiltClassifier, TiltTagger, expect, statements_from_votes, witness
from tiltfit.errors import DataError, UnsupportedError
from tiltfit.methods import agreement as module
from tiltfit.methods.agreement import Pairs, agreement

VOTES = {
    "gpt": ["spam", "ham", "spam", "spam", "ham", None],
    "rule": ["spam", None, None, "spam", None, "spam"],
    "silent": [None, -1, "abstain", None, None, None],
}
TRUTH = ["spam", "ham", "ham", None, "ham", "spam"]


def shares(statements) -> dict[str, float]:  # type: ignore[no-untyped-def]
    return {c.name: c.relation.numbers[0] for c in statements}


def generated(n: int, right: list[float], speaks: list[float], seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Classes of n rows, and votes of independent sources that are right with these shares where they speak."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(2, size=n)
    says = np.where(rng.random((n, len(right))) < right, truth[:, None], 1 - truth[:, None])
    return truth, np.where(rng.random((n, len(right))) < speaks, says, -1)


def test_one_statement_for_each_source_and_label() -> None:
    found = statements_from_votes(VOTES, 0.8)
    assert shares(found) == {"gpt: ham": 0.8, "gpt: spam": 0.8, "rule: spam": 0.8}
    assert found[0] == expect("ham", given=witness("gpt", says="ham")).about(
        0.8, name="gpt: ham", rationale="It says so 2 times in 6. 0.8 was stated for all sources."
    )
    by_source = statements_from_votes(VOTES, {"gpt": 0.7, "rule": 0.95, "silent": 0.5})
    assert shares(by_source) == {"gpt: ham": 0.7, "gpt: spam": 0.7, "rule: spam": 0.95}
    texts = ["win money", "hello Ann", "win a car", "win now", "hello Bob", "money money"]
    fitted = TiltClassifier(found).fit(texts, votes=VOTES)
    assert fitted.predict(["win", "hello"]).tolist() == ["spam", "ham"]
    assert ConstraintSet.from_toml(ConstraintSet(tuple(found)).to_toml()).constraints == tuple(found)


def test_numbers_of_stated_classes() -> None:
    found = statements_from_votes({"a": [0, 2, 1]}, 0.9, ["x", None, None], classes=["x", "y", "z"])
    assert list(shares(found)) == ["a: x", "a: y", "a: z"]
    assert list(shares(statements_from_votes({"a": [1, 3, -1]}, 0.9, ["1", "3", None]))) == ["a: 1", "a: 3"]


def test_votes_on_tokens() -> None:
    votes = {"old": [["who", None], None, ["O", "who"]], "new": [[None, "O"], ["O"], None]}
    found = statements_from_votes(votes)
    assert list(shares(found)) == ["old: O", "old: who", "new: O"]
    tokens = [["Ann", "met"], ["met"], ["met", "Ann"]]
    assert TiltTagger(found).fit(tokens, votes=votes).predict([["Ann", "met"]]) == [["who", "O"]]
    labels = [["who", "O"], None, [None, "who"]]
    assert shares(statements_from_votes(votes, "labels", labels))["old: who"] > 0.5


def test_labels_are_counted_and_borrow() -> None:
    """Against sums over a grid of means, strengths and shares."""
    found = statements_from_votes(VOTES, "labels", TRUTH)
    right, n = np.array([2, 1, 2]), np.array([2, 2, 2])  # by hand: right of labels where each says so
    r = np.linspace(0, 1, 2_001)[1:-1]
    likelihood = r ** right[:, None] * (1 - r) ** (n - right)[:, None]
    total, post = 0.0, np.zeros((3, len(r)))
    for m, s in itertools.product((np.arange(50) + 0.5) / 50, 2.0 ** np.arange(9)):
        density = beta.pdf(r, s * m, s * (1 - m))
        each = likelihood * density / density.sum()
        weight = np.prod(each.sum(axis=1))
        total += weight
        post += weight * each / each.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(
        list(shares(found).values()), post @ r / total, atol=0.005
    )  # edges of the grid of shares
    below = np.cumsum(post, axis=1) / total
    for k, statement in enumerate(found):
        ends = re.search(r"labels there: (0\.\d+) to (\d\.\d+)", statement.rationale).groups()  # type: ignore[union-attr]
        wanted = np.interp([0.025, 0.975], below[k], r)
        np.testing.assert_allclose(np.array(ends, dtype=float), wanted, atol=0.015)  # two digits are shown


def test_many_labels_leave_nothing_to_borrow() -> None:
    truth, votes = generated(5000, [0.9, 0.6], [0.7, 0.9])
    found = statements_from_votes(votes, "labels", truth.tolist(), classes=[0, 1])
    for k, statement in enumerate(found):
        source, says = divmod(k, 2)
        where = votes[:, source] == says
        assert statement.relation.numbers[0] == pytest.approx(np.mean(truth[where] == says), abs=0.005)


def test_agreement_finds_the_sources_that_made_the_votes() -> None:
    right, speaks = [0.9, 0.8, 0.7, 0.6, 0.75], [0.8, 0.6, 0.9, 0.7, 0.5]
    truth, votes = generated(5000, right, speaks)
    found = statements_from_votes(votes, "agreement", classes=[0, 1])
    for k, statement in enumerate(found):
        source, says = divmod(k, 2)
        hits = np.mean(truth[votes[:, source] == says] == says)
        assert statement.relation.numbers[0] == pytest.approx(hits, abs=0.06)
        deviation = float(re.search(r"± (0\.\d+)", statement.rationale)[1])  # type: ignore[index]
        assert 0 < deviation < 0.06
        assert "is an estimate without labels" in statement.rationale


def test_rules_that_say_one_label_alone_earn_trust_by_silence() -> None:
    """Three good rules for each class and a bad one: its firings are those of the other class."""
    rng = np.random.default_rng(1)
    truth = rng.integers(2, size=4000)
    fires = (
        rng.random((4000, 7)) < np.array([0.6, 0.05])[(truth[:, None] != np.array([0, 0, 0, 1, 1, 1, 0])).astype(int)]
    )
    fires[:, 6] = rng.random(4000) < np.where(truth == 1, 0.4, 0.2)  # says 0, is right a third of the time
    votes = np.where(fires, [0, 0, 0, 1, 1, 1, 0], -1)
    found = [c.relation.numbers[0] for c in statements_from_votes(votes, "agreement", classes=[0, 1])]
    np.testing.assert_allclose(found[:6], 12 / 13, atol=0.03)
    assert found[6] == pytest.approx(1 / 3, abs=0.06)


def test_em_is_the_posterior_of_enumeration_and_never_falls() -> None:
    fires = sparse.csr_array(np.array([[1, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, 0], [0, 1, 1]], dtype=float))
    pairs = Pairs(fires, np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([-1, 1, -1, -1, -1]), 2)
    rates, balance = np.array([[0.5, 0.1], [0.2, 0.6], [0.1, 0.4]]), np.array([0.3, 0.7])
    q, likelihood = module._posterior(pairs, balance, rates)
    silent = np.array([1 - rates[0] - rates[1], 1 - rates[2]])
    for i, row in enumerate(fires.toarray()):
        joint = np.empty(2)
        for y in range(2):
            first = rates[0, y] if row[0] else rates[1, y] if row[1] else silent[0, y]
            joint[y] = balance[y] * first * (rates[2, y] if row[2] else silent[1, y])
            if pairs.known[i] == 1 - y:
                joint[y] = 0.0
        np.testing.assert_allclose(q[i], joint / joint.sum())
        np.testing.assert_allclose(likelihood[i], logsumexp(np.log(joint[joint > 0])))
    _, votes = generated(300, [0.8, 0.7, 0.6], [0.5, 0.6, 0.9])
    dense = np.concatenate([[votes[:, j] == k for k in (0, 1)] for j in range(3)]).T.astype(float)
    many = Pairs(sparse.csr_array(dense), np.repeat([0, 1, 2], 2), np.tile([0, 1], 3), np.full(300, -1), 2)
    rises = np.diff(agreement(many).objective)
    assert np.all(rises >= -1e-9)


def test_order_and_repetition_change_nothing() -> None:
    _, votes = generated(200, [0.8, 0.7, 0.6], [0.5, 0.6, 0.9])
    a = statements_from_votes(votes, "agreement", classes=[0, 1])
    b = statements_from_votes(votes[::-1], "agreement", classes=[0, 1])
    np.testing.assert_allclose(list(shares(a).values()), list(shares(b).values()), atol=1e-6)
    names = np.array(["no", "yes", None], dtype=object)
    c = statements_from_votes(names[votes], "agreement")
    assert list(shares(c).values()) == list(shares(a).values())


@pytest.mark.parametrize("source", [0, 1])
def test_one_source_always_right_or_silent_breaks_nothing(source: int) -> None:
    votes = {"a": ["x", "y", "x", "y"], "never": [None] * 4}
    only = {name: votes[name] for name in itertools.islice(votes, source + 1)}
    assert list(shares(statements_from_votes(only, "agreement"))) == ["a: x", "a: y"]
    assert list(shares(statements_from_votes(only, "labels", ["x", "y", None, None]))) == ["a: x", "a: y"]


REFUSED = [
    (lambda: statements_from_votes(VOTES, 1.0), DataError, "reliability= must be a share, more than 0 and less than 1"),
    (lambda: statements_from_votes(VOTES, 0), DataError, "but is 0"),
    (lambda: statements_from_votes(VOTES, True), DataError, "but is True"),
    (lambda: statements_from_votes(VOTES, None), DataError, "but is None"),
    (lambda: statements_from_votes(VOTES, {"gpt": 1.5, "rule": 0.9, "silent": 0.9}), DataError, "of 'gpt' must be"),
    (lambda: statements_from_votes(VOTES, {"gtp": 0.9}), DataError, "has the source 'gtp', but votes= does not.*gpt"),
    (lambda: statements_from_votes(VOTES, {"gpt": 0.9}), DataError, "no share for the source 'rule'"),
    (lambda: statements_from_votes(VOTES, "label"), UnsupportedError, "reliability='label' is unknown.*labels"),
    (lambda: statements_from_votes(VOTES, "labels"), DataError, "counts labels, but y has none"),
    (lambda: statements_from_votes(VOTES, "labels", ["spam"]), DataError, "6"),
    (lambda: statements_from_votes(VOTES, classes=["spam", "hm"]), DataError, "say 'ham' of row 1, which is not one"),
    (lambda: statements_from_votes({"a": [0, 1, 1]}, 0.9, ["x", "z", None]), DataError, "say 0, the number of a class"),
    (lambda: statements_from_votes({"a": [None, -1]}, classes=["a", "b"]), DataError, "No source says anything"),
    (
        lambda: statements_from_votes({"a": ["x", "y"], "b": ["x"]}),
        DataError,
        "source 'b' has 1 entries, but there are 2",
    ),
]


@pytest.mark.parametrize(("make", "error", "why"), REFUSED)
def test_what_is_refused(make, error, why: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(error, match=why):
        make()


def test_two_sources_do_not_tell_which_is_right() -> None:
    votes = {"a": ["x", "y", "x", "x"], "b": ["x", "x", "x", "y"]}
    (said, *_) = statements_from_votes(votes, "agreement")
    assert said.rationale is not None
    assert "cannot tell which of them is right" in said.rationale
    (said, *_) = statements_from_votes({**votes, "c": ["x", "y", "y", "x"]}, "agreement")
    assert said.rationale is not None
    assert "cannot tell" not in said.rationale
