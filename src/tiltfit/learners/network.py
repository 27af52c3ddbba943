"""A network of PyTorch as p: a module from features to scores, trained on Eq. 6 itself.

    min_w  O(s_w(X)) + ½·α‖w‖²          over the parameters w of the module; α is not for vectors (intercepts, norms)

Full batch: L-BFGS on all rows. Mini-batches: Adam, with a rate that fades to zero; in the statements of a batch, other
rows take part with the scores that they had when they were last in one, so that prices are those of all data.

PyTorch is imported when a network is trained or read, never before.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator

from tiltfit.arguments import whole
from tiltfit.arrays import FloatArray
from tiltfit.errors import DataError, ModelFileError, UnsupportedError
from tiltfit.methods.scored import checked
from tiltfit.models.learner import Learned, Loss, Matrix, Settings, Written

_ITERATIONS = 5
"""Steps of L-BFGS per round."""
_ROWS = 4096
"""Scored at a time; of a sparse matrix this many are made dense."""
_CELLS = 1 << 25
"""Of a matrix that is made dense once, and not anew whenever its rows are scored."""
_STATE = "state."


class Network(BaseEstimator):  # type: ignore[misc]
    """A ``torch.nn.Module`` and how it is trained: ``TiltClassifier(said, model=Network(module, batch_size=64))``.

    ``model=module`` alone is ``Network(module)``: full batches. The module takes a batch of features (rows ×
    dimensions, dense, in the precision of its parameters) and returns a score for each class. It is copied, with the
    weights that it has: they are where training starts. The ridge is ``alpha`` of the classifier, on matrices alone
    (``penalize_intercept=True``: on all parameters).

    Parameters
    ----------
    module : torch.nn.Module
        From features to scores, one per class, in the order of ``classes_`` (sorted).
    batch_size : int, optional
        Rows per step of Adam. None: all rows, by L-BFGS, which needs a module that gives the same scores in training
        as afterwards (no dropout, no batch normalisation).
    passes : int
        Over the data, with ``batch_size``.
    rate : float
        Of Adam at the start, with ``batch_size``.
    """

    ridge = True

    def __init__(self, module: Any, *, batch_size: int | None = None, passes: int = 50, rate: float = 0.01) -> None:
        self.module = module
        self.batch_size = batch_size
        self.passes = passes
        self.rate = rate

    @property
    def name(self) -> str:
        return type(self.module).__name__

    @property
    def n_rounds(self) -> int | None:
        return None if self.batch_size is None else int(self.passes)

    def check(self) -> None:
        """Refuse what cannot be trained."""
        import torch

        if not isinstance(self.module, torch.nn.Module):
            raise DataError(f"module={self.module!r:.80} must be a torch.nn.Module, made already.", parameter="module")
        for option in ("batch_size", "passes"):
            value = getattr(self, option)
            if not (option == "batch_size" and value is None) and (whole(value) or 0) < 1:
                raise DataError(f"{option}={value!r} must be a whole number of at least 1.", parameter=option)
        if not isinstance(self.rate, int | float) or not 0 < self.rate < float("inf"):
            raise DataError(f"rate={self.rate!r} must be a positive number.", parameter="rate")
        kinds = {(p.dtype, p.device.type) for p in self.module.parameters()}
        if not any(p.requires_grad for p in self.module.parameters()):
            raise UnsupportedError(f"model={self.name} has no parameters to train.", parameter="model")
        for dtype, device in sorted(kinds, key=str):
            if device == "meta":
                raise UnsupportedError(
                    f"model={self.name} is on the device 'meta', where parameters have no numbers. Make it on a CPU or "
                    "GPU: module.to_empty(device='cpu') and a start for its weights.",
                    parameter="model",
                )
            if dtype not in (torch.float32, torch.float64):
                raise UnsupportedError(
                    f"model={self.name} has parameters of {dtype}, too coarse for the small steps that statements ask "
                    "for. Train it as module.float(), and convert it afterwards.",
                    parameter="model",
                )

    def rounds(self, X: Matrix, loss: Loss, settings: Settings) -> Iterator[tuple[Learned, FloatArray]]:
        self.check()
        module = copy.deepcopy(self.module)
        if X.shape[0] * X.shape[1] <= _CELLS:
            X = _tensor(X, module)
        held = [p for p in module.parameters() if p.requires_grad and (p.ndim > 1 or settings.penalize_intercept)]
        trained = Trained(module, settings.alpha, tuple(held), self)
        if self.batch_size is None:
            self._refuse_unsteady(trained, X)
            return trained.by_full_batches(X, loss)
        return trained.by_batches(X, loss, settings.seed)

    def _refuse_unsteady(self, trained: Trained, X: Matrix) -> None:
        """Refuse full batches of a module whose scores in training are not those that it gives afterwards."""
        import torch

        some = X[: min(X.shape[0], 64)]
        with torch.no_grad(), _apart(0):
            afterwards = trained.forward(some, training=False)
            state = copy.deepcopy(trained.model.state_dict())
            training = trained.forward(some, training=True)
            trained.model.load_state_dict(state)
        if not torch.allclose(afterwards, training, rtol=1e-3, atol=1e-5, equal_nan=True):
            raise UnsupportedError(
                f"model={self.name} gives other scores in training than afterwards, as dropout and batch normalisation "
                "do, which full batches cannot follow. Use tiltfit.torch.Network(module, batch_size=64).",
                parameter="model",
            )


@dataclass(frozen=True, eq=False)
class Trained:
    """A module that is being trained, or was. ``held``: the parameters that ``alpha`` holds down."""

    model: Any
    alpha: float
    held: tuple[Any, ...]
    network: Network

    @property
    def penalty(self) -> float:
        return float(self._ridge().detach())

    def _ridge(self) -> Any:
        import torch

        return sum(((p.double() ** 2).sum() for p in self.held), torch.zeros((), dtype=torch.float64)) * self.alpha / 2

    def forward(self, X: Matrix, *, training: bool) -> Any:
        """The scores of a few rows, as a tensor."""
        import torch

        self.model.train(training)
        try:
            found = self.model(X if isinstance(X, torch.Tensor) else _tensor(X, self.model))
        except (RuntimeError, TypeError, ValueError, NotImplementedError) as error:
            raise DataError(
                f"model={self.network.name} failed on features of {X.shape[0]} rows × {X.shape[1]} dimensions with "
                f"{type(error).__name__}: {error}",
                parameter="model",
            ) from error
        if not isinstance(found, torch.Tensor) or found.ndim != 2 or len(found) != X.shape[0]:
            shown = tuple(found.shape) if isinstance(found, torch.Tensor) else type(found).__name__
            raise DataError(
                f"model={self.network.name} must return rows × classes scores, but returned {shown} for "
                f"{X.shape[0]} rows.",
                parameter="model",
            )
        return found

    def scores(self, X: Matrix) -> FloatArray:
        import torch

        with torch.no_grad():
            found = [self.forward(X[rows], training=False).double().cpu().numpy() for rows in _parts(X.shape[0])]
        return np.concatenate(found)

    def by_full_batches(self, X: Matrix, loss: Loss) -> Iterator[tuple[Learned, FloatArray]]:
        """A round is a few steps of L-BFGS. Rows are scored in parts, and once more to carry the gradient back."""
        import torch

        steps = torch.optim.LBFGS(
            [p for p in self.model.parameters() if p.requires_grad],
            max_iter=_ITERATIONS, tolerance_grad=0, tolerance_change=0, line_search_fn="strong_wolfe",
        )  # fmt: skip

        def closure() -> Any:
            steps.zero_grad()
            value, gradient = loss.value_and_grad(checked(self.scores(X), loss.shape, self.network.name))
            for rows in _parts(X.shape[0]):
                found = self.forward(X[rows], training=False)
                found.backward(torch.as_tensor(gradient[rows]).to(found))
            ridge = self._ridge()
            if ridge.requires_grad:
                ridge.backward()
            return value + ridge.detach()

        while True:
            steps.step(closure)
            yield self, self.scores(X)

    def by_batches(self, X: Matrix, loss: Loss, seed: int) -> Iterator[tuple[Learned, FloatArray]]:
        """A round is a pass over all rows."""
        import torch

        n, network = X.shape[0], self.network
        size = int(network.batch_size or n)
        steps = torch.optim.Adam([p for p in self.model.parameters() if p.requires_grad], lr=network.rate)
        batches = -(-n // size)
        fading = torch.optim.lr_scheduler.CosineAnnealingLR(steps, network.passes * batches)
        order, latest = np.random.default_rng(seed), self.scores(X)
        for number in range(network.passes):
            with _apart(seed + number):
                for rows in np.array_split(order.permutation(n), batches):
                    steps.zero_grad()
                    found = self.forward(X[rows], training=True)
                    latest[rows] = found.detach().double().cpu().numpy()
                    _, gradient = loss.value_and_grad(checked(latest, loss.shape, network.name))
                    found.backward(torch.as_tensor(gradient[rows] / len(rows)).to(found))
                    ridge = self._ridge() / n
                    if ridge.requires_grad:
                        ridge.backward()
                    steps.step()
                    fading.step()
            yield self, self.scores(X)

    def dump(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        state = {name: tensor.detach().cpu() for name, tensor in self.model.state_dict().items()}
        arrays = {f"{_STATE}{k}": np.ascontiguousarray(tensor.numpy()) for k, tensor in enumerate(state.values())}
        options = {name: getattr(self.network, name) for name in ("batch_size", "passes", "rate")}
        return {"module": self.network.name, "names": list(state), "options": options}, arrays


def restore(written: Written, arrays: Mapping[str, npt.NDArray[Any]], model: Any) -> tuple[Any, Trained]:
    """The inverse of ``dump``: the network as it was trained, with its weights in a copy of ``model``, a module or
    ``Network`` of the same architecture."""
    try:
        import torch
    except ImportError as error:
        raise UnsupportedError(
            "This model is a network of PyTorch, which is not installed: pip install 'tiltfit[torch]'.",
            parameter="model",
        ) from error

    kind = str(written["module"])
    if model is None:
        raise UnsupportedError(
            f"This model is a network, {kind}, of which a file holds the weights and not the code. Pass a module of "
            f"the same architecture: load(path, model={kind}(...)).",
            parameter="model",
        )
    module = model.module if isinstance(model, Network) else model
    if not isinstance(module, torch.nn.Module):
        raise DataError(f"model={module!r:.80} must be a torch.nn.Module such as {kind}.", parameter="model")
    names = [str(name) for name in written["names"]]
    state = {name: torch.tensor(arrays[f"{_STATE}{k}"]) for k, name in enumerate(names)}
    filled = copy.deepcopy(module)
    try:
        filled.load_state_dict(state, strict=True)
    except RuntimeError as error:
        raise DataError(
            f"model={type(module).__name__} is not the architecture whose weights the file holds: {error}",
            parameter="model",
        ) from error
    if not all(bool(torch.isfinite(value).all()) for value in state.values()):
        raise ModelFileError("The weights of the network are not finite.")
    network = Network(module, **dict(written["options"]))
    network.check()
    return network, Trained(filled, 0.0, (), network)


def _tensor(X: Matrix, module: Any) -> Any:
    """Features as the module takes them."""
    import torch

    like = next(module.parameters())
    return torch.as_tensor(X.toarray() if sparse.issparse(X) else X).to(device=like.device, dtype=like.dtype)


@contextmanager
def _apart(seed: int) -> Iterator[None]:
    """Random numbers of PyTorch from ``seed`` here; afterwards they go on as if nothing had been drawn."""
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(seed % 2**63)
        yield


def _parts(n: int) -> list[slice]:
    return [slice(k, min(k + _ROWS, n)) for k in range(0, n, _ROWS)]
