"""Values that are neither numbers nor texts, weights that are not finite, labels of another kind: refused by name."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from tiltfit import TiltClassifier, TiltTagger, load
from tiltfit.errors import DataError, ModelFileError, UnsupportedError
from tiltfit.storage.container import read, write

TEXTS, Y = ["the puck", "a bat"] * 4, ["a", "b"] * 4
TOKENS, TAGS = [["a", "b"], ["c"]], [["x", "y"], ["x"]]


def test_decimals_are_numbers():
    prices = [Decimal("1.5"), Decimal("20")] * 4
    found = TiltClassifier().fit(pd.DataFrame({"price": prices}), Y)
    assert np.array_equal(found.coef_, TiltClassifier().fit(pd.DataFrame({"price": [1.5, 20.0] * 4}), Y).coef_)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (datetime.date(2026, 1, 1), "date"),
        (pd.Period("2026-01"), "Period"),
        (b"x", "bytes"),
        ([1], "list"),
        ({}, "dict"),
    ],
)
def test_columns_of_other_things_are_refused_by_name(value, kind):
    column = np.empty(8, dtype=object)
    column[:] = [None, *[value] * 7]
    with pytest.raises(DataError, match=rf"Column 'when'.*type {kind} \(row 1 first\).*turn them") as found:
        TiltClassifier().fit(pd.DataFrame({"text": TEXTS, "when": column}), Y)
    assert found.value.instance == 1


@pytest.mark.parametrize("values", [np.zeros((8, 2)), [[1, 2]] * 8])
def test_a_column_has_one_value_per_row(values):
    with pytest.raises(DataError, match=r"Column 'a'.*shape \(8, 2\).*features="):
        TiltClassifier().fit({"a": values, "text": TEXTS}, Y)


def test_ragged_lists_in_a_column():
    with pytest.raises(DataError, match="Column 'a' of X holds lists"):
        TiltClassifier().fit({"a": [[1], [1, 2]] * 4, "text": TEXTS}, Y)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_start_that_is_not_finite(value):
    fitted = TiltClassifier().fit(TEXTS, Y)
    fitted.coef_[0, 0] = value
    for start in (fitted, (fitted.coef_, fitted.intercept_)):
        with pytest.raises(DataError, match="1 weights that are NaN or infinite") as found:
            TiltClassifier(init=start).fit(TEXTS, Y)
        assert found.value.parameter == "init"
    tagger = TiltTagger().fit(TOKENS, TAGS)
    tagger.coef_[0, 0] = value
    with pytest.raises(DataError, match="1 weights that are NaN or infinite"):
        TiltTagger(init=tagger).fit(TOKENS, TAGS)


def test_scores_need_labels_of_the_kind_of_the_classes():
    numbers = [0, 1] * 4
    with pytest.raises(DataError, match=r"'0', a text, but the classes of the model are numbers") as found:
        TiltClassifier().fit(TEXTS, numbers).score(TEXTS, [str(y) for y in numbers])
    assert found.value.parameter == "y"
    with pytest.raises(DataError, match=r"y holds the label 0, a number, but the classes of the model are texts"):
        TiltClassifier().fit(TEXTS, Y).score(TEXTS, numbers)
    with pytest.raises(DataError, match="a number, but the classes of the model are texts"):
        TiltTagger().fit(TOKENS, TAGS).score(TOKENS, [[0, 1], [0]])
    assert TiltClassifier().fit(TEXTS, Y).score(TEXTS, ["z"] * 8) == 0  # of the same kind: an error of the model


def test_more_sequences_of_labels_than_memory_holds():
    tagger, long = TiltTagger().fit(TOKENS, TAGS), [["a"] * 60]
    with pytest.raises(UnsupportedError, match=r"need .* GiB of memory.*smaller k") as found:
        tagger.predict_k_best(long, k=10**12)
    assert found.value.parameter == "k"
    assert len(tagger.predict_k_best([["a", "b"]], k=10**12)[0]) == 4  # there are no more


def tampered(path, name, value):
    document, arrays = read(path)
    arrays = dict(arrays)
    key = next(key for key in arrays if key == name or key.startswith(name))
    arrays[key] = np.full_like(arrays[key], value)
    write(path, document, arrays)


@pytest.mark.parametrize(("name", "value"), [("idf", np.nan), ("idf", np.inf), ("idf", -1.0), ("coef", 1e308)])
def test_a_file_whose_numbers_would_give_nan(tmp_path, name, value):
    path = tmp_path / "model.tilt"
    TiltClassifier().fit(TEXTS, Y).save(path)
    tampered(path, name, value)
    with pytest.raises(ModelFileError, match="damaged"):
        load(path)
