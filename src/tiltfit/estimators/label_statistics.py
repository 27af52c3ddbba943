"""Counts of events in labelled data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tiltfit.arrays import BoolArray, FloatArray, IntArray
from tiltfit.estimators.intervals import Mean, Share, shares
from tiltfit.language.condition import Condition
from tiltfit.language.event import Event, Term
from tiltfit.samples.sample import Sample


@dataclass(frozen=True, eq=False)
class LabelStatistics:
    """Counts over the labelled positions of a sample."""

    sample: Sample

    @cached_property
    def complete(self) -> IntArray:
        """The instances all of whose positions have labels."""
        return np.flatnonzero(~self.sample.unlabelled)

    def label_shares(self, positions: IntArray) -> list[Share]:
        """The share of every class among the labelled ones of these positions. Empty if there are none."""
        sample = self.sample
        known = positions[sample.labels[positions] >= 0]
        if not len(known):
            return []
        return shares(sample.labels[known], sample.instance[known], len(sample.classes), sample.inputs.unit)

    def share(self, event: Event, given: Condition | None) -> Share | None:
        """The share of times that the event happened where it could and ``given`` fires; None if that was nowhere."""
        sample = self.sample
        terms, fires = event.terms(sample.classes, sample.structure), sample.fires(given)
        places = [np.flatnonzero(term.at & fires & self._known(term)) for term in terms]
        at = np.concatenate(places)
        if not len(at):
            return None
        happened = np.concatenate([term.values(sample.labels, at) > 0 for term, at in zip(terms, places, strict=True)])
        on_edges = all(term.on_edges for term in terms)
        noun = "sequences" if event.per_sequence else "transitions" if on_edges else sample.inputs.unit
        return shares(happened.astype(np.intp), sample.instance[at], 2, noun)[1]

    def mean(self, event: Event, given: Condition | None) -> Mean | Share | None:
        """The mean count of the event in completely labelled sequences; None if there are fewer than two."""
        if len(self.complete) < 2:
            return None
        counts, is_share = self._statistic(event) if event.whole else (self._sums(event, given), False)
        if is_share:
            return Share(int(np.sum(counts)), len(counts), "sequences")
        return Mean(float(np.mean(counts)), float(np.std(counts, ddof=1)), len(counts))

    def _statistic(self, event: Event) -> tuple[FloatArray, bool]:
        """Its value on every complete sequence, and whether it can only be 0 or 1."""
        sample = self.sample
        statistic = event.statistic(sample.classes)
        assert statistic is not None
        each = (sample.labels[sample.structure.positions(np.array([s]))] for s in self.complete)
        counts = np.array([statistic.count(labels) for labels in each])
        return counts, (statistic.least, statistic.most) == (0.0, 1.0)

    def _sums(self, event: Event, given: Condition | None) -> FloatArray:
        sample, fires = self.sample, self.sample.fires(given)
        sums = np.zeros(len(sample.structure))
        for term in event.terms(sample.classes, sample.structure):
            at = np.flatnonzero(term.at & fires & self._known(term))
            np.add.at(sums, sample.instance[at], term.values(sample.labels, at))
        return np.asarray(sums[self.complete])

    def _known(self, term: Term) -> BoolArray:
        known = self.sample.labels >= 0
        if term.on_edges:
            known[1:] &= self.sample.labels[:-1] >= 0
        return np.asarray(known)
