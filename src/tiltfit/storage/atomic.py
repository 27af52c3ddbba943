"""Write a file whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from tiltfit.errors import UnsupportedError

_SUFFIX = ".tmp"

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A new file that takes the place of ``path`` when the block ends, and vanishes if the block raises.

    Readers see the old file or the new one, never a part. The new file is on disk before it takes the name.
    A link stays a link: the file it points to is replaced. An existing file keeps its permissions.
    """
    target = Path(os.path.realpath(path))
    mode = _mode_of(target)
    # In the same folder, since a rename is atomic only within one file system; O_EXCL so that no one can prepare
    # a link under this name; 0o666 so that the user's umask decides, as it does for open(); and never more readable
    # than the file it replaces, not even for a moment.
    temporary = target.parent / f"{_prefix(target)}{secrets.token_hex(8)}{_SUFFIX}"
    flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0)
    descriptor = os.open(temporary, flags, 0o666 if mode is None else mode)
    try:
        with os.fdopen(descriptor, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(temporary, mode)
        os.replace(temporary, target)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.errno in _NO_ROOM and error.filename is None:
            error.filename = str(target)  # a full disk does not say which file it had no room for
        raise
    _sync_folder(target.parent)


def remove_leftovers(path: str | os.PathLike[str]) -> None:
    """Remove what writers of ``path`` left that were killed. Nobody may be writing it now."""
    target = Path(os.path.realpath(path))
    for temporary in target.parent.glob(f"{_prefix(target)}*{_SUFFIX}"):
        with suppress(OSError):
            temporary.unlink()


def _prefix(target: Path) -> str:
    # A digest, since the name itself may be as long as names can be.
    return f".tiltfit-{hashlib.sha256(target.name.encode('utf-8', 'surrogateescape')).hexdigest()[:8]}-"


def _mode_of(target: Path) -> int | None:
    """Permissions of the file that is there, None if there is none; refuses what must not be replaced."""
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "There is no such folder to write a file in", str(target.parent))
    try:
        status = target.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise UnsupportedError(f"{target} is {kind}, so nothing can be saved under this name. Give the name of a file.")
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "The file is write-protected", str(target))
    return stat.S_IMODE(status.st_mode)


def _sync_folder(folder: Path) -> None:
    # So that the new name also survives a power cut. Windows cannot open folders, and some file systems
    # cannot sync them; the file itself is complete either way.
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
