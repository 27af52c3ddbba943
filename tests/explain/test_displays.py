"""Displays draw what the model says, into axes of their own or of the user's."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError

from tiltfit import (
    ConstraintDisplay,
    ConvergenceDisplay,
    ReliabilityDisplay,
    TiltClassifier,
    TiltTagger,
    expect,
    report_page,
    word,
)
from tiltfit.errors import DataError, UnsupportedError

matplotlib = pytest.importorskip("matplotlib", reason='displays need matplotlib: pip install "tiltfit[plot]"')

TEXTS = ["the puck hit", "a puck", "a bat and", "the bat", "puck or bat", "nothing"]
LABELS = ["h", "h", "b", "b", "h", None]


@pytest.fixture(autouse=True)
def _no_window() -> Iterator[None]:
    matplotlib.use("agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def model() -> TiltClassifier:
    said = [
        expect("h", given=word("puck")).about(0.9, name="costs $5$"),
        expect("b", given=word("bat")).at_least(0.7),
        expect("h").between(0.2, 0.8),
    ]
    return TiltClassifier(said, classes=["b", "h"]).fit(TEXTS)


def test_the_objective_against_the_rounds(model: TiltClassifier) -> None:
    display = ConvergenceDisplay.from_estimator(model)
    np.testing.assert_allclose(display.line_.get_ydata(), [r.objective for r in model.history_])
    np.testing.assert_allclose(display.line_.get_xdata(), [r.round for r in model.history_])
    assert display.ax_.get_xlabel() == "round"
    assert display.figure_ is display.ax_.figure


def test_the_gradient_is_drawn_logarithmically_and_with_a_name(model: TiltClassifier) -> None:
    display = ConvergenceDisplay.from_estimator(model, figure="gradient", name="mine", color="red")
    assert display.ax_.get_yscale() == "log"
    assert display.line_.get_color() == "red"
    assert display.ax_.get_legend().get_texts()[0].get_text() == "mine"


def test_every_constraint_is_placed(model: TiltClassifier) -> None:
    display = ConstraintDisplay.from_estimator(model)
    names = [t.get_text() for t in display.ax_.get_yticklabels()]
    assert names[0] == r"costs \$5\$"
    assert len(names) == 3
    dots = {round(float(line.get_xdata()[0]), 6) for line in display.ax_.lines if line.get_label() == "projected"}
    assert dots == {round(float(e.projected or 0), 6) for e in model.constraint_report_}
    asked = [x for line in display.ax_.lines if line.get_label() == "asked" for x in line.get_xdata()]
    assert asked == [0.9, 0.7, 0.2, 0.8]
    display.figure_.canvas.draw()  # no formula in it fails


def test_the_dearest_constraints_are_kept(model: TiltClassifier) -> None:
    display = ConstraintDisplay.from_estimator(model, most=1)
    dearest = max(model.constraint_report_, key=lambda e: abs(e.price or 0))
    (tick,) = display.ax_.get_yticklabels()
    assert tick.get_text().replace("\\", "")[:20] == dearest.title[:20]


def test_reliability_is_that_of_the_page(model: TiltClassifier) -> None:
    display = ReliabilityDisplay.from_estimator(model, TEXTS, LABELS, name="m")
    sure = model.predict_proba(TEXTS[:5]).max(axis=1)
    right = model.predict(TEXTS[:5]) == np.array(LABELS[:5])
    found = display.reliability
    assert found.count.sum() == 5
    np.testing.assert_allclose(np.average(found.accuracy, weights=found.count), right.mean())
    np.testing.assert_allclose(np.average(found.confidence, weights=found.count), sure.mean())
    assert found.verdict in report_page(model, TEXTS, LABELS).html


def test_reliability_of_tokens() -> None:
    X, y = [["a", "b"], ["b"]], [["x", "y"], ["y"]]
    display = ReliabilityDisplay.from_estimator(TiltTagger(method="supervised").fit(X, y), X, y)
    assert display.reliability.count.sum() == 3


def test_axes_of_the_user(model: TiltClassifier) -> None:
    from matplotlib.figure import Figure

    first, second = Figure().subplots(1, 2)
    display = ConvergenceDisplay.from_estimator(model, ax=first)
    assert display.ax_ is first
    assert display.plot(ax=second).ax_ is second
    assert len(second.lines) == 1


def test_refusals(model: TiltClassifier) -> None:
    with pytest.raises(DataError, match="figure='gradiant' is unknown.*gradient"):
        ConvergenceDisplay.from_estimator(model, figure="gradiant")
    with pytest.raises(DataError, match="no round has a dev_score"):
        ConvergenceDisplay.from_estimator(model, figure="dev_score")
    with pytest.raises(DataError, match="not a matplotlib axes"):
        ConvergenceDisplay.from_estimator(model, ax="plot.png")
    with pytest.raises(UnsupportedError, match="got DummyClassifier"):
        ConstraintDisplay.from_estimator(DummyClassifier())
    with pytest.raises(NotFittedError):
        ConstraintDisplay.from_estimator(TiltClassifier())
    with pytest.raises(DataError, match="nothing in y has one"):
        ReliabilityDisplay.from_estimator(model, TEXTS, [None] * 6)
    supervised = TiltClassifier(method="supervised").fit(TEXTS, LABELS)
    with pytest.raises(DataError, match="no constraint has a share"):
        ConstraintDisplay.from_estimator(supervised)
    stream = TiltClassifier(classes=["b", "h"]).partial_fit(TEXTS, LABELS)
    with pytest.raises(DataError, match="stream, which keeps no rounds"):
        ConvergenceDisplay.from_estimator(stream)


def test_without_matplotlib_the_extra_is_named(model: TiltClassifier, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(UnsupportedError, match=r'pip install "tiltfit\[plot\]"'):
        ConvergenceDisplay.from_estimator(model)
