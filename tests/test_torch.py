"""``TiltLoss`` where PyTorch is installed: autograd, the native linear model, batches, chains; else what to install."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from tiltfit import TiltClassifier, expect, objective, word
from tiltfit.data.documents import document_inputs
from tiltfit.demo.tickets import generate
from tiltfit.errors import DataError, UnsupportedError
from tiltfit.projections import components

HERE = importlib.util.find_spec("torch") is not None
needs_torch = pytest.mark.skipif(not HERE, reason="PyTorch is not installed")

SAID = [
    expect("billing", given=word("invoice") | word("payment")).about(0.7),
    expect("shipping", given=word("driver") | word("parcel")).about(0.6),
    expect("returns", given=word("return") | word("broken")).about(0.7),
    expect("technical", given=word("wifi") | word("error")).at_least(0.75),
    expect("security", given=word("fraud")).about(0.8),
]


@pytest.mark.skipif(HERE, reason="PyTorch is installed")
def test_without_torch_it_says_what_to_install():
    with pytest.raises(UnsupportedError, match=r"pip install 'tiltfit\[torch\]'"):
        importlib.import_module("tiltfit.torch")


def setting(monkeypatch, n=300):
    written = generate(n)
    texts, labels = list(written.texts), list(written.labels)
    classes = sorted(set(labels))
    touched = sum(any(c.where.fires(document_inputs([text], None)).any() for c in SAID) for text in texts)
    monkeypatch.setattr(components, "REFERENCE", max(100, touched))  # every row counts once, as in objective(...)
    native = TiltClassifier(SAID, classes=classes, penalize_intercept=True, sharpen=None, init="zeros").fit(texts)
    X = np.hstack([native.encoder_.matrix(texts).toarray(), np.ones((n, 1))])
    return native, X, texts, classes, np.array(labels)


def trained(torch, loss, X, classes, alpha=1.0, rounds=60, batch=None, rate=0.1):
    """A linear model in torch with the ridge of the native one."""
    torch.manual_seed(0)
    inputs = torch.as_tensor(X)
    layer = torch.nn.Linear(X.shape[1], len(classes), bias=False, dtype=torch.float64)
    torch.nn.init.zeros_(layer.weight)
    n = len(X)

    def ridge():
        return 0.5 * alpha * (layer.weight**2).sum() / n

    if batch is None:
        steps = torch.optim.LBFGS(layer.parameters(), max_iter=rounds, line_search_fn="strong_wolfe")

        def closure():
            steps.zero_grad()
            value = loss(layer(inputs)) + ridge()
            value.backward()
            return value

        steps.step(closure)
        return layer
    order = np.random.default_rng(0)
    steps = torch.optim.SGD(layer.parameters(), lr=rate)
    fading = torch.optim.lr_scheduler.CosineAnnealingLR(steps, rounds)
    for _ in range(rounds):
        for rows in np.array_split(order.permutation(n), n // batch):
            steps.zero_grad()
            (loss(layer(inputs[rows]), rows) + ridge()).backward()
            steps.step()
        fading.step()
    return layer


@needs_torch
def test_a_linear_model_is_the_native_one_and_batches_come_within_one_per_cent(monkeypatch):
    import torch

    from tiltfit.torch import TiltLoss

    native, X, texts, classes, labels = setting(monkeypatch)
    o = objective(SAID, texts, classes=classes)

    def total(layer):
        with torch.no_grad():
            value, _ = o.value_and_grad(layer(torch.as_tensor(X)))
            return value + 0.5 * float((layer.weight**2).sum())

    full = trained(torch, TiltLoss(o), X, classes, rounds=200)
    assert total(full) == pytest.approx(native.objective_, rel=0.01)
    with torch.no_grad():
        predicted = o.decode(full(torch.as_tensor(X)))
    assert np.mean(predicted == labels) == pytest.approx(native.score(texts, labels), abs=0.02)
    batches = trained(torch, TiltLoss(o), X, classes, rounds=100, batch=30, rate=0.5)
    assert total(batches) == pytest.approx(total(full), rel=0.01)


@needs_torch
@pytest.mark.parametrize("sequences", [False, True])
def test_autograd(sequences):
    import torch

    from tiltfit.torch import TiltLoss

    if sequences:
        o = objective([expect("a", given=word("x")).about(0.9)], [["x", "y"], ["y", "x", "x"]], classes=["a", "b"])
    else:
        o = objective([expect("a", given=word("x")).about(0.9)], ["x", "y", "x y"], classes=["a", "b"])
    loss = TiltLoss(o)
    scores = torch.randn(*o.shape, dtype=torch.float32, requires_grad=True)
    value = 2 * loss(scores)
    value.backward()
    known = () if loss.transitions is None else (np.zeros((2, 2)),)
    expected, grad, *by_pair = o.value_and_grad(scores.detach().numpy(), *known)
    n = len(o.lengths)
    assert float(value.detach()) == pytest.approx(2 * expected / n, rel=1e-5)
    np.testing.assert_allclose(scores.grad.numpy(), 2 * grad / n, atol=1e-6)
    if by_pair:
        np.testing.assert_allclose(loss.transitions.grad.numpy(), 2 * by_pair[0] / n, atol=1e-6)


@needs_torch
def test_precisions_and_what_is_refused():
    import torch

    from tiltfit.torch import TiltLoss

    o = objective([expect("a", given=word("x")).about(0.9)], ["x", "y"], classes=["a", "b"])
    for dtype in (torch.bfloat16, torch.float16):
        scores = torch.zeros(2, 2, dtype=dtype, requires_grad=True)
        TiltLoss(o)(scores).backward()
        assert scores.grad.dtype is dtype
        assert float(scores.grad[0, 0]) == pytest.approx(-0.2, abs=1e-2)
    with pytest.raises(DataError, match="scores must be a tensor, but is ndarray"):
        TiltLoss(o)(np.zeros((2, 2)))
    with pytest.raises(DataError, match="takes what tiltfit.objective"):
        TiltLoss(SAID)
    with pytest.raises(DataError, match="NaN"):
        TiltLoss(o)(torch.full((2, 2), torch.nan))
    with pytest.raises(DataError, match=r"shape \(3, 2\)"):
        TiltLoss(o)(torch.zeros(3, 2))
    with pytest.raises(DataError, match="whole numbers from 0 to 1"):
        TiltLoss(o)(torch.zeros(1, 2), torch.tensor([2]))


@needs_torch
def test_a_network_that_is_registered_keeps_the_laws_of_a_model():
    from dataclasses import dataclass, replace

    import torch
    from scipy.sparse import issparse

    from tiltfit import Model, Potentials
    from tiltfit.testing import check_model

    @dataclass(frozen=True, eq=False)
    class Module(Model):
        X: torch.Tensor
        module: torch.nn.Module
        structure: object
        base: object = None

        @property
        def n_labels(self):
            return self.module[-1].out_features

        @property
        def n_weights(self):
            return sum(p.numel() for p in self.module.parameters())

        def _scores(self, weights):
            torch.nn.utils.vector_to_parameters(torch.as_tensor(weights), self.module.parameters())
            return self.module(self.X)

        def potentials(self, weights):
            scores = Potentials(self._scores(weights).detach().numpy().copy())
            return scores if self.base is None else scores + self.base

        def pull(self, weights, node, edge=None):
            found = torch.autograd.grad(self._scores(weights), list(self.module.parameters()), torch.as_tensor(node))
            return torch.nn.utils.parameters_to_vector(found).numpy()

        def take(self, instances):
            base = None if self.base is None else Potentials(self.base.node[instances])
            return replace(self, X=self.X[instances], structure=self.structure.take(instances), base=base)

    def make(plain, classes):
        X = plain.features.nodes.X
        X = torch.as_tensor(X.toarray() if issparse(X) else X)
        layers = torch.nn.Linear(X.shape[1], 5), torch.nn.Tanh(), torch.nn.Linear(5, len(classes))
        return Module(X, torch.nn.Sequential(*layers).double(), plain.structure, plain.base)

    check_model(make)
