from __future__ import annotations

import io

import numpy as np
import pytest

from tiltfit.errors import ModelFileError, UnsupportedError
from tiltfit.storage import npy
from tiltfit.storage.npy import Layout


@pytest.mark.parametrize("shape", [(), (0,), (7,), (2, 3), (0, 5, 2), (1,) * 32])
@pytest.mark.parametrize("dtype", npy.DTYPES)
def test_numpy_reads_our_headers_and_we_read_numpys(dtype: str, shape: tuple[int, ...]) -> None:
    ours = npy.header(Layout(dtype, shape))
    assert len(ours) % 64 == 0
    array = np.zeros(shape, dtype)
    loaded = np.load(io.BytesIO(ours + array.tobytes()), allow_pickle=False)
    assert (loaded.dtype, loaded.shape) == (array.dtype, shape)
    buffer = io.BytesIO()
    np.save(buffer, array)
    theirs = buffer.getvalue()
    length = npy.header_length(theirs[: npy.PREAMBLE])
    assert npy.parse_header(theirs[npy.PREAMBLE : npy.PREAMBLE + length]) == Layout(dtype, shape)


def test_fortran_order_is_read_from_numpys_header() -> None:
    buffer = io.BytesIO()
    np.save(buffer, np.asfortranarray(np.zeros((2, 3))))
    assert npy.parse_header(buffer.getvalue()[npy.PREAMBLE : -48]).fortran


@pytest.mark.parametrize(
    "array",
    [
        np.array([1, "x"], dtype=object),
        np.array(["text"]),
        np.array([b"text"]),
        np.array([1j]),
        np.array([1.0], dtype=np.float16),
        np.array([1], dtype="M8[s]"),
        np.zeros(2, dtype=[("a", "f8"), ("b", "i4")]),
        np.zeros(2, dtype="V8"),
        np.array(["text"], dtype=np.dtypes.StringDType()),
    ],
    ids=lambda a: str(a.dtype),
)
def test_other_dtypes_are_refused_by_name(array: np.ndarray) -> None:
    with pytest.raises(UnsupportedError, match=r"array 'a': its dtype is .* Use bool"):
        npy.canonical("a", array)


@pytest.mark.parametrize("value", [[1.0, 2.0], 3.0, np.float64(3), None, np.ma.array([1.0], mask=[True])])
def test_what_is_not_a_plain_array_is_refused(value: object) -> None:
    with pytest.raises(UnsupportedError, match=r"Use a plain numpy\.ndarray"):
        npy.canonical("a", value)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{}\n",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}\n",  # not as NumPy writes it
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }\n",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (2L,), }\n",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (1.5,), }\n",
        b"{'descr': '<f8', 'fortran_order': 1, 'shape': (2,), }\n",
        b"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2,), }\n",
        b"{'descr': __import__('os').abort(), 'fortran_order': False, 'shape': (2,), }\n",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (2,), } + {}\n",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999999,), }\n",
        b"(" * 4000 + b"\n",
        b"-" * 4000 + b"1\n",
    ],
)
def test_headers_of_another_form_are_refused_without_being_evaluated(text: bytes) -> None:
    with pytest.raises(ModelFileError, match="not of the form that NumPy writes"):
        npy.parse_header(text)


@pytest.mark.parametrize("descr", ["|O", "O", "<U5", "|S3", "<c16", ">f8", "<f2", "<f16", "<M8", "|V8", "f8", "<i3"])
def test_headers_with_other_dtypes_are_refused(descr: str) -> None:
    with pytest.raises(ModelFileError, match="is not one of"):
        npy.parse_header(f"{{'descr': '{descr}', 'fortran_order': False, 'shape': (2,), }}\n".encode())


@pytest.mark.parametrize("shape", [(-1,), (2**62,), (2**31, 2**31), (0, 2**62), (0, 2**40, 2**40), (10**4000,)])
def test_absurd_shapes_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ModelFileError, match="negative or absurdly large"):
        npy.check_layout(Layout("<f8", shape))


def test_too_many_dimensions_are_refused() -> None:
    with pytest.raises(ModelFileError, match="33 dimensions"):
        npy.check_layout(Layout("<f8", (1,) * 33))


@pytest.mark.parametrize(
    "preamble", [b"", b"\x93NUMPY\x01\x00\x10", b"\x93NUMPX\x01\x00\x10\x00", b"\x93NUMPY\x02\x00\x10\x00"]
)
def test_other_beginnings_are_refused(preamble: bytes) -> None:
    with pytest.raises(ModelFileError, match="does not start as"):
        npy.header_length(preamble)


def test_long_headers_are_refused() -> None:
    with pytest.raises(ModelFileError, match="5000 bytes long"):
        npy.header_length(b"\x93NUMPY\x01\x00" + (5000).to_bytes(2, "little"))
