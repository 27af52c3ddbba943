"""``sharpen=``: what it changes, what it leaves, and where it is kept."""

import numpy as np
import pytest

from tiltfit import TiltClassifier, TiltTagger, expect, load, report_page, word
from tiltfit.errors import DataError, ModelFileError, UnsupportedError
from tiltfit.estimators import persistence
from tiltfit.storage.container import read, write

TEXTS = ["the puck hit the goalie", "goalie saves the puck", "a bat and a pitcher", "the pitcher has a bat", "the game"]
SAID = [expect("hockey", given=word("puck")).about(0.9), expect("baseball", given=word("bat")).about(0.9)]
ADS = [["big", "room", "call", "Ann"], ["sunny", "room", "call", "Bob"], ["big", "garden", "phone", "Ann"]]
OF_ADS = [expect("contact", given=word("call")).about(0.9), expect("size", given=word("big")).about(0.9)]


def classifier(**options):
    return TiltClassifier(SAID, **{"tol": 1e-8} | options)


def test_all_scores_are_multiplied_and_no_prediction_changes():
    plain, sharp = classifier(sharpen=None).fit(TEXTS), classifier(sharpen=2.5).fit(TEXTS)
    np.testing.assert_allclose(sharp.coef_, 2.5 * plain.coef_)
    np.testing.assert_allclose(sharp.intercept_, 2.5 * plain.intercept_)
    p = plain.predict_proba(TEXTS) ** 2.5
    np.testing.assert_allclose(sharp.predict_proba(TEXTS), p / p.sum(axis=1, keepdims=True))
    assert sharp.predict(TEXTS).tolist() == plain.predict(TEXTS).tolist()
    assert (plain.sharpness_, sharp.sharpness_) == (1.0, 2.5)


def test_the_report_is_about_the_scaled_model_and_the_history_about_the_fit():
    plain, sharp = classifier(sharpen=None).fit(TEXTS), classifier(sharpen=2.5).fit(TEXTS)
    hockey = sharp.classes_.tolist().index("hockey")
    entry, q = sharp.constraint_report_[0], sharp.project(TEXTS)
    assert entry.model == pytest.approx(sharp.predict_proba(TEXTS)[:2, hockey].mean())
    assert entry.projected == pytest.approx(q[:2, hockey].mean(), abs=1e-3)
    assert sharp.objective_ == plain.objective_
    assert sharp.history_ == plain.history_
    assert str(sharp.constraint_report_).endswith("sharpness 2.5 (a factor of all scores): as given")
    assert "sharpness" not in str(plain.constraint_report_)
    assert "Sharpness 2.5 (a factor of all scores): as given." in report_page(sharp, TEXTS).html


def test_a_tagger_has_two_factors():
    plain = TiltTagger(OF_ADS, sharpen=None).fit(ADS)
    both, apart = (TiltTagger(OF_ADS, sharpen=given).fit(ADS) for given in (2.0, (2.0, 0.5)))
    np.testing.assert_allclose(both.transitions_, 2 * plain.transitions_)
    np.testing.assert_allclose(apart.coef_, 2 * plain.coef_)
    np.testing.assert_allclose(apart.transitions_, plain.transitions_ / 2)
    assert [model.sharpness_ for model in (plain, both, apart)] == [(1.0, 1.0), (2.0, 2.0), (2.0, 0.5)]
    assert TiltTagger(OF_ADS).fit(ADS).sharpness_ == (1.0, 1.0)
    assert "sharpness 2 and 0.5 (a factor of all scores of tokens and of transitions)" in str(apart.constraint_report_)


@pytest.mark.parametrize("options", [{"features": {"hashing": 64}}, {"weights": "observed"}])
def test_factors_of_features_with_fewer_weights(options):
    y = [["size", "size", "contact", "contact"], None, None]
    plain, sharp = (TiltTagger(OF_ADS, sharpen=given, **options).fit(ADS, y) for given in (None, (2.0, 0.5)))
    np.testing.assert_allclose(sharp.coef_, 2 * plain.coef_)
    np.testing.assert_allclose(sharp.transitions_, plain.transitions_ / 2)


def test_files_keep_it(tmp_path):
    for model, X in (
        (classifier(sharpen=2.5).fit(TEXTS), TEXTS),
        (TiltTagger(OF_ADS, sharpen=(2.0, 0.5)).fit(ADS), ADS),
    ):
        model.save(tmp_path / "m.tilt")
        again = load(tmp_path / "m.tilt")
        assert again.sharpness_ == model.sharpness_
        assert again.sharpening_ == model.sharpening_
        assert str(again.constraint_report_) == str(model.constraint_report_)
        assert np.array_equal(again.predict(X), model.predict(X))
        np.testing.assert_array_equal(again.unsharpened_weights(), model.unsharpened_weights())
        again.fit(X)
        np.testing.assert_allclose(again.coef_, model.coef_)


@pytest.mark.parametrize("wrong", [0, -1.0, "2", True, float("nan")])
def test_damaged_files(tmp_path, wrong):
    classifier(sharpen=2.5).fit(TEXTS).save(tmp_path / "m.tilt")
    document, arrays = read(tmp_path / "m.tilt")
    document["sharpness"]["positions"] = wrong
    if wrong != wrong:  # JSON has no NaN: nothing can be written
        with pytest.raises(ModelFileError):
            persistence._sharpness(document["sharpness"])
        return
    write(tmp_path / "m.tilt", document, arrays)
    with pytest.raises(ModelFileError, match="The sharpness must be a positive, finite number"):
        load(tmp_path / "m.tilt")


def test_files_of_earlier_versions_have_none(tmp_path):
    classifier().fit(TEXTS).save(tmp_path / "m.tilt")
    document, arrays = read(tmp_path / "m.tilt")
    del document["sharpness"], document["parameters"]["sharpen"]
    write(tmp_path / "m.tilt", document, arrays)
    assert load(tmp_path / "m.tilt").sharpness_ == 1.0


def starts(model, *data):
    """The objective after one round at most of a search that begins where a model ended."""
    return model.set_params(max_iter=1).fit(*data).objective_


@pytest.mark.filterwarnings("ignore::tiltfit.errors.NotConvergedWarning")
def test_a_search_goes_on_from_the_weights_of_the_fit():
    for make, X in ((classifier, TEXTS), (lambda **options: TiltTagger(OF_ADS, **options), ADS)):
        plain, sharp = make(sharpen=None).fit(X), make(sharpen=2.5).fit(X)
        np.testing.assert_allclose(sharp.unsharpened_weights(), plain.unsharpened_weights())
        assert starts(make(init=sharp), X) == pytest.approx(starts(make(init=plain), X))
        sharp.set_params(warm_start=True)
        assert starts(sharp, X) == pytest.approx(starts(make(init=plain), X))


def test_streams_go_on_from_the_weights_of_the_fit():
    for make, X in ((classifier, TEXTS), (lambda **options: TiltTagger(OF_ADS, **options), ADS)):
        plain, sharp = (make(sharpen=given, random_state=0).fit(X) for given in (None, 2.5))
        sharp.set_params(sharpen="auto")
        for model in (plain, sharp):
            model.partial_fit(X)
        np.testing.assert_allclose(sharp.coef_, plain.coef_)
        assert sharp.sharpness_ == plain.sharpness_
        assert sharp.constraint_report_.note == ""


@pytest.mark.parametrize("wrong", [0, -1, float("inf"), float("nan"), True, "sharp", [2.0], (1.0, 2.0)])
def test_values_that_are_no_factor(wrong):
    with pytest.raises(DataError, match="must be 'auto', None or a positive number") as caught:
        classifier(sharpen=wrong).fit(TEXTS)
    assert caught.value.parameter == "sharpen"


@pytest.mark.parametrize("wrong", [(1.0,), (1.0, 2.0, 3.0), (1.0, 0.0), ("a", "b"), "sharp"])
def test_values_that_are_no_pair(wrong):
    with pytest.raises(DataError, match="or a pair of them: of tokens, of transitions"):
        TiltTagger(OF_ADS, sharpen=wrong).fit(ADS)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"model": "naive_bayes"}, "are log-probabilities"),
        ({"solver": "online"}, "goes on learning"),
        ({"base": np.full((5, 2), 0.5)}, "base= has scores of its own"),
    ],
)
def test_where_a_factor_is_refused(options, why):
    with pytest.raises(UnsupportedError, match=f"sharpen=2.0 multiplies the fitted weights, but .*{why}"):
        classifier(sharpen=2.0, **options).fit(TEXTS)


def test_a_stream_refuses_a_factor():
    with pytest.raises(UnsupportedError, match="but partial_fit goes on learning from them"):
        classifier(sharpen=2.0, classes=["baseball", "hockey"]).partial_fit(TEXTS)
    fitted = classifier(sharpen=2.0).fit(TEXTS)
    before = fitted.coef_.copy()
    with pytest.raises(UnsupportedError, match="Use sharpen='auto' or None"):
        fitted.partial_fit(TEXTS)
    np.testing.assert_array_equal(fitted.coef_, before)
    assert fitted.sharpness_ == 2.0
