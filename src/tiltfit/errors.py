"""Every exception and warning that tiltfit raises on purpose.

All messages follow one pattern: what is wrong, which object (by name), what would work.

``TiltfitError``
    ``ConstraintError``       a statement that cannot be right as it stands
        ``UnknownLabelError``     it names a label that the model does not have
        ``ConflictError``         two hard statements that cannot both hold
    ``UnsupportedError``      a combination that is refused before work starts
    ``DataError``             X, y, weights or names that cannot be used
    ``FileError``             a file that cannot be read as what it claims to be
        ``ConstraintFileError``, ``DataFileError``, ``ModelFileError``

``TiltfitWarning``
    ``RestingConstraintWarning``  a condition never fires, so its constraint rests
    ``UnmetConstraintWarning``    a hard constraint does not hold after fitting
    ``NotConvergedWarning``       the optimiser stopped before its tolerance
    ``SamplingWarning``           what was sampled of a constraint is not worth much
    ``NotSavedWarning``           something could not be written to a model file
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class TiltfitError(Exception):
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
    """A model file that is damaged, hostile or of an unknown version."""


class TiltfitWarning(UserWarning):
    """Base of all tiltfit warnings."""


class RestingConstraintWarning(TiltfitWarning):
    """A condition never fires on this data, so its constraint has no effect."""


class UnmetConstraintWarning(TiltfitWarning):
    """A hard constraint does not hold after fitting: it contradicts others or the labels."""


class NotConvergedWarning(TiltfitWarning):
    """The optimiser stopped before it reached its tolerance."""


class SamplingWarning(TiltfitWarning):
    """Markov chains say little about a constraint: its expectation is worth few draws, or the chains still drift."""


class NotSavedWarning(TiltfitWarning):
    """Part of an estimator could not be written to a model file."""


def nearest(name: object, known: Iterable[object], *, cutoff: float = 0.6) -> str | None:
    """The known name most like ``name``, or None if none is alike.

    >>> nearest("hokcey", ["hockey", "baseball"])
    'hockey'
    """
    by_text = {str(k): str(k) for k in known}
    by_fold = {text.casefold(): text for text in by_text}
    found = difflib.get_close_matches(str(name).casefold(), by_fold, n=1, cutoff=cutoff)
    return by_fold[found[0]] if found else None


def listed(names: Iterable[object], most: int = 3) -> str:
    """The first few of some names, and how many more there are.

    >>> listed(["a", "b"]), listed("abcdefg")
    ("'a' and 'b'", "'a', 'b', 'c' and 4 more")
    """
    shown = [repr(name) for name in names]
    if len(shown) > most:
        shown = [*shown[:most], f"{len(shown) - most} more"]
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """A clause to append to a message: ``' Did you mean "hockey"?'`` or nothing."""
    guess = nearest(name, known)
    return f' Did you mean "{guess}"?' if guess is not None else ""
