"""The table of contents of a ``.tilt`` file: format, version, and size and digest of every other member.

``format`` and ``version`` keep their place and meaning in all versions: any reader can tell what it cannot read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from tiltfit.errors import ModelFileError
from tiltfit.storage import npy
from tiltfit.storage.strict_json import JSON

FORMAT: Final = "tiltfit"
VERSION: Final = 1
READABLE: Final = (1,)
MAX_ARRAYS: Final = 4096

MANIFEST: Final = "manifest.json"
DOCUMENT: Final = "document.json"

_NAME = re.compile(r"[A-Za-z0-9_]+(?:[.-][A-Za-z0-9_]+)*")
MAX_NAME: Final = 100
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Digest:
    """Size in bytes and SHA-256 of a member, uncompressed."""

    size: int
    sha256: str


@dataclass(frozen=True)
class ArrayEntry:
    """One array: its name, what it is, and the digest of its ``.npy`` member."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    digest: Digest

    @property
    def member(self) -> str:
        """Its path in the zip."""
        return f"arrays/{self.name}.npy"


@dataclass(frozen=True)
class Manifest:
    """Everything a file contains besides the manifest itself."""

    document: Digest
    arrays: tuple[ArrayEntry, ...]

    @property
    def members(self) -> dict[str, Digest]:
        """Every member but the manifest, by name."""
        return {DOCUMENT: self.document} | {entry.member: entry.digest for entry in self.arrays}


def is_array_name(name: object) -> bool:
    """Return whether an array may have this name: letters, digits and underscores, with single dots or dashes between.

    >>> is_array_name("model.weights"), is_array_name("../weights")
    (True, False)
    """
    return isinstance(name, str) and len(name) <= MAX_NAME and _NAME.fullmatch(name) is not None


def to_json(manifest: Manifest) -> dict[str, JSON]:
    """The manifest as it stands in the file."""
    arrays = [_entry_to_json(entry) for entry in manifest.arrays]
    return {"format": FORMAT, "version": VERSION, "document": _digest_to_json(manifest.document), "arrays": arrays}


def _entry_to_json(entry: ArrayEntry) -> dict[str, JSON]:
    return {"name": entry.name, "dtype": entry.dtype, "shape": entry.shape, **_digest_to_json(entry.digest)}


def _digest_to_json(digest: Digest) -> dict[str, JSON]:
    return {"bytes": digest.size, "sha256": digest.sha256}


def from_json(value: dict[str, Any]) -> Manifest:
    """Check everything that can be checked without looking at another member. Raises ModelFileError."""
    _check_version(value)
    _require_keys(value, {"format", "version", "document", "arrays"}, "the manifest")
    _require_keys(value["document"], {"bytes", "sha256"}, "the manifest's document")
    if not isinstance(value["arrays"], list) or len(value["arrays"]) > MAX_ARRAYS:
        raise ModelFileError(f"the manifest's arrays must be a list of at most {MAX_ARRAYS}")
    arrays = tuple(_entry(item) for item in value["arrays"])
    if len({a.name for a in arrays}) < len(arrays):
        raise ModelFileError("the manifest lists an array twice")
    return Manifest(_digest(value["document"], "the document"), arrays)


def _check_version(value: dict[str, Any]) -> None:
    if value.get("format") != FORMAT:
        raise ModelFileError(f"its manifest does not say format {FORMAT!r}, so something else wrote it")
    version = value.get("version")
    if not _is_int(version):
        raise ModelFileError("its manifest has no version number")
    if version not in READABLE:
        known = ", ".join(str(v) for v in READABLE)
        raise ModelFileError(
            f"it is a file of version {str(version)[:20]}, and this tiltfit reads version {known}. "
            "Update tiltfit, or save the model with the version you have"
        )


def _entry(item: Any) -> ArrayEntry:
    _require_keys(item, {"name", "dtype", "shape", "bytes", "sha256"}, "an array of the manifest")
    if not is_array_name(item["name"]):
        raise ModelFileError(f"the manifest lists an array with the forbidden name {str(item['name'])[:MAX_NAME]!a}")
    what = f"array {item['name']!r}"
    if not isinstance(item["shape"], list) or not all(_is_int(d) for d in item["shape"]):
        raise ModelFileError(f"{what} cannot be right: its shape is not a list of integers")
    if not isinstance(item["dtype"], str):
        raise ModelFileError(f"{what} cannot be right: its dtype is not a string")
    entry = ArrayEntry(item["name"], item["dtype"], tuple(item["shape"]), _digest(item, what))
    try:
        npy.check_layout(npy.Layout(entry.dtype, entry.shape))
    except ModelFileError as error:
        raise ModelFileError(f"{what} cannot be right: {error}") from None
    return entry


def _digest(item: dict[str, Any], what: str) -> Digest:
    if not _is_int(item["bytes"]) or item["bytes"] < 0:
        raise ModelFileError(f"the manifest gives {what} no size")
    if not isinstance(item["sha256"], str) or not _SHA256.fullmatch(item["sha256"]):
        raise ModelFileError(f"the manifest gives {what} no SHA-256")
    return Digest(item["bytes"], item["sha256"])


def _require_keys(value: Any, keys: set[str], what: str) -> None:
    if not isinstance(value, dict) or value.keys() != keys:
        raise ModelFileError(f"{what} must have exactly the keys {', '.join(sorted(keys))}")


def _is_int(value: object) -> bool:
    return type(value) is int
