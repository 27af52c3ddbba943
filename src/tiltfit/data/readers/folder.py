"""A folder of texts: ``folder/<label>/*.txt``.

Files directly in the folder, or in a subfolder named ``unlabelled`` or ``unlabeled``, have no label.
Hidden files are passed over; other files that do not end in ``.txt`` (nor in ``.txt.gz`` or the like) are counted in
the log.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

from tiltfit.data.readers import source
from tiltfit.data.readers.packed import without_packing
from tiltfit.data.readers.record import (
    Document,
    Fields,
    Label,
    Record,
    Refusal,
    Survey,
    check_label,
    check_text,
    problem,
)
from tiltfit.errors import DataFileError

UNLABELLED = frozenset({"unlabelled", "unlabeled"})

_log = logging.getLogger(__name__)


def folder_records(survey: Survey, fields: Fields, meter: source.Meter | None = None) -> Iterator[Document | Refusal]:
    """Every text file of a folder as a record, in the order of their names, each read when its turn comes."""
    folder = survey.place
    if fields.more:
        raise DataFileError(f"{folder}: a text folder has one text per file, no fields to join.")
    if fields.columns:
        raise DataFileError(f"{folder}: a text folder has no columns ({', '.join(map(repr, fields.columns))}).")
    root = Path(folder)
    subfolders, files = _listing(root, folder)
    texts: list[tuple[Path, Label | None]] = [(path, None) for path in _texts(folder, files)]
    for subfolder in subfolders:
        deeper, files = _listing(subfolder, folder)
        if deeper:
            raise DataFileError(f"{deeper[0]}: folders inside the folder of a label are not read. Move its files up.")
        known = subfolder.name not in UNLABELLED and fields.label is not None
        label = check_label(str(subfolder), 0, subfolder.name) if known else None
        texts += [(path, label) for path in _texts(str(subfolder), files)]
        survey.labelled |= known
    if not texts:
        raise DataFileError(f"{folder}: no .txt files here. A text folder looks like {folder}/<label>/*.txt.")
    survey.fields.update({fields.label} if survey.labelled and fields.label else ())
    survey.final = True
    for path, label in texts:
        yield _record(root, path, label, meter)


def _listing(path: Path, folder: str) -> tuple[list[Path], list[Path]]:
    """(subfolders, files), sorted by name, hidden ones left out."""
    try:
        entries = sorted(p for p in path.iterdir() if not p.name.startswith("."))
    except OSError as error:
        raise DataFileError(f"{path}: cannot be read ({error.strerror or error}).") from error
    for entry in entries:
        check_text(folder, 0, "the name of a file", entry.name)
    return [p for p in entries if p.is_dir()], [p for p in entries if not p.is_dir()]


def _texts(folder: str, files: list[Path]) -> Iterator[Path]:
    # A pipe would be waited for, a device might never end; a link to nothing is an error when its turn comes.
    texts = [p for p in files if without_packing(p.name).endswith(".txt") and (p.is_file() or not p.exists())]
    if len(texts) < len(files):
        _log.warning(
            "%s: passed over %d files that do not end in .txt or are pipes or devices",
            folder,
            len(files) - len(texts),
        )
    return iter(texts)


def _record(root: Path, path: Path, label: Label | None, meter: source.Meter | None) -> Document | Refusal:
    place = str(path)
    with source.opened(place, meter) as raw:
        data = raw.read(source.MAX_LINE + 1)
    try:
        return Record(place, 0, path.relative_to(root).as_posix(), _text(place, data), label)
    except DataFileError as error:
        return Refusal(error)


def _text(place: str, data: bytes) -> str:
    if len(data) > source.MAX_LINE:
        raise problem(place, 0, f"the file is longer than {source.MAX_LINE:,} bytes. Is this one document?")
    text = "".join(
        source.decode(place, i, line, first=i == 1) for i, line in enumerate(data.splitlines(keepends=True), start=1)
    )
    return check_text(place, 0, "the file", text)
