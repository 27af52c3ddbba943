"""The inner loops that kernels call: those in LLVM's terms or their plain twins, as ``choice`` decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tiltfit.kernels.choice import MODE

if TYPE_CHECKING or MODE == "plain":
    from tiltfit.kernels.plain.blocks import (
        EDGE_LANES,
        EDGE_ROWS,
        backward_block,
        forward_block,
        load_step,
        multiply_step,
        outer_block,
        scale_step,
        scatter_step,
    )
    from tiltfit.kernels.plain.sparse import ask_for, sparse_tile
    from tiltfit.kernels.plain.tiles import (
        backward_tile,
        factors_tile,
        forward_tile,
        greatest_tile,
        outer_tile,
        product_tile,
        scatter_tile,
        step_tile,
    )
else:
    from tiltfit.kernels.llvm.blocks import (
        EDGE_LANES,
        EDGE_ROWS,
        backward_block,
        forward_block,
        load_step,
        multiply_step,
        outer_block,
        scale_step,
        scatter_step,
    )
    from tiltfit.kernels.llvm.sparse import ask_for, sparse_tile
    from tiltfit.kernels.llvm.tiles import (
        backward_tile,
        factors_tile,
        forward_tile,
        greatest_tile,
        outer_tile,
        product_tile,
        scatter_tile,
        step_tile,
    )

__all__ = [
    "EDGE_LANES",
    "EDGE_ROWS",
    "ask_for",
    "backward_block",
    "backward_tile",
    "factors_tile",
    "forward_block",
    "forward_tile",
    "greatest_tile",
    "load_step",
    "multiply_step",
    "outer_block",
    "outer_tile",
    "product_tile",
    "scale_step",
    "scatter_step",
    "scatter_tile",
    "sparse_tile",
    "step_tile",
]
