from __future__ import annotations

import os
import time
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.storage import forge
from tests.storage.forge import ARRAYS, DOCUMENT
from tests.storage.test_strict_json import DOCUMENTS, same

from tiltfit.errors import ModelFileError, UnsupportedError
from tiltfit.storage import container, npy

Arrays = dict[str, np.ndarray]

NAMES = st.from_regex(r"\A[A-Za-z0-9_]{1,6}([.-][A-Za-z0-9_]{1,4}){0,2}\Z")
PLAIN = st.sampled_from(npy.DTYPES).flatmap(
    lambda d: hnp.arrays(d, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5))
)


def rearranged(array: np.ndarray, how: str) -> np.ndarray:
    """The same numbers in another layout."""
    match how:
        case "fortran":
            return np.asfortranarray(array)
        case "big-endian":
            return array.astype(array.dtype.newbyteorder(">"))
        case "strided":
            return np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array
        case "read-only":
            array = array.copy()
            array.flags.writeable = False
    return array


ANY_LAYOUT = st.builds(rearranged, PLAIN, st.sampled_from(["plain", "fortran", "big-endian", "strided", "read-only"]))


def assert_same_arrays(found: Arrays, expected: Arrays) -> None:
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].dtype == array.dtype.newbyteorder("=")
        assert found[name].shape == array.shape
        np.testing.assert_array_equal(found[name], array)  # NaN equals NaN here
        assert found[name].dtype.isnative
        assert found[name].flags.writeable


@given(document=DOCUMENTS, arrays=st.dictionaries(NAMES, ANY_LAYOUT, max_size=4))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_what_is_written_is_read_back(tmp_path: Path, document: dict[str, Any], arrays: Arrays) -> None:
    path = tmp_path / "m.tilt"
    with mock.patch("os.fsync"):  # waits for the disk, hundreds of times
        container.write(path, document, arrays)
    found, found_arrays = container.read(path)
    assert same(found, document)
    assert_same_arrays(found_arrays, arrays)


def test_special_floats_keep_their_bits(tmp_path: Path) -> None:
    values = np.array([np.nan, -np.nan, np.inf, -np.inf, -0.0, 5e-324], dtype=np.float64)
    container.write(tmp_path / "m.tilt", {}, {"a": values})
    assert container.read(tmp_path / "m.tilt")[1]["a"].tobytes() == values.tobytes()


def test_equal_content_gives_equal_bytes(tmp_path: Path) -> None:
    container.write(tmp_path / "a.tilt", DOCUMENT, ARRAYS)
    mixed = {name: np.asfortranarray(array).astype(array.dtype.newbyteorder(">")) for name, array in ARRAYS.items()}
    container.write(tmp_path / "b.tilt", DOCUMENT, dict(reversed(mixed.items())))
    assert (tmp_path / "a.tilt").read_bytes() == (tmp_path / "b.tilt").read_bytes()


def test_what_was_read_can_be_written_again_to_the_same_bytes(tmp_path: Path) -> None:
    container.write(tmp_path / "a.tilt", DOCUMENT, ARRAYS)
    container.write(tmp_path / "b.tilt", *container.read(tmp_path / "a.tilt"))
    assert (tmp_path / "a.tilt").read_bytes() == (tmp_path / "b.tilt").read_bytes()


def test_members_are_in_the_documented_places_with_no_trace_of_time_or_system(tmp_path: Path) -> None:
    container.write(tmp_path / "m.tilt", DOCUMENT, ARRAYS)
    with zipfile.ZipFile(tmp_path / "m.tilt") as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["manifest.json", "document.json", "arrays/support.npy", "arrays/weights.npy"]
        assert {i.date_time for i in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {i.create_system for i in archive.infolist()} == {3}


def test_numpy_opens_the_file_as_an_npz(tmp_path: Path) -> None:
    container.write(tmp_path / "m.tilt", DOCUMENT, ARRAYS)
    with np.load(tmp_path / "m.tilt", allow_pickle=False) as npz:
        np.testing.assert_array_equal(npz["arrays/weights"], ARRAYS["weights"])


def test_arrays_in_fortran_order_are_read(tmp_path: Path) -> None:
    members = forge.honest(tmp_path / "m.tilt")
    columns = np.asfortranarray(ARRAYS["weights"])
    data = npy.header(npy.Layout("<f8", (2, 3), fortran=True)) + columns.tobytes(order="F")
    forge.assemble(tmp_path / "f.tilt", forge.with_payload(members, "weights", data))
    assert_same_arrays(container.read(tmp_path / "f.tilt")[1], ARRAYS)


def test_the_form_for_large_files_is_written_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 100)  # pretend that every member is beyond 2 GiB
    container.write(tmp_path / "m.tilt", DOCUMENT, ARRAYS)
    assert b"PK\x06\x06" in (tmp_path / "m.tilt").read_bytes()
    monkeypatch.undo()
    document, arrays = container.read(tmp_path / "m.tilt")
    assert same(document, DOCUMENT)
    assert_same_arrays(arrays, ARRAYS)


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x", "/x", "a/b", "a\\b", "a..b", ".a", "a.", "é", "a b", "a\n", "a" * 101]
)
def test_names_that_could_be_paths_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UnsupportedError, match="cannot be the name of an array"):
        container.write(tmp_path / "m.tilt", {}, {name: np.zeros(1)})
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("document", "arrays"),
    [({"a": float("nan")}, {}), ({}, {"a": np.array([None])}), ({}, {str(i): np.zeros(0) for i in range(4097)})],
)
def test_refused_content_leaves_the_old_file(tmp_path: Path, document: dict[str, Any], arrays: Arrays) -> None:
    path = tmp_path / "m.tilt"
    container.write(path, DOCUMENT, ARRAYS)
    before = path.read_bytes()
    with pytest.raises(UnsupportedError):
        container.write(path, document, arrays)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["m.tilt"]


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.tilt"
    container.write(path, DOCUMENT, ARRAYS)
    before = path.read_bytes()
    writestr = zipfile.ZipFile.writestr

    def full(self: zipfile.ZipFile, info: zipfile.ZipInfo, *args: Any, **kwargs: Any) -> None:
        if info.filename.startswith("arrays/"):
            raise OSError("No space left on device")
        writestr(self, info, *args, **kwargs)

    monkeypatch.setattr(zipfile.ZipFile, "writestr", full)
    with pytest.raises(OSError, match="No space left"):
        container.write(path, {}, ARRAYS)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["m.tilt"]


def test_what_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="too large"):
        container.write(tmp_path / "m.tilt", {}, {"a": np.zeros(10_000)}, max_bytes=80_000)
    assert os.listdir(tmp_path) == []


def test_the_limits_of_writing_and_reading_agree(tmp_path: Path) -> None:
    path = tmp_path / "m.tilt"
    container.write(path, DOCUMENT, ARRAYS)
    low, high = 0, 1 << 20
    while high - low > 1:  # the smallest limit that reads it
        middle = (low + high) // 2
        try:
            container.read(path, max_bytes=middle)
            high = middle
        except ModelFileError:
            low = middle
    container.write(path, DOCUMENT, ARRAYS, max_bytes=high)
    with pytest.raises(UnsupportedError):
        container.write(path, DOCUMENT, ARRAYS, max_bytes=low)


def test_a_missing_file_is_an_ordinary_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        container.read(tmp_path / "absent.tilt")


@pytest.mark.parametrize("share", [0.0, 1e-6, 0.01, 0.1, 0.3, 1.0])
def test_arrays_of_any_density_pass_our_own_limits_quickly(tmp_path: Path, share: float) -> None:
    rng = np.random.default_rng(0)
    weights = np.where(rng.random((50_000, 50)) < share, rng.normal(size=(50_000, 50)), 0.0)
    start = time.perf_counter()
    container.write(tmp_path / "m.tilt", DOCUMENT, {"weights": weights})
    _, arrays = container.read(tmp_path / "m.tilt")
    seconds = time.perf_counter() - start
    np.testing.assert_array_equal(arrays["weights"], weights)
    size = (tmp_path / "m.tilt").stat().st_size
    assert size < 20_100_000
    if share <= 0.1:
        assert size < 4_000_000  # sparse weights shrink
    assert seconds < 5  # about 0.1 to 0.4 on two idle cores; the margin is for slow disks and shared machines


def test_reading_takes_little_more_memory_than_the_arrays(tmp_path: Path) -> None:
    container.write(
        tmp_path / "m.tilt", {}, {"zeros": np.zeros(1_000_000), "ones": np.random.default_rng(0).random(1_000_000)}
    )
    tracemalloc.start()
    container.read(tmp_path / "m.tilt")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16_000_000 + 5_000_000  # chunks of a megabyte on the way


def test_documents_that_pack_extremely_well_are_stored(tmp_path: Path) -> None:
    document = {"zeros": [0] * 1_000_000, "same": ["word"] * 100_000}
    container.write(tmp_path / "m.tilt", document, {})
    assert container.read(tmp_path / "m.tilt")[0] == document
