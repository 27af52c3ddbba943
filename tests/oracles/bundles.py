"""Pairs of neighbours, counted and joined row by row with dictionaries."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise


def join(rows, least, next_number):
    """Every pair that occurs ``least`` times, and oftener than those it overlaps with, becomes a number: the new rows,
    and the pairs in the order of their numbers."""
    counts = Counter(pair for row in rows for pair in pairwise(row))
    numbers, joined = {}, []
    for row in rows:
        times = [*(counts[pair] for pair in pairwise(row)), 0, 0]
        new, j, before = [], 0, 0
        while j < len(row):
            if times[j] >= least and times[j] > before and times[j] >= times[j + 1]:
                new.append(numbers.setdefault((row[j], row[j + 1]), next_number + len(numbers)))
                j, before = j + 2, 0  # the pair in between is gone
            else:
                new.append(row[j])
                j, before = j + 1, times[j]
        joined.append(new)
    return joined, list(numbers)
