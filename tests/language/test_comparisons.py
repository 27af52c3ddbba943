"""Columns and features, with missing values of every kind."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from tiltfit.data.inputs import MatrixInputs, TableInputs
from tiltfit.errors import ConstraintError
from tiltfit.language.comparisons import Above, IsIn, Within
from tiltfit.language.conditions import column, feature, word

NAN = float("nan")
TABLE = TableInputs(
    {
        "age": np.array([10.0, 30.0, NAN, 50.0]),
        "size": np.array([1, 2, 3, 4]),
        "mixed": np.array([1, pd.NA, None, 2.5], dtype=object),
        "county": np.array(["kent", "essex", None, "Kent"], dtype=object),
        "flag": np.array([True, False, True, False]),
        "any": np.array([1, True, "1", NAN], dtype=object),
        "day": np.array(["2020-01-01"] * 4, dtype="datetime64[D]"),
        "fixed": np.array(["a", "b", "a", "c"]),
        "big": np.array([2**60, 2**60 + 1, 0, -1]),
    }
)


def yes(condition) -> list[int]:
    return np.flatnonzero(condition.fires(TABLE)).tolist()


@pytest.mark.parametrize(
    ("condition", "where", "not_where"),
    [
        (column("age").above(30), [3], [0, 1]),
        (column("age").below(30), [0], [1, 3]),
        (column("age").between(10, 30), [0, 1], [3]),
        (column("size").above(2.5), [2, 3], [0, 1]),
        (column("mixed").above(1), [3], [0]),
        (column("flag").above(0), [0, 2], [1, 3]),
        (column("big").above(2**60), [1], [0, 2, 3]),
        (column("county").isin("kent", "essex"), [0, 1], [3]),
        (column("county").isin(["kent"]), [0], [1, 3]),
        (column("fixed").equals("a"), [0, 2], [1, 3]),
        (column("size").isin(2, 4.0, "1", True), [1, 3], [0, 2]),
        (column("age").equals(30), [1], [0, 3]),
        (column("flag").equals(True), [0, 2], [1, 3]),
        (column("flag").equals(1), [], [0, 1, 2, 3]),
        (column("any").equals(1), [0], [1, 2]),
        (column("any").equals(1.0), [0], [1, 2]),
        (column("any").equals(True), [1], [0, 2]),
        (column("any").equals("1"), [2], [0, 1]),
        (feature("age"), [0, 1, 3], []),
        (feature("flag"), [0, 2], [1, 3]),
        (feature("age").above(30), [3], [0, 1]),
        (feature("size").between(2, 3), [1, 2], [0, 3]),
        (feature("size").below(2), [0], [1, 2, 3]),
    ],
)
def test_missing_values_are_neither(condition, where, not_where) -> None:
    assert yes(condition) == where
    assert yes(~condition) == not_where


def test_three_valued_combinations() -> None:
    old, kent = column("age").above(30), column("county").equals("kent")
    assert yes(old | kent) == [0, 3]
    assert yes(~(old | kent)) == [1]
    assert yes(~(old & kent)) == [0, 1, 3]
    assert yes(~old & ~kent) == yes(~(old | kent))


def test_features_of_a_matrix() -> None:
    X = sparse.csr_array(np.array([[0.0, 2.0], [1.0, 0.0]]))
    inputs = MatrixInputs(X, ["f", "g"])
    assert feature("g").fires(inputs).tolist() == [True, False]
    assert feature("f").above(0.5).fires(inputs).tolist() == [False, True]
    assert column("f").above(0.5).fires(inputs).tolist() == [False, True]
    with pytest.raises(ConstraintError, match="no feature named 'h'"):
        feature("h").fires(inputs)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (column("county").above(3), r"column\('county'\)\.above\(3\) needs numbers, but column 'county' holds 'kent'"),
        (column("day").above(3), "needs numbers"),
        (column("day").equals("2020-01-01"), "compares strings, numbers or bools"),
        (column("conty").equals("kent"), 'Did you mean "county"'),
        (feature("county"), "needs numbers"),
    ],
)
def test_columns_that_do_not_suit(condition, message) -> None:
    with pytest.raises(ConstraintError, match=message):
        condition.fires(TABLE)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: column("a").above("3"), "must be a number"),
        (lambda: column("a").above(NAN), "must be finite"),
        (lambda: column("a").between(3, 2), "can never fire"),
        (lambda: column("a").isin(), "pass at least one value"),
        (lambda: column("a").isin("x", "x"), "twice"),
        (lambda: column("a").equals(None), "must be a string, a number or a bool"),
        (lambda: column(""), "must not be empty"),
        (lambda: feature(3), "must be a string"),
        (lambda: Above("price", 3), r"'price' is neither column\(...\) nor feature\(...\)"),
        (lambda: Within(None, 3, 4), "None is neither column"),
        (lambda: IsIn("price", (3,)), r"'price' is not column\(...\)"),
        (lambda: IsIn(feature("price"), (3,)), "is not column"),
    ],
)
def test_bad_comparisons(make, message) -> None:
    with pytest.raises(ConstraintError, match=message):
        make()


def test_a_value_that_never_occurs() -> None:
    assert column("county").equals("esex").suggest(TABLE) == "essex"
    assert column("county").equals("zzz").suggest(TABLE) is None
    assert column("size").equals(9).suggest(TABLE) is None


def test_equality() -> None:
    assert column("a").above(30) == column("a").above(30.0)
    assert column("a").above(30) != feature("a").above(30)
    assert column("a").isin("x", "y") == column("a").isin(["y", "x"])
    assert column("a").equals(1) != column("a").equals(True)
    assert column("a").word("x") != word("x")
