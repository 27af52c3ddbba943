"""Read what is labelled and what is not: documents from JSONL, CSV, TSV, Excel, Parquet and text folders (``read``),
sequences from CoNLL columns, JSONL and Parquet (``read_sequences``), plain or compressed; in chunks where they are too
many for the memory (``stream``, ``stream_sequences``).

>>> import pathlib, tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     path = pathlib.Path(folder, "notes.csv")
...     _ = path.write_text("text,label\\nthe puck hit him,hockey\\na quiet day,\\n")
...     data = read(path)
>>> data.X, list(data.y), data.ids
(['the puck hit him', 'a quiet day'], ['hockey', None], ['1', '2'])
"""

from __future__ import annotations

from tiltfit.data.readers.chunks import ON_ERROR
from tiltfit.data.readers.contents import Contents, guess_contents
from tiltfit.data.readers.documents import FORMATS, Dataset, DocumentStream, read, stream, text_column
from tiltfit.data.readers.source import read_words
from tiltfit.data.readers.tagged import (
    SEQUENCE_FORMATS,
    SequenceDataset,
    SequenceStream,
    read_sequences,
    stream_sequences,
)

__all__ = [
    "FORMATS",
    "ON_ERROR",
    "SEQUENCE_FORMATS",
    "Contents",
    "Dataset",
    "DocumentStream",
    "SequenceDataset",
    "SequenceStream",
    "guess_contents",
    "read",
    "read_sequences",
    "read_words",
    "stream",
    "stream_sequences",
    "text_column",
]
