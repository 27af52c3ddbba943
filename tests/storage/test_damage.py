"""Damage a small valid file in thousands of ways: each is refused as ModelFileError, or changes nothing."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.storage import forge
from tests.storage.test_strict_json import VALUES, same

from tiltfit.errors import ModelFileError
from tiltfit.storage import container

Attempt = Callable[[bytes], bool]


@pytest.fixture(scope="module", params=["packed", "stored"])
def original(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("original") / "m.tilt"
    # Zeros are packed, the others stored, so both kinds of damage happen.
    weights = np.zeros((20, 5)) if request.param == "packed" else np.arange(6.0)
    container.write(path, forge.DOCUMENT, {"weights": weights, "flags": np.array([True, False])})
    return path.read_bytes()


@pytest.fixture
def attempt(original: bytes) -> Attempt:
    """Whether damaged bytes are still read; then it must be the original content."""
    document, arrays = container.read_from(io.BytesIO(original))

    def read(data: bytes) -> bool:
        try:
            found, found_arrays = container.read_from(io.BytesIO(data))
        except ModelFileError:
            return False
        assert same(found, document)
        assert found_arrays.keys() == arrays.keys()
        for name, array in arrays.items():
            assert (found_arrays[name].dtype, found_arrays[name].shape) == (array.dtype, array.shape)
            assert found_arrays[name].tobytes() == array.tobytes()
        return True

    return read


def test_every_truncation_is_refused(original: bytes, attempt: Attempt) -> None:
    assert attempt(original)
    assert not any(attempt(original[:length]) for length in range(len(original)))


def test_every_beginning_cut_off_is_refused(original: bytes, attempt: Attempt) -> None:
    assert not any(attempt(original[start:]) for start in range(1, len(original)))


@pytest.mark.parametrize("mask", [0x01, 0x80, 0xFF])
def test_every_byte_changed(original: bytes, attempt: Attempt, mask: int) -> None:
    harmless = 0
    for at in range(len(original)):
        data = bytearray(original)
        data[at] ^= mask
        harmless += attempt(bytes(data))
    # Times, versions and attributes in the zip's headers mean nothing to us; everything else does.
    assert harmless < len(original) / 4


def test_random_damage(original: bytes, attempt: Attempt) -> None:
    rng = random.Random(0)
    for _ in range(3000):
        data = bytearray(original)
        for _ in range(rng.randint(1, 6)):
            at = rng.randrange(len(data))
            match rng.randrange(4):
                case 0:
                    data[at] = rng.randrange(256)
                case 1:
                    data[at : at + 4] = rng.choice([bytes(4), b"\xff" * 4, b"\xff\xff\xff\x7f", rng.randbytes(4)])
                case 2:
                    del data[at : at + rng.randint(1, 20)]
                case 3:
                    data[at:at] = data[rng.randrange(len(data)) :][: rng.randint(1, 60)]
        attempt(bytes(data))


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where the values of a JSON object are."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in items for place in places(item, (*path, key)))]


def put(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    if not place:
        return new
    copy = value.copy()
    copy[place[0]] = put(value[place[0]], place[1:], new)
    return copy


ODD = VALUES | st.sampled_from([2**31, 2**63, -1, 10**30, "<f8", "|O", [2**62, 4], [-1, -6], "../x", [], {}])


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> forge.Members:
    return forge.honest(tmp_path_factory.mktemp("honest") / "m.tilt")


# From here on the checksums match, as a hostile writer would make them.


@given(data=st.data())
@settings(deadline=None, max_examples=200)
def test_any_value_in_the_manifest(members: forge.Members, data: st.DataObject) -> None:
    table = forge.manifest(members)
    changed = put(table, data.draw(st.sampled_from(places(table))), data.draw(ODD))
    file = io.BytesIO(forge.packed(members | {"manifest.json": json.dumps(changed).encode()}))
    if same(changed, table):
        container.read_from(file)
    else:
        with pytest.raises(ModelFileError):
            container.read_from(file)


@given(data=st.data())
@settings(deadline=None, max_examples=200)
def test_any_bytes_in_an_array(members: forge.Members, data: st.DataObject) -> None:
    payload = bytearray(members["arrays/weights.npy"])
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(payload)))
        payload[at : at + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=8))
    file = io.BytesIO(forge.packed(forge.with_payload(members, "weights", bytes(payload))))
    try:
        _, arrays = container.read_from(file)
    except ModelFileError:
        return
    assert (arrays["weights"].dtype, arrays["weights"].shape) == (np.float64, (2, 3))


@given(data=st.binary(max_size=200))
@settings(deadline=None)
def test_any_bytes_as_a_file(data: bytes) -> None:
    with pytest.raises(ModelFileError):
        container.read_from(io.BytesIO(data))
