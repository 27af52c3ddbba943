"""The causes of a prediction, in log-odds: words and attributes, transitions, statements.

    log p(a|x)/p(b|x) = Σ_j x_j·(λ_{j,a} − λ_{j,b}) + intercepts + base            (a: the label, b: the runner-up)
    log q(a|x)/q(b|x) = log p(a|x)/p(b|x) + Σ_k θ_k·(f′_k(x, a) − f′_k(x, b))

For a token, a and b stand for the whole sequence of labels, in which it alone has b instead of a; so transitions from
the label before and to the label after have their parts, and the odds are *given the labels of the other tokens*. Both
sums are exact. The first shows what the weights say, not where they come from: with the training data, the same
log-odds are also shared among statements and labels (``origins``), since the weights are a sum over them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.errors import DataError
from tiltfit.estimators.estimator import TiltEstimator
from tiltfit.estimators.options import whole_parameter
from tiltfit.explain.origins import origins
from tiltfit.explain.statements import Statement, state
from tiltfit.explain.view import View
from tiltfit.features.edges import PLAIN
from tiltfit.inference.potentials import Potentials
from tiltfit.inference.structure import Structure
from tiltfit.report.entries import Entries

_SHOWN = 5  # parts that are printed
_TOLD = 0.005  # less is not printed


@dataclass(frozen=True)
class Part:
    """A contribution to the log-odds of the label against the runner-up (±inf: a rule).

    ``kind``: ``feature``, ``intercept``, ``base``, ``transition``; ``statement``, ``rule``; ``labels`` (of the training
    data); ``rest`` (several small ones together)."""

    kind: str
    name: str
    amount: float

    def __str__(self) -> str:
        how = {math.inf: "rules the other out", -math.inf: "rules it out"}.get(self.amount, f"{self.amount:+.2f}")
        return f"{self.name} {how}"


@dataclass(frozen=True)
class Cause:
    """One prediction. ``index``: the number in X of the document, row or sequence; ``position``: of the token in it.

    ``log_odds``: of ``label`` against ``rival``, the runner-up, under the model; ``parts`` sum to it. ``tilts``: what
    the statements about this place add to it under q. ``origins``: which statements and labels of the training
    data the log-odds come from, if these were given; they also sum to it. The largest first."""

    index: int
    position: int | None
    text: str
    label: Any
    rival: Any
    log_odds: float
    parts: tuple[Part, ...]
    tilts: tuple[Part, ...] = ()
    origins: tuple[Part, ...] | None = None

    @property
    def tilted(self) -> float:
        """The log-odds under q."""
        return self.log_odds + sum(part.amount for part in self.tilts)

    @property
    def sentence(self) -> str:
        """The main causes in one line."""
        told = f"{self.label} rather than {self.rival} ({self.log_odds:+.2f}): {_listed(self.parts)}"
        if any(abs(part.amount) >= _TOLD for part in self.tilts):
            told += f"; statements: {_listed(self.tilts)}"
        if self.origins is not None:
            told += f"; learned from: {_listed(self.origins)}"
        return told

    def reasons(self) -> dict[str, Any]:
        """Label, runner-up and the parts as plain data, for JSON, without what they explain; infinities are null."""
        parts = {key: _plain(getattr(self, key)) for key in ("parts", "tilts", "origins")}
        return {"label": self.label, "rival": self.rival, "log_odds": _finite(self.log_odds), **parts}

    def __str__(self) -> str:
        where = f"{self.index}" if self.position is None else f"{self.index}.{self.position}"
        return f"{where}: {self.text}\n    {self.sentence}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON: infinities are null."""
        place = {"index": self.index, "position": self.position, "text": self.text}
        return {**place, **self.reasons(), "sentence": self.sentence}


@dataclass(frozen=True)
class Causes(Entries[Cause]):
    """One entry per document, row or token, in the order of X. ``print`` it, or use ``to_dicts()``."""


def why(estimator: TiltEstimator, X: Any, *, project: bool = False, top: int | None = 10, train: Any = None) -> Causes:
    """Explain the label of every document, row or token of X (formula: above).

    ``project``: explain the labels of ``project(X)``, with prices solved on X; else those of ``predict(X)``, with the
    prices of the fit (statements for each instance have prices only where they were solved, and are left out).
    ``top``: how many parts to keep; the others are added up (None: all). ``train``: what the estimator was fitted on, X
    or (X, y) or (X, y, sample_weight): then every prediction is also shared among the statements and labels it was
    learned from.
    """
    if top is not None:
        whole_parameter("top", top)
    view = View.of(estimator, X)
    labels, said = _projected(view) if project else _predicted(view)
    scores = Scores.of(view, labels)
    flips = [s.flips(labels, view.sample) for s in said]
    rival = _rivals(scores.table, labels, _tilts(said, flips, scores.table, view) if project else None)
    tilts = _by_position((_amounts(s, *f, rival, view) for s, f in zip(said, flips, strict=True)), len(labels))
    taught = None if train is None else _taught(view, train, labels, rival)
    classes, found = view.classes, []
    for t in range(len(labels)):
        a, b = int(labels[t]), int(rival[t])
        parts = list(scores.parts(t, a, b))
        found.append(
            Cause(
                *view.place(t),
                text=view.text(t),
                label=classes[a],
                rival=classes[b],
                log_odds=float(scores.table[t, a] - scores.table[t, b]),
                parts=_largest(parts, top),
                tilts=_largest(tilts[t], top),
                origins=None
                if taught is None
                else _largest([*(p for p in parts if p.kind == "base"), *taught[t]], top),
            )
        )
    return Causes(tuple(found))


@dataclass(frozen=True, eq=False)
class Scores:
    """The model's log-potentials of every label at every position, and what they are made of.

        table[t, y] = node[t, y] + edge[y_{t−1}, y] + edge[y, y_{t+1}]

    with the ``labels`` of the other tokens as they are: differences of a row are log-odds given these labels. Of
    documents there are no edges. ``names``: of the attributes (None: they have none).
    """

    view: View
    labels: IntArray
    table: FloatArray
    names: Sequence[str] | None

    @staticmethod
    def of(view: View, labels: IntArray) -> Scores:
        """The scores at these labels, one per position."""
        table = conditional(view.model.structure, view.potentials, labels)
        names = view.estimator.names_
        # A foreign vectorizer need not know what its columns are called.
        return Scores(view, labels, table, names if names is not None and len(names) else None)

    def parts(self, t: int, a: int, b: int) -> Iterator[Part]:
        """All that ``table[t, a] − table[t, b]`` is the sum of."""
        coef = self.view.estimator.coef_
        for column, value in self._attributes(t):
            name = self.view.estimator.unnamed(column) if self.names is None else str(self.names[column])
            yield Part("feature", name, float(value * (coef[a, column] - coef[b, column])))
        if not self.view.is_sequences:
            intercept = self.view.estimator.intercept_
            yield Part("intercept", "intercept", float(intercept[a] - intercept[b]))
        yield from self._transitions(t, a, b)
        if self.view.model.base is not None:
            yield Part("base", "base", float(self._base[t, a] - self._base[t, b]))

    def _attributes(self, t: int) -> Iterator[tuple[int, float]]:
        features: Any = self.view.model.features
        X: Any = features.nodes.X if self.view.is_sequences else features.X
        if isinstance(X, np.ndarray):
            columns = np.flatnonzero(X[t])
            yield from zip(columns.tolist(), X[t, columns].tolist(), strict=True)
        else:
            here = slice(X.indptr[t], X.indptr[t + 1])
            yield from zip(X.indices[here].tolist(), X.data[here].tolist(), strict=True)

    def _transitions(self, t: int, a: int, b: int) -> Iterator[Part]:
        """From the label before, and to the label after, by the attributes of the edge."""
        structure = self.view.model.structure
        if not structure.has_edges:
            return
        weights, classes = self.view.estimator.transitions_, self.view.classes
        s = self.view.sample.instance[t]
        if t > structure.first[s]:
            before = self.labels[t - 1]
            for k, value, of in self._edge(t):
                amount = value * (weights[k, before, a] - weights[k, before, b])
                yield Part("transition", f"after {classes[before]}{of}", float(amount))
        if t < structure.last[s]:
            after = self.labels[t + 1]
            for k, value, of in self._edge(t + 1):
                amount = value * (weights[k, a, after] - weights[k, b, after])
                yield Part("transition", f"before {classes[after]}{of}", float(amount))

    def _edge(self, t: int) -> Iterator[tuple[int, float, str]]:
        """The attributes of the edge that leads to t: number, value, and name."""
        features: Any = self.view.model.features
        chains = self.view.model.structure.chains
        assert chains is not None
        values = features.kinds[chains.kind[t]]
        names = self.view.estimator.transition_names_
        for k in np.flatnonzero(values).tolist():
            yield k, float(values[k]), "" if names[k] == PLAIN else f" ({names[k]})"

    @cached_property
    def _base(self) -> FloatArray:
        assert self.view.model.base is not None
        return conditional(self.view.model.structure, self.view.model.base, self.labels)


def conditional(structure: Structure, potentials: Potentials, labels: IntArray) -> FloatArray:
    """``table`` for these potentials."""
    table = potentials.node.copy()
    chains = structure.chains
    if potentials.edge is None or chains is None:
        return table
    inner = chains.second
    kind = chains.kind[inner]
    table[inner] += potentials.edge[kind, labels[inner - 1], :]
    table[inner - 1] += potentials.edge[kind, :, labels[inner]]
    return table


def _predicted(view: View) -> tuple[IntArray, list[Statement]]:
    estimator = view.estimator
    said = state(estimator.constraints_, view.sample, estimator.prices_, local=False)
    return view.beliefs.best.copy(), said


def _projected(view: View) -> tuple[IntArray, list[Statement]]:
    labels, said = _predicted(view)
    grounded = view.ground()
    found = view.project(grounded, "auto")
    if found is None:
        return labels, said
    here = view.model.structure.positions(grounded.touched)
    if view.is_sequences:
        labels[here] = found.structure.best(found.potentials, view.model.workers)[0]
    else:
        labels[here] = found.marginals.node.argmax(axis=1)
    prices = dict(zip(grounded.keys, found.prices.tolist(), strict=True))
    return labels, state(grounded.constraints, view.sample, prices)


def _tilts(
    said: Sequence[Statement], flips: Iterable[tuple[IntArray, FloatArray]], p: FloatArray, view: View
) -> FloatArray:
    """Log-potentials under q of every label at every position, the labels of the others given."""
    q = p.copy()
    for statement, (at, change) in zip(said, flips, strict=True):
        q[at] += _priced(statement, at, change, view)
    return q


def _priced(statement: Statement, at: IntArray, change: FloatArray, view: View) -> FloatArray:
    """The contribution of each label to the log-potential there, against the label that it has."""
    price = statement.price[view.sample.instance[at]]
    if statement.forbidden is None:
        return np.asarray(price[:, None] * change)
    return np.where(change > 0, -np.inf, np.where(change < 0, np.inf, 0.0))


def _amounts(
    statement: Statement, at: IntArray, change: FloatArray, rival: IntArray, view: View
) -> Iterator[tuple[int, Part]]:
    """The contribution to the log-odds of the label against the rival, where a label makes a difference."""
    added = -_priced(statement, at, change, view)[np.arange(len(at)), rival[at]]
    kind = "statement" if statement.forbidden is None else "rule"
    for position, amount in zip(at.tolist(), added.tolist(), strict=True):
        yield position, Part(kind, statement.name, amount + 0.0)


def _rivals(p: FloatArray, labels: IntArray, q: FloatArray | None) -> IntArray:
    """The best other label of every position."""
    table = p if q is None else q
    # Where everything else is ruled out, any of the others will do.
    others = np.where(np.isneginf(table), np.finfo(np.float64).min, table)
    others[np.arange(len(labels)), labels] = -np.inf
    return np.asarray(others.argmax(axis=1), dtype=np.intp)


def _taught(view: View, train: Any, labels: IntArray, rival: IntArray) -> list[list[Part]]:
    """The log-odds of every position by where the weights come from."""
    given = train if isinstance(train, tuple) else (train,)
    if not 1 <= len(given) <= 3:
        raise DataError("train= is what the estimator was fitted on: X, or (X, y), or (X, y, sample_weight).")
    at, found = np.arange(len(labels)), []
    for origin in origins(view.estimator, *given):
        table = conditional(view.model.structure, view.model.features.score(origin.weights), labels)
        amounts = table[at, labels] - table[at, rival]
        moved = np.flatnonzero(amounts)
        found.append([(int(t), Part(origin.kind, origin.name, float(amounts[t]))) for t in moved])
    return _by_position(found, len(labels))


def _by_position(found: Iterable[Iterable[tuple[int, Part]]], n: int) -> list[list[Part]]:
    listed: list[list[Part]] = [[] for _ in range(n)]
    for parts in found:
        for position, part in parts:
            before = listed[position][-1] if listed[position] else None
            if before is not None and (before.kind, before.name) == (part.kind, part.name):
                # Classes of a distribution, or the two bounds of a share: one statement.
                listed[position][-1] = Part(part.kind, part.name, before.amount + part.amount)
            else:
                listed[position].append(part)
    return listed


def _largest(parts: list[Part], top: int | None) -> tuple[Part, ...]:
    """The largest first; what is more than ``top`` is added up. Rules stay: infinities of both signs have no sum."""
    ordered = sorted(parts, key=lambda part: -abs(part.amount))
    if top is None or len(ordered) <= top:
        return tuple(ordered)
    top = max(top, sum(math.isinf(part.amount) for part in ordered))
    if len(ordered) <= top:
        return tuple(ordered)
    left = ordered[top:]
    return (*ordered[:top], Part("rest", f"{len(left)} others", math.fsum(part.amount for part in left)))


def _listed(parts: Sequence[Part]) -> str:
    told = [part for part in parts if abs(part.amount) >= _TOLD]
    shown = ", ".join(map(str, told[:_SHOWN]))
    return f"{shown}, …" if len(told) > _SHOWN else shown or "nothing"


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _plain(parts: tuple[Part, ...] | None) -> list[dict[str, Any]] | None:
    return None if parts is None else [asdict(part) | {"amount": _finite(part.amount)} for part in parts]
