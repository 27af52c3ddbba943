"""tiltfit.compare: what is run, what is judged, and what is refused."""

from __future__ import annotations

import os
import random
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from tests.cli.ads import CONSTRAINTS as AD_CONSTRAINTS
from tests.cli.ads import ads

import tiltfit
from tiltfit import (
    Comparison,
    ConstraintSet,
    TiltClassifier,
    TiltTagger,
    compare,
    expect,
    register_method,
    register_model,
    when,
    word,
)
from tiltfit.comparison import worker
from tiltfit.errors import ConstraintError, DataError, TiltfitWarning, UnknownLabelError, UnsupportedError
from tiltfit.methods.catalogue import METHODS
from tiltfit.models.registry import MODELS
from tiltfit.report.segments import score_tags

SAID = [
    expect("hockey", given=word("puck")).about(0.9, name="puck"),
    expect("baseball", given=word("bat")).about(0.9, name="bat"),
]
WORDS = {"hockey": ["puck", "goalie", "ice", "rink"], "baseball": ["bat", "pitcher", "inning", "base"]}


def documents(n: int, seed: int) -> tuple[list[str], list[Any]]:
    rng = random.Random(seed)
    labels = [["hockey", "baseball"][i % 2] for i in range(n)]
    return [" ".join([*rng.choices(WORDS[y], k=3), *rng.choices(["game", "team"], k=2)]) for y in labels], labels


TEXTS, LABELS = documents(80, 0)
TEST = documents(30, 1)


def run(*arguments: Any, **options: Any) -> Comparison:
    given: dict[str, Any] = {"test": TEST, "methods": ["ap"], "isolate": False, "n_bootstrap": 20, **options}
    return compare(*(arguments or (SAID, TEXTS)), **given)


def test_figures_are_those_of_the_estimator() -> None:
    found = run(SAID, TEXTS, LABELS, methods=["ap", "supervised"], labelled=6, beta=0.2)
    assert [row.name for row in found] == ["ap", "supervised"]
    assert (found.task, found.train, found.labelled, found.test, found.positions) == ("classify", 80, 6, 30, 30)
    assert found.reference == "ap"
    row = found["ap"]
    assert (row.method, row.model, row.parameters) == ("ap", "maxent", {"beta": 0.2})
    clf = TiltClassifier(SAID, beta=0.2).fit(TEXTS)
    unlabelled = run(beta=0.2)["ap"]
    assert unlabelled.figures["accuracy"].value == clf.score(*TEST)
    assert (unlabelled.rounds, unlabelled.converged) == (clf.n_iter_, True)
    assert unlabelled.seconds is not None
    assert unlabelled.memory is None  # not known of one process


def test_worst_violation_is_that_of_the_model_not_of_its_projection() -> None:
    found = run(SAID, TEXTS, LABELS, methods=["supervised"], labelled=4)["supervised"]
    kept = run(SAID, TEXTS, LABELS, methods=["ap"], labelled=4)["ap"]
    assert found.worst_violation is not None
    assert kept.worst_violation is not None
    assert found.worst_violation > kept.worst_violation
    # By hand: the share under the model of the documents that have the word.
    clf = TiltClassifier(SAID).fit(TEXTS)
    missed = {}
    for k, (name, column) in enumerate({"puck": 1, "bat": 0}.items()):
        rows = [i for i, text in enumerate(TEXTS) if name in text.split()]
        missed[name] = abs(clf.predict_proba([TEXTS[i] for i in rows])[:, column].mean() - 0.9)
        assert clf.constraint_report_[k].model_violation == pytest.approx(missed[name])
    row = run()["ap"]
    assert row.worst_violation == pytest.approx(max(missed.values()))
    assert row.worst_constraint == max(missed, key=lambda name: missed[name])


def test_of_counts_a_miss_is_told_as_a_share() -> None:
    texts, tags = [t for t, _ in ads(10, 0)], [y for _, y in ads(10, 0)]
    said = [expect.segments("size", per="sequence").about(5, name="many")]
    found = compare(said, texts, tags, test=(texts, tags), methods=["supervised"], isolate=False, n_bootstrap=0)
    row = found["supervised"]
    assert row.worst_violation is None or 0 <= row.worst_violation <= 1


def test_all_is_every_word_of_the_catalogue() -> None:
    assert [row.name for row in run(SAID, TEXTS, LABELS, methods="all")] == list(METHODS)


def test_methods_with_names_and_parameters_of_their_own() -> None:
    found = run(methods={"soft": {"method": "ap", "beta": 1.0}, "hard": {"method": "ap", "beta": 0.01}}, alpha=0.5)
    assert found["hard"].parameters == {"alpha": 0.5, "beta": 0.01}
    assert (found["hard"].worst_violation or 0) < (found["soft"].worst_violation or 0)
    assert found["hard"].figures["log_loss"].difference is not None


def test_words_with_commas_between_them_are_a_list() -> None:
    assert [row.name for row in run(methods="ap, vote")] == ["ap", "vote"]


def test_methods_that_take_no_constraints_run_without_them() -> None:
    found = run(SAID, TEXTS, LABELS, methods=["ap", "em", "em/bernoulli_naive_bayes"], labelled=6)
    row = found["em"]
    assert (row.status, row.model, row.worst_violation) == ("ok", "naive_bayes", None)
    with_model, without_constraints = row.notes
    assert with_model == "with model='naive_bayes', since method='em' cannot train 'maxent'"
    assert without_constraints == "without the constraints, since method='em' takes none"
    assert found["em/bernoulli_naive_bayes"].notes == (without_constraints,)
    assert found["ap"].notes == ()
    assert "em: with model='naive_bayes', since method='em' cannot train 'maxent'; without" in " ".join(
        str(found).split()
    )
    assert Comparison.from_dict(found.to_dict()) == found
    assert any("clusters" in note for note in run(methods=["em"])["em"].notes)


def test_figures_of_em_are_those_of_em() -> None:
    found = run(SAID, TEXTS, LABELS, methods=["em"])["em"]
    clf = TiltClassifier(classes=sorted(set(LABELS)), method="em", model="naive_bayes", random_state=0)
    assert found.figures["accuracy"].value == clf.fit(TEXTS, LABELS).score(*TEST)


def test_a_refused_method_stops_nobody_and_says_why() -> None:
    found = run(methods=["supervised", "ap/no_such_model", "ap"])
    assert [row.status for row in found] == ["refused", "refused", "ok"]
    assert "no instance of y is labelled" in (found["supervised"].reason or "")
    assert "model='no_such_model' is not supported" in (found["ap/no_such_model"].reason or "")
    assert found.reference == "ap"
    assert "supervised refused: method='supervised' learns from labels" in str(found)


def test_a_method_that_breaks_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(TiltClassifier):  # type: ignore[misc]
        def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **_: Any) -> Any:
            if self.beta == 0.5:
                raise MemoryError
            if self.beta == 0.6:
                raise RuntimeError("lost")
            return super().fit(X, y)

    monkeypatch.setattr(worker, "TiltClassifier", Broken)
    betas = {"a": 0.5, "b": 0.6, "c": 0.7}
    found = run(methods={name: {"method": "ap", "beta": beta} for name, beta in betas.items()})
    assert [(row.status, row.reason) for row in found] == [
        ("failed", "MemoryError"), ("failed", "RuntimeError: lost"), ("ok", None),
    ]  # fmt: skip


def test_nothing_ran() -> None:
    found = run(methods=["supervised"])
    assert (found.reference, found.metrics) == (None, ())
    assert "refused" in str(found)
    with pytest.raises(DataError, match="nothing to plot"):
        pytest.importorskip("matplotlib") and found.plot("nothing.png")


def test_warnings_of_a_method_are_kept() -> None:
    said = [*SAID, expect("hockey", given=word("zamboni")).about(0.9)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = run(said, TEXTS)
    assert any("zamboni" in warning for warning in found["ap"].warnings)


def test_labels_are_kept_at_random_and_fewer_are_a_part_of_more(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[set[int]] = []
    real = worker.run

    def spy(work: worker.Work, cell: Any) -> Any:
        assert work.y is not None
        assert all(label in (None, LABELS[i]) for i, label in enumerate(work.y))
        seen.append({i for i, label in enumerate(work.y) if label is not None})
        return real(work, cell)

    monkeypatch.setattr("tiltfit.comparison.compare.run", spy)
    for labelled, seed in ((5, 0), (12, 0), (12, 1), (0, 0)):
        run(SAID, TEXTS, np.array(LABELS), labelled=labelled, random_state=seed)
    assert [len(kept) for kept in seen] == [5, 12, 12, 0]
    assert seen[0] < seen[1]
    assert seen[1] != seen[2]


def test_classes_are_those_of_all_labels_even_if_few_are_kept() -> None:
    labels = [*LABELS[:-1], "curling"]
    found = run((), TEXTS, labels, methods=["supervised"], labelled=10, test=(TEST[0], [*TEST[1][:-1], "curling"]))
    assert found["supervised"].ok


@pytest.mark.parametrize("kind", ["sparse", "dense", "table", "pandas", "polars"])
def test_what_x_may_be(kind: str) -> None:
    train, test = documents(60, 0), documents(20, 1)
    if kind in ("sparse", "dense"):
        names = sorted({w for ws in WORDS.values() for w in ws})
        parts = [np.array([[float(w in t.split()) for w in names] for t in texts]) for texts, _ in (train, test)]
        said = [expect("hockey", given=tiltfit.feature("puck")).about(0.9)]
        X, X_test = (sparse.csr_array(part) if kind == "sparse" else part for part in parts)
        found = run(said, X, test=(X_test, test[1]), feature_names=names, classes=["hockey", "baseball"])
    else:
        said = [expect("hockey", given=tiltfit.column("text").word("puck")).about(0.9)]
        tables = [{"text": np.array(texts, dtype=object)} for texts, _ in (train, test)]
        if kind != "table":
            frame = pytest.importorskip(kind)
            tables = [frame.DataFrame(table) for table in tables]
        found = run(said, tables[0], test=(tables[1], test[1]), classes=["hockey", "baseball"])
    assert found["ap"].ok, found["ap"].reason


# sequences ------------------------------------------------------------------------------------------------------

AD_TOKENS, AD_TAGS = ([row[k] for row in ads(30, 0)] for k in (0, 1))
AD_TEST = tuple([row[k] for row in ads(12, 1)] for k in (0, 1))


def tag(**options: Any) -> Comparison:
    given: dict[str, Any] = {"test": AD_TEST, "methods": ["ap"], "isolate": False, "n_bootstrap": 20, **options}
    said = ConstraintSet.from_toml(AD_CONSTRAINTS)
    return compare(said, AD_TOKENS, given.pop("y", AD_TAGS), **given)


def test_figures_of_tags_are_those_of_evaluate() -> None:
    found = tag(labelled=2, methods=["ap", "supervised"], max_iter=5)
    assert (found.task, found.labelled, found.test) == ("tag", 2, 12)
    assert found.positions == sum(map(len, AD_TEST[0]))
    tagger = TiltTagger(ConstraintSet.from_toml(AD_CONSTRAINTS), max_iter=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tagger.fit(AD_TOKENS)
        row = tag(y=None, max_iter=5)["ap"]
    scores = score_tags(AD_TEST[1], tagger.predict(AD_TEST[0]), tagger.classes_.tolist())
    assert row.figures["accuracy"].value == pytest.approx(scores.accuracy)
    assert row.figures["macro_f1"].value == pytest.approx(scores.macro_f1)
    assert row.figures["segment_f1"].value == pytest.approx(scores.segment.f1)
    p = np.concatenate(tagger.predict_marginals(AD_TEST[0]))
    truth = [tagger.classes_.tolist().index(label) for tags in AD_TEST[1] for label in tags]
    assert row.figures["log_loss"].value == pytest.approx(-np.log(p[np.arange(len(truth)), truth]).mean())


def test_what_has_no_label_is_not_judged() -> None:
    tags = [None if k == 0 else [None, *row[1:]] if k == 1 else row for k, row in enumerate(AD_TEST[1])]
    found = tag(y=None, test=([*AD_TEST[0], []], [*tags, []]))
    assert found.test == 11
    assert found.positions == sum(map(len, AD_TEST[0])) - len(AD_TEST[0][0]) - 1
    tagger = TiltTagger(ConstraintSet.from_toml(AD_CONSTRAINTS)).fit(AD_TOKENS)
    whole = score_tags(AD_TEST[1][2:], tagger.predict(AD_TEST[0][2:]))
    assert found["ap"].figures["segment_f1"].value == pytest.approx(whole.segment.f1)


def test_a_tag_that_no_model_knows_counts_as_a_mistake() -> None:
    tags = [["price", *row[1:]] if k == 0 else row for k, row in enumerate(AD_TEST[1])]
    with pytest.warns(TiltfitWarning, match="1 tokens of the test part are labelled 'price'"):
        found = tag(test=(AD_TEST[0], tags))
    assert found["ap"].figures["accuracy"].value <= 1 - 1 / found.positions
    with pytest.raises(UnknownLabelError, match="In test=.*no label, such as 'price', is one of the classes"):
        tag(test=(AD_TEST[0], [["price"] * len(row) for row in AD_TEST[1]]))


# processes ------------------------------------------------------------------------------------------------------


def test_what_cannot_be_sent_is_refused_with_the_way_out() -> None:
    lock = __import__("threading").Lock()
    said = [*SAID, expect("hockey", given=when(lambda text: bool(lock))).about(0.9)]
    with pytest.raises(UnsupportedError, match=r"cannot be sent to another process.*isolate=False"):
        run(said, TEXTS, isolate=True)


class Deadly:
    """Ends the process that unpacks it."""

    def __init__(self, code: str) -> None:
        self.code = code

    def __reduce__(self) -> Any:
        return (exec, (self.code,))


@pytest.mark.slow
def test_a_process_of_its_own() -> None:
    """It finds the same, tells its memory, and may die without taking anything with it."""
    said = [
        *SAID,
        expect("hockey", given=when(lambda text: "rink" in text)).about(0.9),
    ]  # no plain pickle would take it
    deaths = {
        "leaves": ("import os; print('tired', flush=True); os._exit(3)", "ended with code 3: tired"),
        "stumbles": ("raise ImportError('no module there')", "ended with code 1: ImportError: no module there"),
    }
    if os.name == "posix":
        kill = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
        deaths["killed"] = (kill, "ended by SIGKILL, as happens when memory runs out")
    dying = {name: {"method": "ap", "vectorizer": Deadly(code)} for name, (code, _) in deaths.items()}
    apart = run(said, TEXTS, methods={**dying, "ap": "ap", "supervised": "supervised"}, isolate=True)
    for name, (_, reason) in deaths.items():
        assert apart[name].status == "failed"
        assert reason in (apart[name].reason or "")
    here = run(said, TEXTS, methods=["ap", "supervised"])
    assert apart["ap"].figures == here["ap"].figures
    assert apart["supervised"].reason == here["supervised"].reason
    if Path("/proc/self/status").is_file() or sys.platform == "darwin":
        assert apart["ap"].memory is not None
        assert 0 <= apart["ap"].memory < 500e6


def test_where_no_process_can_be_started_it_runs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "")
    row = run(isolate=True)["ap"]
    assert (row.ok, row.memory) == (True, None)


def test_progress_is_told_before_each() -> None:
    told: list[tuple[int, int, str]] = []
    run(methods=["ap", "supervised"], progress=lambda *now: told.append(now))
    assert told == [(1, 2, "ap"), (2, 2, "supervised")]


# bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"methods": "app"}, UnsupportedError, "There is no method 'app'. Did you mean \"ap\""),
        ({"methods": ["ap", "ap"]}, DataError, "names 'ap' twice"),
        ({"methods": []}, DataError, "methods= is empty"),
        ({"methods": 3}, DataError, "methods=3 must be"),
        ({"methods": [3]}, DataError, "methods= holds 3"),
        ({"methods": ["ap/"]}, DataError, "'ap/' names no model"),
        ({"methods": {"mine": {"beta": 1}}}, DataError, "The parameters of 'mine' name no method"),
        ({"methods": {"mine": {"method": "ap", "betta": 1}}}, DataError, "betta= of 'mine' is not a parameter.*beta"),
        ({"methods": {"mine": {"method": "ap", "random_state": 1}}}, DataError, "random_state= of 'mine' is the same"),
        ({"betta": 1.0}, DataError, "betta= is not a parameter of TiltClassifier. Did you mean .beta"),
        ({"method": "ap"}, DataError, "method= belongs into methods="),
        ({"callback": print}, DataError, "callback= cannot be called"),
        ({"test": None}, DataError, "test= must be a pair"),
        ({"test": (TEXTS, None)}, DataError, "y_test is None"),
        ({"test": (TEST[0], TEST[1][:-1])}, DataError, "In test=.*different lengths: 30 and 29"),
        ({"test": (TEST[0], [None] * 30)}, DataError, "In test=.*nothing is labelled"),
        ({"test": (TEST[0], ["curling", *TEST[1][1:]])}, UnknownLabelError, "In test=.*'curling'"),
        ({"task": "clasify"}, UnsupportedError, "task='clasify' is unknown.*mean .classify"),
        ({"task": "tag"}, DataError, "X"),
        ({"labelled": -1}, DataError, "labelled=-1 must be"),
        ({"labelled": 2.5}, DataError, "labelled=2.5 must be"),
        ({"labelled": 1}, DataError, "labelled=1, but only 0"),
        ({"random_state": -1}, DataError, "random_state=-1 must be"),
        ({"random_state": None}, DataError, "random_state=None must be"),
        ({"n_bootstrap": "many"}, DataError, "n_bootstrap='many' must be"),
        ({"classes": ["a", "b"]}, UnknownLabelError, "puck"),
    ],
)
def test_bad_input(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        run(**options)


def test_bad_data() -> None:
    with pytest.raises(DataError, match="different lengths: 80 and 79"):
        run(SAID, TEXTS, LABELS[:-1])
    with pytest.raises(DataError, match="X is neither a list of texts, a table, nor a matrix"):
        run(SAID, 3)
    with pytest.raises(ConstraintError):
        run([3], TEXTS)


def test_a_class_of_numbers_is_found_by_its_text() -> None:
    numbers = [int(label == "hockey") for label in LABELS]
    found = run((), TEXTS, numbers, methods=["supervised"], test=(TEST[0], [str(int(y == "hockey")) for y in TEST[1]]))
    assert found["supervised"].figures["accuracy"].value > 0.9


def test_what_only_this_process_knows_is_refused_with_a_way_out() -> None:
    register_method(replace(METHODS["supervised"], name="mine"))
    register_model("my_model", lambda plain, _: plain)
    try:
        asked = {"method": {"method": "mine"}, "model": {"method": "ap", "model": "my_model"}, "typo": "ap/maxnet"}
        found = run(SAID, TEXTS, LABELS, methods=asked, isolate=True)
    finally:
        METHODS.remove("mine")
        MODELS.remove("my_model")
    assert {row.status for row in found} == {"refused"}
    for name, word_ in (("method", "mine"), ("model", "my_model")):
        assert f"{name}='{word_}' is registered in the calling process only" in (found[name].reason or "")
        assert "isolate=False, or give the extension an entry point" in (found[name].reason or "")
    assert "model='maxnet' is not supported" in (found["typo"].reason or "")


@pytest.mark.filterwarnings("ignore:y holds the text")
def test_an_unlabelled_test_document_is_not_of_a_class_called_none() -> None:
    texts = ["a good film", "a bad film", "good", "bad"] * 4
    y = ["None", "yes", "None", "yes"] * 4
    test = (["good", "bad", "film"], ["None", "yes", None])
    found = run([expect("yes", given=word("bad")).about(0.9)], texts, y, methods=["supervised"], test=test)
    assert found.test == 2
