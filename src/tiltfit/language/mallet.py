"""MALLET's constraint files: a feature and what is expected of its labels, one feature a line.

puck hockey:0.9 baseball:0.1        shares that sum to one: a distribution
goalie hockey:0.8                   shares that do not: each label about its share
bat baseball:0.7,0.95               a range
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from tiltfit.errors import ConstraintError, ConstraintFileError
from tiltfit.language.conditions import word
from tiltfit.language.constraint import Constraint, ConstraintSet
from tiltfit.language.expect import expect
from tiltfit.language.toml import read_text

_SUM_TOLERANCE = 1e-6


def read_mallet(path: str | os.PathLike[str]) -> ConstraintSet:
    """Read a MALLET constraint file, plain or compressed."""
    return parse_mallet(read_text(path).splitlines(), os.fspath(path))


def parse_mallet(lines: Iterable[str], name: str = "MALLET constraints") -> ConstraintSet:
    """Constraints from MALLET's lines; ``name`` and the line number begin every error message.

    >>> print(parse_mallet(["# sports", "puck hockey:0.9 baseball:0.1", "bat baseball:0.7,0.95"]))
    documents with the word "puck" are 90% hockey and 10% baseball
    between 70% and 95% of documents with the word "bat" are baseball
    """
    found: list[Constraint] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        feature, *entries = line.split() or [""]
        if not feature or feature.startswith("#"):
            continue
        try:
            if feature in seen:
                raise ConstraintError(f"the feature {feature!r} has been seen in line {seen[feature]}.")
            found += _constraints(feature, entries)
        except ConstraintError as error:
            raise ConstraintFileError(f"{name}, line {number}: {error}") from error
        seen[feature] = number
    return ConstraintSet(tuple(found))


def _constraints(feature: str, entries: list[str]) -> list[Constraint]:
    if not entries:
        raise ConstraintError(f"no label follows the feature {feature!r}; write `{feature} label:share`.")
    given = word(feature)
    targets = [_entry(entry) for entry in entries]
    shares = [(label, numbers[0]) for label, numbers in targets if len(numbers) == 1]
    total = sum(share for _, share in shares)
    if len(shares) == len(targets) and abs(total - 1) <= _SUM_TOLERANCE:
        return [expect(given=given).distributed_as(shares)]
    if total > 1 + _SUM_TOLERANCE:
        raise ConstraintError(f"the shares of {feature!r} sum to {total:g}, which is more than 1.")
    return [
        expect(label, given=given).about(*numbers)
        if len(numbers) == 1
        else expect(label, given=given).between(*numbers)
        for label, numbers in targets
    ]


def _entry(entry: str) -> tuple[str, list[float]]:
    """``label:0.9`` or ``label:0.7,0.95``; a label may itself contain a colon."""
    label, colon, numbers = entry.rpartition(":")
    try:
        values = [float(number) for number in numbers.split(",")]
    except ValueError:
        values = []
    if not colon or not label or len(values) not in (1, 2):
        raise ConstraintError(f"{entry!r} is neither label:share nor label:low,high.")
    return label, values
