"""Words that are used alike, on sequences whose groups are known, and the numbers behind it against a plain count."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tiltfit.errors import DataError
from tiltfit.features.similarity import WordVectors, _codes, _surprise, _tables, similar_words
from tiltfit.features.tokens import TokenTemplates

GROUPS = {
    "animal": ["cat", "dog", "cow", "hen"],
    "money": ["euro", "pound", "dollar", "franc"],
    "place": ["street", "lane", "road", "square"],
}
FRAMES = {
    "animal": [["the", "{}", "eats"], ["a", "{}", "sleeps", "well"]],
    "money": [["pay", "one", "{}", "now"], ["two", "{}", "each"]],
    "place": [["in", "this", "{}"], ["along", "the", "{}", "there"]],
}


def sentences(n: int = 240) -> list[list[str]]:
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(n):
        group = str(rng.choice(list(GROUPS)))
        frame = FRAMES[group][rng.integers(2)]
        rows.append([part.format(rng.choice(GROUPS[group])) for part in frame])
    return rows


def test_words_of_a_group_find_each_other() -> None:
    seeds = [members[0] for members in GROUPS.values()]
    found = similar_words(sentences(), seeds, dimensions=6, window=3)
    best = WordVectors.of(sentences(), dimensions=6, window=3).lexicons(seeds, top=1)
    assert list(found) == [f"like {seed}" for seed in seeds]
    for members in GROUPS.values():
        assert set(members) <= set(found[f"like {members[0]}"])
        others = [word for rest in GROUPS.values() if rest is not members for word in rest]
        assert not set(others) & set(best[f"like {members[0]}"])
    TokenTemplates(lexicons=found)


def test_vectors_have_length_one_and_do_not_depend_on_chance() -> None:
    first, second = (WordVectors.of(sentences(), dimensions=6, window=3) for _ in range(2))
    assert np.allclose(np.linalg.norm(first.vectors, axis=1), 1.0)
    assert first.words == second.words
    np.testing.assert_allclose(first.vectors @ first.vectors.T, second.vectors @ second.vectors.T, atol=1e-10)


def test_the_best_approximation_of_the_table() -> None:
    """With all but one dimension, products of vectors are those of the whole decomposition."""
    rows = sentences(60)
    found = WordVectors.of(rows, dimensions=10, window=2, min_count=1)
    parts = _tables(_codes(rows, found.words, 2), 2, len(found.words))
    u, s, _ = np.linalg.svd(np.hstack([_surprise(part).toarray() for part in parts]), full_matrices=False)
    wanted = u[:, :10] * np.sqrt(s[:10])
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    np.testing.assert_allclose(found.vectors @ found.vectors.T, wanted @ wanted.T, atol=1e-8)


def test_tables_are_what_a_plain_count_finds() -> None:
    rows = [["a", "b", "a", "c"], ["b"], ["c", "a", "b", "b"]]
    words, window = ("a", "b", "c"), 2
    before, after, around = (table.toarray() for table in _tables(_codes(rows, words, window), window, 3))
    plain: dict[str, Any] = {name: np.zeros((3, 3)) for name in ("before", "after", "around")}
    for row in rows:
        for i, word in enumerate(row):
            for j, other in enumerate(row):
                place = words.index(word), words.index(other)
                plain["before"][place] += j == i - 1
                plain["after"][place] += j == i + 1
                plain["around"][place] += 0 < abs(i - j) <= window
    for name, table in {"before": before, "after": after, "around": around}.items():
        np.testing.assert_array_equal(table, plain[name])
    surprise = _surprise(_tables(_codes(rows, words, window), window, 3)[2]).toarray()
    total = around.sum()
    for w in range(3):
        for c in range(3):
            expected = around[w, c] * total / (around[w].sum() * around[:, c].sum())
            assert surprise[w, c] == pytest.approx(max(0.0, math.log(expected)) if expected else 0.0)


def test_words_are_compared_in_lower_case() -> None:
    shouted = [[token.upper() for token in row] for row in sentences()]
    assert similar_words(shouted, ["Cat"], dimensions=6) == similar_words(sentences(), ["cat"], dimensions=6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dimensions": 0}, "dimensions=0"),
        ({"dimensions": 6, "window": True}, "window=True"),
        ({"dimensions": 6, "contexts": 1.5}, "contexts=1.5"),
        ({"dimensions": 6, "min_count": 0}, "min_count=0"),
        ({"dimensions": 6, "top": 0}, "top=0"),
        ({"dimensions": 6, "least": 2.0}, "least=2.0"),
        ({"dimensions": 500}, "too few for dimensions=500"),
        ({"dimensions": 6, "min_count": 1000}, "0 words occur 1000 times"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        similar_words(sentences(), ["cat"], **options)


def test_seeds_without_a_vector() -> None:
    vectors = WordVectors.of(sentences(), dimensions=6)
    assert list(vectors.lexicons(["unheard-of", "cat"])) == ["like cat"]
    with pytest.raises(DataError, match="0 of the seeds"):
        vectors.lexicons(["unheard-of"])


@pytest.mark.parametrize(
    ("rows", "seeds", "message"),
    [
        (["the cat runs"], ["cat"], "sequence 0 is the text 'the cat runs'"),
        ([["the", 3]], ["cat"], "sequence 0 holds 3"),
        (sentences(), "cat", "seeds is the text 'cat'"),
    ],
)
def test_texts_are_no_lists_of_words(rows: Any, seeds: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        similar_words(rows, seeds, dimensions=6)
