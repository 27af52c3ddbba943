"""Estimators in notebooks: scikit-learn's diagram, and the report once there is one."""

from __future__ import annotations

import pytest
from sklearn import config_context
from sklearn.pipeline import make_pipeline

from tiltfit import TiltClassifier, TiltTagger, expect, word


def classifier() -> TiltClassifier:
    return TiltClassifier([expect("a", given=word("x")).about(0.9, name="<script>")], classes=["a", "b"])


def test_before_fitting_it_is_scikit_learns_own() -> None:
    html = classifier()._repr_html_()
    assert "sk-container" in html
    assert 'class="tiltfit"' not in html


def test_after_fitting_the_report_stands_below() -> None:
    model = classifier().fit(["x y", "y z"])
    html = model._repr_html_()
    assert html.index("sk-container") < html.index('class="tiltfit"')
    assert "about 90%" in html
    assert "<script>" not in html.split('class="tiltfit"')[1]
    bundle = model._repr_mimebundle_()
    assert 'class="tiltfit"' in bundle["text/html"]
    assert bundle["text/plain"] == repr(model)


def test_taggers_and_models_without_constraints() -> None:
    tagger = TiltTagger([expect("a", given=word("x")).about(0.9)], classes=["a", "b"]).fit([["x", "y"]])
    assert 'class="tiltfit"' in tagger._repr_html_()
    supervised = TiltClassifier(method="supervised").fit(["x", "y"], ["a", "b"])
    assert 'class="tiltfit"' not in supervised._repr_html_()


def test_scikit_learns_setting_is_respected() -> None:
    model = classifier().fit(["x y", "y z"])
    with config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert "text/html" not in model._repr_mimebundle_()


@pytest.mark.parametrize("fitted", [False, True])
def test_inside_a_pipeline_the_diagram_is_left_alone(fitted: bool) -> None:
    pipeline = make_pipeline(classifier())
    if fitted:
        pipeline.fit(["x y", "y z"])
    assert "sk-container" in pipeline._repr_html_()
