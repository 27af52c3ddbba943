"""Parquet, through pyarrow (the extra ``parquet``): each row as an object with the fields that were asked for, so the
rules for JSONL hold here. Rows are counted from 1.

A file is read a few rows at a time. What is compressed as a whole or comes through a pipe is read into memory: the
layout of a Parquet file stands at its end.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from tiltfit.data.readers.packed import MOST_TIMES, is_bomb
from tiltfit.data.readers.record import Fields, Refusal, Row, Survey, attempt, missing_field
from tiltfit.data.readers.source import in_place, suffix_of
from tiltfit.errors import DataFileError

T = TypeVar("T")

PARQUET_SUFFIXES = (".parquet", ".pq")

_MAGIC = b"PAR1"
_ROWS = 1024  # at a time
_FEW = 32  # at a time, where _ROWS of the longest texts could take more than _MEMORY
_MEMORY = 1 << 30  # bytes


def is_parquet(name: str, raw: io.BufferedReader) -> bool:
    """Return whether a source is Parquet, by its suffix or, without one, by how it begins."""
    suffix = suffix_of(name)
    return suffix in PARQUET_SUFFIXES or (not suffix and raw.peek(4).startswith(_MAGIC))


def parquet_records(
    survey: Survey,
    raw: io.BufferedReader,
    fields: Fields,
    make: Callable[[str, int, dict[str, Any], Fields], T],
    role: str,
) -> Iterator[T | Refusal]:
    """``make(place, number, object, fields)`` of every row. ``role``: the parameter that names ``fields.text``."""
    for number, item in _objects(survey, raw, fields, role):
        yield attempt(partial(make, survey.place, number, item, fields))


def parquet_kinds(place: str, raw: io.BufferedReader) -> dict[str, str]:
    """The columns of a file, each "text", "list" or "other"."""
    with _opened(place, raw) as (file, _):
        return {field.name: _kind(field.type) for field in file.schema_arrow}


def _kind(kind: Any) -> str:
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_string(kind) or types.is_large_string(kind):
        return "text"
    return "list" if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind) else "other"


def _objects(survey: Survey, raw: io.BufferedReader, fields: Fields, role: str) -> Iterator[tuple[Row, dict[str, Any]]]:
    with _opened(survey.place, raw) as (file, size):
        schema = file.schema_arrow
        survey.fields.update(schema.names)
        survey.labelled, survey.final = fields.label in schema.names, True
        for name in fields.texts:
            if name not in schema.names:
                raise missing_field(survey.place, 0, role, name, schema.names)
        asked = [name for name in schema.names if name in fields.asked]
        wanted = list(schema.names) if fields.rows else asked
        _check_columns(survey.place, schema, wanted, asked)
        number = done = 0
        for batch in file.iter_batches(_rows_at_a_time(file), columns=wanted, use_threads=False):
            done += sum(map(_bytes, batch.columns))
            _refuse_bomb(survey.place, size, done)
            columns = [[_plain(value) for value in column.to_pylist()] for column in batch.columns]
            for values in zip(*columns, strict=True):
                number += 1
                yield Row(number), dict(zip(wanted, values, strict=True))


def _rows_at_a_time(file: Any) -> int:
    """No text is longer than the part of a column that it is in."""
    groups = (file.metadata.row_group(k) for k in range(file.metadata.num_row_groups))
    longest = max((g.column(j).total_uncompressed_size for g in groups for j in range(g.num_columns)), default=0)
    return int(max(_FEW, min(_ROWS, _MEMORY // max(longest, 1))))


def _bytes(column: Any) -> int:
    """Of the values, each as long as it is: a dictionary holds a text once, however often it occurs."""
    from pyarrow import compute, types

    kind = column.type
    if _kind(kind) == "list":
        return _bytes(column.flatten())
    if not types.is_dictionary(kind) or _kind(kind) != "text":
        return int(column.nbytes)
    lengths = compute.binary_length(column.dictionary).cast("int64")
    return int(compute.sum(lengths.take(column.indices)).as_py() or 0)


def _refuse_bomb(place: str, size: int, done: int) -> None:
    if is_bomb(size, done):
        raise DataFileError(
            f"{place}: {size:,} bytes of Parquet hold {done:,} bytes of values and more, more than {MOST_TIMES} times "
            "as many, which hardly any text is. If you trust the file, write its rows as JSONL."
        )


def _plain(value: Any) -> Any:
    """NaN is how some writers say that a value is missing."""
    if type(value) is list:
        return [_plain(v) for v in value]
    return None if value != value else value


def _check_columns(place: str, schema: Any, names: Collection[str], asked: Collection[str]) -> None:
    """Refuse two columns of one name, and columns that were asked for of which JSON has no kind, before anything is
    read of them."""
    for name in names:
        if schema.names.count(name) > 1:
            raise DataFileError(f"{place}: there are two columns named {name!r}.")
        if name not in asked:
            continue
        kind = schema.field(name).type
        inner = kind.value_type if _kind(kind) == "list" else kind
        if not _is_simple(inner):
            raise DataFileError(
                f"{place}: the column {name!r} holds {kind}. Text, numbers, true and false are read, and lists of "
                "them: cast it before writing the file."
            )


def _is_simple(kind: Any) -> bool:
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_null)
    return _kind(kind) == "text" or any(test(kind) for test in tests)


@contextmanager
def _opened(place: str, raw: io.BufferedReader) -> Iterator[tuple[Any, int]]:
    """The file, and its size in bytes."""
    if not raw.peek(4).startswith(_MAGIC):
        raise DataFileError(
            f"{place}: it does not begin like Parquet (with PAR1). Is it empty, damaged or of another format? Say "
            "format= (jsonl, csv, …)."
        )
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise DataFileError(
            f"{place}: it is Parquet, which needs the extra parquet (pip install 'tiltfit[parquet]'). Install it, or "
            "write JSONL or CSV."
        ) from None
    try:
        source = in_place(place, raw)
        size = source.seek(0, io.SEEK_END)
        source.seek(0)
        with pyarrow.parquet.ParquetFile(source) as file:
            yield file, size
    except (pyarrow.ArrowException, OSError) as error:
        why = (str(error).splitlines() or [""])[0].rstrip(".")
        raise DataFileError(f"{place}: the Parquet data are damaged or cut off ({why}).") from error
