"""Token templates against a plain reading of their definition, one position at a time."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltfit.data.sequences import as_sequences
from tiltfit.errors import DataError
from tiltfit.features import gathering
from tiltfit.features.spelling import PATTERNS, in_latin, shape
from tiltfit.features.tokens import AttributeEncoder, AttributeTemplates, TokenEncoder, TokenTemplates

VOCABULARY = ["New", "york", "NEW", "York", ",", ".", "1999", "pp", "12-15", "``The", "é", "A.", "a"]
LEXICONS = {"places": ["new york", "York", "a"], "names": ["a. new", "pp"], "none": []}
ALL = TokenTemplates(
    identity=(0, 2),
    lower=(-1, 0, 1),
    shape=(-2, 0),
    prefixes=(1, 2),
    suffixes=(1, 3),
    ngrams=(2, 3),
    pieces_at=(-1, 0),
    lexicons=LEXICONS,
    classes_at=(-2, 0, 1),
    nearby=(1, 3),
    classes_nearby=(2,),
    buckets=3,
)
SEQUENCES = st.lists(st.lists(st.sampled_from(VOCABULARY), max_size=6), max_size=5)


def named(matrix: Any, names: tuple[str, ...]) -> list[set[str]]:
    """The attributes of each position; every one has the value 1, and stands once."""
    assert np.all(matrix.data == 1)
    assert matrix.has_canonical_format
    return [{names[j] for j in matrix.indices[a:b]} for a, b in zip(matrix.indptr, matrix.indptr[1:], strict=False)]


def spelling_of(token: str, t: TokenTemplates) -> dict[str, list[str]]:
    low = token.lower()
    padded = f"^{low}$"
    return {
        "w": [token],
        "lower": [low],
        "shape": [shape(token)],
        "prefix": [low[:k] for k in t.prefixes if k < len(low)],
        "suffix": [low[-k:] for k in t.suffixes if k < len(low)],
        "ngram": [padded[i : i + k] for k in t.ngrams for i in range(len(padded) - k + 1)],
        "is": [n for n, p in t.patterns.items() if re.fullmatch(p, token) or re.fullmatch(p, in_latin(token))],
    }


def in_lexicons(sequence: list[str], i: int, t: TokenTemplates) -> list[str]:
    forms = [{w.casefold(), w.casefold().strip(".,`")} for w in sequence]
    found = []
    for name, entries in t.lexicons.items():
        for words in (entry.split() for entry in entries):
            starts = range(max(0, i - len(words) + 1), min(i, len(sequence) - len(words)) + 1)
            if any(all(w in forms[s + k] for k, w in enumerate(words)) for s in starts):
                found.append(name)
    return found


def oracle(sequence: list[str], i: int, t: TokenTemplates) -> set[str]:
    at = {"w": t.identity, "lower": t.lower, "shape": t.shape, "is": t.classes_at, "in": t.classes_at}
    at |= dict.fromkeys(("prefix", "suffix", "ngram"), t.pieces_at)
    found = {f"position={i * t.buckets // len(sequence)}"} if t.buckets else set()
    for family, places in at.items():
        for d in places:
            where = f"[{d:+d}]" if d else ""
            if 0 <= i + d < len(sequence):
                values = {**spelling_of(sequence[i + d], t), "in": in_lexicons(sequence, i + d, t)}[family]
                found |= {f"{family}{where}={value}" for value in values}
            else:
                found.add(f"{'begin' if d < 0 else 'end'}{where}")
    return found | within(sequence, i, t)


def within(sequence: list[str], i: int, t: TokenTemplates) -> set[str]:
    found = set()
    for family, distances in {"lower": t.nearby, "is": t.classes_nearby, "in": t.classes_nearby}.items():
        for d in distances:
            for j in range(max(0, i - d), min(len(sequence), i + d + 1)):
                values = {**spelling_of(sequence[j], t), "in": in_lexicons(sequence, j, t)}[family]
                found |= {f"{family}[~{d}]={value}" for value in values}
    return found


@settings(deadline=None, max_examples=60)
@given(SEQUENCES, SEQUENCES, st.sampled_from([ALL, TokenTemplates(), TokenTemplates(lexicons=LEXICONS, min_count=2)]))
def test_templates_mean_what_they_say(seen: Any, new: Any, templates: TokenTemplates) -> None:
    fitted = as_sequences(seen)
    encoder, matrix = templates.fit(fitted.items, fitted.offsets)
    assert matrix.shape == (fitted.n, len(encoder.names))
    wanted = [oracle(s, i, templates) for s in seen for i in range(len(s))]
    counts: dict[str, int] = {}
    for attributes in wanted:
        for name in attributes:
            counts[name] = counts.get(name, 0) + 1
    kept = {name for name, count in counts.items() if count >= templates.min_count}
    assert set(encoder.names) == kept
    assert len(set(encoder.names)) == len(encoder.names)
    assert named(matrix, encoder.names) == [attributes & kept for attributes in wanted]
    fresh = as_sequences(new)
    transformed = encoder.transform(fresh.items, fresh.offsets)
    assert transformed.shape == (fresh.n, len(encoder.names))
    assert named(transformed, encoder.names) == [oracle(s, i, templates) & kept for s in new for i in range(len(s))]


def test_gathering_in_chunks_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    sequences = as_sequences([VOCABULARY, VOCABULARY[::-1], [], VOCABULARY * 3])
    _, whole = ALL.fit(sequences.items, sequences.offsets)
    monkeypatch.setattr(gathering, "_CHUNK", 4)
    _, parts = ALL.fit(sequences.items, sequences.offsets)
    assert (whole != parts).nnz == 0


def test_each_template_can_be_switched_off() -> None:
    sequences = as_sequences([["The", "cat"]])
    off = {"lower": (), "shape": False, "pieces_at": (), "classes_at": (), "buckets": 0}
    encoder, matrix = TokenTemplates(**off).fit(sequences.items, sequences.offsets)  # type: ignore[arg-type]
    assert encoder.names == ()
    assert matrix.shape == (2, 0)
    encoder, _ = TokenTemplates(**{**off, "identity": True}).fit(sequences.items, sequences.offsets)  # type: ignore[arg-type]
    assert encoder.names == ("w=The", "w=cat")
    encoder, _ = TokenTemplates(**off | {"patterns": {"article": "(?i:the|an?)"}, "classes_at": (0,)}).fit(  # type: ignore[arg-type]
        sequences.items, sequences.offsets
    )
    assert encoder.names == ("is=article",)


def test_entries_of_several_words_stay_inside_a_sequence() -> None:
    sequences = as_sequences([["New"], ["York", "new", "york", "city"]])
    templates = TokenTemplates(lexicons={"p": ["new  york", "new york city"]}, classes_at=(0,))
    encoder, matrix = templates.fit(sequences.items, sequences.offsets)
    assert matrix[:, [encoder.names.index("in=p")]].toarray().ravel().tolist() == [0, 0, 1, 1, 1]


def test_templates_and_encoders_survive_json() -> None:
    sequences = as_sequences([VOCABULARY])
    encoder, matrix = ALL.fit(sequences.items, sequences.offsets)
    again = TokenEncoder.from_document(json.loads(json.dumps(encoder.to_document())))
    assert again.templates == ALL
    assert again.names == encoder.names
    assert (again.transform(sequences.items, sequences.offsets) != matrix).nnz == 0


@pytest.mark.parametrize(
    ("token", "classes"),
    [
        ("1991", {"digits", "four digits", "year", "has digit"}),
        ("1991a", {"year", "has digit", "digits and letters"}),
        ("12--15", {"number with hyphen", "has digit"}),
        ("4th", {"ordinal", "has digit", "digits and letters"}),
        ("A.", {"initial"}),
        ("Über", {"capitalised"}),
        ("Война", {"capitalised"}),
        ("IEEE", {"all caps"}),
        ("McCallum", {"capitalised", "mixed case"}),
        ("Sept.", {"capitalised", "month"}),
        ("state-of-the-art", {"has hyphen"}),
        ("www.x.org", {"address"}),
        (",", {"punctuation", "comma"}),
        ("''", {"punctuation", "quote"}),
        ("--", {"punctuation", "dash"}),
        ("(", {"punctuation", "opening bracket"}),
        ("``Reaching", {"opens quote"}),
        ('arrays"', {"closes quote"}),
        ("日本", set()),
    ],
)
def test_default_classes(token: str, classes: set[str]) -> None:
    templates = TokenTemplates(lower=(), shape=(), pieces_at=(), classes_at=(0,), buckets=0)
    encoder, _ = templates.fit([token], np.array([0, 1]))
    assert set(encoder.names) == {f"is={name}" for name in classes}
    assert set(PATTERNS) >= classes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lower": (-11,)}, "lower=.*-10 to 10"),
        ({"lower": "ab"}, "lower="),
        ({"lower": 1}, "lower="),
        ({"shape": (0, 0)}, "different"),
        ({"prefixes": (0,)}, "prefixes=.*1 to 100"),
        ({"prefixes": True}, "prefixes="),
        ({"buckets": -1}, "buckets="),
        ({"nearby": (0,)}, "nearby=.*1 to 100"),
        ({"classes_nearby": 3}, "classes_nearby="),
        ({"min_count": 0}, "min_count="),
        ({"min_count": 1.5}, "min_count="),
        ({"patterns": ["a"]}, "patterns= must be a mapping"),
        ({"patterns": {"x": "("}}, "'x'.*not valid"),
        ({"patterns": {"x": 3}}, "strings"),
        ({"lexicons": ["a"]}, "lexicons= must be a mapping"),
        ({"lexicons": {"x": "words"}}, "'x' must be a list of words"),
        ({"lexicons": {"x": [3]}}, "'x' holds 3"),
        ({"lexicons": {"": ["a"]}}, "name of a lexicon"),
        ({"lexicons": {str(k): ["a"] for k in range(63)}}, "at most 62"),
    ],
)
def test_bad_templates_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        TokenTemplates(**options)


@pytest.mark.parametrize(
    "document", [{"colour": 1}, {"templates": {}, "names": ["a", "a"]}, {"templates": {}, "names": "ab"}]
)
def test_bad_documents_are_refused(document: dict[str, Any]) -> None:
    with pytest.raises(DataError):
        TokenEncoder.from_document(document) if "names" in document else TokenTemplates.from_document(document)


# Attributes that users made ---------------------------------------------------------------------------------------


def test_attribute_lists_are_encoded_as_they_are() -> None:
    sequences = as_sequences([[["a", "b"], {"a": 2.5, "w": "x"}], [["b"]]])
    encoder, matrix = AttributeTemplates().fit(sequences.items, sequences.offsets)
    assert encoder.names == ("a", "b", "w=x")
    assert matrix.toarray().tolist() == [[1, 1, 0], [2.5, 0, 1], [0, 1, 0]]
    fresh = as_sequences([[["b", "new"], [], {"w": "x", "a": -1}]])
    assert encoder.transform(fresh.items, fresh.offsets).toarray().tolist() == [[0, 1, 0], [0, 0, 0], [-1, 0, 1]]
    again = AttributeEncoder.from_document(json.loads(json.dumps(encoder.to_document())))
    assert (again.transform(sequences.items, sequences.offsets) != matrix).nnz == 0


def test_rare_attributes_are_dropped() -> None:
    encoder, matrix = AttributeTemplates(min_count=2).fit([["a", "b"], ["b"], ["b", "c", "c"]], np.array([0, 3]))
    assert encoder.names == ("b",)
    assert matrix.toarray().tolist() == [[1], [1], [1]]
    with pytest.raises(DataError, match="min_count"):
        AttributeTemplates(min_count=0)
