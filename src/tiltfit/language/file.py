"""The text of a constraint file, plain or compressed."""

from __future__ import annotations

import os

from tiltfit.data.readers.packed import read_at_most, unpacked
from tiltfit.errors import ConstraintFileError, DataFileError

MAX_FILE = 1 << 26
"""Longest constraint file, in bytes: longer ones are a sign of a wrong file, or of one made to fill the memory."""


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file, unpacked, without a byte-order mark; every failure to read it is a ConstraintFileError."""
    name = os.fspath(path)
    try:
        with open(path, "rb") as raw, unpacked(name, raw) as plain:
            data = read_at_most(plain, MAX_FILE + 1)
        if len(data) > MAX_FILE:
            raise ConstraintFileError(f"{name}: the file is longer than {MAX_FILE:,} bytes. Is it a constraint file?")
        return data.decode("utf-8-sig")
    except DataFileError as error:
        raise ConstraintFileError(str(error)) from error
    except UnicodeDecodeError:
        raise ConstraintFileError(f"{name}: the file is not UTF-8 text.") from None
    except (OSError, ValueError) as error:
        if isinstance(error, ConstraintFileError):
            raise
        reason = getattr(error, "strerror", None) or str(error)
        raise ConstraintFileError(f"{name}: the file cannot be read: {reason}.") from error
