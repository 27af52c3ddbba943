"""Public research collections, if they are on this machine.

They are not part of tiltfit. The folder is named by ``TILTFIT_DATA``; without it, ``../shared/data`` beside the
repository is tried. Benchmarks and tests that need a collection say so and skip it where it is absent.
"""

from __future__ import annotations

import gzip
import html
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tiltfit.errors import DataFileError

_BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"
_TAG = re.compile(r"<script.*?</script>|<style.*?</style>|<!--.*?-->|<[^>]*>", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Corpus:
    """Texts with their labels and, where the collection defines one, its split (``train``, ``test``, …)."""

    name: str
    texts: list[str]
    labels: npt.NDArray[np.str_]
    split: npt.NDArray[np.str_] | None


def data_root() -> Path | None:
    """The folder of research collections, or None."""
    named = os.environ.get("TILTFIT_DATA")
    folder = Path(named) if named else _BESIDE
    return folder if folder.is_dir() else None


def collection(name: str) -> Path:
    """The folder of a collection that must be there."""
    root = data_root()
    if root is None or not (root / name).is_dir():
        raise _absent(name)
    return root / name


def _absent(name: str) -> DataFileError:
    return DataFileError(f"The collection {name!r} is not here. Set TILTFIT_DATA to the folder that holds {name}/.")


def available(name: str) -> bool:
    """Return whether the collection ``name`` is on this machine."""
    root = data_root()
    return root is not None and (root / name / f"{name}.jsonl.gz").is_file()


def load_corpus(name: str) -> Corpus:
    """Read a collection: ``20newsgroups`` (headers stripped), ``movie``, ``webkb`` (header and tags stripped),
    ``sector``, ``youtube``.
    """
    if not available(name):
        raise _absent(name)
    with gzip.open(collection(name) / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    clean = {"20newsgroups": strip_header, "webkb": strip_page}.get(name, str)
    split = np.array([row["split"] for row in rows]) if "split" in rows[0] else None
    return Corpus(name, [clean(row["text"]) for row in rows], np.array([str(row["label"]) for row in rows]), split)


def strip_header(text: str) -> str:
    """Everything after the first blank line: a message without its header."""
    _, _, body = text.partition("\n\n")
    return body


def strip_page(text: str) -> str:
    """The words of a web page, without HTTP header, tags, scripts and entities."""
    return html.unescape(_TAG.sub(" ", strip_header(text)))
