"""The conformance checks of everything that the package adds."""

from __future__ import annotations

import numpy as np
from tiltfit_extras import CONTINUATION, ChangesBack, Huber, LongerThan, StepsBack
from tiltfit_extras.scaled import make

from tiltfit.testing import check_condition, check_event, check_method, check_model, check_penalty


def test_huber() -> None:
    check_penalty(Huber(np.array([0.1, 0.5, 0.9]), np.array([0.5, 0.05, 1.0])))


def test_longer_than() -> None:
    check_condition(LongerThan(2), ["one two three", "one two", ""])
    check_condition(LongerThan(1), [["tokens", "."], ["of", "sequences"]])


def test_changes_back() -> None:
    check_event(ChangesBack(), ["author", "title", "date"])
    returns = ChangesBack().statistic(["a", "b"])
    assert returns.count(np.array([0, 1, 0, 0, 1, 1, 0, 1])) == 2


def test_steps_back() -> None:
    check_event(StepsBack(("author", "title")), ["author", "date", "title"])
    ((place, table),) = StepsBack(("b", "a")).tables(["a", "b", "c"])
    assert place == "edge"
    assert table.tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 0]]


def test_continuation() -> None:
    check_method(CONTINUATION)


def test_scaled() -> None:
    check_model(make)
    check_model(make, sequences=True)
