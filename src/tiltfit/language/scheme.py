"""BIO and IOBES: tags that say where an entity begins and goes on. Segments and changes are then of the entity.

>>> parse("B-NP"), parse("O")
(('B', 'NP'), ('O', None))
>>> entities(["B-NP", "I-NP", "O"])
['NP']
>>> entities(["author", "title"])
[]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tiltfit.arrays import BoolArray

_MARKS = "BIES"
_BEGINS, _ENDS = "BS", "ES"


def parse(tag: object) -> tuple[str, str | None] | None:
    """The mark and the entity of a tag; None if it is not such a tag."""
    if tag == "O":
        return "O", None
    if isinstance(tag, str) and len(tag) > 2 and tag[0] in _MARKS and tag[1] == "-":
        return tag[0], tag[2:]
    return None


def is_scheme(classes: Sequence[object]) -> bool:
    """True if the classes are tags of such a scheme: every one fits, and some entity has a beginning."""
    parsed = [parse(c) for c in classes]
    return all(p is not None for p in parsed) and any(p is not None and p[0] in _BEGINS for p in parsed)


def entities(classes: Sequence[object]) -> list[str]:
    """The entities that the tags name, sorted; none if they are not a scheme."""
    if not is_scheme(classes):
        return []
    return sorted({p[1] for p in map(parse, classes) if p is not None and p[1] is not None})


def continues(classes: Sequence[object]) -> BoolArray:
    """``[i, j]``: whether a token tagged j goes on with the segment of the token before it, tagged i.

    Plain labels: when they are equal. In a scheme a B or S begins anew, and what an E or S has ended does not go on;
    an I after something else also begins a segment, as in conlleval.
    """
    n = len(classes)
    if not is_scheme(classes):
        return np.eye(n, dtype=np.bool_)
    tags = [parse(c) or ("O", None) for c in classes]
    return np.array([[_goes_on(a, b) for b in tags] for a in tags], dtype=np.bool_)


def _goes_on(a: tuple[str, str | None], b: tuple[str, str | None]) -> bool:
    return a[1] == b[1] and (b[0] == "O" or (b[0] not in _BEGINS and a[0] not in _ENDS))


def invalid(classes: Sequence[object]) -> tuple[BoolArray, BoolArray, BoolArray]:
    """The labels that the scheme forbids at the start and at the end, and the pairs it forbids; none for plain labels.

    BIO: an I follows the B or I of its entity. IOBES (if some tag is E or S): moreover, what B or I has opened goes on
    with I or E, and nothing else goes before I or E.
    """
    n = len(classes)
    start, end = np.zeros((2, n), dtype=np.bool_)
    pair = np.zeros((n, n), dtype=np.bool_)
    if not is_scheme(classes):
        return start, end, pair
    tags = [parse(c) or ("O", None) for c in classes]
    closes = any(mark in _ENDS for mark, _ in tags)
    for j, (mark, entity) in enumerate(tags):
        start[j] = mark in "IE"
        end[j] = closes and mark in "BI"
        for i, (before, other) in enumerate(tags):
            opened = before in "BI" and other == entity
            must_close = closes and before in "BI"
            pair[i, j] = (mark in "IE" and not opened) or (must_close and not (mark in "IE" and other == entity))
    return start, end, pair
