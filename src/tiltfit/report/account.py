"""A fitted model and its predictions on some data as plain values: everything that a page shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.data.inputs import Unit
from tiltfit.data.sequences import Sequences
from tiltfit.methods.history import Round
from tiltfit.report.constraints import ConstraintReport, Entry
from tiltfit.report.reliability import Reliability, reliability
from tiltfit.report.targets import Targets

MOST_CONDITIONS = 3  # positions on which as many conditions or more fire are counted together


@dataclass(frozen=True)
class Training:
    """How the model was trained. ``estimator``: the name of its class; ``message``: why training ended."""

    estimator: str
    model: str
    method: str
    history: Sequence[Round]
    converged: bool
    message: str = ""


@dataclass(frozen=True)
class Coverage:
    """``depth[k]``: the number of positions on which k conditions fire, the last entry ``MOST_CONDITIONS`` or more.
    ``never``: titles of the constraints whose condition never fires here. ``instances`` of ``all_instances`` documents
    or sequences have a position on which one fires. ``unknown``: why all this could not be found, if so."""

    depth: tuple[int, ...] = (0,) * (MOST_CONDITIONS + 1)
    instances: int = 0
    all_instances: int = 0
    never: tuple[str, ...] = ()
    unknown: str | None = None

    @property
    def share(self) -> float:
        """The share of documents, rows or tokens on which some condition fires."""
        return 1.0 - self.depth[0] / max(1, sum(self.depth))


@dataclass(frozen=True)
class Example:
    """A place that fights a constraint. ``index``: its document or sequence; ``position``: its token. ``model`` and
    ``projected``: the probability of the event there. ``text``: what to show, whole if ``words`` are known, which are
    those that count most for the predicted label."""

    index: int
    position: int | None
    model: float
    projected: float
    text: str
    words: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Disputed:
    """A constraint with the places that fight it most. ``verdict``: what its price does there."""

    entry: Entry
    verdict: str
    examples: tuple[Example, ...]


@dataclass(frozen=True)
class Disputes:
    """The constraints that are fought, hardest first. ``more``: how many others are. ``unknown``: why none could be
    found, if so."""

    shown: tuple[Disputed, ...] = ()
    more: int = 0
    unknown: str | None = None


@dataclass(frozen=True, eq=False)
class Account:
    """``p`` and ``q``: probabilities (positions × classes) under the model and projected onto the constraints as they
    apply to these data (None: not known, and ``notes`` say why). ``predicted``: the number of each position's label;
    ``truth``: of its true one (−1: not known; beyond the classes: none of them). ``names``: of all numbers of labels.
    ``sequences``: X, if its positions are tokens. ``stated``: the lowest and highest share of a label that is asked of
    all data. ``notes``: the warnings."""

    training: Training
    unit: Unit
    report: ConstraintReport
    classes: list[str]
    p: FloatArray
    q: FloatArray | None
    predicted: IntArray
    truth: IntArray
    names: Sequence[str]
    sequences: Sequences | None = None
    targets: Targets = field(default_factory=dict)
    stated: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    coverage: Coverage = Coverage()
    disputes: Disputes = Disputes()
    notes: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """Documents, rows or tokens."""
        return len(self.p)

    @property
    def known(self) -> IntArray:
        """The positions whose label is known."""
        return np.flatnonzero(self.truth >= 0)

    @property
    def confidence(self) -> FloatArray:
        """The model's probability of the predicted label."""
        return np.asarray(self.p[np.arange(self.n), self.predicted])

    @property
    def reliability(self) -> Reliability | None:
        """How often the model is right where the label is known, against how sure it is; None without labels."""
        known = self.known
        if not len(known):
            return None
        return reliability(self.confidence[known], self.predicted[known] == self.truth[known])

    @property
    def offsets(self) -> IntArray:
        """Where documents or sequences begin."""
        return np.arange(self.n + 1) if self.sequences is None else self.sequences.offsets

    def name(self, code: int) -> str:
        """Return the name of a label."""
        return self.names[code] if code < len(self.names) else "another label"
