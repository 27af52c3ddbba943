"""One array as NumPy's ``.npy``: a short text header, then the numbers.

Only plain numbers exist here: bool, integers of 8 to 64 bits, floats of 32 and 64 bits. An object array would
need pickle, and is refused. The header is written in one fixed form (C order, little-endian), whatever the array's
layout and NumPy's version, so that equal arrays give equal bytes; and it is *matched*, not evaluated.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tiltfit.errors import ModelFileError, UnsupportedError

Array = npt.NDArray[Any]

DTYPES: Final = ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8")
MAX_NDIM: Final = 32

_MAGIC = b"\x93NUMPY\x01\x00"
PREAMBLE: Final = len(_MAGIC) + 2  # then two bytes: the length of the header
MAX_HEADER: Final = 4096
_ALIGNMENT = 64

_HEADER = re.compile(
    rb"\{'descr': '(?P<descr>[<|>=a-zA-Z0-9]{1,20})', 'fortran_order': (?P<fortran>True|False), "
    rb"'shape': \((?P<shape>(?:[0-9]{1,19}, ?)*(?:[0-9]{1,19})?)\), \} *\n"
)


@dataclass(frozen=True)
class Layout:
    """The content of a header: dtype as in ``DTYPES``, shape, and whether columns come first."""

    dtype: str
    shape: tuple[int, ...]
    fortran: bool = False

    @property
    def nbytes(self) -> int:
        """Bytes of the numbers alone, in exact arithmetic."""
        return math.prod(self.shape) * int(self.dtype[2:])


def canonical(name: str, array: object) -> Array:
    """The same numbers in C order, little-endian; a copy only where needed."""
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray):
        raise UnsupportedError(
            f"A model file cannot hold array {name!r}: it is a {type(array).__name__}. Use a plain numpy.ndarray."
        )
    # The kind first: some dtypes (variable-length strings) have no byte order to ask for.
    if array.dtype.kind not in "biuf" or array.dtype.newbyteorder("<").str not in DTYPES:
        raise UnsupportedError(
            f"A model file cannot hold array {name!r}: its dtype is {array.dtype}. Use bool, int8 to int64, "
            "uint8 to uint64, float32 or float64; lists of strings belong in the document."
        )
    return np.asarray(array, dtype=np.dtype(array.dtype.newbyteorder("<").str), order="C")


def as_bytes(array: Array) -> memoryview:
    """The bytes of a C-ordered array, not copied; of an empty one too, which ``memoryview.cast`` refuses."""
    return array.reshape(-1).view(np.uint8).data


def header(layout: Layout) -> bytes:
    """Magic, length, and the header padded so that the numbers start at a multiple of 64 bytes.

    >>> header(Layout("<f8", (2, 3)))[10:69]
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }"
    """
    text = f"{{'descr': '{layout.dtype}', 'fortran_order': {layout.fortran}, 'shape': {layout.shape!r}, }}"
    padding = -(PREAMBLE + len(text) + 1) % _ALIGNMENT
    body = text.encode("ascii") + b" " * padding + b"\n"
    return _MAGIC + len(body).to_bytes(2, "little") + body


def header_length(preamble: bytes) -> int:
    """Length of the text that follows the first ``PREAMBLE`` bytes of a member."""
    if len(preamble) != PREAMBLE or not preamble.startswith(_MAGIC):
        raise ModelFileError("it does not start as an .npy array of version 1.0")
    length = int.from_bytes(preamble[-2:], "little")
    if length > MAX_HEADER:
        raise ModelFileError(f"its header is {length} bytes long; at most {MAX_HEADER} are allowed")
    return length


def parse_header(text: bytes) -> Layout:
    """Parse the header; ModelFileError unless it has NumPy's form and describes plain numbers."""
    match = _HEADER.fullmatch(text)
    if match is None:
        raise ModelFileError("its .npy header is not of the form that NumPy writes")
    shape = tuple(int(d) for d in match["shape"].decode("ascii").split(",") if d.strip())
    layout = Layout(match["descr"].decode("ascii"), shape, match["fortran"] == b"True")
    check_layout(layout)
    return layout


def check_layout(layout: Layout) -> None:
    """ModelFileError unless NumPy can have an array like this, before anything is allocated."""
    if layout.dtype not in DTYPES:
        raise ModelFileError(f"its dtype {layout.dtype[:20]!a} is not one of {', '.join(DTYPES)}")
    if len(layout.shape) > MAX_NDIM:
        raise ModelFileError(f"it has {len(layout.shape)} dimensions; at most {MAX_NDIM} are allowed")
    # NumPy multiplies the lengths that are not zero in a signed 64-bit number, so (0, 2**62, 2**62) overflows
    # although it has no elements.
    if any(d < 0 for d in layout.shape) or math.prod(max(d, 1) for d in layout.shape) * 8 >= 2**63:
        raise ModelFileError("its shape is negative or absurdly large")


def finish(flat: Array, layout: Layout) -> Array:
    """The filled array in its shape and in the machine's byte order."""
    if flat.dtype == np.bool_ and flat.view(np.uint8).max(initial=0) > 1:
        raise ModelFileError("it is of booleans, but holds bytes other than 0 and 1")
    native = flat.astype(flat.dtype.newbyteorder("="), copy=False)
    return native.reshape(layout.shape, order="F" if layout.fortran else "C")
