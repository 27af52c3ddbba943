"""Two tiny data sets, five models, all labellings one by one: what cells of the product of all options are checked on.

A document is a sequence of one token, so that one oracle (``sequences``) serves both. ``Tiny`` is a world whose model
has weights λ: the score of a labelling is λ·F, F its features, which are counted here once more from the data.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

import numpy as np
from tests.oracles.sequences import World

from tiltfit import TiltClassifier, TiltTagger
from tiltfit.estimators.sequence_encoder import PLAIN_EDGES, TOKEN_ALONE

ALPHA, GAMMA = 0.3, 0.7

CONDITIONAL = {"maxent": "naive_bayes", "crf": "hmm"}
DOCUMENTS = ("maxent", "naive_bayes", "bernoulli_naive_bayes")
SEQUENCES = ("crf", "hmm")
MODELS = (*DOCUMENTS, *SEQUENCES)

_COLUMNS = ("puck", "bat", "ball", "county")
_ROWS = (
    ((2, 0, 1, 0), "a", 1.0),
    ((0, 1, 0, 1), "b", 2.0),
    ((0, 0, 1, 1), "c", 1.0),
    ((1, 1, 0, 0), None, 1.0),
    ((1, 0, 2, 1), None, 0.5),
    ((0, 1, 1, 0), {"b", "c"}, 1.0),
    ((1, 0, 0, 0), None, 1.5),
    ((1, 0, 1, 1), {"a", "c"}, 1.0),
)
_TOKENS = (
    (("x", "y", "z"), ("a", "b", "b"), 0, 1.3),
    (("y", "x", "x", "z"), ("b", "a", "a", "a"), 1, 0.8),
    (("x", "z", "y", "x"), None, 0, 1.0),
    (("z", "x"), None, 1, 2.0),
    (("y", "z", "x", "y"), (None, "b", None, None), 0, 1.0),
    (("x", "y", "x"), None, 1, 0.5),
)


def logsumexp(scores: np.ndarray) -> float:
    """log Σ exp; much faster than SciPy's on a handful of numbers."""
    return float(np.logaddexp.reduce(scores))


@dataclass(frozen=True, eq=False)
class Tiny(World):
    """A world whose model is λ·F. ``left``: the labels that a set in y leaves at (sequence, position)."""

    model: str = "maxent"
    left: dict[tuple[int, int], set[str]] = field(default_factory=dict)
    lam: np.ndarray | None = None
    features: list[np.ndarray] = field(default_factory=list)

    def at(self, lam: np.ndarray) -> Tiny:
        """The same with other weights."""
        here = replace(self, lam=np.asarray(lam, dtype=float))
        here.__dict__.update(flat=self.flat, omega=self.omega, weights=self.weights, _agreeing=self._agreeing)
        return here

    @property
    def is_generative(self) -> bool:
        return self.model not in CONDITIONAL

    @property
    def n_weights(self) -> int:
        return self.features[0].shape[1]

    @cached_property
    def flat(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """F of all labellings of all sequences, where each sequence begins, and the sequence of each labelling."""
        sizes = [len(f) for f in self.features]
        return np.concatenate(self.features), np.cumsum([0, *sizes[:-1]]), np.repeat(np.arange(self.n), sizes)

    @cached_property
    def flat_scores(self) -> np.ndarray:
        return self.flat[0] @ self.lam

    @cached_property
    def scores(self) -> list[np.ndarray]:
        """λ·F of every labelling; of a generative model log p(x, y)."""
        return self.split(self.flat_scores)

    @cached_property
    def log_z(self) -> np.ndarray:
        return np.logaddexp.reduceat(self.flat_scores, self.flat[1])

    @cached_property
    def log_p(self) -> list[np.ndarray]:
        return self.split(self.flat_scores - self.log_z[self.flat[2]])

    def split(self, values: np.ndarray) -> list[np.ndarray]:
        """One array a sequence."""
        ends = [*self.flat[1], len(values)]
        return [values[a:b] for a, b in itertools.pairwise(ends)]

    @cached_property
    def omega(self) -> np.ndarray:
        """w of labelled sequences, γ·w of others."""
        return np.array([w * (GAMMA if self.undecided(s) else 1.0) for s, w in enumerate(self.weights)])

    def agrees(self, s: int) -> np.ndarray:
        """Which labellings agree with what y says."""
        return self._agreeing[s]

    @cached_property
    def _agreeing(self) -> list[np.ndarray]:
        found = []
        for s in range(self.n):
            places = {t: {label} for t, label in enumerate(self.known[s]) if label is not None}
            places |= {t: names for (r, t), names in self.left.items() if r == s}
            found.append(np.array([all(y[t] in names for t, names in places.items()) for y in self.labellings(s)]))
        return found

    @property
    def partly(self) -> list[int]:
        """Sequences of which y says something, but not all."""
        return [s for s in range(self.n) if self.undecided(s) and not self.agrees(s).all()]

    def expected(self, q: Sequence[np.ndarray]) -> np.ndarray:
        """Σ ω·E_q[F]."""
        return (self.omega[self.flat[2]] * np.concatenate(q)) @ self.flat[0]


def tiny(model: str) -> Tiny:
    """The data set of this model."""
    return _documents(model) if model in DOCUMENTS else _sequences(model)


def _documents(model: str) -> Tiny:
    classes = ["a", "b", "c"]
    rows = np.array([x for x, _, _ in _ROWS], dtype=float)
    rows = np.minimum(rows, 1.0) if model == "bernoulli_naive_bayes" else rows
    with_intercept = np.column_stack([rows, np.ones(len(rows))])
    return Tiny(
        tokens=[[" ".join(name for name, n in zip(_COLUMNS, x, strict=True) if n > 0)] for x, _, _ in _ROWS],
        classes=classes,
        labels=[[y if isinstance(y, str) else None] for _, y, _ in _ROWS],
        weight=[w for _, _, w in _ROWS],
        columns={"county": [x[3] for x, _, _ in _ROWS], "x": [list(x) for x in rows]},
        model=model,
        left={(i, 0): y for i, (_, y, _) in enumerate(_ROWS) if isinstance(y, set)},
        features=[np.stack([np.outer(x, row).ravel() for row in np.eye(3)]) for x in with_intercept],
    )


_WORDS = ("x", "y", "z")


def _sequences(model: str) -> Tiny:
    classes = ["a", "b"]
    unknown = [[None] * len(x) if y is None else list(y) for x, y, _, _ in _TOKENS]
    return Tiny(
        tokens=[list(x) for x, *_ in _TOKENS],
        classes=classes,
        labels=unknown,
        weight=[w for *_, w in _TOKENS],
        columns={"county": [group for *_, group, _ in _TOKENS]},
        model=model,
        features=[np.stack([_counted(x, y) for y in itertools.product(range(2), repeat=len(x))]) for x, *_ in _TOKENS],
    )


def _counted(x: Sequence[str], y: Sequence[int]) -> np.ndarray:
    """Words × labels, first label, last label, pairs of labels."""
    emitted, pairs = np.zeros((len(_WORDS) + 2, 2)), np.zeros((2, 2))
    for word, label in zip(x, y, strict=True):
        emitted[_WORDS.index(word), label] += 1
    emitted[len(_WORDS), y[0]] += 1
    emitted[len(_WORDS) + 1, y[-1]] += 1
    for one, other in itertools.pairwise(y):
        pairs[one, other] += 1
    return np.concatenate([emitted.ravel(), pairs.ravel()])


def estimator(world: Tiny, constraints: Sequence[object], **options: object) -> TiltClassifier | TiltTagger:
    """The library's estimator of the same problem, not fitted yet."""
    common = {"classes": world.classes, "model": world.model, "alpha": ALPHA, "gamma": GAMMA, "beta": 0.05}
    common |= {"revise": None, "sharpen": None, "random_state": 0, **options}
    if world.model in DOCUMENTS:
        common.pop("inference", None)
        return TiltClassifier(list(constraints), penalize_intercept=True, **common)
    return TiltTagger(list(constraints), features=TOKEN_ALONE, transitions=PLAIN_EDGES, boundaries=True, **common)


@cache
def data(world: Tiny) -> tuple[object, list[object], list[float]]:
    """X, y and weights as users give them."""
    if world.model in DOCUMENTS:
        import pandas as pd

        X = pd.DataFrame(world.columns["x"], columns=list(_COLUMNS))
        return X, [world.left.get((i, 0), known) for i, (known,) in enumerate(world.known)], list(world.weights)
    y = [None if all(label is None for label in row) else list(row) for row in world.known]
    return {"tokens": world.tokens, "county": world.columns["county"]}, y, list(world.weights)


def weights_of(found: TiltClassifier | TiltTagger) -> np.ndarray:
    """λ in the order of F."""
    if isinstance(found, TiltClassifier):
        return np.concatenate([found.coef_.T.ravel(), found.intercept_])
    names = [*(f"lower={word}" for word in _WORDS), "<start>", "<end>"]
    listed = found.attribute_names_.tolist()
    assert sorted(listed) == sorted(names)
    table = found.coef_.T[[listed.index(name) for name in names]]
    return np.concatenate([table.ravel(), found.transitions_.ravel()])
