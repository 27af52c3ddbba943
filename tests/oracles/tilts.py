"""Tilts of independent positions, made directly, without constraints; and projections of log p onto a tilt."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from tiltfit.execution.workers import Workers
from tiltfit.features.constraints import ConstraintFeatures, Parts
from tiltfit.inference.independent import Independent
from tiltfit.projections.information import Start, Tilt, project
from tiltfit.projections.shards import TiltShard


def label_features(fires, events):
    """One part a row: it fires at positions, on the labels of an event."""
    fires = sparse.csr_array(fires)
    return ConstraintFeatures(fires.shape[1], Parts(fires, np.asarray(events), np.arange(fires.shape[1])))


def label_tilt(features, penalty, weight, support, offset, workers=None, instances=None):
    return Tilt(Independent(len(weight)), features, penalty, weight, support, offset, workers or Workers(), instances)


def information_projection(tilt, base, *, start=None, **options):
    """Project ``base`` (log p, −inf where a label is forbidden). ``start``: duals of an earlier projection."""
    return project(tilt, [TiltShard(tilt, base)], start=None if start is None else Start(start), **options)
