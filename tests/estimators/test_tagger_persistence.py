"""Taggers survive a trip through a file; what cannot be written is named; damaged files are refused."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

import tiltfit
from tiltfit import TiltClassifier, TiltTagger, column, expect, load, punctuation, when, word
from tiltfit.errors import DataError, ModelFileError, NotSavedWarning, UnsupportedError
from tiltfit.estimators import persistence
from tiltfit.estimators.file_parts import pack_strings, pack_table, unpack_strings, unpack_table
from tiltfit.features.edges import EdgeTemplates
from tiltfit.features.tokens import TokenTemplates
from tiltfit.storage.container import read, write

ADS = [
    ["big", "room", ",", "call", "Ann"],
    ["sunny", "room", "call", "Bob", "."],
    ["big", "garden", ",", "phone", "Ann"],
    ["garden"],
]
TAGS = [["size", "size", "size", "contact", "contact"], None, ["size", None, None, "contact", None], ["size"]]
CONSTRAINTS = [
    expect("contact", given=word("call") | word("phone")).about(0.95, name="call"),
    expect.change(given=~punctuation.before).at_most(0.3),
    expect.segments("contact", per="sequence").at_most(1.5),
    expect.start("size").at_least(0.8),
    expect.change(given=punctuation.before, of=expect.change()).about(0.7),
]
NEW = [["sunny", "garden", ",", "phone", "Bob"], [], ["phone"]]


def same(one: list[Any], other: list[Any]) -> bool:
    return len(one) == len(other) and all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.fixture(scope="module")
def tagger() -> TiltTagger:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return TiltTagger(CONSTRAINTS, alpha=0.5, random_state=3, max_iter=20).fit(ADS, TAGS)


@pytest.fixture
def path(tagger: TiltTagger, tmp_path: Path) -> Path:
    tagger.save(tmp_path / "m.tilt")
    return tmp_path / "m.tilt"


def test_a_tagger_comes_back_whole(tagger: TiltTagger, path: Path) -> None:
    again = tiltfit.load(path)
    assert type(again) is TiltTagger
    assert again.predict(NEW) == tagger.predict(NEW)
    assert same(again.predict_marginals(NEW), tagger.predict_marginals(NEW))
    assert same(again.project(ADS), tagger.project(ADS))
    assert again.predict_k_best(NEW, 3) == tagger.predict_k_best(NEW, 3)
    assert again.score(ADS, TAGS) == tagger.score(ADS, TAGS)
    assert np.array_equal(again.coef_, tagger.coef_)
    assert again.attribute_names_.tolist() == tagger.attribute_names_.tolist()
    assert again.transition_names_.tolist() == tagger.transition_names_.tolist()
    assert again.constraints == CONSTRAINTS
    assert str(again.constraint_report_) == str(tagger.constraint_report_)
    assert (again.history_, again.objective_, again.n_iter_) == (tagger.history_, tagger.objective_, tagger.n_iter_)
    unchanged = tagger.get_params() | {"classes": ["contact", "size"]}
    assert again.get_params() == unchanged


def test_the_same_tagger_gives_the_same_bytes(tagger: TiltTagger, path: Path) -> None:
    load(path).save(path.with_name("again.tilt"))
    assert path.with_name("again.tilt").read_bytes() == path.read_bytes()


def test_fitted_prices_of_groups_come_back(tmp_path: Path) -> None:
    constraints = [expect("contact", per=column("town")).at_most(0.6), expect("contact", given=word("call")).about(0.9)]
    X = {"tokens": ADS, "town": ["n", "s", "n", "s"]}
    tagger = TiltTagger(constraints, classes=["contact", "size"], tol=0.1).fit(X, TAGS)
    tagger.save(tmp_path / "m.tilt")
    again = load(tmp_path / "m.tilt")
    assert same(again.project(X, prices="fitted"), tagger.project(X, prices="fitted"))
    with pytest.raises(tiltfit.errors.TiltfitError, match="town"):
        again.project(ADS)


@pytest.mark.parametrize(
    "options",
    [
        {"features": {"lexicons": {"names": ["ann", "Bob  Miller"]}, "ngrams": [2]}, "boundaries": True},
        {"features": TokenTemplates(min_count=2), "transitions": EdgeTemplates(before={}, at={"comma": ","})},
        {"weights": "observed", "valid_only": True, "init": "supervised", "n_jobs": 2},
    ],
)
def test_parameters_and_templates_come_back(tmp_path: Path, options: dict[str, Any]) -> None:
    said = TAGS
    if "valid_only" in options:  # every token is an entity of its own
        said = [None if row is None else [None if tag is None else f"B-{tag}" for tag in row] for row in TAGS]
    tagger = TiltTagger(max_iter=200, **options).fit(ADS, said)
    tagger.save(tmp_path / "m.tilt")
    again = load(tmp_path / "m.tilt")
    assert same(again.predict_marginals(NEW), tagger.predict_marginals(NEW))
    for name, value in options.items():
        wanted = TokenTemplates.from_document(value) if isinstance(value, dict) else value
        assert getattr(again, name) == wanted
    assert np.array_equal(again.fit(ADS, said).coef_, tagger.coef_)


def test_parameters_set_after_fitting_do_not_change_predictions(tagger: TiltTagger, tmp_path: Path) -> None:
    other = TiltTagger(max_iter=200).fit(ADS, TAGS)
    wanted = other.predict_marginals(NEW)
    other.set_params(features={"shape": ()}, transitions={"before": {}}, boundaries=True, valid_only=True)
    other.save(tmp_path / "m.tilt")
    again = load(tmp_path / "m.tilt")
    assert same(again.predict_marginals(NEW), wanted)
    assert (again.features, again.transitions) == (TokenTemplates(shape=()), EdgeTemplates(before={}))


def test_attributes_and_labels_that_are_numbers_come_back(tmp_path: Path) -> None:
    X = [[{"w": token, "long": len(token) > 3, "length": len(token) / 3} for token in ad] for ad in ADS]
    y = [None if row is None else [None if t is None else len(t) for t in row] for row in TAGS]
    tagger = TiltTagger(features={"min_count": 2}, transitions={"attributes": ["long"]}).fit(X, y)
    tagger.save(tmp_path / "m.tilt")
    again = load(tmp_path / "m.tilt")
    assert again.predict(X) == tagger.predict(X)
    assert {type(label) for row in again.predict(X) for label in row} == {int}
    assert again.features.min_count == 2
    with pytest.raises(DataError, match="fitted on attributes, but X holds tokens"):
        again.predict(ADS)


def test_what_cannot_be_written_is_named_and_the_rest_works(tmp_path: Path) -> None:
    extra = expect("contact", given=when(lambda token: token.isupper(), name="loud")).about(0.9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tagger = TiltTagger([*CONSTRAINTS, extra], max_iter=5).fit(ADS, TAGS)
    with pytest.warns(NotSavedWarning, match="loud") as caught:
        tagger.save(tmp_path / "m.tilt")
    assert caught[0].filename == __file__
    again = load(tmp_path / "m.tilt")
    assert same(again.predict_marginals(NEW), tagger.predict_marginals(NEW))
    with pytest.raises(UnsupportedError, match="loud"):
        again.project(ADS)


def test_an_unfitted_tagger_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not fitted"):
        TiltTagger(CONSTRAINTS).save(tmp_path / "m.tilt")
    assert not list(tmp_path.iterdir())


def test_zeros_take_no_room(tmp_path: Path) -> None:
    """With observed weights most of the table is zeros."""
    labels = [f"L{k}" for k in range(40)]
    X = [[f"word{k}", f"other{k}"] for k in range(40)]
    tagger = TiltTagger(weights="observed").fit(X, [[label, label] for label in labels])
    tagger.save(tmp_path / "m.tilt")
    _, arrays = read(tmp_path / "m.tilt")
    assert sum(arrays[f"coef.{part}"].nbytes for part in ("count", "label", "value")) < tagger.coef_.nbytes / 8
    assert np.array_equal(load(tmp_path / "m.tilt").coef_, tagger.coef_)


# Packing ----------------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(
    table=arrays_of.arrays(
        np.float64, st.tuples(st.integers(0, 6), st.integers(1, 5)), elements=st.sampled_from([0.0, -0.0, 1.5, -2e-308])
    )
)
def test_tables_come_back_to_the_bit(table: np.ndarray) -> None:
    again = unpack_table("t", pack_table("t", table), table.shape[1])
    assert again.shape == table.shape
    assert again.tobytes() == table.tobytes()


@settings(max_examples=60)
@given(strings=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=4)))
def test_strings_come_back(strings: list[str]) -> None:
    assert unpack_strings("s", pack_strings("s", strings)) == strings


def test_half_a_character_is_named() -> None:
    with pytest.raises(UnsupportedError, match="surrogate"):
        pack_strings("s", ["fine", "w=\ud800"])


def test_a_small_file_does_not_become_a_large_model() -> None:
    count = np.zeros(1 << 20, dtype=np.uint16)
    nothing = {"t.count": count, "t.label": np.zeros(0, dtype=np.uint16), "t.value": np.zeros(0)}
    with pytest.raises(ModelFileError, match="bytes of memory"):
        unpack_table("t", nothing, 60_000)
    lengths = np.lib.stride_tricks.as_strided(np.zeros(1, np.uint32), (1 << 27,), (0,))  # takes four bytes, not 512 MiB
    with pytest.raises(ModelFileError, match="bytes of memory"):
        unpack_strings("s", {"s.text": np.zeros(0, dtype=np.uint8), "s.bytes": lengths})


BAD_TABLES = {
    "counts": {"t.count": np.array([2, 1], dtype=np.uint8)},
    "signed": {"t.count": np.array([3, -1], dtype=np.int8)},
    "outside": {"t.label": np.array([0, 3], dtype=np.uint8)},
    "twice": {"t.label": np.array([1, 1], dtype=np.uint8)},
    "lengths": {"t.value": np.ones(3)},
    "two axes": {"t.value": np.ones((2, 1))},
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_damaged_tables(name: str) -> None:
    good = {
        "t.count": np.array([2, 0], dtype=np.uint8),
        "t.label": np.array([0, 2], dtype=np.uint8),
        "t.value": np.ones(2),
    }
    assert unpack_table("t", good, 3).tolist() == [[1, 0, 1], [0, 0, 0]]
    with pytest.raises(ModelFileError):
        unpack_table("t", good | BAD_TABLES[name], 3)


# Damage -----------------------------------------------------------------------------------------------------------


def test_unknown_version_and_other_kind(path: Path) -> None:
    document, arrays = read(path)
    write(path, document | {"state_version": 99}, arrays)
    with pytest.raises(ModelFileError, match=r"m\.tilt is of state version 99; .* reads 1"):
        load(path)
    write(path, document | {"kind": "TiltClassifier"}, arrays)
    with pytest.raises(ModelFileError, match=r"m\.tilt is damaged"):
        load(path)
    TiltClassifier().fit([[0.0], [1.0]], [0, 1]).save(path)
    document, arrays = read(path)
    write(path, document | {"kind": "TiltTagger"}, arrays)
    with pytest.raises(ModelFileError, match=r"m\.tilt is damaged"):
        load(path)


def test_truncated_files(path: Path) -> None:
    data = path.read_bytes()
    for size in (0, 1, 100, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:size])
        with pytest.raises(ModelFileError, match=r"m\.tilt is not a model file"):
            load(path)


def _mutations(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The document with each entry, at any depth, replaced by something of another kind or left out."""
    for key in list(document):
        yield {k: v for k, v in document.items() if k != key}
        for other in (None, 3, "x", [], {}, [1, 2], {"a": 1}, -1.5, True, ["x"] * 3, {"before": {"x": "(" * 5000}}):
            yield document | {key: other}
        if isinstance(document[key], dict):
            for inner in _mutations(document[key]):
                yield document | {key: inner}


def test_any_damage_to_the_document_is_refused_or_harmless(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document, arrays = read(path)
    refused: list[str] = []
    for damaged in _mutations(document):
        monkeypatch.setattr(persistence, "read", lambda _, damaged=damaged: (damaged, arrays))
        try:
            again = load(path)
        except ModelFileError as error:
            refused.append(str(error))
            continue
        with contextlib.suppress(ValueError):  # sound as a file, but its encoder may not take tokens
            again.predict(NEW)
    assert len(refused) > 300
    assert all(str(path) in message for message in refused)


def test_any_damage_to_the_arrays_is_refused_or_harmless(path: Path) -> None:
    document, arrays = read(path)
    for name in arrays:
        for bad in (
            np.zeros(0),
            np.zeros((1, 1)),
            np.full(arrays[name].shape, np.nan),
            np.zeros((2, 3, 4)),
            np.zeros(3, bool),
            np.zeros_like(arrays[name]),
        ):
            write(path, document, arrays | {name: bad})
            with contextlib.suppress(ModelFileError):
                load(path).predict(NEW)
        write(path, document, {k: v for k, v in arrays.items() if k != name})
        with pytest.raises(ModelFileError, match=name.split(".")[0]):
            load(path)
