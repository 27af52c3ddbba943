"""The method and the model that CONTRIBUTING shows are right as they stand there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tiltfit import TiltClassifier, expect, word
from tiltfit.methods.catalogue import METHODS
from tiltfit.models.registry import MODELS
from tiltfit.testing import check_method, check_model

PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"
TEXTS = ["the puck", "a puck", "the bat", "a bat"]
SAID = [expect("hockey", given=word("puck")).about(0.9), expect("baseball", given=word("bat")).about(0.9)]


@pytest.fixture
def shown() -> Iterator[dict[str, Any]]:
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {"__name__": "contributing"}
    exec(compile(code, PAGE, "exec", dont_inherit=True), names)
    yield names
    METHODS.remove("descend")
    MODELS.remove("linear")


def test_the_method(shown: dict[str, Any]) -> None:
    check_method(shown["DESCENT"])
    found = TiltClassifier(SAID, method="descend", beta=0.05, tol=1e-6, max_iter=5000).fit(TEXTS)
    assert found.objective_ == pytest.approx(TiltClassifier(SAID, beta=0.05, tol=1e-6).fit(TEXTS).objective_, rel=1e-4)


def test_the_model(shown: dict[str, Any]) -> None:
    check_model(shown["make"])
    found = TiltClassifier(SAID, model="linear", random_state=0, tol=1e-6).fit(TEXTS)
    right = TiltClassifier(SAID, tol=1e-6, vectorizer="auto").fit(TEXTS)
    # The same model but for the intercepts, which these classes of equal size do not need.
    np.testing.assert_allclose(found.predict_proba(TEXTS), right.predict_proba(TEXTS), atol=1e-3)
