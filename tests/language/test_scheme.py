"""BIO and IOBES: what goes on, what is well formed, against enumeration of all segmentations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.oracles.sequences import changes

from tiltfit.language.scheme import continues, entities, invalid, is_scheme, parse
from tiltfit.report.segments import find_segments

BIO = ["B-N", "B-V", "I-N", "I-V", "O"]
IOBES = ["B-N", "B-V", "E-N", "E-V", "I-N", "I-V", "O", "S-N", "S-V"]


def segmentations(n):
    """Every way to cut n tokens into segments of N or V and single tokens outside."""
    if n == 0:
        yield []
        return
    for length in range(1, n + 1):
        for name in ("N", "V", None):
            if name is None and length > 1:
                continue
            for rest in segmentations(n - length):
                yield [(name, length), *rest]


def bio(segments):
    return tuple(
        tag for name, n in segments for tag in (["O"] if name is None else [f"B-{name}"] + [f"I-{name}"] * (n - 1))
    )


def iobes(segments):
    def tags(name, n):
        if name is None:
            return ["O"]
        return [f"S-{name}"] if n == 1 else [f"B-{name}", *[f"I-{name}"] * (n - 2), f"E-{name}"]

    return tuple(tag for name, n in segments for tag in tags(name, n))


@pytest.mark.parametrize(("classes", "encode"), [(BIO, bio), (IOBES, iobes)], ids=["bio", "iobes"])
def test_well_formed_is_what_some_segmentation_is_written_as(classes, encode):
    start, end, pair = invalid(classes)
    for n in (1, 2, 3):
        allowed = set()
        for y in itertools.product(range(len(classes)), repeat=n):
            bad = start[y[0]] or end[y[-1]] or any(pair[a, b] for a, b in itertools.pairwise(y))
            if not bad:
                allowed.add(tuple(classes[k] for k in y))
        assert allowed == {encode(found) for found in segmentations(n)}


@pytest.mark.parametrize("classes", [BIO, IOBES, ["author", "title", "O"], ["I-N", "O"], [1, 2, 3]])
def test_going_on_is_not_to_change_the_segment(classes):
    found = continues(classes)
    for i, a in enumerate(classes):
        for j, b in enumerate(classes):
            expected = a == b if not is_scheme(classes) else not changes([a, b], 1)
            assert found[i, j] == expected, (a, b)


@pytest.mark.parametrize("classes", [BIO, IOBES])
def test_segments_of_constraints_are_the_segments_that_are_scored(classes):
    rng = np.random.default_rng(0)
    goes_on = continues(classes)
    for _ in range(300):
        y = rng.integers(len(classes), size=rng.integers(1, 7))
        tags = [classes[k] for k in y]
        for name in entities(classes):
            inside = [parse(tag)[1] == name for tag in tags]
            begun = sum(inside[t] and (t == 0 or not goes_on[y[t - 1], y[t]]) for t in range(len(y)))
            assert begun == sum(found[0] == name for found in find_segments(tags, classes)), tags


def test_what_is_a_scheme():
    assert is_scheme(BIO)
    assert is_scheme(["S-N", "O"])
    assert not is_scheme(["O"])
    assert not is_scheme(["I-N", "O"])  # nothing begins: plain labels
    assert not is_scheme(["B-N", "author"])
    assert not is_scheme(["b-N", "O"])
    assert not is_scheme([1, 2])
    assert not is_scheme(["B-", "O"])


def test_names_of_entities():
    assert entities([*BIO, "B-a-b"]) == ["N", "V", "a-b"]
    assert entities(["author", "O"]) == []
    assert parse("B-a-b") == ("B", "a-b")
    assert parse("B-") is None
    assert parse(None) is None


def test_plain_labels_forbid_nothing():
    assert not any(mask.any() for mask in invalid(["author", "title"]))


def test_an_entity_without_an_inside_tag():
    start, end, pair = invalid(["B-N", "O"])
    assert not any(mask.any() for mask in (start, end, pair))
