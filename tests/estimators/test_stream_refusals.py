"""What ``partial_fit`` refuses: with a message that helps, and with the estimator as it was before."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from tests.estimators.test_streams import state
from tests.storage.test_damage import places, put

from tiltfit import TiltClassifier, TiltTagger, column, expect, load, when, word
from tiltfit.errors import DataError, ModelFileError, NotSavedWarning, TiltfitError, UnsupportedError
from tiltfit.estimators import persistence
from tiltfit.methods.catalogue import METHODS
from tiltfit.storage.container import read, write

ABOUT = [expect("h", given=word("puck")).about(0.9)]
TEXTS = ["the puck", "a bat", "puck and goal", "the base"]
TAGGED = [["Smith", ",", "J."], ["Title", "of"], ["Smith"]]


def classifier(**options):
    return TiltClassifier(ABOUT, classes=["h", "b"], **options).partial_fit(TEXTS, ["h", None, None, "b"])


def at(document, place):
    """What stands there in a document."""
    return reduce(lambda value, key: value[key], place, document)


def matrix_classifier():
    return TiltClassifier(classes=["h", "b"]).partial_fit(np.eye(4), ["h", "b", "b", "h"])


def tagger(**options):
    constraints = [expect("a", given=word("Smith")).about(0.9), expect.stay().about(0.6)]
    return TiltTagger(constraints, classes=["a", "t"], features={"hashing": 32}, **options).partial_fit(TAGGED)


FRAME = pd.DataFrame({"title": TEXTS, "pages": [1.0, 2.0, 3.0, 4.0]})


def frame_classifier():
    return TiltClassifier(classes=["h", "b"]).partial_fit(FRAME, ["h", "b", "b", "h"])


LATER = {
    "a label first seen late": (classifier, lambda m: m.partial_fit(["x"], ["z"]), "'z'"),
    "a label first seen late, tagger": (tagger, lambda m: m.partial_fit([["x"]], [["z"]]), "'z'"),
    "changed classes": (classifier, lambda m: m.partial_fit(["x"], classes=["h", "b", "c"]), "cannot change"),
    "changed classes, tagger": (tagger, lambda m: m.partial_fit([["x"]], classes=["a"]), "cannot change"),
    "classes that are no list": (classifier, lambda m: m.partial_fit(["x"], classes="hb"), "must be a list"),
    "more columns": (matrix_classifier, lambda m: m.partial_fit(np.ones((2, 5)), ["h", "b"]), "5 features"),
    "fewer columns": (matrix_classifier, lambda m: m.partial_fit(sparse.eye_array(3), ["h"] * 3), "3 features"),
    "texts after a matrix": (matrix_classifier, lambda m: m.partial_fit(["a text"], ["h"]), "takes numbers"),
    "a matrix after texts": (classifier, lambda m: m.partial_fit(np.eye(4), ["h"] * 4), "text"),
    "a frame with other columns": (
        frame_classifier,
        lambda m: m.partial_fit(FRAME.rename(columns={"pages": "leaves"}), ["h"] * 4),
        "pages",
    ),
    "a text in a column of numbers": (
        frame_classifier,
        lambda m: m.partial_fit(FRAME.assign(pages=["one"] * 4), ["h"] * 4),
        "pages",
    ),
    "nothing": (classifier, lambda m: m.partial_fit([]), "no rows"),
    "no sequences": (tagger, lambda m: m.partial_fit([]), "no sequences"),
    "an empty sequence": (tagger, lambda m: m.partial_fit([["x"], []]), "Sequence 1 is empty"),
    "an empty matrix": (matrix_classifier, lambda m: m.partial_fit(np.empty((0, 4)), []), "0 sample|no rows"),
    "NaN": (matrix_classifier, lambda m: m.partial_fit(np.full((1, 4), np.nan), ["h"]), "NaN"),
    "infinity": (matrix_classifier, lambda m: m.partial_fit(np.full((1, 4), np.inf), ["h"]), "infinity"),
    "too few labels": (classifier, lambda m: m.partial_fit(["x", "y"], ["h"]), "2 rows|2 .*1|1 .*2"),
    "too few tags": (tagger, lambda m: m.partial_fit([["x", "y"]], [["a"]]), "2 positions"),
    "y that is no list": (tagger, lambda m: m.partial_fit([["x"]], 5), "y must be a list"),
    "a negative weight": (
        classifier,
        lambda m: m.partial_fit(["x"], sample_weight=[-1]),
        "must be a number of at least 0",
    ),
    "no weight, of other rows": (classifier, lambda m: m.partial_fit(["x"], sample_weight=[0, 0]), "has 2 entries"),
    "no weight, of other sequences": (tagger, lambda m: m.partial_fit([["x"]], sample_weight=[0, 0]), "has 2 entries"),
    "no weight, and no label": (classifier, lambda m: m.partial_fit(["x"], ["z"], sample_weight=[0]), "'z'"),
    "a weight too many": (tagger, lambda m: m.partial_fit([["x"]], sample_weight=[1, 1]), "weight"),
    "sequences of something else": (tagger, lambda m: m.partial_fit(["a text"]), "text|token"),
}


@pytest.mark.parametrize("case", sorted(LATER))
def test_a_later_call_is_refused_and_nothing_has_changed(case):
    begin, then, message = LATER[case]
    model = begin()
    before = {name: values.copy() for name, values in state(model).items()}
    attributes, report = dict(vars(model)), str(model.constraint_report_)
    with pytest.raises(ValueError, match=message):
        then(model)
    assert vars(model).keys() == attributes.keys()
    assert all(vars(model)[name] is value for name, value in attributes.items())
    for name, values in state(model).items():
        np.testing.assert_array_equal(values, before[name], err_msg=name)
    assert str(model.constraint_report_) == report
    assert np.all(np.isfinite(model.coef_))


ONLINE = {
    "an unknown option": ({"batchsize": 3}, "did you mean|Did you mean|batch_size"),
    "unknown steps": ({"steps": "fast"}, "'adaptive' or 'printed'"),
    "no dict": (5, "must be a dict"),
    "a batch of nothing": ({"batch_size": 0}, "batch_size=0 must be a whole number"),
    "half a batch": ({"batch_size": 2.5}, "batch_size=2.5"),
    "True": ({"batch_size": True}, "batch_size=True"),
    "no passes": ({"passes": 0}, "passes=0"),
    "passes that are None": ({"passes": None}, "passes=None"),
    "a horizon below one": ({"horizon": -3}, "horizon=-3"),
    "eta0 of zero": ({"eta0": 0}, "eta0=0 must be a positive"),
    "an infinite eta0": ({"eta0": float("inf")}, "eta0=inf"),
    "NaN": ({"eta0": float("nan")}, "eta0=nan"),
    "a text": ({"eta0": "far"}, "eta0='far'"),
}


@pytest.mark.parametrize("case", sorted(ONLINE))
@pytest.mark.parametrize("make", [TiltClassifier, TiltTagger])
def test_bad_options_are_refused_before_anything_happens(case, make):
    online, message = ONLINE[case]
    model = make(classes=["a", "b"], online=online)
    before = dict(vars(model))
    X = ["x"] if make is TiltClassifier else [["x"]]
    for call in (model.partial_fit, model.set_params(solver="online").fit):
        with pytest.raises(DataError, match=message):
            call(X)
    model.set_params(solver="auto")
    assert vars(model) == before


FIRST = {
    "weights='observed'": (
        TiltTagger(classes=["a", "b"], weights="observed"),
        lambda m: m.partial_fit([["x"]], [["a"]]),
        "weights='observed'",
    ),
    "on='all'": (
        TiltClassifier([expect("a", given=word("x"), on="all").about(0.5)], classes=["a", "b"]),
        lambda m: m.partial_fit(["x"], ["a"]),
        "on='all'",
    ),
    "on='all', where it does not fire": (
        TiltClassifier([expect("a", given=word("x"), on="all").about(0.5)], classes=["a", "b"]),
        lambda m: m.partial_fit(["y"], ["a"]),
        "on='all'",
    ),
    "on='all', tagger": (
        TiltTagger([expect("a", given=word("x"), on="all").about(0.5)], classes=["a", "b"]),
        lambda m: m.partial_fit([["x"]], [["a"]]),
        "on='all'",
    ),
    "a weight too many": (
        TiltTagger(classes=["a", "b"]),
        lambda m: m.partial_fit([["x"]], [["a"]], sample_weight=[1, 1]),
        "sample_weight",
    ),
    "one class": (TiltTagger([]), lambda m: m.partial_fit([["x"]], [["a"]]), "only one class"),
    "no class": (TiltTagger([]), lambda m: m.partial_fit([["x"]]), "requires y to be passed"),
    "classes that are a text": (
        TiltClassifier(),
        lambda m: m.partial_fit(["x"], ["a"], classes="ab"),
        "must be a list",
    ),
    "classes that are a number": (TiltTagger(), lambda m: m.partial_fit([["x"]], classes=5), "must be a list"),
    "init='supervised'": (
        TiltClassifier(classes=["a", "b"], init="supervised"),
        lambda m: m.partial_fit(["x"], ["a"]),
        "start of fit",
    ),
    "init='random'": (
        TiltTagger(classes=["a", "b"], init="random"),
        lambda m: m.partial_fit([["x"]], [["a"]]),
        "start of fit",
    ),
    "a base of rows": (
        TiltClassifier(classes=["a", "b"], base=[[0.5, 0.5]]),
        lambda m: m.partial_fit(["x"], ["a"]),
        "fitted classifier",
    ),
    "a sequence constraint": (
        TiltClassifier([expect.stay().about(0.5)], classes=["a", "b"]),
        lambda m: m.partial_fit(["x"], ["a"]),
        "tagger",
    ),
    "an unknown label": (TiltClassifier(ABOUT), lambda m: m.partial_fit(["x"], classes=["a", "b"]), "'h'"),
    "nothing": (TiltClassifier(classes=["a", "b"]), lambda m: m.partial_fit([]), "no rows"),
    "alpha": (TiltClassifier(classes=["a", "b"], alpha=-1), lambda m: m.partial_fit(["x"]), "alpha=-1"),
}


@pytest.mark.parametrize("case", sorted(FIRST))
def test_a_first_call_is_refused_and_leaves_no_trace(case):
    model, call, message = FIRST[case]
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        call(model)
    assert vars(model) == before
    assert not model.__sklearn_is_fitted__()
    assert not hasattr(model, "coef_")


def test_a_batch_fit_ends_a_stream():
    model = classifier(vectorizer="hashing")
    model.fit(TEXTS, ["h", None, None, "b"])
    assert "_stream" not in vars(model)


def test_fit_online_refuses_what_a_stream_refuses():
    with pytest.raises(UnsupportedError, match="on='all'"):
        TiltClassifier([expect("a", given=word("x"), on="all").about(0.5)], classes=["a", "b"], solver="online").fit(
            ["x"]
        )
    with pytest.raises(UnsupportedError, match="weights='observed'"):
        TiltTagger(classes=["a", "b"], weights="observed", solver="online").fit([["x"]], [["a"]])


@pytest.mark.parametrize("kind", ["classifier", "tagger"])
@pytest.mark.parametrize("lost_first", [True, False])
def test_a_lost_condition_ends_a_stream_and_nothing_else(kind, lost_first, tmp_path):
    token = "puck" if kind == "classifier" else "Smith"
    label = "h" if kind == "classifier" else "a"
    lost = expect(label, given=when(lambda text: "x" in str(text), name="has x")).about(0.5)
    kept = [expect(label, given=word(token)).about(0.9, name="kept"), expect(label).between(0.3, 0.6)]
    constraints = [lost, *kept] if lost_first else [*kept, lost]
    if kind == "classifier":
        model, X = TiltClassifier(constraints, classes=["h", "b"]).partial_fit(TEXTS), TEXTS
    else:
        share = expect.change(given=word(","), of=expect.change()).about(0.4)
        model, X = TiltTagger([*constraints, share], classes=["a", "t"]).partial_fit(TAGGED), TAGGED
    for name in ("m.tilt", "again.tilt"):
        with pytest.warns(NotSavedWarning, match="has x"):
            model.save(tmp_path / name)
        again = load(tmp_path / name)
        assert list(again.predict(X)) == list(model.predict(X))
        with pytest.raises(UnsupportedError, match="has x.*to go on, fit again"):
            again.partial_fit(X)
        ledger = again.stream_.learner.ledger
        titles = {again.constraints_[key[0]].title for key in ledger.keys}
        assert "kept" in titles
        assert len(again.constraints_) == len(constraints) - 1 + (kind == "tagger")
        # The prices are still those of their constraints.
        before = model.stream_.learner
        wanted = {model.constraints_[k[0]].title: p for k, p in zip(before.ledger.keys, before.prices(), strict=True)}
        for key, price in zip(ledger.keys, again.stream_.learner.prices(), strict=True):
            assert price == wanted[again.constraints_[key[0]].title]
        model = again


DAMAGE = {
    "fewer rows": lambda d, a: a.update({"nodes.value": a["nodes.value"][1:]}),
    "fewer labels": lambda d, a: a.update({"edges.square": a["edges.square"][:, 1:]}),
    "no squares": lambda d, a: a.pop("edges.square"),
    "a negative square": lambda d, a: a["edges.square"].__setitem__((0, 0), -1.0),
    "NaN weights": lambda d, a: a["edges.value"].__setitem__((0, 0), np.nan),
    "NaN settled": lambda d, a: a["edges.settled"].__setitem__(0, np.nan),
    "settled in the future": lambda d, a: a["edges.settled"].__setitem__(0, 1e9),
    "settled of another shape": lambda d, a: a.update({"nodes.settled": a["nodes.settled"][:, None]}),
    "a NaN price": lambda d, a: a["ledger"].__setitem__((0, 0), np.nan),
    "an infinite support": lambda d, a: a["ledger"].__setitem__((d["columns"].index("support"), 0), np.inf),
    "a negative support": lambda d, a: a["ledger"].__setitem__((d["columns"].index("support"), 0), -1.0),
    "another share": lambda d, a: a["ledger"].__setitem__((d["columns"].index("share"), 0), 0.5),
    "a ledger of another shape": lambda d, a: a.update(ledger=a["ledger"][:, 1:]),
    "declared of another shape": lambda d, a: a.update(declared=a["declared"][1:]),
    "declared below zero": lambda d, a: a.update(declared=a["declared"] - 1),
    "a key of no constraint": lambda d, a: d["keys"][0].__setitem__(0, 99),
    "a negative key": lambda d, a: d["keys"][0].__setitem__(0, -1),
    "a key twice": lambda d, a: d["keys"].__setitem__(0, d["keys"][1]),
    "a key that is no key": lambda d, a: d["keys"].__setitem__(0, 7),
    "a support of no constraint": lambda d, a: d["apart"].append([99, 1.0]),
    "other columns": lambda d, a: d["columns"].reverse(),
    "a negative count": lambda d, a: d.update(seen=-1),
    "a negative clock": lambda d, a: d.update(clock=-1.0),
    "a negative alpha": lambda d, a: d.update(alpha=-1.0),
    "a gamma of zero": lambda d, a: d.update(gamma=0.0),
    "counts that are text": lambda d, a: d.update(seen="many"),
    "unknown options": lambda d, a: d["online"].update(speed=3),
    "bad options": lambda d, a: d["online"].update(batch_size=0),
    "a free row outside": lambda d, a: d.update(free=10**6),
    "a missing count": lambda d, a: d.pop("positions"),
    "a place that is none": lambda d, a: d.update(place=3),
}


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    path = tmp_path_factory.mktemp("stream") / "m.tilt"
    tagger(online={"batch_size": 2}).save(path)
    return path


@pytest.mark.parametrize("case", sorted(DAMAGE))
def test_a_damaged_stream_is_refused(case, honest, tmp_path):
    document, arrays = read(honest)
    # Tables may be written without their zeros: here as they are, so that they can be damaged.
    arrays = {name: np.array(values) for name, values in arrays.items()}
    stream = load(honest).stream_.learner
    for name, table in (("nodes", stream.nodes), ("edges", stream.edges)):
        for part in ("value", "square"):
            for key in [k for k in arrays if k.startswith(f"{name}.{part}")]:
                del arrays[key]
            arrays[f"{name}.{part}"] = getattr(table, part).copy()
    write(tmp_path / "sound.tilt", document, arrays)
    load(tmp_path / "sound.tilt")
    DAMAGE[case](document["stream"], arrays)
    write(tmp_path / "bad.tilt", document, arrays)
    with pytest.raises(ModelFileError, match="damaged"):
        load(tmp_path / "bad.tilt")


def table_classifier():
    constraints = [
        expect("h", given=column("pages").above(2)).about(0.9, name="long"),
        expect(per=column("pages")).distributed_as({"h": 0.5, "b": 0.5}),
    ]
    frame = FRAME[["pages"]]
    return TiltClassifier(constraints, classes=["h", "b"]).partial_fit(frame, ["h", None, None, "b"])


@pytest.mark.parametrize("make", [table_classifier, lambda: tagger(online={"batch_size": 2})], ids=["rows", "tokens"])
def test_any_leaf_of_a_stream_file_replaced_is_refused_or_harmless(make, tmp_path, monkeypatch):
    make().save(tmp_path / "m.tilt")
    document, arrays = read(tmp_path / "m.tilt")
    damaged, refused = {}, 0
    monkeypatch.setattr(persistence, "read", lambda _: (damaged, arrays))
    leaves = [place for place in places(document) if not isinstance(at(document, place), list | dict)]
    for place in leaves:
        for other in (None, [], {}, -1, "zz", True, 1e300):
            damaged = put(document, place, other)
            try:
                load(tmp_path / "m.tilt")
            except ModelFileError:
                refused += 1
    assert refused > 2 * len(leaves)


def test_a_lack_of_memory_is_no_damage(honest, monkeypatch):
    def too_large(*_):
        raise MemoryError

    monkeypatch.setattr(persistence, "_construct", too_large)
    with pytest.raises(MemoryError):
        load(honest)


def test_a_file_without_its_stream_is_refused(honest, tmp_path):
    document, arrays = read(honest)
    document["stream"] = None
    write(tmp_path / "bad.tilt", document, dict(arrays))
    with pytest.raises(ModelFileError, match="damaged"):
        load(tmp_path / "bad.tilt")


def test_messages_are_of_the_library():
    """Nothing above comes as a bare error of Python."""
    with pytest.raises(TiltfitError):
        tagger().partial_fit([["x"]], 5)


@pytest.mark.parametrize("method", [name for name in METHODS if name not in ("ap", "em")])
def test_other_methods_do_not_learn_online(method):
    said = [expect("a", given=word("x")).about(0.9)]
    for estimator, X in ((TiltClassifier, ["x y", "z"]), (TiltTagger, [["x", "y"], ["z"]])):
        with pytest.raises(UnsupportedError, match=f"method='{method}' cannot learn online.*method='ap'"):
            estimator(said, classes=["a", "b"], method=method).partial_fit(X)
