"""Hard statements where every label that they look at is known: nothing is left to tilt, but they may be broken.

    m = Σ_i w_i·f′(x_i, y_i) / c        must lie where U is finite

Such sequences and groups have no rows (``rows.make_rows``), and without a word the report would say that the statement
holds.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tiltfit.arrays import BoolArray, FloatArray, IntArray
from tiltfit.errors import ConflictError
from tiltfit.language.constraint import Constraint
from tiltfit.projections.expected import Feature, features, is_local
from tiltfit.projections.rows import firing_places, groups, looked_at, penalty_of
from tiltfit.projections.strength import Strength
from tiltfit.samples.sample import Sample

_ROUNDING = 1e-12


def refuse_settled(constraint: Constraint, sample: Sample, strength: Strength) -> None:
    """Refuse a hard statement of single instances or groups (``on="all"``) that known labels break, by name."""
    if constraint.on != "all" or not constraint.is_hard or constraint.per == "dataset":
        return
    # As if nothing were known, it looks at every instance.
    everywhere = replace(sample, labels=np.full_like(sample.labels, -1), banned=None)
    found = features(constraint, everywhere)
    group, names = groups(constraint, looked_at(found), everywhere)
    for feature in found:
        _, of_group, weight = firing_places(constraint, feature, group, everywhere)
        support = np.bincount(of_group, weights=weight, minlength=len(names)).astype(np.float64)
        settled = np.flatnonzero((support > 0) & ~_is_open(feature, group, len(names), sample))
        mean = _sums(feature, group, len(names), sample)[settled] / support[settled]
        penalty = penalty_of(constraint, feature.component, support[settled], strength, 1.0, sample.classes)
        low, high = penalty.domain()
        bad = np.flatnonzero((mean < low - _ROUNDING) | (mean > high + _ROUNDING))
        if len(bad):
            _refuse(constraint, names[settled[bad[0]]], float(mean[bad[0]]), sample)


def _is_open(feature: Feature, group: IntArray, n_groups: int, sample: Sample) -> BoolArray:
    """Groups in which some label that is looked at is unknown."""
    found = np.zeros(n_groups, dtype=np.bool_)
    if feature.statistic is not None:
        found[group[sample.unlabelled & (group >= 0)]] = True
        return found
    for piece in feature.pieces:
        of_group = group[sample.instance[piece.at & sample.is_open(piece.on_edges)]]
        found[of_group[of_group >= 0]] = True
    return found


def _sums(feature: Feature, group: IntArray, n_groups: int, sample: Sample) -> FloatArray:
    """Σ w·f′(x, y) of every group, over what is known."""
    sums, labels = np.zeros(n_groups), sample.labels
    if feature.statistic is not None:
        for s in np.flatnonzero(~sample.unlabelled & (group >= 0)):
            sums[group[s]] += sample.weight[s] * feature.statistic.count(
                labels[sample.structure.positions(np.array([s]))]
            )
        return sums
    for piece in feature.pieces:
        at = np.flatnonzero(piece.at & ~sample.is_open(piece.on_edges) & (group[sample.instance] >= 0))
        values = piece.table[labels[at - 1], labels[at]] if piece.on_edges else piece.table[labels[at]]
        np.add.at(sums, group[sample.instance[at]], values * sample.position_weight[at])
    return sums


def _refuse(constraint: Constraint, name: object, mean: float, sample: Sample) -> None:
    where = f"{sample.noun} {name}" if is_local(constraint) else repr(name)
    told = f"{mean:g}" if constraint.event.counts else f"{mean:.0%}"
    raise ConflictError(
        f"The constraint {sample.title(constraint)!r} cannot hold in {where}: the labels that it looks at are known "
        f"there and make it {told if constraint.of is None else 'another share'}. Correct them, soften the constraint "
        'with slack=, or leave out on="all".'
    )
