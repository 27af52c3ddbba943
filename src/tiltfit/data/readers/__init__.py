"""Read labelled and unlabelled documents from JSONL, CSV, TSV and text folders, plain or gzipped.

>>> import pathlib, tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     path = pathlib.Path(folder, "notes.csv")
...     _ = path.write_text("text,label\\nthe puck hit him,hockey\\na quiet day,\\n")
...     data = read(path)
>>> data.X, list(data.y), data.ids
(['the puck hit him', 'a quiet day'], ['hockey', None], ['notes.csv:2', 'notes.csv:3'])
"""

from __future__ import annotations

from tiltfit.data.readers.dataset import Dataset
from tiltfit.data.readers.reader import FORMATS, read

__all__ = ["FORMATS", "Dataset", "read"]
