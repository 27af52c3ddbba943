"""The inner loops that kernels call: those in LLVM's terms or their plain twins, as ``choice`` decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tiltfit.kernels.choice import MODE

if TYPE_CHECKING or MODE == "plain":
    from tiltfit.kernels.plain import blocks, sparse, tiles
else:
    from tiltfit.kernels.llvm import blocks, sparse, tiles

__all__ = ["blocks", "sparse", "tiles"]
