"""Fits that are too large for the machine: said before, with figures, and never a raw MemoryError."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tiltfit import TiltClassifier, TiltTagger
from tiltfit.errors import UnsupportedError
from tiltfit.estimators import memory


def test_too_many_classes_are_refused_before_anything_is_allocated(monkeypatch) -> None:
    for kind in (TiltClassifier, TiltTagger):
        monkeypatch.setattr(kind, "_model", lambda *_, **__: pytest.fail("it began"))
    monkeypatch.setattr(memory, "memory", lambda: 2**30)
    X, y = sparse.eye_array(2001, 40_000, format="csr"), [f"c{i % 1000}" for i in range(2001)]
    with pytest.raises(UnsupportedError) as caught:
        TiltClassifier().fit(X, y)
    assert "1,000 classes, 40,000 columns and 2,001 positions needs 1.2 GiB" in str(caught.value)
    assert "this machine has 1.0 GiB. Use fewer classes" in str(caught.value)
    assert caught.value.parameter == "classes"
    labels = [[f"t{i}" for i in range(6000)]]
    with pytest.raises(UnsupportedError, match="6,000 classes"):
        TiltTagger(features=None).fit([[{"a": 1.0}] * 6000], labels)


def test_an_online_fit_needs_the_weights_alone() -> None:
    assert memory.Size(10, 1000, 500, online=True).least_bytes == 8 * 10 * 1000
    assert memory.Size(10, 1000, 500, edges=True).least_bytes == 8 * 10 * (4000 + 500 + 40)


def test_memory_that_runs_out_is_said(monkeypatch) -> None:
    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr(TiltClassifier, "_model", fail)
    clf = TiltClassifier()
    with pytest.raises(UnsupportedError, match="Memory ran out during the fit. Use fewer classes"):
        clf.fit(np.eye(3)[:2], ["a", "b"])
    assert not hasattr(clf, "classes_")


def test_a_machine_that_does_not_say_how_much_it_has(monkeypatch) -> None:
    monkeypatch.setattr(memory.os, "sysconf", lambda name: (_ for _ in ()).throw(ValueError))
    assert memory.memory() is None
    TiltClassifier().fit(np.eye(3)[:2], ["a", "b"])
