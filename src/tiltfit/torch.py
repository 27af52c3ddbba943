"""Eq. 6 as a loss for PyTorch: ``TiltLoss``. Needs the extra ``torch``.

    loss = O(s)/n,     ∂loss/∂s = ω·(p − q)/n

with s the scores that a network gives (``tiltfit.objective``). A ridge on the weights is the optimiser's
(``weight_decay``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tiltfit.errors import DataError, UnsupportedError
from tiltfit.estimators.objective import Objective
from tiltfit.learners.network import Network

try:
    import torch
    from torch.autograd.function import once_differentiable
except ImportError as error:
    raise UnsupportedError("tiltfit.torch needs PyTorch: pip install 'tiltfit[torch]'.") from error


__all__ = ["Network", "TiltLoss"]


class _Loss(torch.autograd.Function):  # type: ignore[misc]
    """A value whose derivatives are known already."""

    @staticmethod
    def forward(context: Any, value: float, *pairs: Any) -> Any:
        inputs, gradients = pairs[: len(pairs) // 2], pairs[len(pairs) // 2 :]
        context.save_for_backward(*gradients)
        return inputs[0].new_tensor(value)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(context: Any, upstream: Any) -> Any:
        gradients = [upstream * gradient for gradient in context.saved_tensors]
        return (None, *gradients, *[None] * len(gradients))


class TiltLoss(torch.nn.Module):  # type: ignore[misc]
    """The loss of scores under what is known: ``loss = TiltLoss(tiltfit.objective(constraints, X, y))``.

    ``loss(scores)`` is of all rows; ``loss(scores, rows)`` of a mini-batch, ``rows`` being the numbers of its rows in X
    (of sequences: their numbers; scores then hold their tokens one after the other). Other rows take part in the
    statements with the scores that they had when they were last in a batch, and with zeros before. The gradient is the
    mean over the rows of the batch; the value is always that of all rows, by their latest scores. Under
    ``torch.no_grad()`` nothing is remembered.

    Of sequences, ``transitions`` (from × to) are a parameter of this module: give ``loss.parameters()`` to the
    optimiser, too. ``loss.objective`` has ``report``, ``projected`` and ``decode``; pass it ``loss.transitions``.
    """

    def __init__(self, objective: Objective) -> None:
        super().__init__()
        if not isinstance(objective, Objective):
            raise DataError(
                f"TiltLoss takes what tiltfit.objective(...) returns, not {type(objective).__name__}.",
                parameter="objective",
            )
        self.objective, self._running = objective, objective.running()
        n = len(objective.classes)
        self.transitions = torch.nn.Parameter(torch.zeros(n, n)) if objective.is_chains else None

    def forward(self, scores: Any, rows: Any = None) -> Any:
        """O/n with its gradient."""
        if not isinstance(scores, torch.Tensor):
            raise DataError(f"scores must be a tensor, but is {type(scores).__name__}.", parameter="scores")
        if not scores.is_floating_point():
            raise DataError(f"scores must be numbers with a fraction, but are {scores.dtype}.", parameter="scores")
        if scores.device.type == "meta":
            raise DataError("scores are on the device 'meta', where tensors have no numbers.", parameter="scores")
        known = [_as_array(scores)]
        if self.transitions is not None:
            known.append(_as_array(self.transitions))
        n = len(self.objective.lengths)
        numbers = np.arange(n) if rows is None else _as_array(rows) if isinstance(rows, torch.Tensor) else rows
        before = self._running.scores
        value, *gradients = self._running.step(numbers, *known)
        if not torch.is_grad_enabled():
            self._running.scores = before
        size = len(numbers)
        inputs = [scores] if self.transitions is None else [scores, self.transitions]
        # Transitions are about all sequences, as they were last seen.
        scaled = [
            torch.as_tensor(gradient / (size if k == 0 else n), dtype=tensor.dtype, device=tensor.device)
            for k, (gradient, tensor) in enumerate(zip(gradients, inputs, strict=True))
        ]
        return _Loss.apply(value / n, *inputs, *scaled)


def _as_array(tensor: Any) -> Any:
    """The numbers of a tensor, wherever it is and however precise."""
    found = tensor.detach()
    if found.is_floating_point():
        found = found.double() if found.device.type != "mps" else found.float()
    return found.cpu().numpy()
