"""The figures of predictions on labelled data, as functions of how often each instance counts.

    accuracy           = Σ correct / Σ positions
    macro-F1           = mean over the labels that occur or are predicted of 2·hits / (true + predicted)
    segment F1         = 2·hits / (true + predicted segments), all labels together (taggers; ``report.segments``)
    log-loss           = −Σ log max(p(true label), ε) / Σ positions,  ε = 2⁻⁵²
    calibration error  = Σ_b |Σ_{i in b} (correct_i − p_i(predicted label))| / Σ positions

A position is a document or a token, an instance a document or a sequence. The B = 15 bins of the calibration error are
of equal mass: position i is in bin ⌊B·(positions that are less sure than i)/(positions)⌋, so that equal probabilities
share a bin and the order of the data does not matter.

Everything above is a ratio of sums over instances. ``Evidence`` keeps the sums by instance, so that a bootstrap, which
counts some instances twice and others not at all, is a product of matrices.

The paired bootstrap shows how far figures, and differences of figures, may be an accident of the test part. Draw as
many test instances as there are, with replacement, R times; all methods are judged on the same draws, so that what is
hard for all of them cancels in a difference. The interval holds the middle 95 % of the R values (percentiles).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.report.reliability import BINS, bins

LEVEL = 0.95
_ROOM = 4_000_000  # draws that are held at once
_LEAST = float(np.finfo(np.float64).eps)
"""The least probability in a log-loss, as in scikit-learn: one that underflowed would make the mean infinite."""


@dataclass(frozen=True)
class Metric:
    """How a figure is called, and whether more of it is better."""

    key: str
    title: str
    higher: bool


METRICS = (
    Metric("accuracy", "accuracy", True),
    Metric("macro_f1", "macro-F1", True),
    Metric("segment_f1", "segment F1", True),
    Metric("log_loss", "log-loss", False),
    Metric("calibration_error", "calibration error", False),
)


@dataclass(frozen=True)
class Figure:
    """A figure with its interval, and how much it is above that of the reference, with the interval of that."""

    value: float
    low: float | None = None
    high: float | None = None
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None

    @property
    def differs(self) -> bool:
        """True if the interval of the difference leaves out 0."""
        if self.difference_low is None or self.difference_high is None:
            return False
        return self.difference_low > 0 or self.difference_high < 0


@dataclass(frozen=True, eq=False)
class Truth:
    """The labelled positions of the test part. ``instance``: to which one each belongs; ``label``: its number among
    ``n_labels``, of which the first are the classes of the models and the others are known to none."""

    instance: IntArray
    label: IntArray
    n_instances: int
    n_labels: int


@dataclass(frozen=True, eq=False)
class Evidence:
    """Sums by instance: one entry or row each. ``hits``, ``true``, ``guessed``: a column a label; ``gaps``: Σ correct −
    p(predicted label), a column a bin; ``segments``: hits, predicted and true ones."""

    positions: FloatArray
    correct: FloatArray
    loss: FloatArray
    hits: sparse.csr_array
    true: sparse.csr_array
    guessed: sparse.csr_array
    gaps: sparse.csr_array
    segments: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.positions)


def gather(truth: Truth, predicted: IntArray, proba: FloatArray, segments: IntArray | None = None) -> Evidence:
    """``predicted`` and ``proba``: of the positions of ``truth``."""
    each, label = np.arange(len(predicted)), truth.label
    known = label < proba.shape[1]  # to a label that no model knows, each gives probability 0
    p = np.where(known, proba[each, np.where(known, label, 0)], 0.0)
    right, confidence = predicted == label, proba[each, predicted]
    return Evidence(
        positions=_sums(truth, np.ones(len(label))),
        correct=_sums(truth, right.astype(np.float64)),
        loss=_sums(truth, -np.log(np.maximum(p, _LEAST))),
        hits=_table(truth, label, right.astype(np.float64), truth.n_labels),
        true=_table(truth, label, np.ones(len(label)), truth.n_labels),
        guessed=_table(truth, predicted, np.ones(len(label)), truth.n_labels),
        gaps=_table(truth, bins(confidence), right - confidence, BINS),
        segments=None if segments is None else segments.astype(np.float64),
    )


def figures(evidence: Evidence, weight: FloatArray) -> dict[str, FloatArray]:
    """Each figure where instance j counts ``weight[r, j]`` times: one entry a row of ``weight``."""
    positions = weight @ evidence.positions
    hits, total = weight @ evidence.hits, weight @ (evidence.true + evidence.guessed)
    f1 = np.divide(2 * hits, total, out=np.zeros_like(hits), where=total > 0)
    found = {
        "accuracy": weight @ evidence.correct / positions,
        "macro_f1": f1.sum(axis=1) / (total > 0).sum(axis=1),
    }
    if evidence.segments is not None:
        hit, guessed, true = (weight @ evidence.segments).T
        found["segment_f1"] = np.divide(2 * hit, guessed + true, out=np.zeros_like(hit), where=guessed + true > 0)
    found["log_loss"] = weight @ evidence.loss / positions
    found["calibration_error"] = np.abs(weight @ evidence.gaps).sum(axis=1) / positions
    return found


def _sums(truth: Truth, values: FloatArray) -> FloatArray:
    found = np.bincount(truth.instance, weights=values, minlength=truth.n_instances)
    return np.asarray(found, dtype=np.float64)


def _table(truth: Truth, column: IntArray, values: FloatArray, n_columns: int) -> sparse.csr_array:
    shape = (truth.n_instances, n_columns)
    return sparse.csr_array(sparse.coo_array((values, (truth.instance, column)), shape=shape))


def judged(evidence: Sequence[Evidence], n_bootstrap: int, rng: np.random.Generator) -> list[dict[str, Figure]]:
    """The figures of every method, and their differences to those of the first."""
    if not evidence:
        return []
    whole = [{key: float(v[0]) for key, v in figures(e, np.ones((1, len(e)))).items()} for e in evidence]
    drawn = replicates(evidence, n_bootstrap, rng) if n_bootstrap else None
    found: list[dict[str, Figure]] = []
    for k, values in enumerate(whole):
        found.append({})
        for key, value in values.items():
            difference = value - whole[0][key] if k else None
            if drawn is None:
                found[k][key] = Figure(value, difference=difference)
                continue
            low, high = _middle(drawn[k][key])
            least, most = _middle(drawn[k][key] - drawn[0][key]) if k else (None, None)
            found[k][key] = Figure(value, low, high, difference, least, most)
    return found


def replicates(evidence: Sequence[Evidence], n: int, rng: np.random.Generator) -> list[dict[str, FloatArray]]:
    """The figures of every method on ``n`` draws, which are the same for all."""
    m = len(evidence[0])
    parts: list[list[dict[str, FloatArray]]] = [[] for _ in evidence]
    step = max(1, _ROOM // m)
    for start in range(0, n, step):
        rows = min(step, n - start)
        drawn = rng.integers(m, size=(rows, m)) + m * np.arange(rows)[:, None]
        weight = np.bincount(drawn.ravel(), minlength=rows * m).reshape(rows, m).astype(np.float64)
        for part, one in zip(parts, evidence, strict=True):
            part.append(figures(one, weight))
    return [{key: np.concatenate([piece[key] for piece in part]) for key in part[0]} for part in parts]


def _middle(values: FloatArray) -> tuple[float, float]:
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
