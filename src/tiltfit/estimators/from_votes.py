"""Statements of votes: "where this source says spam, about 85 % are spam", with a reliability that is stated, counted
on labels, or estimated from agreement.

Counted on labels, with h_k of n_k labels right where pair k (a source and a label that it says) fires:

    r_k ~ Beta(s·m, s·(1 − m)),    h_k ~ Binomial(n_k, r_k),    E[r_k | h] = Σ_{m,s} P(m, s | h) (h_k + s·m) / (n_k + s)

Before any label, every m is as probable as any other, and so is every s from 1 to 256 on a scale of powers. The labels
of all pairs tell both, so that pairs with few labels borrow from the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import betainc, betaln

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.data.sequences import Sequences
from tiltfit.data.votes import Votes
from tiltfit.errors import DataError, UnsupportedError, did_you_mean
from tiltfit.language.conditions import witness
from tiltfit.language.constraint import Constraint
from tiltfit.language.expect import expect
from tiltfit.methods.agreement import Pairs, agreement
from tiltfit.samples.labels import Targets
from tiltfit.samples.task import DOCUMENTS, SEQUENCES

_MEANS = (np.arange(50) + 0.5) / 50
_STRENGTHS = 2.0 ** np.arange(9)
_FEW = 1e-5  # the share of the mixture that a part must have to count
_LEVEL = 0.95
_LEAST = 0.01  # shares that are counted or estimated lie this far from 0 and 1
_TELLING = 3  # sources whose agreement says how right each is
_KINDS = ("labels", "agreement")


def statements_from_votes(
    votes: Any, reliability: Any = 0.9, y: Any = None, *, classes: Iterable[object] | None = None
) -> list[Constraint]:
    """State, for each source and each label that it says, how often the source is right.

    Parameters
    ----------
    votes : data frame, dict of columns, array or sparse matrix
        As for ``fit``: what sources say of each row or token. Fit with the same votes.
    reliability : float, dict, "labels" or "agreement"
        A share, the same for all or by source: how often it is right where it speaks. ``"labels"``: counted on the
        labels in ``y``. ``"agreement"``: estimated from the votes without labels (those in ``y`` help), which takes
        sources for independent: copies of a source look like agreement. The rationale of each statement says
        which, with an interval or a deviation.
    y : list, optional
        Labels, as for ``fit``.
    classes : list, optional
        All labels. Default: those in ``y`` and in the votes.

    Examples
    --------
    >>> from tiltfit import statements_from_votes
    >>> for statement in statements_from_votes({"gpt": ["spam", None, "ham"], "rule": [None, "spam", None]}, 0.85):
    ...     print(statement)
    about 85% of documents where gpt says ham are ham
    about 85% of documents where gpt says spam are spam
    about 85% of documents where rule says spam are spam
    """
    said = Votes.of(votes)
    found = _targets(said, y, classes)
    names = found.classes.tolist()
    said = said.among(names, None if classes is None else list(classes))
    pairs, rows = _pairs(said, found.labels, len(names)), said.n
    if not len(pairs.source):
        raise DataError("No source says anything: there is nothing to state.", parameter="votes")
    shares, whys = _reliabilities(said, pairs, reliability)
    counts = np.asarray(pairs.fires.sum(axis=0)).ravel().astype(int)
    statements = []
    for k, (j, label) in enumerate(zip(pairs.source.tolist(), pairs.label.tolist(), strict=True)):
        source, name = said.sources[j], names[label]
        why = f"It says so {counts[k]:,} times in {rows:,}. {whys[k]}"
        expected = expect(name, given=witness(source, says=name))
        statements.append(expected.about(float(shares[k]), name=f"{source}: {name}", rationale=why))
    return statements


def _reliabilities(said: Votes, pairs: Pairs, reliability: Any) -> tuple[FloatArray, list[str]]:
    """The share of every pair, and what is known of it."""
    if isinstance(reliability, str):
        if reliability not in _KINDS:
            raise UnsupportedError(
                f"reliability={reliability!r} is unknown: use a share, a dict of shares by source, 'labels' or "
                f"'agreement'.{did_you_mean(reliability, _KINDS)}",
                parameter="reliability",
            )
        return counted(pairs) if reliability == "labels" else _estimated(said, pairs)
    if not isinstance(reliability, Mapping):
        share = _share(reliability, "reliability=")
        return np.full(len(pairs.source), share), [f"{share:g} was stated for all sources."] * len(pairs.source)
    for source in reliability:
        if source not in said.said:
            raise DataError(
                f"reliability= has the source {source!r}, but votes= does not.{did_you_mean(source, said.sources)}",
                parameter="reliability",
            )
    missing = [source for source in said.sources if source not in reliability]
    if missing:
        raise DataError(f"reliability= has no share for the source {missing[0]!r}.", parameter="reliability")
    shares = {source: _share(value, f"reliability= of {source!r}") for source, value in reliability.items()}
    found = np.array([shares[said.sources[j]] for j in pairs.source])
    return found, [f"{share:g} was stated." for share in found]


def _share(value: Any, what: str) -> float:
    try:
        share = float(value)
    except (TypeError, ValueError):
        share = float("nan")
    if isinstance(value, bool) or not 0 < share < 1:
        raise DataError(
            f"{what} must be a share, more than 0 and less than 1, but is {value!r}.", parameter="reliability"
        )
    return share


def counted(pairs: Pairs) -> tuple[FloatArray, list[str]]:
    """Posterior means by the labels, with their intervals."""
    labelled = np.flatnonzero(pairs.known >= 0)
    if not len(labelled):
        raise DataError("reliability='labels' counts labels, but y has none.", parameter="y")
    fires, known = pairs.fires[labelled], pairs.known[labelled]
    n = np.asarray(fires.sum(axis=0), dtype=np.float64).ravel()
    truth = np.eye(pairs.n_classes)[known]
    right = (fires.T @ truth)[np.arange(len(pairs.label)), pairs.label]
    means, intervals = _posterior(right, n)
    whys = [
        f"Right on {r:.0f} of {m:.0f} labels there: {lo:.2f} to {hi:.2f} with probability {_LEVEL:g}, where sources "
        "with few labels borrow from the others."
        for r, m, (lo, hi) in zip(right, n, intervals, strict=True)
    ]
    return np.clip(means, _LEAST, 1 - _LEAST), whys


def _posterior(right: FloatArray, n: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The mean of every share, and the ends of its interval: a mixture of Beta distributions, one for each m and s."""
    m, s = (part.ravel() for part in np.meshgrid(_MEANS, _STRENGTHS))
    a, b = s * m, s * (1 - m)
    evidence = sum(betaln(a + h, b + k - h) - betaln(a, b) for h, k in zip(right, n, strict=True))
    weight = np.exp(evidence - np.max(evidence))
    some = weight > _FEW * weight.sum()
    a, b, weight = a[some], b[some], weight[some] / weight[some].sum()
    means = np.array([weight @ ((a + h) / (a + b + k)) for h, k in zip(right, n, strict=True)])
    edges = ((1 - _LEVEL) / 2, (1 + _LEVEL) / 2)
    grid = np.linspace(0, 1, 201)
    ends = []
    for h, k in zip(right, n, strict=True):
        below = weight @ betainc((a + h)[:, None], (b + k - h)[:, None], grid)
        ends.append([np.interp(edge, below, grid) for edge in edges])
    return means, np.array(ends)


def _estimated(said: Votes, pairs: Pairs) -> tuple[FloatArray, list[str]]:
    found = agreement(pairs)
    known = int(np.sum(pairs.known >= 0))
    helped = f"with {known:,} labels" if known else "without labels"
    few = (
        "" if known or len(said.said) >= _TELLING else " Two cannot tell which of them is right: give labels, or more."
    )
    whys = [
        f"{share:.2f} is an estimate {helped}, from the agreement of {len(said.said)} sources, ± {sd:.2f} over "
        f"bootstrap samples; it takes sources for independent.{few}"
        for share, sd in zip(found.share, found.deviation, strict=True)
    ]
    return np.clip(found.share, _LEAST, 1 - _LEAST), whys


def _targets(said: Votes, y: Any, classes: Iterable[object] | None) -> Targets:
    """Classes, and the labels in y."""
    lengths = np.ones(said.n, dtype=np.intp) if said.lengths is None else said.lengths
    inputs = Sequences(["_"] * said.n, np.concatenate([[0], np.cumsum(lengths)]).astype(np.intp))
    task = DOCUMENTS if said.lengths is None else SEQUENCES
    if classes is None:
        shown = task.shown(y, inputs)
        numbers = all(isinstance(label, str) for label in shown) and bool(shown)  # votes may be numbers of classes
        spoken = [label for label in said.spoken if not numbers or isinstance(label, str)]
        number = next((n for n in said.spoken if n not in spoken and str(n) not in shown), None)
        if number is not None:
            raise DataError(
                f"votes= say {number!r}, the number of a class, but labels need not show all of them: state classes=.",
                parameter="classes",
            )
        classes = list(dict.fromkeys([*shown, *spoken]))
    return task.targets(y, inputs, classes, (), 1)


def _pairs(said: Votes, known: IntArray, n_classes: int) -> Pairs:
    """Every source with every label that it says."""
    columns, source, label = [sparse.csc_array((said.n, 0))], [], []
    for j, votes in enumerate(said.said.values()):
        for code in np.unique(votes.codes).tolist():
            rows = votes.positions[votes.codes == code]
            ones = np.ones(len(rows)), (rows, np.zeros(len(rows), dtype=np.intp))
            columns.append(sparse.csc_array(sparse.coo_array(ones, shape=(said.n, 1))))
            source.append(j)
            label.append(code)
    fires = sparse.csr_array(sparse.hstack(columns, format="csr"))
    return Pairs(fires, np.array(source, dtype=np.intp), np.array(label, dtype=np.intp), known, n_classes)
