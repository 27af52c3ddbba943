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

try:
    import torch
except ImportError as error:
    raise UnsupportedError("tiltfit.torch needs PyTorch: pip install 'tiltfit[torch]'.") from error


class _Loss(torch.autograd.Function):  # type: ignore[misc]
    """A value whose derivatives are known already."""

    @staticmethod
    def forward(context: Any, value: float, *pairs: Any) -> Any:
        inputs, gradients = pairs[: len(pairs) // 2], pairs[len(pairs) // 2 :]
        context.save_for_backward(*gradients)
        return inputs[0].new_tensor(value)

    @staticmethod
    def backward(context: Any, upstream: Any) -> Any:
        gradients = [upstream * gradient for gradient in context.saved_tensors]
        return (None, *gradients, *[None] * len(gradients))


class TiltLoss(torch.nn.Module):  # type: ignore[misc]
    """The loss of scores under what is known: ``loss = TiltLoss(tiltfit.objective(constraints, X, y))``.

    ``loss(scores)`` is of all rows; ``loss(scores, rows)`` of a mini-batch, ``rows`` being the numbers of its rows in X
    (of sequences: their numbers; scores then hold their tokens one after the other). Other rows take part in the
    statements with the scores that they had when they were last in a batch. The gradient is the mean over the rows of
    the batch; the value is always that of all rows, by their latest scores.

    Of sequences, ``transitions`` (from × to) are a parameter of this module: give ``loss.parameters()`` to the
    optimiser, too. ``loss.objective`` has ``report``, ``projected`` and ``decode``.
    """

    def __init__(self, objective: Objective) -> None:
        super().__init__()
        if not isinstance(objective, Objective):
            raise DataError(
                f"TiltLoss takes what tiltfit.objective(...) returns, not {type(objective).__name__}.",
                parameter="objective",
            )
        self.objective = objective
        n = len(objective.classes)
        self.transitions = torch.nn.Parameter(torch.zeros(n, n)) if objective.is_chains else None

    def forward(self, scores: Any, rows: Any = None) -> Any:
        """O/n with its gradient."""
        if not isinstance(scores, torch.Tensor):
            raise DataError(f"scores must be a tensor, but is {type(scores).__name__}.", parameter="scores")
        known = [_as_array(scores)]
        if self.transitions is not None:
            known.append(_as_array(self.transitions))
        n = len(self.objective.lengths)
        if rows is None:
            value, *gradients = self.objective.value_and_grad(*known)
            size = n
        else:
            numbers = _as_array(rows) if isinstance(rows, torch.Tensor) else np.asarray(rows)
            value, *gradients = self.objective.running.step(numbers, *known)
            size = max(1, len(numbers))
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
