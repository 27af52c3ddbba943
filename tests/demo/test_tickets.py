"""The collection: reproducible, complete, hard enough, and told enough about."""

from __future__ import annotations

import hashlib
import json
import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from tiltfit import ConstraintSet
from tiltfit.data.inputs import TextInputs
from tiltfit.demo.tickets import CONSTRAINTS, Tickets, generate, grammar, split, write
from tiltfit.language.relations import AtLeast, AtMost, Between
from tiltfit.methods.votes import majority_vote


@pytest.fixture(scope="module")
def tickets() -> Tickets:
    return generate()


def test_the_same_tickets_everywhere() -> None:
    """Fails when the grammar is edited (then write the new value here), never because of platform or Python."""
    digest = hashlib.sha256(
        "\n".join(part for row in zip(*_columns(generate(300)), strict=True) for part in row).encode()
    )
    assert digest.hexdigest()[:16] == "aabb7e2176225141"


def _columns(tickets: Tickets) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tickets.texts, tickets.labels


@settings(deadline=None, max_examples=20)
@given(n=st.integers(0, 30), extra=st.integers(0, 10), seed=st.integers(0, 2**32))
def test_fewer_tickets_are_the_first_of_more(n: int, extra: int, seed: int) -> None:
    assert generate(n, seed) == generate(n + extra, seed)[:n]


def test_seeds_differ_and_global_random_state_is_left_alone() -> None:
    before = random.getstate()
    assert generate(20, seed=1).texts != generate(20, seed=2).texts
    assert random.getstate() == before


def test_every_slot_of_the_grammar_has_phrases_and_every_phrase_a_slot() -> None:
    g = grammar()
    templates = [t for phrases in (g.phrases, g.subjects, g.common) for ts in phrases.values() for t in ts]
    templates += [t for issues in g.issues.values() for issue in issues.values() for ts in issue.values() for t in ts]
    used = {slot for template in templates for slot in re.findall(r"\{(\w+)\}", template)}
    by_the_writer = {
        "greeting",
        "closing",
        "signature",
        "reply",
        "subject",
        "mood",
        "context",
        "vague",
        "filler",
        "ask",
    }
    assert used | by_the_writer == set(g.phrases) | {"thing"}


def test_the_tables_of_the_grammar_speak_of_the_same_classes() -> None:
    g = grammar()
    assert set(g.shares) == set(g.subjects) == set(g.issues) == set(g.common)
    assert set(ConstraintSet.from_toml(CONSTRAINTS).classes or ()) == set(g.shares)
    assert sum(g.shares.values()) == pytest.approx(1)
    assert all(set(issue) == {"says", "adds", "asks"} for issues in g.issues.values() for issue in issues.values())


def test_no_slot_is_left_and_classes_have_their_shares(tickets: Tickets) -> None:
    assert not any("{" in text or not text.strip() for text in tickets.texts)
    noise = grammar().rates["wrong label"]
    for name, share in grammar().shares.items():
        expected = share * (1 - noise) + noise / 5
        deviation = (expected * (1 - expected) / len(tickets)) ** 0.5
        assert abs(tickets.labels.count(name) / len(tickets) - expected) < 4 * deviation


@settings(deadline=None, max_examples=20)
@given(n=st.integers(0, 40))
def test_a_split_keeps_every_ticket_once(n: int) -> None:
    tickets = Tickets(tuple(map(str, range(n))), tuple("ab"[i % 2] for i in range(n)))
    train, test = split(tickets)
    rows = [*zip(*_columns(train), strict=True), *zip(*_columns(test), strict=True)]
    assert sorted(rows) == sorted(zip(*_columns(tickets), strict=True))
    assert len(test) == n // 3


def test_a_supervised_model_does_well_but_stays_below_97_percent(tickets: Tickets) -> None:
    """Also with word pairs, the strongest plain features here."""
    for ngrams in [(1, 1), (1, 2)]:
        vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2, ngram_range=ngrams)
        model = make_pipeline(vectorizer, LogisticRegression(C=10, tol=1e-3, max_iter=1000))
        train, test = split(tickets)
        assert 0.88 < model.fit(train.texts, train.labels).score(test.texts, test.labels) < 0.97


def test_constraints_speak_of_some_tickets_and_are_sensible(tickets: Tickets) -> None:
    """A person's statements: off by some points, never by far. The training part alone is looked at."""
    train, _ = split(tickets)
    inputs, constraints = TextInputs(train.texts), ConstraintSet.from_toml(CONSTRAINTS)
    assert len(constraints) == 12
    votes = majority_vote(constraints, inputs, constraints.classes or ())
    assert 0.5 < (votes.counts.sum(axis=1) > 0).mean() < 0.75
    for constraint in constraints:
        fires = constraint.given.fires(inputs) if constraint.given is not None else [True] * len(train)
        hits = [label in constraint.event.names for label, fired in zip(train.labels, fires, strict=True) if fired]
        low, high = min(constraint.relation.numbers), max(constraint.relation.numbers)
        low = 0.0 if isinstance(constraint.relation, AtMost) else low
        high = 1.0 if isinstance(constraint.relation, AtLeast) else high
        room = 0.02 if isinstance(constraint.relation, AtLeast | AtMost | Between) else 0.15
        assert low - room <= sum(hits) / len(hits) <= high + room, constraint.title


def test_the_constraints_have_names_and_round_trip() -> None:
    constraints = ConstraintSet.from_toml(CONSTRAINTS)
    assert all(c.name for c in constraints)
    assert any(c.rationale for c in constraints)
    assert ConstraintSet.from_toml(constraints.to_toml()) == constraints


def test_written_files_hold_the_collection(tmp_path: Path) -> None:
    toml, train, test = write(tmp_path / "new" / "folder")
    assert ConstraintSet.from_toml(toml) == ConstraintSet.from_toml(CONSTRAINTS)
    for path, part in [(train, split(generate())[0]), (test, split(generate())[1])]:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        assert [(row["text"], row["label"]) for row in rows] == list(zip(*_columns(part), strict=True))
