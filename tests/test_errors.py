"""Errors and warnings carry data beside their message."""

from __future__ import annotations

import pickle

import pytest

from tiltfit import errors


def _all() -> list[type[Exception]]:
    bases = errors.TiltfitError, errors.TiltfitWarning
    return [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, bases)]


@pytest.mark.parametrize("kind", _all())
def test_the_data_survive_pickling_and_rewording(kind: type[errors.TiltfitError]) -> None:
    error = kind("Row 3 is bad.", parameter="X", instances=(3, 5), constraint="a rule")
    for same in (error, pickle.loads(pickle.dumps(error)), error.with_message("Row 3 is bad.")):
        assert type(same) is kind
        assert str(same) == "Row 3 is bad."
        assert same.args == ("Row 3 is bad.",)
        assert (same.parameter, same.instance, same.instances, same.constraint) == ("X", 3, (3, 5), "a rule")
    assert str(error.with_message("Other words.")) == "Other words."


def test_one_instance_and_all_of_them_agree() -> None:
    assert errors.DataError("m").instances == ()
    assert errors.DataError("m").instance is None
    assert errors.DataError("m", instance=4).instances == (4,)
    assert errors.DataError("m", instance=4, instances=(2, 4)).instances == (4, 2)


def test_the_earlier_name_of_a_warning_still_works() -> None:
    assert errors.RestingConstraintWarning is errors.InactiveConstraintWarning
