"""Every exception and warning that tiltfit raises on purpose.

All messages follow one pattern: what is wrong, which object (by name), what would work. What a program needs to know
besides the message is in attributes: ``parameter``, ``instance``, ``instances``, ``constraint`` and ``missing``. Never
search a message for it.

``TiltfitError``
    ``ConstraintError``       a statement that cannot be right as it stands
        ``UnknownLabelError``     it names a label that the model does not have
        ``ConflictError``         two hard statements that cannot both hold
    ``UnsupportedError``      a combination that is refused before work starts
    ``DataError``             X, y, weights or names that cannot be used
    ``FileError``             a file that cannot be read as what it claims to be
        ``ConstraintFileError``, ``DataFileError``, ``ModelFileError``

``TiltfitWarning``
    ``InactiveConstraintWarning``  a condition never fires, so its constraint is inactive
    ``UnmetConstraintWarning``     a hard constraint does not hold after fitting
    ``NotConvergedWarning``        the optimiser stopped before its tolerance
    ``SamplingWarning``            the sampled expectation of a constraint is unreliable
    ``NotSavedWarning``            something could not be written to a model file
"""

from __future__ import annotations

import copy
import difflib
import inspect
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Any, Self


class _Details(Exception):
    """A message with the facts that programs need.

    Attributes
    ----------
    parameter : str or None
        The name of the parameter that is at fault, as in Python (``"max_iter"``).
    instance : int or None
        The index in X of the first document or sequence that is at fault.
    instances : tuple of int
        The indices of all that are known to be at fault, ``instance`` first; empty if it is None.
    constraint : str or None
        The title of the constraint that is at fault.
    missing : (str, str) or None
        The kind and the name of something that no installed package registers: ``("penalty", "huber")``.
    """

    def __init__(
        self,
        *args: object,
        parameter: str | None = None,
        instance: int | None = None,
        instances: Iterable[int] = (),
        constraint: str | None = None,
        missing: tuple[str, str] | None = None,
    ) -> None:
        super().__init__(*args)
        found = tuple(map(int, instances))
        self.parameter = parameter
        self.instances = found if instance is None else (int(instance), *(i for i in found if i != instance))
        self.instance = self.instances[0] if self.instances else None
        self.constraint = constraint
        self.missing = missing

    def with_message(self, message: str, **details: Any) -> Self:
        """Return the same error with another message, and with other ``details`` (as of the constructor), if any."""
        kept = {
            "parameter": self.parameter,
            "instances": self.instances,
            "constraint": self.constraint,
            "missing": self.missing,
        }
        changed = copy.copy(self)
        _Details.__init__(changed, message, **(kept | details))
        return changed


class TiltfitError(_Details):
    """Base of all tiltfit exceptions."""


class ConstraintError(TiltfitError, ValueError):
    """A constraint that cannot be right as it is stated."""


class UnknownLabelError(ConstraintError):
    """A constraint or y names a label that the model does not have."""


class ConflictError(ConstraintError):
    """Two hard constraints that cannot both hold."""


class UnsupportedError(TiltfitError, ValueError):
    """A combination of model, method, constraint and data that is refused before work starts."""


class DataError(TiltfitError, ValueError):
    """X, y, weights or names that cannot be used."""


class FileError(TiltfitError, ValueError):
    """A file that cannot be read as what it claims to be."""


class ConstraintFileError(FileError):
    """A constraint file that is not valid."""


class DataFileError(FileError):
    """A data file that is not valid."""


class ModelFileError(FileError):
    """A model file that is damaged, hostile, of an unknown version, or in need of an extension that is missing."""


class TiltfitWarning(_Details, UserWarning):
    """Base of all tiltfit warnings."""


class InactiveConstraintWarning(TiltfitWarning):
    """A condition never fires on this data, so its constraint has no effect."""


RestingConstraintWarning = InactiveConstraintWarning
"""The earlier name."""


class UnmetConstraintWarning(TiltfitWarning):
    """A hard constraint does not hold after fitting: it contradicts others or the labels."""


class NotConvergedWarning(TiltfitWarning):
    """The optimiser stopped before it reached its tolerance."""


class SamplingWarning(TiltfitWarning):
    """Markov chains say little about a constraint: its expectation is worth few draws, or the chains still drift."""


class NotSavedWarning(TiltfitWarning):
    """Part of an estimator could not be written to a model file."""


def warn_user(message: str, category: type[TiltfitWarning], **details: Any) -> None:
    """Warn at the line outside of this package that led here, however many calls are in between. ``details``: the
    attributes of the warning."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("tiltfit."):
        level, frame = level + 1, frame.f_back
    warnings.warn(category(message, **details), stacklevel=level + 1)


def check_arguments(function: Callable[..., Any], who: str, *names: str) -> None:
    """Refuse a function of an extension that cannot be called with these arguments.

    >>> check_arguments(lambda x: x, "fit of method='mine'", "training", "start")
    Traceback (most recent call last):
    tiltfit.errors.DataError: fit of method='mine' must take the arguments (training, start), but takes (x).
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of something compiled, which does not tell
        return
    try:
        signature.bind(*names)
    except TypeError:
        raise DataError(f"{who} must take the arguments ({', '.join(names)}), but takes {signature}.") from None


def nearest(name: object, known: Iterable[object], *, cutoff: float = 0.6) -> str | None:
    """Return the known name that is most like ``name``, or None if none is similar.

    >>> nearest("hokcey", ["hockey", "baseball"])
    'hockey'
    """
    by_text = {str(k): str(k) for k in known}
    by_fold = {text.casefold(): text for text in by_text}
    found = difflib.get_close_matches(str(name).casefold(), by_fold, n=1, cutoff=cutoff)
    return by_fold[found[0]] if found else None


def listed(names: Iterable[object], most: int = 3) -> str:
    """Return the first few of some names and the number of the others.

    >>> listed(["a", "b"]), listed("abcdefg")
    ("'a' and 'b'", "'a', 'b', 'c' and 4 more")
    """
    shown = [repr(name) for name in names]
    if len(shown) > most:
        shown = [*shown[:most], f"{len(shown) - most} more"]
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """Return a clause to append to a message: ``' Did you mean "hockey"?'``, or nothing."""
    guess = nearest(name, known)
    return f' Did you mean "{guess}"?' if guess is not None else ""
