"""Manifests that are wrong in one place each; every other part of the file is honest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.storage import forge

from tiltfit.errors import ModelFileError
from tiltfit.storage import container
from tiltfit.storage.archive import Digest
from tiltfit.storage.container import ArrayEntry, Manifest

SHA = "0" * 64


def refuse(tmp_path: Path, members: forge.Members, message: str) -> None:
    path = forge.assemble(tmp_path / "hostile.tilt", members)
    with pytest.raises(ModelFileError, match=message):
        container.read(path)


@pytest.mark.parametrize("version", [2, 0, -1, 10**400])
def test_unknown_versions_are_refused_naming_the_known_ones(tmp_path: Path, version: int) -> None:
    members = forge.with_manifest(forge.honest(tmp_path / "m.tilt"), version=version)
    refuse(tmp_path, members, rf"version {str(version)[:20]}, and this tiltfit reads version 1\. Update tiltfit")


def test_a_later_version_is_recognised_even_if_all_else_differs(tmp_path: Path) -> None:
    members = {"manifest.json": b'{"format":"tiltfit","version":2,"tables":[]}', "tables/a.parquet": b"PAR1"}
    refuse(tmp_path, members, "it is a file of version 2")


@pytest.mark.parametrize("version", [True, "1", 1.0, None, ...])
def test_versions_that_are_not_numbers_are_refused(tmp_path: Path, version: Any) -> None:
    members = forge.with_manifest(forge.honest(tmp_path / "m.tilt"), version=version)
    refuse(tmp_path, members, "no version number")


@pytest.mark.parametrize("name", ["Tiltfit", "other", 1, None, ...])
def test_other_formats_are_refused(tmp_path: Path, name: Any) -> None:
    members = forge.with_manifest(forge.honest(tmp_path / "m.tilt"), format=name)
    refuse(tmp_path, members, "does not say format 'tiltfit'")


@pytest.mark.parametrize("changes", [{"arrays": ...}, {"document": ...}, {"extra": 1}])
def test_missing_and_extra_keys_are_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    members = forge.with_manifest(forge.honest(tmp_path / "m.tilt"), **changes)
    refuse(tmp_path, members, "must have exactly the keys")


@pytest.mark.parametrize("arrays", [{}, None, "weights", [{}] * 4097])
def test_a_table_that_is_not_a_short_list_is_refused(tmp_path: Path, arrays: Any) -> None:
    refuse(
        tmp_path,
        forge.with_manifest(forge.honest(tmp_path / "m.tilt"), arrays=arrays),
        "must be a list of at most 4096",
    )


@pytest.mark.parametrize("item", [None, [], "weights", {}, {"name": "weights"}])
def test_entries_without_the_right_keys_are_refused(tmp_path: Path, item: Any) -> None:
    refuse(tmp_path, forge.with_manifest(forge.honest(tmp_path / "m.tilt"), arrays=[item]), "exactly the keys")


@pytest.mark.parametrize("name", ["../weights", "/weights", "a/b", "a\\b", "", "..", "a\x00b", 7, None, "a" * 101])
def test_forbidden_names_are_refused(tmp_path: Path, name: Any) -> None:
    refuse(tmp_path, forge.with_array(forge.honest(tmp_path / "m.tilt"), "weights", name=name), "forbidden name")


def test_an_array_listed_twice_is_refused(tmp_path: Path) -> None:
    members = forge.honest(tmp_path / "m.tilt")
    refuse(tmp_path, forge.with_manifest(members, arrays=forge.manifest(members)["arrays"] * 2), "lists an array twice")


@pytest.mark.parametrize("size", [-1, 1.5, "8", None, True])
def test_sizes_that_are_not_sizes_are_refused(tmp_path: Path, size: Any) -> None:
    refuse(tmp_path, forge.with_array(forge.honest(tmp_path / "m.tilt"), "weights", bytes=size), "no size")


@pytest.mark.parametrize("digest", ["", "0" * 63, "G" * 64, 0, None])
def test_digests_that_are_not_digests_are_refused(tmp_path: Path, digest: Any) -> None:
    refuse(tmp_path, forge.with_array(forge.honest(tmp_path / "m.tilt"), "weights", sha256=digest), "no SHA-256")


@pytest.mark.parametrize("shape", [6, None, "2,3", [2.0, 3], [True, 3], [[2], 3]])
def test_shapes_that_are_not_whole_numbers_are_refused(tmp_path: Path, shape: Any) -> None:
    members = forge.with_array(forge.honest(tmp_path / "m.tilt"), "weights", shape=shape)
    refuse(tmp_path, members, "'weights' cannot be right: its shape is not a list of integers")


@pytest.mark.parametrize("shape", [[-2, 3], [2**63], [2**40, 2**40], [0, 2**62, 2**62], [10**4000]])
def test_absurd_shapes_are_refused(tmp_path: Path, shape: Any) -> None:
    members = forge.with_array(forge.honest(tmp_path / "m.tilt"), "weights", shape=shape)
    refuse(tmp_path, members, "negative or absurdly large")


@pytest.mark.parametrize("dtype", ["|O", "object", "<U3", "<c16", ">f8", "float64", "<f8 ", ""])
def test_other_dtypes_are_refused(tmp_path: Path, dtype: str) -> None:
    members = forge.with_array(forge.honest(tmp_path / "m.tilt"), "weights", dtype=dtype)
    refuse(tmp_path, members, "is not one of")


def test_a_dtype_that_is_no_string_is_refused(tmp_path: Path) -> None:
    refuse(tmp_path, forge.with_array(forge.honest(tmp_path / "m.tilt"), "weights", dtype=["<f8"]), "not a string")


def test_a_manifest_survives_json() -> None:
    entry = ArrayEntry("a", "<f8", (0, 2), Digest(128, SHA))
    table = Manifest(Digest(2, SHA), (entry,))
    as_json: Any = table.to_json()
    as_json["arrays"][0]["shape"] = list(as_json["arrays"][0]["shape"])
    assert Manifest.from_json(as_json) == table
