"""Files that earlier releases wrote are read for ever, and newer ones are refused with what to do.

The files beside this one were written by the first release of their version. They are never written again: a test that
fails here means that users' files could no longer be read.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.storage import forge

from tiltfit import (
    ConstraintSet,
    TiltClassifier,
    TiltTagger,
    column,
    expect,
    feature,
    first,
    last,
    load,
    phrase,
    position,
    punctuation,
    regex,
    word,
)
from tiltfit.errors import ConstraintFileError, ModelFileError
from tiltfit.storage import container

HERE = Path(__file__).parent
EXPECTED = json.loads((HERE / "expected-1.json").read_text(encoding="utf-8"))
CLOSE: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-12}

CONSTRAINTS = (
    expect("a", given=word("Puck", case=True)).about(0.9, name="one", beta=0.1),
    expect(
        "a", "b", given=phrase("new york") & ~(regex("^[a-z]+$") | column("n").above(3)), per=column("county")
    ).between(0.25, 0.75, slack=0.01),
    expect(given=feature("f")).distributed_as({"a": 0.5, "b": 0.25, "c d": 0.25}, rationale="because"),
    expect("b", on="all").about(0.5, penalty="l1"),
    expect.change(given=punctuation.before, of=expect.change()).at_least(0.9),
    expect.segments("a", per="sequence").at_most(1),
    expect.transition("a", "b", given=position(-1)).exactly(0.5),
    expect.start("a", given=first | last | word("x").after).at_most(0.75),
    expect.repeats("a").at_most(0.05),
)


def test_constraints_of_version_1_mean_what_they_meant() -> None:
    assert ConstraintSet.from_toml(HERE / "constraints-1.toml") == ConstraintSet(CONSTRAINTS, ("a", "b", "c d"))


def test_constraints_of_version_1_are_written_as_they_were() -> None:
    text = (HERE / "constraints-1.toml").read_text(encoding="utf-8")
    assert ConstraintSet.from_toml(HERE / "constraints-1.toml").to_toml() == text


def test_a_classifier_of_version_1_predicts_what_it_did() -> None:
    model = load(HERE / "classifier-1.tilt")
    assert isinstance(model, TiltClassifier)
    np.testing.assert_allclose(model.predict_proba(EXPECTED["texts"]), EXPECTED["proba"], **CLOSE)
    assert next(entry.name for entry in model.constraint_report_) == "puck"
    assert model.project(["the puck", "a bat"]).shape == (2, 2)


def test_a_tagger_of_version_1_predicts_what_it_did() -> None:
    model = load(HERE / "tagger-1.tilt")
    assert isinstance(model, TiltTagger)
    for found, expected in zip(model.predict_marginals(EXPECTED["sequences"]), EXPECTED["marginals"], strict=True):
        np.testing.assert_allclose(found, expected, **CLOSE)
    assert [list(tags) for tags in model.predict(EXPECTED["sequences"])] == EXPECTED["tags"]


@pytest.mark.parametrize("version", [2, 0, -1, 10**12])
def test_constraints_of_another_version_are_refused_by_number(version: int) -> None:
    with pytest.raises(ConstraintFileError, match=rf"`version` {version} is unknown; this release reads version 1"):
        ConstraintSet.from_toml(f"version = {version}\n[[of_the_future]]\nx = 1\n")


def test_unknown_keys_of_constraints_are_refused_by_name() -> None:
    text = (HERE / "constraints-1.toml").read_text(encoding="utf-8")
    with pytest.raises(ConstraintFileError, match="`weather` is not a key that is known here"):
        ConstraintSet.from_toml(text.replace("beta = 0.1", "weather = 0.1"))
    with pytest.raises(ConstraintFileError, match="`future` is not a key that is known here"):
        ConstraintSet.from_toml(f"future = 1\n{text}")


@pytest.mark.parametrize("name", ["classifier-1.tilt", "tagger-1.tilt"])
@pytest.mark.parametrize("version", [2, 99])
def test_models_of_another_version_are_refused_by_number(tmp_path: Path, name: str, version: int) -> None:
    document, arrays = container.read(HERE / name)
    container.write(tmp_path / "later.tilt", document | {"state_version": version}, arrays)
    with pytest.raises(ModelFileError, match=rf"state version {version}; .* Update tiltfit"):
        load(tmp_path / "later.tilt")
    members = forge.with_manifest(forge.honest(tmp_path / "m.tilt"), version=version)
    with pytest.raises(ModelFileError, match=rf"version {version}.*version"):
        load(forge.assemble(tmp_path / "format.tilt", members))


@pytest.mark.parametrize("name", ["classifier-1.tilt", "tagger-1.tilt"])
def test_what_a_model_of_this_version_holds_besides(tmp_path: Path, name: str) -> None:
    """Parameters that are unknown are refused by name: what they ask for would be left undone."""
    document, arrays = container.read(HERE / name)
    odd = document | {"parameters": document["parameters"] | {"of_the_future": 1}}
    container.write(tmp_path / "odd.tilt", odd, arrays)
    with pytest.raises(ModelFileError, match="of_the_future"):
        load(tmp_path / "odd.tilt")
    container.write(tmp_path / "kind.tilt", document | {"kind": "TiltParser"}, arrays)
    with pytest.raises(ModelFileError, match="TiltParser"):
        load(tmp_path / "kind.tilt")
