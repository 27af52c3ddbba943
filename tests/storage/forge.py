"""Make model files that the library would never write: take an honest one apart, change it, put it together again."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from tiltfit.storage import container

Members = dict[str, bytes]

DOCUMENT = {"classes": ["hockey", "été"], "tol": 1e-5, "nested": {"empty": [], "none": None, "yes": True}}
ARRAYS = {"weights": np.arange(6.0).reshape(2, 3), "support": np.array([3, 1], dtype=np.int32)}


def honest(path: Path) -> Members:
    """The members of a valid file."""
    with mock.patch("os.fsync"):  # waits for the disk, in nearly every test
        container.write(path, DOCUMENT, ARRAYS)
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def manifest(members: Mapping[str, bytes]) -> dict[str, Any]:
    value = json.loads(members["manifest.json"])
    assert isinstance(value, dict)
    return value


def with_manifest(members: Members, **changes: Any) -> Members:
    """Change top-level keys of the manifest; a value of ``...`` removes the key."""
    value = {k: v for k, v in (manifest(members) | changes).items() if v is not ...}
    return members | {"manifest.json": json.dumps(value).encode()}


def with_array(members: Members, name: str, /, **changes: Any) -> Members:
    """Change what the manifest says of one array."""
    arrays = [a | changes if a["name"] == name else a for a in manifest(members)["arrays"]]
    return with_manifest(members, arrays=arrays)


def with_payload(members: Members, name: str, data: bytes, **changes: Any) -> Members:
    """Replace an array's bytes, with a manifest that agrees."""
    sealed = with_array(members, name, bytes=len(data), sha256=hashlib.sha256(data).hexdigest(), **changes)
    return sealed | {f"arrays/{name}.npy": data}


def with_document(members: Members, data: bytes) -> Members:
    """Replace the document's bytes, with a manifest that agrees."""
    sealed = with_manifest(members, document={"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()})
    return sealed | {"document.json": data}


def assemble(
    path: Path,
    members: Mapping[str, bytes],
    *,
    method: int = zipfile.ZIP_DEFLATED,
    level: int = 9,
    tweak: Callable[[zipfile.ZipInfo], None] = lambda info: None,
) -> Path:
    """A zip of ``members`` at ``path``; ``tweak`` may change a record before its member is written."""
    path.write_bytes(packed(members, method=method, level=level, tweak=tweak))
    return path


def packed(
    members: Mapping[str, bytes],
    *,
    method: int = zipfile.ZIP_DEFLATED,
    level: int = 9,
    tweak: Callable[[zipfile.ZipInfo], None] = lambda info: None,
) -> bytes:
    """The bytes of such a zip."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name)
            tweak(info)
            archive.writestr(info, data, compress_type=method, compresslevel=level)
    return buffer.getvalue()


def npy(text: str, data: bytes = b"", version: tuple[int, int] = (1, 0)) -> bytes:
    """An ``.npy`` member with any header at all."""
    body = text.encode("latin-1") + b"\n"
    width = 2 if version == (1, 0) else 4
    return b"\x93NUMPY" + bytes(version) + len(body).to_bytes(width, "little") + body + data


def patch(path: Path, old: bytes, new: bytes, count: int = -1) -> None:
    """Replace bytes of a file in place."""
    data = path.read_bytes()
    assert old in data
    assert len(old) == len(new)
    path.write_bytes(data.replace(old, new, count))
