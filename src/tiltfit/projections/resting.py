"""Warnings about conditions that find nothing, wholly or in part."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt

from tiltfit.errors import RestingConstraintWarning
from tiltfit.inference.chain import Chains
from tiltfit.language.constraint import Constraint
from tiltfit.projections.scene import Scene

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]


def warn_idle_words(constraint: Constraint, scene: Scene) -> None:
    """A word that occurs nowhere, in a condition that fires thanks to others, is probably misspelt."""
    if constraint.given is None or not constraint.given.parts:
        return
    for leaf in constraint.given.leaves:
        if leaf.words and not leaf.fires(scene.inputs).any():
            guess = leaf.suggest(scene.inputs)
            warnings.warn(
                f"The constraint {scene.title(constraint)!r} also speaks of {leaf!r}, which occurs nowhere"
                + (f'; did you mean "{guess}"?' if guess else "."),
                RestingConstraintWarning,
                stacklevel=5,
            )


def warn_resting(constraint: Constraint, scene: Scene) -> None:
    inputs, where = scene.inputs, constraint.where
    if not len(scene.structure):
        why = f"there is no {scene.noun}"
    elif not np.any(scene.unlabelled):
        why = f"every {scene.noun} has a label, so there is nothing left to decide"
    elif where is not None and where.fires(inputs).any():
        why = f"its condition fires on labelled {scene.noun}s only"
        if isinstance(scene.structure, Chains):
            why = "its condition fires on labelled tokens only, or where the event cannot happen"
    elif where is None:
        why = "what it speaks of cannot happen here"
    else:
        guess = where.suggest(inputs)
        why = "its condition never fires on this data" + (f'; did you mean "{guess}"?' if guess else "")
    end = "" if why.endswith("?") else "."
    warnings.warn(
        f"The constraint {scene.title(constraint)!r} rests: {why}{end}", RestingConstraintWarning, stacklevel=5
    )
