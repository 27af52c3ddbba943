"""Warnings about conditions that find nothing, wholly or in part."""

from __future__ import annotations

import warnings

import numpy as np

from tiltfit.errors import InactiveConstraintWarning
from tiltfit.inference.chain import Chains
from tiltfit.language.constraint import Constraint
from tiltfit.samples.sample import Sample


def warn_idle_words(constraint: Constraint, sample: Sample) -> None:
    """A word that occurs nowhere, in a condition that fires thanks to others, is probably misspelt."""
    if constraint.given is None or not constraint.given.parts:
        return
    for leaf in constraint.given.leaves:
        if leaf.words and not leaf.fires(sample.inputs).any():
            guess = leaf.suggest(sample.inputs)
            warnings.warn(
                f"The constraint {sample.title(constraint)!r} also speaks of {leaf!r}, which occurs nowhere"
                + (f'; did you mean "{guess}"?' if guess else "."),
                InactiveConstraintWarning,
                stacklevel=5,
            )


def warn_resting(constraint: Constraint, sample: Sample) -> None:
    inputs, where = sample.inputs, constraint.where
    if not len(sample.structure):
        why = f"there is no {sample.noun}"
    elif not np.any(sample.unlabelled):
        why = f"every {sample.noun} has a label, so there is nothing left to decide"
    elif where is not None and where.fires(inputs).any():
        why = f"its condition fires on labelled {sample.noun}s only"
        if isinstance(sample.structure, Chains):
            why = "its condition fires on labelled tokens only, or where the event cannot happen"
    elif where is None:
        why = "what it speaks of cannot happen here"
    else:
        guess = where.suggest(inputs)
        why = "its condition never fires on this data" + (f'; did you mean "{guess}"?' if guess else "")
    end = "" if why.endswith("?") else "."
    warnings.warn(
        f"The constraint {sample.title(constraint)!r} rests: {why}{end}", InactiveConstraintWarning, stacklevel=5
    )
