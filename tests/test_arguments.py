"""A whole number may be Python's or NumPy's wherever a user gives one; a bool, a float or a text is none."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from tiltfit import TiltClassifier
from tiltfit.arguments import are_strings, check_mapping, integer, whole
from tiltfit.data.readers import stream
from tiltfit.data.readers.conll import Columns
from tiltfit.errors import DataError, NotConvergedWarning, TiltfitError
from tiltfit.features.hashing import Buckets
from tiltfit.features.selection import labelled_words, rank
from tiltfit.features.similarity import similar_words
from tiltfit.features.tokens import AttributeTemplates, TokenTemplates
from tiltfit.inference.fields import Fields
from tiltfit.inference.statistics import short
from tiltfit.language.conditions import column, position
from tiltfit.methods.self_training import Options as SelfTraining

ROWS = [[a, b, c] for a in ("big", "small") for b in ("cat", "dog") for c in ("runs", "eats")] * 3
WORDS, LABELS = sparse.csr_array(np.eye(4)), np.array([0, 1, 0, 1])


def documents(folder: Path, **options: Any) -> list[Any]:
    (folder / "d.jsonl").write_text('{"text": "a"}\n{"text": "b"}\n{"text": "c"}\n')
    return [chunk.X for chunk in stream(folder / "d.jsonl", **options)]


def same(value: object) -> object:
    """Something that can be compared."""
    return (value.columns.tolist(), value.scores.tolist()) if hasattr(value, "columns") else value


TAKES: dict[str, Callable[[Any, Path], Any]] = {
    "buckets": lambda n, _: TokenTemplates(buckets=n),
    "min_count": lambda n, _: TokenTemplates(min_count=n),
    "hashing": lambda n, _: TokenTemplates(hashing=n).to_document(),
    "lengths": lambda n, _: TokenTemplates(ngrams=(n,)),
    "min_count of attributes": lambda n, _: AttributeTemplates(min_count=n),
    "hashed columns": lambda n, _: list(Buckets(n)),
    "dimensions": lambda n, _: similar_words(ROWS, ["cat"], dimensions=n, window=2),
    "top": lambda n, _: similar_words(ROWS, ["cat"], dimensions=2, window=2, top=n),
    "per_label": lambda n, _: labelled_words(WORDS, LABELS, 2, per_label=n),
    "n": lambda n, _: same(rank(np.arange(4.0), n)),
    "below": lambda n, _: repr(short(Fields.of(["a", "b"], np.eye(2, dtype=bool)), below=n)),
    "position": lambda n, _: position(n),
    "max_rounds": lambda n, _: SelfTraining(max_rounds=n),
    "max_iter": lambda n, _: stopped_after(n),
    "n_jobs": lambda n, _: TiltClassifier(n_jobs=n).fit(np.eye(2), [0, 1]).n_iter_,
    "column of tokens": lambda n, _: Columns(token=n),
    "size": lambda n, folder: documents(folder, size=n),
    "skip": lambda n, folder: documents(folder, size=2, skip=n),
}


def stopped_after(rounds: Any) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        return TiltClassifier(max_iter=rounds).fit(np.eye(2), [0, 1]).n_iter_


@pytest.mark.parametrize("name", sorted(TAKES))
def test_whole_numbers_of_numpy_are_whole_numbers(name: str, tmp_path: Path) -> None:
    take = TAKES[name]
    for number in (np.int64(2), np.uint8(2)):
        assert take(number, tmp_path) == take(2, tmp_path)
    for other in (True, np.True_, 2.0, "2"):
        with pytest.raises(TiltfitError):
            take(other, tmp_path)


def test_thresholds_are_plain() -> None:
    assert type(column("a").above(np.int64(3)).value) is int  # type: ignore[attr-defined]


def test_what_is_whole() -> None:
    assert [whole(v) for v in (0, -3, np.int8(5), 2**80)] == [0, -3, 5, 2**80]
    assert type(whole(np.int64(1))) is int
    assert [whole(v) for v in (True, np.False_, 1.0, "1", None, np.array([1]))] == [None] * 6


def test_ranges_are_inclusive_and_named() -> None:
    assert [integer("n", k, 1, 3) for k in (1, 3)] == [1, 3]
    for bad in (0, 4, None):
        with pytest.raises(DataError, match=r"n=.* must be an integer from 1 to 3") as caught:
            integer("n", bad, 1, 3)
        assert caught.value.parameter == "n"
    with pytest.raises(DataError, match="of at least 2"):
        integer("n", 1, 2)


def test_mappings_and_strings() -> None:
    assert check_mapping("lexicons", {"a": [1]}, "word lists") == {"a": [1]}
    with pytest.raises(DataError, match="lexicons= must be a mapping of names to word lists, but is"):
        check_mapping("lexicons", [1], "word lists")
    assert are_strings(["a", ""])
    assert not are_strings(["a", b"b"])
