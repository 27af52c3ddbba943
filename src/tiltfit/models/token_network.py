"""A network of PyTorch as the scores of the tokens of a chain.

    s(x, y; λ) = Σ_t n_θ(v)[t, y_t] + Σ_t Σ_a x_ta·W[a, y_t] + Σ_t T[kind_t, y_{t−1}, y_t],        λ = (θ, W, T)

    pull(λ, node, edge) = (∂n_θ/∂θ)ᵀ·node, then the adjoint of the linear part

n_θ maps the vectors v of one sequence (tokens × dimensions) to scores (tokens × classes), and may look at the whole
sequence. As it is a model like any other, everything that trains, projects and reports others does so with it. The
ridge is that of Eq. 6 on all of λ. Numbers have 64 bits, and networks are on the CPU, so that fits do not vary.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.errors import DataError, UnsupportedError
from tiltfit.execution.workers import Workers
from tiltfit.features.beside import Vectors
from tiltfit.features.chains import ChainFeatures
from tiltfit.inference.chain import Chains
from tiltfit.inference.potentials import Potentials
from tiltfit.models.model import Model

_ROWS = 1 << 12  # of tokens, or of distinct words, that go through the network at a time
_EACH_ALONE = frozenset({
    "Sequential", "Linear", "Identity", "ReLU", "LeakyReLU", "ELU", "GELU", "SiLU", "Tanh", "Sigmoid", "Softplus",
    "LayerNorm",
})  # fmt: skip
"""Modules of PyTorch that look at every token by itself."""


def is_network(model: object) -> bool:
    """Return whether it is a module of PyTorch, without importing that."""
    kinds = type(model).__mro__
    return any(kind.__module__.startswith("torch.nn.") and kind.__name__ == "Module" for kind in kinds)


@dataclass(frozen=True, eq=False)
class TokenNetwork:
    """``module``: a copy whose parameters are overwritten whenever it is asked for scores, so that these depend on the
    weights that are passed alone. ``origin``: what the user gave."""

    module: Any
    origin: Any

    @staticmethod
    def of(origin: Any) -> TokenNetwork:
        """Refuses what cannot be trained."""
        try:
            module = copy.deepcopy(origin).cpu().double().eval()
        except (RuntimeError, NotImplementedError, TypeError) as error:
            raise UnsupportedError(
                f"model={_title(origin)} cannot be copied to the CPU in double precision ({error}). Make it there.",
                parameter="model",
            ) from error
        found = TokenNetwork(module, origin)
        if not found.trained:
            raise UnsupportedError(f"model={found.title} has no parameters to train.", parameter="model")
        return found

    @property
    def title(self) -> str:
        return _title(self.origin)

    @cached_property
    def trained(self) -> dict[str, Any]:
        """The parameters that are trained, by name."""
        return {name: p for name, p in self.module.named_parameters() if p.requires_grad}

    @cached_property
    def n_weights(self) -> int:
        return sum(p.numel() for p in self.trained.values())

    @cached_property
    def initial(self) -> FloatArray:
        """θ of the module as it was given: where training starts."""
        given = dict(self.origin.named_parameters())
        return np.concatenate([given[name].detach().cpu().double().numpy().ravel() for name in self.trained])

    @cached_property
    def looks_at_each_alone(self) -> bool:
        """True if it is known that the scores of a token depend on its own vector alone."""
        parts = self.module.modules()
        return all(type(m).__module__.startswith("torch.nn.") and type(m).__name__ in _EACH_ALONE for m in parts)

    def at(self, theta: FloatArray) -> Any:
        """A copy of the module as it was given, with these weights."""
        import torch

        found, state = copy.deepcopy(self.origin), self.constants | self._split(theta)
        written = {name: torch.as_tensor(np.array(value)) for name, value in state.items()}
        found.load_state_dict(written, strict=False)  # a parameter with two names is written by one
        return found

    @property
    def shapes(self) -> dict[str, list[int]]:
        """Of the parameters that are trained."""
        return {name: list(p.shape) for name, p in self.trained.items()}

    @property
    def constants(self) -> dict[str, npt.NDArray[Any]]:
        """What else scores depend on: parameters that are not trained, and buffers."""
        trained = {p.data_ptr() for p in self.trained.values() if p.numel()}  # some may have a second name
        state = self.module.state_dict()
        return {
            name: value.numpy()
            for name, value in state.items()
            if name not in self.trained and value.data_ptr() not in trained
        }

    def with_constants(self, constants: Mapping[str, npt.NDArray[Any]]) -> TokenNetwork:
        """The same with those of a file."""
        import torch

        state = {name: torch.as_tensor(np.array(value)) for name, value in constants.items()}
        self.module.load_state_dict(state, strict=False)
        return self

    def scores(self, theta: FloatArray, pieces: list[FloatArray], n_labels: int) -> FloatArray:
        """n_θ of every piece, one after the other."""
        import torch

        self._set(theta)
        with torch.no_grad():
            found = [self._run(piece, n_labels).numpy() for piece in pieces]
        return np.concatenate(found) if found else np.empty((0, n_labels))

    def pull(self, theta: FloatArray, pieces: list[FloatArray], node: FloatArray) -> FloatArray:
        """(∂n_θ/∂θ)ᵀ·node. A piece is scored and pulled back before the next, so that memory is that of one."""
        import torch

        self._set(theta)
        total, first = np.zeros(self.n_weights), 0
        parameters = list(self.trained.values())
        for piece in pieces:
            here = torch.as_tensor(np.ascontiguousarray(node[first : first + len(piece)]))
            first += len(piece)
            found = self._run(piece, node.shape[1])
            if found.requires_grad:
                pulled = torch.autograd.grad(found, parameters, here, allow_unused=True, materialize_grads=True)
                total += np.concatenate([g.numpy().ravel() for g in pulled])
        return total

    def refuse_unsteady(self, pieces: list[FloatArray], n_labels: int) -> None:
        """Refuse a module that scores in training otherwise than afterwards."""
        import torch

        some = [piece for piece in pieces[:8] if len(piece) > 1]  # batch normalisation fails on one
        state = copy.deepcopy(self.module.state_dict())
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            before = self.scores(self.initial, some, n_labels)
            self.module.train()
            try:
                training = self.scores(self.initial, some, n_labels)
            finally:
                self.module.eval()
                self.module.load_state_dict(state)
        if not np.allclose(before, training, rtol=1e-6, atol=1e-9):
            raise UnsupportedError(
                f"model={self.title} gives other scores in training than afterwards, as dropout and batch "
                "normalisation do, which a tagger cannot follow: it is trained on all sequences at once. Leave them "
                "out: alpha= holds the weights down.",
                parameter="model",
            )

    def _split(self, theta: FloatArray) -> dict[str, FloatArray]:
        ends = np.cumsum([p.numel() for p in self.trained.values()])[:-1]
        parts = zip(self.trained.items(), np.split(theta, ends), strict=True)
        return {name: part.reshape(tuple(p.shape)) for (name, p), part in parts}

    def _set(self, theta: FloatArray) -> None:
        import torch

        with torch.no_grad():
            for name, part in self._split(theta).items():
                self.trained[name].copy_(torch.as_tensor(part))

    def _run(self, piece: FloatArray, n_labels: int) -> Any:
        import torch

        try:
            found = self.module(torch.as_tensor(piece))
        except (RuntimeError, TypeError, ValueError, NotImplementedError, IndexError) as error:
            raise DataError(
                f"model={self.title} failed on the vectors of {len(piece)} tokens × {piece.shape[1]} dimensions with "
                f"{type(error).__name__}: {error}",
                parameter="model",
            ) from error
        shape = (len(piece), n_labels)
        if not isinstance(found, torch.Tensor) or tuple(found.shape) != shape:
            shown = f"the shape {tuple(found.shape)}" if isinstance(found, torch.Tensor) else type(found).__name__
            raise DataError(
                f"model={self.title} must return tokens × classes scores, {shape} here, but returned {shown}.",
                parameter="model",
            )
        if not torch.isfinite(found).all():
            raise DataError(
                f"model={self.title} returned NaN or infinite scores. Let it start from smaller weights, or raise "
                "alpha=.",
                parameter="model",
            )
        return found.double()


@dataclass(frozen=True, eq=False)
class NetworkChains(Model):
    """p ∝ q₀·exp(s) on the sequences of ``structure``. ``rest``: attributes and transitions, which are linear."""

    network: TokenNetwork
    vectors: Vectors
    rest: ChainFeatures
    structure: Chains
    base: Potentials | None = None

    @property
    def n_labels(self) -> int:
        return self.rest.n_labels

    @property
    def n_weights(self) -> int:
        return self.network.n_weights + self.rest.n_weights

    @property
    def workers(self) -> Workers:
        return self.rest.workers

    @property
    def initial(self) -> FloatArray:
        """The network as it is, and zeros."""
        return np.concatenate([self.network.initial, np.zeros(self.rest.n_weights)])

    def potentials(self, weights: FloatArray) -> Potentials:
        theta, linear = self._parts(weights)
        found = self.rest.score(linear)
        scores = self.network.scores(theta, self.pieces, self.n_labels)
        node = found.node + (scores if self._types is None else scores[self.vectors.codes])
        whole = Potentials(node, found.edge)
        return whole if self.base is None else whole + self.base

    def pull(self, weights: FloatArray, node: FloatArray, edge: FloatArray | None = None) -> FloatArray:
        theta, _ = self._parts(weights)
        of_types = node if self._types is None else np.asarray(self._types @ node)
        return np.concatenate([self.network.pull(theta, self.pieces, of_types), self.rest.expect(node, edge)])

    def take(self, instances: IntArray) -> Self:
        positions = self.structure.positions(instances)
        base = None if self.base is None else Potentials(self.base.node[positions], self.base.edge)
        return replace(
            self,
            vectors=self.vectors.take(positions),
            rest=self.rest.take(positions),
            structure=self.structure.take(instances),
            base=base,
        )

    @cached_property
    def pieces(self) -> list[FloatArray]:
        """What goes through the network at a time: sequences; or, if it looks at each token alone, many rows."""
        if not self.network.looks_at_each_alone:
            return np.split(self.vectors.toarray(), self.structure.offsets[1:-1]) if len(self.structure) else []
        table = self.vectors.table
        return [table[first : first + _ROWS] for first in range(0, len(table), _ROWS)]

    @cached_property
    def _types(self) -> sparse.csr_array | None:
        """Types × positions, if the network scores types."""
        codes = self.vectors.codes
        if codes is None or not self.network.looks_at_each_alone:
            return None
        n = len(codes)
        shape = (n, len(self.vectors.table))
        return sparse.csr_array(sparse.csr_array((np.ones(n), codes, np.arange(n + 1)), shape=shape).T)

    def _parts(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        return weights[: self.network.n_weights], weights[self.network.n_weights :]


def _title(module: Any) -> str:
    return type(module).__name__
