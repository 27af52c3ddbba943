"""Conformance check of a model: are its scores, their adjoint and its parts what solvers take them for?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.errors import TiltfitError
from tiltfit.execution.workers import Workers
from tiltfit.features.attributes import AttributeFeatures
from tiltfit.features.chains import ChainFeatures
from tiltfit.inference.chain import Chains
from tiltfit.inference.independent import Independent
from tiltfit.inference.potentials import Potentials
from tiltfit.models.log_linear import LogLinear
from tiltfit.models.model import Model
from tiltfit.models.probe import probed
from tiltfit.models.registry import Factory

_STEP = 1e-5
_LENGTHS = (3, 1, 4, 2)
_TRIES = 3


def check_model(
    make: Factory, *, sequences: bool = False, classes: Sequence[Any] = ("a", "b", "c"), seed: int = 0
) -> None:
    """Raise ``AssertionError`` at the first law that a model breaks on tiny data.

    - ``make(plain, classes)`` returns a ``tiltfit.Model``, whose parts have the right types and shapes;
    - ``potentials`` are finite, contain ``base``, and are the same when they are asked for again, even if the caller
      has overwritten them;
    - ``pull`` is the adjoint of their derivative: node·ds(λ) + edge·ds(λ) = pull(λ, node, edge)·dλ, by differences;
    - ``take`` keeps the type and the weights and gives the rows of the instances, in any order; sums over two parts are
      those over all;
    - ``moments`` are Σ ω·log Z and its gradient, by differences.

    ``make``: as for ``register_model``. ``sequences``: it is for sequences. Write ``check_model(make)`` in the tests of
    a new model; it need not be registered.
    """
    rng = np.random.default_rng(seed)
    for dense in (False, True):
        plain = _data(len(classes), sequences, rng, dense=dense)
        base = _base(plain, rng)
        try:
            without = probed("checked", partial(make, plain, tuple(classes)), plain)
            based = replace(plain, base=base)
            model = probed("checked", partial(make, based, tuple(classes)), based)
        except TiltfitError as error:
            raise AssertionError(str(error)) from error
        for _ in range(_TRIES):
            weights = 0.5 * rng.normal(size=model.n_weights)
            _check_potentials(model, without, base, weights)
            _check_adjoint(model, weights, rng)
            _check_parts(model, weights, rng)
            _check_moments(model, weights, rng)


def _data(n_labels: int, sequences: bool, rng: np.random.Generator, *, dense: bool) -> LogLinear:
    """Zeros and ones, so that every kind of model can be about them."""
    X: Any = (rng.random((sum(_LENGTHS), 4)) < 0.5).astype(np.float64)
    nodes = AttributeFeatures(X if dense else sparse.csr_array(X), n_labels, Workers())
    if not sequences:
        return LogLinear(nodes, Independent(len(X)))
    kind = rng.integers(2, size=len(X)).astype(np.int32)
    return LogLinear(ChainFeatures(nodes, np.eye(2)), Chains(np.cumsum([0, *_LENGTHS]), kind, n_kinds=2))


def _base(plain: LogLinear, rng: np.random.Generator) -> Potentials:
    edge = plain.structure.edge_zeros(plain.n_labels)
    shape = (int(plain.structure.last[-1]) + 1, plain.n_labels)
    return Potentials(rng.normal(size=shape), None if edge is None else rng.normal(size=edge.shape))


def _check_potentials(model: Model, without: Model, base: Potentials, weights: FloatArray) -> None:
    kept = weights.copy()
    first = model.potentials(weights)
    before = _flat(first)
    _require(bool(np.all(np.isfinite(before))), "potentials are finite")
    _require(np.array_equal(weights, kept), "potentials leave the weights as they are")
    close = _is_same(before, _flat(without.potentials(weights)) + _flat(base))
    _require(close, "potentials contain base: those with it are those without it plus base")
    first.node[:] = np.nan
    _require(np.array_equal(_flat(model.potentials(weights)), before), "potentials are the same when asked for again")


def _check_adjoint(model: Model, weights: FloatArray, rng: np.random.Generator) -> None:
    along = rng.normal(size=len(weights))
    ahead, behind = (_flat(model.potentials(weights + side * _STEP * along)) for side in (1, -1))
    node, edge = _directions(model, rng)
    slope = float(_flat(Potentials(node, edge)) @ (ahead - behind)) / (2 * _STEP)
    pulled = float(model.pull(weights, node, edge) @ along)
    _require(_is_near(pulled, slope), "pull is the adjoint of potentials", pulled, slope)


def _check_parts(model: Model, weights: FloatArray, rng: np.random.Generator) -> None:
    order = rng.permutation(len(model.structure)).astype(np.intp)
    parts, scores = (order[:2], order[2:]), model.potentials(weights)
    total = np.zeros(model.n_weights)
    node, _ = _directions(model, rng)
    kinds = model.structure.edge_zeros(model.n_labels)
    for part in parts:
        few = model.take(part)
        positions = _positions(model, part)
        _require(type(few) is type(model) and few.n_weights == model.n_weights, "take keeps the type and the weights")
        _require(len(few.structure) == len(part), "take keeps so many instances", len(few.structure), len(part))
        found = few.potentials(weights)
        same = len(found.node) == len(positions) and _is_same(found.node, scores.node[positions])
        _require(same, "take gives the scores of the instances, in their order")
        if scores.edge is not None and found.edge is not None:
            _require(_is_same(found.edge, scores.edge), "take keeps the scores of edges")
        total = total + few.pull(weights, node[positions], kinds)
    whole = model.pull(weights, node, kinds)
    _require(_is_same(total, whole), "pull of two parts is that of all", np.max(np.abs(total - whole)))


def _check_moments(model: Model, weights: FloatArray, rng: np.random.Generator) -> None:
    weight, along = rng.uniform(0.5, 2.0, len(model.structure)), rng.normal(size=len(weights))
    now = model.moments(weights, weight)
    right = float(weight @ model.structure.infer(model.potentials(weights), model.workers).log_z)
    _require(_is_same(now.log_z, right), "moments sum ω·log Z", now.log_z, right)
    ahead, behind = (model.moments(weights + side * _STEP * along, weight).log_z for side in (1, -1))
    slope, found = (ahead - behind) / (2 * _STEP), float(now.expectation @ along)
    _require(_is_near(found, slope), "moments are the gradient of Σ ω·log Z", found, slope)


def _directions(model: Model, rng: np.random.Generator) -> tuple[FloatArray, FloatArray | None]:
    node = rng.normal(size=(int(model.structure.last[-1]) + 1, model.n_labels))
    edge = model.structure.edge_zeros(model.n_labels)
    return node, None if edge is None else rng.normal(size=edge.shape)


def _positions(model: Model, instances: IntArray) -> IntArray:
    return np.concatenate([np.arange(model.structure.first[i], model.structure.last[i] + 1) for i in instances])


def _is_near(found: float, right: float) -> bool:
    """Equal but for the error of central differences, the square of the step."""
    return bool(np.isclose(found, right, rtol=1e-5, atol=1e-6))


def _is_same(found: FloatArray | float, right: FloatArray | float) -> bool:
    """Equal but for sums in another order."""
    return bool(np.allclose(found, right, rtol=1e-9, atol=1e-10))


def _flat(scores: Potentials) -> FloatArray:
    """A copy of all scores."""
    return np.concatenate([table.ravel() for table in (scores.node, scores.edge) if table is not None])


def _require(law: bool, what: str, *seen: object) -> None:
    if not law:
        raise AssertionError(f"{what}: does not hold{f' (seen {seen})' if seen else ''}.")
