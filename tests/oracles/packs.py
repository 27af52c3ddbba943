"""Files as other programs pack them."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
from collections.abc import Callable
from typing import Any

import pytest


def zstd(data: bytes) -> bytes:
    module: Any = sys.modules.get("zstandard") or pytest.importorskip("zstandard", reason="needs the extra zstd")
    return bytes(module.ZstdCompressor(write_checksum=True).compress(data))


PACK: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstd,
}
