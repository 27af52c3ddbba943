"""Whole-sequence inference by the cheaper way: exact, or sampled."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.errors import DataError, UnsupportedError
from tiltfit.execution.workers import Workers
from tiltfit.inference.chain import Chains
from tiltfit.inference.potentials import Potentials
from tiltfit.inference.segmental import Segmental
from tiltfit.inference.whole import MAX_ROWS, WholeChains
from tiltfit.inference.whole_results import SamplerState, WholeMarginals

How = Literal["auto", "exact", "sampled"]

_STEP = 40.0  # operations of ``WholeChains.cost`` in the time of a step of the sampler, by position and label


def affordable(chains: WholeChains, n_steps: int) -> npt.NDArray[np.bool_]:
    """[n]: where the estimated cost of exact inference is at most that of so many steps of the sampler."""
    if chains.form is None:
        return np.zeros(len(chains.chains), dtype=np.bool_)
    n_labels = len(chains.form.field) - 1
    return np.asarray(chains.cost() <= _STEP * n_steps * n_labels * chains.chains.lengths)


def infer(
    chains: WholeChains,
    potentials: Potentials,
    whole: FloatArray,
    state: SamplerState | None = None,
    n_steps: int = 200,
    workers: Workers | None = None,
    *,
    how: How = "auto",
    weight: FloatArray | None = None,
    burn_in: int = 0,
    tol: float = 1e-9,
    max_rows: int = MAX_ROWS,
) -> WholeMarginals:
    """Expectations of every sequence: exact, or by ``n_steps`` steps of the sampler after ``burn_in`` more.

    "auto": exact where that is ``affordable`` and takes no more than ``max_rows`` rows, sampled elsewhere. "exact"
    raises where it cannot answer. The sampler goes on from ``state``, or begins with the seed 0; the answer's ``state``
    is where it is then (unchanged for sequences inferred exactly). ``refused`` are only sequences for which the sampler
    found no labels that no statistic forbids.
    """
    if how not in {"auto", "exact", "sampled"}:
        raise DataError(f'Inference is "auto", "exact" or "sampled", not {how!r}.')
    if how == "exact":
        got = chains.exact(potentials, whole, workers, weight=weight, tol=tol, max_rows=max_rows)
        _all_answered(chains, got.refused, max_rows)
        return replace(got, state=state)
    state = chains.start() if state is None else state
    n, prices, weights = len(chains.chains), chains.rows(whole), chains.weights(weight)
    chosen = np.flatnonzero(affordable(chains, n_steps + burn_in)) if how == "auto" else np.empty(0, dtype=np.intp)
    labels, parts = state.fitting(chains.chains, potentials.node.shape[1]), []
    if len(chosen):
        few, local, own = _part(chains, potentials, prices, chosen)
        exact = few.exact(local, own, workers, weight=weights[chosen], tol=tol, max_rows=max_rows)
        parts.append((chosen, exact))
        chosen = np.delete(chosen, exact.refused)
    rest = np.setdiff1d(np.arange(n), chosen)
    if len(rest):
        few, local, own = _part(chains, potentials, prices, rest)
        there = chains.chains.positions(rest)
        here = replace(state, labels=labels[there])
        sampled = few.sample(local, own, here, n_steps, workers, weight=weights[rest], burn_in=burn_in)
        assert sampled.state is not None
        labels[there] = sampled.state.labels
        parts.append((rest, sampled))  # after the exact part, whose refused sequences it answers
    return replace(_merged(chains.chains, parts, weights), state=state.after(labels))


def _part(
    chains: WholeChains, potentials: Potentials, prices: FloatArray, numbers: IntArray
) -> tuple[WholeChains, Potentials, FloatArray]:
    """These sequences alone, with what is theirs."""
    node = potentials.node[chains.chains.positions(numbers)]
    return chains.take(numbers), Potentials(node, potentials.edge), prices if len(prices) == 1 else prices[numbers]


def _merged(chains: Chains, parts: list[tuple[IntArray, WholeMarginals]], weight: FloatArray) -> WholeMarginals:
    """One answer of several, each for these sequences; where two have one, the later counts."""
    n, (_, last) = len(chains), parts[-1]
    node, whole = np.empty((chains.offsets[-1], last.node.shape[1])), np.empty((n, last.whole.shape[1]))
    log_z, accepted, edge, totals = np.empty(n), np.empty(n), np.zeros_like(last.edge), last.totals.copy()
    for numbers, part in parts:
        log_z[numbers], accepted[numbers], whole[numbers] = part.log_z, part.accepted, part.whole
        node[chains.positions(numbers)] = part.node
        edge += part.edge
        if part is not last:
            totals += weight[numbers] @ np.nan_to_num(part.whole)
    return WholeMarginals(log_z, node, edge, whole, parts[-1][0][last.refused], totals, accepted)


def _all_answered(chains: WholeChains, refused: IntArray, max_rows: int) -> None:
    if len(refused) == 0:
        return
    python = [s.name for s in chains.statistics if not isinstance(s, Segmental)]
    if python:
        raise UnsupportedError(
            f'Exact inference cannot take the statistic "{python[0]}", which is not a function of segments (Segmental):'
            ' use inference "auto" or "sampled".'
        )
    lengths = chains.chains.lengths
    longest = refused[np.argmax(lengths[refused])]
    raise UnsupportedError(
        f"Exact inference has no answer for {len(refused)} of {len(lengths)} sequences, such as number {longest} of"
        f" {lengths[longest]} tokens: too much must be remembered (more than {max_rows:,} rows), or what is possible is"
        ' too improbable. Use inference "auto" or "sampled", statistics of fewer fields, or more rows (max_rows).'
    )
