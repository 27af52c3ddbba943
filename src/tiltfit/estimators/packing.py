"""Long lists of strings and tables with many zeros as arrays of a model file.

Unpacking bounds its memory before it allocates, as ``storage`` does: a small file may not become a large model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import FloatArray
from tiltfit.errors import ModelFileError, UnsupportedError
from tiltfit.storage.container import MAX_BYTES

Array = npt.NDArray[Any]
Arrays = dict[str, Array]

_STRING = 64  # bytes that a string and its place in a list take besides its characters
_CHARACTER = 4  # bytes that a character may take, once one of a string is beyond the first plane


def pack_strings(name: str, strings: Sequence[str]) -> Arrays:
    """``name.text``: all strings as UTF-8, one after the other; ``name.bytes``: the length of each."""
    try:
        parts = [string.encode("utf-8") for string in strings]
    except UnicodeEncodeError as error:
        raise UnsupportedError(
            f"A model file cannot hold the attribute {str(error.object)[:40]!a}: it contains half a character (a lone "
            "surrogate). Clean the texts."
        ) from None
    text = np.frombuffer(b"".join(parts), dtype=np.uint8)
    if _memory_of_strings(len(parts), len(text)) > MAX_BYTES:
        raise UnsupportedError(f"The model has too many attributes for a file ({len(parts)}). Use min_count=.")
    return {f"{name}.text": text, f"{name}.bytes": np.array([len(part) for part in parts], dtype=np.uint32)}


def unpack_strings(name: str, arrays: Arrays) -> list[str]:
    """The inverse of ``pack_strings``."""
    text, lengths = arrays[f"{name}.text"], arrays[f"{name}.bytes"]
    sound = text.dtype == np.uint8 and lengths.dtype == np.uint32 and text.ndim == lengths.ndim == 1
    if not sound or int(lengths.sum(dtype=np.uint64)) != len(text):
        raise ModelFileError(f"The strings {name!r} do not have the lengths that they should have.")
    if _memory_of_strings(len(lengths), len(text)) > MAX_BYTES:
        raise ModelFileError(f"The strings {name!r} would take more than {MAX_BYTES} bytes of memory.")
    data, ends = text.tobytes(), np.cumsum(lengths, dtype=np.int64).tolist()
    return [data[start:end].decode("utf-8") for start, end in zip([0, *ends], ends, strict=False)]


def pack_table(name: str, table: FloatArray) -> Arrays:
    """A table (rows × labels): as it is, or without its zeros where that is smaller.

    ``name.count``: entries in each row; ``name.label``, ``name.value``: their columns and values, row by row.
    """
    table = np.ascontiguousarray(table)
    if table.nbytes > MAX_BYTES:
        raise UnsupportedError(
            f"The model's weights are too many for a file: {table.size}. Use min_count=, or a smaller hashing=."
        )
    filled = table.view(np.uint64) != 0  # not `table != 0`: −0 is to stay −0
    width = np.min_scalar_type(table.shape[1])
    count = filled.sum(axis=1)
    if len(table) * width.itemsize + int(count.sum()) * (width.itemsize + 8) >= table.nbytes:
        return {name: table}
    label = np.nonzero(filled)[1]
    return {f"{name}.count": count.astype(width), f"{name}.label": label.astype(width), f"{name}.value": table[filled]}


def unpack_table(name: str, arrays: Arrays, n_labels: int) -> FloatArray:
    """The inverse of ``pack_table``."""
    if name in arrays:
        return np.asarray(arrays[name], dtype=np.float64)
    count, label, value = (arrays[f"{name}.{part}"] for part in ("count", "label", "value"))
    flat = all(part.ndim == 1 for part in (count, label, value)) and count.dtype.kind == label.dtype.kind == "u"
    if not flat or int(count.sum(dtype=np.uint64)) != len(label) or len(label) != len(value):
        raise ModelFileError(f"The table {name!r} does not have as many entries as it should have.")
    if len(count) * n_labels * 8 > MAX_BYTES:
        raise ModelFileError(f"The table {name!r} would take more than {MAX_BYTES} bytes of memory.")
    row = np.repeat(np.arange(len(count)), count.astype(np.int64))
    place = row * n_labels + label.astype(np.int64)
    if label.max(initial=0) >= n_labels or np.any(np.diff(place) <= 0):
        raise ModelFileError(f"The table {name!r} has an entry twice, or outside.")
    table = np.zeros((len(count), n_labels))
    table.ravel()[place] = value
    return table


def _memory_of_strings(n: int, n_bytes: int) -> int:
    return n * _STRING + n_bytes * _CHARACTER
