"""``refine="auto"``: the second stage, its brake, its files and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax

from tiltfit import TiltClassifier, expect, load, word
from tiltfit.errors import DataError, ModelFileError
from tiltfit.estimators.file_parts import dump_encoder, restore_encoder
from tiltfit.estimators.refining import Refinement, sharpened

RNG = np.random.default_rng(0)
TOPICS = {
    "hockey": ["puck", "goalie", "rink", "skate", "stick", "ice", "period", "penalty"],
    "baseball": ["bat", "pitcher", "inning", "base", "glove", "umpire", "homer", "mound"],
}
COMMON = ["the", "a", "game", "season", "team", "player", "fan", "coach"]
STATED = [
    expect("hockey", given=word("puck")).about(0.9),
    expect("baseball", given=word("bat")).about(0.9),
]


def texts_of(n=120):
    """Texts of a topic, in turn, and their topics; most of them have no word that is stated."""
    labels = [("hockey", "baseball")[k % 2] for k in range(n)]
    return [" ".join([*RNG.choice(TOPICS[t], 3), *RNG.choice(COMMON, 3)]) for t in labels], np.array(labels)


TEXTS, TRUE = texts_of()
MATRIX = np.random.default_rng(1).normal(size=(40, 3))


def stage_one(**options):
    return TiltClassifier(STATED, **options).fit(TEXTS)


def refined(**options):
    return stage_one(refine="auto", **options)


def test_sharpened_is_the_square_of_every_row():
    q = np.array([[0.7, 0.2, 0.1], [1.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3]])
    assert sharpened(q) == pytest.approx(q**2 / np.sum(q**2, axis=1, keepdims=True))


def test_sharpened_keeps_the_order_of_probabilities_whose_squares_vanish():
    q = np.array([[1e-200, 3e-200]])
    assert sharpened(q) == pytest.approx(np.array([[0.1, 0.9]]))


@pytest.mark.parametrize("free", [True, False])
def test_the_second_stage_is_the_minimum_of_its_objective(free):
    """SciPy's minimum of the formula, from q of the first stage, with labels, γ and weights of rows."""
    y = np.where(np.arange(len(TEXTS)) < 6, TRUE, None)
    weight = np.random.default_rng(2).uniform(0.5, 2.0, len(TEXTS))
    options = {"gamma": 0.7, "alpha": 0.8, "tol": 1e-10, "max_iter": 2000, "penalize_intercept": not free}
    first = TiltClassifier(STATED, vectorizer="counts", **options).fit(TEXTS, y, sample_weight=weight)
    second = TiltClassifier(STATED, vectorizer="counts", refine="auto", **options).fit(TEXTS, y, sample_weight=weight)
    assert second.refinement_.is_kept
    q = first.project(TEXTS, y, sample_weight=weight)
    X = first.infer(TEXTS).model.features.nodes.X.toarray()
    margin = np.abs(q[:, 0] - q[:, 1]) ** 2
    others = np.arange(len(TEXTS)) >= 6
    sure = margin * weight[others].sum() / (weight[others] @ margin[others])
    omega = np.where(others, 0.7 * weight * sure, weight)
    t = q**2 / np.sum(q**2, axis=1, keepdims=True)

    def objective(w):
        table = w.reshape(-1, 2)
        ridge = table[:-1] if free else table
        return -omega @ np.sum(t * log_softmax(X @ table[:-1] + table[-1], axis=1), axis=1) + 0.4 * np.sum(ridge**2)

    found = second._weights()
    best = minimize(objective, found, method="L-BFGS-B", options={"ftol": 1e-14, "gtol": 1e-9})
    assert objective(found) <= best.fun + 1e-6 * abs(best.fun)
    assert second.objective_ == pytest.approx(objective(found), rel=1e-8)
    assert objective(first._weights()) > objective(found) * 1.01  # the first stage is somewhere else


def test_rows_that_no_statement_touches_are_learned_from():
    """The word "stick" is in no text with "puck", only in untouched ones with "goalie"."""
    texts = ["puck goalie", "puck goalie rink", "bat pitcher", "bat pitcher mound"] * 5
    texts += ["goalie stick", "pitcher glove"] * 20
    first = TiltClassifier(STATED).fit(texts).predict_proba(["stick", "glove"])[:, 1]
    second = TiltClassifier(STATED, refine="auto").fit(texts).predict_proba(["stick", "glove"])[:, 1]
    assert first == pytest.approx([0.5, 0.5], abs=1e-9)  # their weights are exactly zero
    assert second[0] > 0.51  # the ridge leaves most to "goalie" and "pitcher"
    assert second[1] < 0.49


def test_texts_have_more_views():
    found = refined()
    assert found.refinement_.views == ("words", "pairs", "characters")
    names = found.feature_names_in_.tolist()
    assert len(set(names)) == len(names) == found.n_features_in_ == found.coef_.shape[1]
    assert {"puck", "the game", "chars:puck"} <= set(names)


def test_long_texts_have_no_characters():
    assert TiltClassifier(STATED, refine="auto").fit([" ".join([t] * 12) for t in TEXTS]).refinement_.views == (
        "words",
        "pairs",
    )


@pytest.mark.parametrize("vectorizer", ["counts", "binary", "hashing"])
def test_features_that_a_user_chose_stay(vectorizer):
    found = refined(vectorizer=vectorizer)
    assert found.refinement_.views == ()
    assert found.n_features_in_ == stage_one(vectorizer=vectorizer).n_features_in_


def test_tables_have_the_views_of_each_column_of_texts():
    table = {"title": np.array(TEXTS, dtype=object), "length": np.array([len(t) / 50 for t in TEXTS])}
    found = TiltClassifier([expect("hockey").about(0.5)], classes=["baseball", "hockey"], refine="auto").fit(table)
    assert found.refinement_.views == ("words", "pairs", "characters")
    assert {"length", "title:puck", "title:the game", "title:chars:puck"} <= set(found.feature_names_in_)
    assert found.predict_proba(table).shape == (len(TEXTS), 2)


def test_a_matrix_keeps_its_columns():
    constraints = [expect("a").between(0.2, 0.4)]
    found = TiltClassifier(constraints, classes=["a", "b"], refine="auto").fit(MATRIX)
    assert found.refinement_.views == ()
    assert found.coef_.shape == (2, 3)


def test_history_shows_both_stages():
    first, found = stage_one(), refined()
    stages = [one.stage for one in found.history_]
    assert stages == [1] * first.n_iter_ + [2] * found.refinement_.rounds
    assert [one.round for one in found.history_] == list(range(1, found.n_iter_ + 1))
    assert found.message_.startswith("nothing is left to gain; refined with words, pairs, characters (")
    assert found.refinement_.seconds > 0


def test_known_labels_stay():
    y = np.where(np.arange(len(TEXTS)) < 4, np.where(TRUE == "hockey", "baseball", "hockey"), None)  # all wrong
    found = TiltClassifier(STATED, refine="auto").fit(TEXTS, y)
    assert found.project(TEXTS, y)[:4].max(axis=1).tolist() == [1.0] * 4
    assert TiltClassifier(STATED, refine="auto").fit_predict(TEXTS, y)[:4].tolist() == y[:4].tolist()


def test_the_figures_are_those_of_both_models():
    first, found = stage_one().predict(TEXTS), refined()
    figures = found.refinement_
    assert figures.changed == pytest.approx(np.mean(first != found.predict(TEXTS)))

    def miss(labels):
        fires = [np.array([w in text.split() for text in TEXTS]) for w in ("puck", "bat")]
        shares = [np.mean(labels[at] == label) for at, label in zip(fires, ("hockey", "baseball"), strict=True)]
        return np.average([abs(0.9 - share) for share in shares], weights=[at.sum() for at in fires])

    assert figures.missed == pytest.approx((miss(first), miss(found.predict(TEXTS))))


KEPT = Refinement(("words",), changed=0.1, missed=(0.05, 0.05), least=0.9, seconds=1.0, rounds=3)


@pytest.mark.parametrize(
    ("changes", "is_kept", "says"),
    [
        ({}, True, "refined with words (3 rounds, 1 s): 10.0% of predicted labels changed"),
        ({"missed": (0.05, 0.059)}, True, "miss the statements by 5.9% on average, 5.0% before"),
        ({"missed": (0.05, 0.061)}, False, "drifted (3 rounds, 1 s): its labels miss the statements by 6.1%"),
        ({"least": 0.51}, True, "refined with words"),
        ({"least": 0.49, "views": ()}, False, "the second stage drifted (3 rounds, 1 s): a class kept 49.0% of"),
    ],
)
def test_the_brake(changes, is_kept, says):
    found = replace(KEPT, **changes)
    assert found.is_kept is is_kept
    assert says in str(found)


def test_a_stage_that_drifts_leaves_the_first_model(monkeypatch):
    monkeypatch.setattr("tiltfit.estimators.refining._LEFT", 2.0)  # no class can have twice its rows
    first, found = stage_one(), refined()
    assert not found.refinement_.is_kept
    assert "not refined" in found.message_
    assert np.array_equal(found.coef_, first.coef_)
    assert found.feature_names_in_.tolist() == first.feature_names_in_.tolist()
    assert found.objective_ == first.objective_
    assert {one.stage for one in found.history_} == {1, 2}
    assert np.array_equal(found.predict_proba(TEXTS), first.predict_proba(TEXTS))


@pytest.mark.parametrize("drifts", [False, True])
def test_files_hold_the_views_and_the_figures(tmp_path, monkeypatch, drifts):
    if drifts:
        monkeypatch.setattr("tiltfit.estimators.refining._LEFT", 2.0)
    found = refined()
    found.save(tmp_path / "m.tilt")
    again = load(tmp_path / "m.tilt")
    assert again.refine == "auto"
    assert again.refinement_ == found.refinement_
    assert again.history_ == found.history_
    assert np.array_equal(again.predict_proba(TEXTS), found.predict_proba(TEXTS))
    assert np.array_equal(again.project(TEXTS), found.project(TEXTS))
    assert again.feature_names_in_.tolist() == found.feature_names_in_.tolist()


def test_files_of_tables(tmp_path):
    table = {"title": np.array(TEXTS, dtype=object), "body": np.array(TEXTS[::-1], dtype=object)}
    found = TiltClassifier([expect("a").about(0.3)], classes=["a", "b"], refine="auto").fit(table)
    found.save(tmp_path / "m.tilt")
    assert np.array_equal(load(tmp_path / "m.tilt").predict_proba(table), found.predict_proba(table))


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda views, arrays: views[0].update(unit="letters"), "A view of the texts is damaged"),
        (lambda views, arrays: arrays.update({"idf.pairs": np.ones(1)}), "A view of the texts is damaged"),
        (lambda views, arrays: views.append(views[0]), "The views of the texts are damaged"),
        (lambda views, arrays: views.clear(), "The views of the texts are damaged"),
    ],
    ids=["unit", "length", "twice", "none"],
)
def test_damaged_views_are_refused(damage, says):
    arrays = {}
    document = dump_encoder(refined().encoder_, arrays, [])
    damage(document["bag"]["views"], arrays)
    with pytest.raises(ModelFileError, match=says):
        restore_encoder(document, arrays)


def test_damaged_figures_are_refused():
    with pytest.raises(ModelFileError, match="figures of the second stage must be finite"):
        Refinement.from_document({**KEPT.to_document(), "changed": float("nan")})


@pytest.mark.parametrize(
    "options",
    [
        {"model": "naive_bayes"},
        {"method": "ge"},
        {"solver": "online"},
        {"base": np.full((len(TEXTS), 2), 0.5)},
    ],
    ids=["generative", "method", "online", "base"],
)
def test_without_a_second_stage(options):
    assert refined(**options).refinement_ is None


def test_no_second_stage_without_statements_that_fire_or_with_a_development_set():
    assert TiltClassifier(refine="auto").fit(TEXTS, TRUE).refinement_ is None
    found = TiltClassifier(STATED, refine="auto").fit(TEXTS, dev=(TEXTS[:9], TRUE[:9]))
    assert found.refinement_ is None


def test_a_callback_that_stops_the_first_stage_stops_the_fit():
    found = refined(callback=lambda one: one.round == 2)
    assert found.refinement_ is None
    assert found.n_iter_ == 2


def test_a_second_fit_without_it_forgets_the_first():
    found = refined()
    assert found.set_params(refine=None).fit(TEXTS).refinement_ is None
    assert found.message_ == stage_one().message_


@pytest.mark.parametrize("refine", ["yes", True, 2, "Auto"])
def test_bad_values(refine):
    with pytest.raises(DataError, match=f"refine={refine!r} must be 'auto' or None"):
        stage_one(refine=refine)
