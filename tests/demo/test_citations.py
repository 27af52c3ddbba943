"""The generator of references: reproducible, labelled as it says, and described by its constraints."""

from __future__ import annotations

import hashlib
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltfit import Constraint, ConstraintSet
from tiltfit.data.readers import read_sequences
from tiltfit.data.sequences import as_sequences
from tiltfit.demo.citations import CONSTRAINTS, LABELS, Part, Reference, facts, generate, runs, split, write
from tiltfit.language.events import Change, Labels, Segments, Start, Stay
from tiltfit.language.relations import About, DistributedAs

KINDS = ("paper", "article", "report", "thesis", "book", "chapter", "collection", "manuscript")


@pytest.fixture(scope="module")
def references() -> tuple[Reference, ...]:
    return generate(1000)


def test_the_same_references_everywhere() -> None:
    """Fails when the facts are edited (then write the new value here), never because of platform or Python."""
    digest = hashlib.sha256()
    for reference in (*generate(200), *generate(200, part="test")):
        digest.update("\n".join([*reference.tokens, *reference.labels]).encode())
    assert digest.hexdigest()[:16] == "2ea86a02e6810281"


@settings(deadline=None, max_examples=20)
@given(n=st.integers(0, 20), extra=st.integers(0, 10), seed=st.integers(0, 2**32), part=st.sampled_from(get_args(Part)))
def test_fewer_references_are_the_first_of_more(n: int, extra: int, seed: int, part: Part) -> None:
    assert generate(n, seed, part) == generate(n + extra, seed, part)[:n]


def test_seeds_and_parts_differ_and_global_random_state_is_left_alone() -> None:
    before = random.getstate()
    texts = [generate(20, seed, part) for seed in (0, 1) for part in get_args(Part)]
    assert len(set(texts)) == 4
    assert random.getstate() == before


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 2**32))
def test_every_token_has_a_label_and_every_field_is_one_run(seed: int) -> None:
    for reference in generate(5, seed):
        assert len(reference.tokens) == len(reference.labels) == len(reference) > 0
        assert set(reference.labels) <= set(LABELS)
        assert all(token and not re.search(r"\s|[{}]", token) for token in reference.tokens)
        assert max(Counter(label for label, _ in reference.fields).values()) == 1


def test_runs_put_a_sequence_back_together() -> None:
    assert runs(["A", ".", "B", "1999"], ["author", "author", "title", "author"]) == [
        ("author", "A ."),
        ("title", "B"),
        ("author", "1999"),
    ]


def test_signs_are_tokens_of_their_own(references: tuple[Reference, ...]) -> None:
    """As in the paper's data: 495-502 and Master's are one token, but "Conf." is two."""
    mixed = {t for r in references for t in r.tokens if re.search(r"\w", t) and re.search(r"[^\w\-/']", t)}
    assert not mixed


def test_all_labels_styles_and_kinds_occur(references: tuple[Reference, ...]) -> None:
    assert {label for r in references for label in r.labels} == set(LABELS)
    layouts = {tuple(label for label, _ in r.fields) for r in references}
    assert len(layouts) > 100
    assert len(facts().styles) >= 8


def test_every_template_and_phrase_that_is_named_exists_and_is_used() -> None:
    f = facts()
    by_the_writer = {"authors", "editors", "title", "year", "yy", "volume", "number", "from", "to", "given", "initials"}
    by_the_writer |= {
        "letters",
        "surname",
        "place",
        "stem",
        "ending",
        "capital",
        "short_meeting",
        "volume_title",
        "subtitle",
    }
    templates = [*f.fields.values()]
    for style in f.styles.values():
        written = set()
        assert (
            set(KINDS)
            == set(f.kinds)
            == set(style) - {*("share", "name", "first", "join", "last", "stop", "capitals", "abbreviate", "fields")}
        )
        for kind in KINDS:
            for entry in style[kind].split():
                label, _, template = entry.removesuffix("?").partition("/")
                assert label in LABELS
                assert not entry.endswith("?") or label in f.present
                assert (template or label) in {**f.fields, **style["fields"]}
                written.add(template or label)
        assert written >= set(style["fields"])
        templates += [style["name"], style.get("first", ""), *style["fields"].values()]
    templates += [phrase for phrases in f.phrases.values() for phrase in phrases]
    slots = {slot for template in templates for slot in re.findall(r"\{(\w+)\}", template)}
    assert slots <= set(f.phrases) | by_the_writer
    assert set(f.phrases) <= slots | by_the_writer


def test_training_and_test_have_words_of_their_own_and_share_most() -> None:
    train, test = facts("train").phrases, facts("test").phrases
    for name in ("noun", "stem", "place", "gerund", "domain"):
        a, b = set(train[name]), set(test[name])
        assert a - b
        assert b - a
        assert len(a & b) > len(a - b) + len(b - a) - 4
    assert train["month"] == test["month"]


def test_words_of_tests_are_partly_new() -> None:
    train, test = split()
    known = {token for r in train for token in r.tokens}
    words = [token for r in test for token in r.tokens if token.isalpha()]
    assert 0.1 < np.mean([word not in known for word in words]) < 0.4


def test_the_parts_have_the_stated_shares_of_kinds(references: tuple[Reference, ...]) -> None:
    """A thesis or report is what has the field tech, unless that is missing."""
    shares = facts().kinds
    assert sum(shares.values()) == pytest.approx(1)
    assert sum(style["share"] for style in facts().styles.values()) == pytest.approx(1)
    expected = (shares["report"] + shares["thesis"]) * (1 - facts().rates["missing"])
    found = float(np.mean(["tech" in r.labels for r in references]))
    assert abs(found - expected) < 4 * (expected * (1 - expected) / len(references)) ** 0.5


# The constraints


def test_the_constraints_have_names_speak_of_all_labels_and_round_trip() -> None:
    constraints = ConstraintSet.of(CONSTRAINTS)
    assert constraints.classes == LABELS
    assert all(c.name for c in constraints)
    assert {label for c in constraints for label in c.names} == set(LABELS)
    assert ConstraintSet.from_toml(constraints.to_toml()) == constraints


@pytest.mark.parametrize("constraint", ConstraintSet.of(CONSTRAINTS), ids=lambda c: c.name)
def test_the_constraints_are_about_true(constraint: Constraint, references: tuple[Reference, ...]) -> None:
    """A person's statements: off by some points, never by far."""
    true = shares(constraint, references)
    assert len(true)
    match constraint.relation:
        case DistributedAs(targets):
            assert all(abs(np.mean(true == label) - target) < 0.02 for label, target in targets)
        case About(target):
            assert abs(np.mean(true) - target) < 0.1
        case other:
            raise NotImplementedError(other)


def shares(constraint: Constraint, references: tuple[Reference, ...]) -> npt.NDArray[Any]:
    """Whether the event happens (how often, in a sequence) at each place that the constraint speaks of."""
    sequences = as_sequences([r.tokens for r in references])
    labels = np.array([label for r in references for label in r.labels])
    first = np.zeros(len(labels), dtype=bool)
    first[sequences.offsets[:-1]] = True
    changes: npt.NDArray[np.bool_] = first | (labels != np.roll(labels, 1))
    where = np.ones(len(labels), dtype=bool)
    if constraint.given is not None:
        where = constraint.given.fires(sequences)
    match constraint.event:
        case Labels(()):
            return labels
        case Labels(names):
            return np.isin(labels, names)[where]
        case Start(names):
            return np.isin(labels, names)[where & first]
        case Stay():
            return ~changes[where & ~first]
        case Change():
            return changes[where & ~first]
        case Segments(label):
            return np.add.reduceat(changes & (labels == label), sequences.offsets[:-1])
    raise NotImplementedError(constraint.event)


def test_written_files_hold_the_collection(tmp_path: Path) -> None:
    toml, *files = write(tmp_path / "new" / "folder")
    assert ConstraintSet.of(toml) == ConstraintSet.of(CONSTRAINTS)
    found = {path.name: read_sequences(path) for path in files}
    train, test = split()
    for name, part in (("labelled.conll", train[:20]), ("test.conll", test)):
        assert [list(r.tokens) for r in part] == found[name].X
        assert found[name].y == [list(r.labels) for r in part]
    assert [list(r.tokens) for r in train[20:]] == found["unlabelled.conll"].X
    assert found["unlabelled.conll"].y is None
