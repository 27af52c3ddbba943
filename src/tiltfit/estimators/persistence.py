"""Estimators to and from ``.tilt`` files. The container is ``tiltfit.storage``; here is what goes into it.

What cannot be written without pickle (``when(callable)`` conditions, foreign vectorizers) is left out with a warning
that names it: after loading, ``predict`` works, and what needs the missing part refuses by name.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from types import ModuleType

import tiltfit
from tiltfit.errors import ModelFileError, NotSavedWarning, TiltfitError, UnsupportedError
from tiltfit.estimators import classifier_state, tagger_state
from tiltfit.estimators.classifier import TiltClassifier
from tiltfit.estimators.state import Arrays
from tiltfit.estimators.tagger import TiltTagger
from tiltfit.storage.container import read, write

# Each has VERSION, dump(estimator, arrays, lost) and restore(document, arrays).
_STATES: dict[type, ModuleType] = {TiltClassifier: classifier_state, TiltTagger: tagger_state}


def save(estimator: TiltClassifier | TiltTagger, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator, atomically."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(estimator)
    if "weights_" in vars(estimator):
        raise UnsupportedError(
            f"model={estimator._generates!r} is registered by a package, and a model file cannot hold it. Keep its "
            "weights_ yourself."
        )
    cls = next(cls for cls in type(estimator).__mro__ if cls in _STATES)
    state = _STATES[cls]
    arrays: Arrays = {}
    lost: list[str] = []
    head = {"kind": cls.__name__, "state_version": state.VERSION, "written_by": tiltfit.__version__}
    document = {**head, **state.dump(estimator, arrays, lost)}
    if lost:
        warnings.warn(
            f"Not saved: {'; '.join(lost)}. After loading, what needs it refuses by name; the rest works.",
            NotSavedWarning,
            stacklevel=3,
        )
    write(Path(path), document, arrays)


def load(path: str | os.PathLike[str]) -> TiltClassifier | TiltTagger:
    """Read a ``.tilt`` file. Anything but a sound file is a ``ModelFileError``; nothing in it is executed."""
    document, arrays = read(Path(path))
    states = {cls.__name__: state for cls, state in _STATES.items()}
    kind = document.get("kind")
    if not isinstance(kind, str) or kind not in states:
        raise ModelFileError(f"{path} holds {kind!r}, which this version of tiltfit does not know.")
    if document.get("state_version") != states[kind].VERSION:
        raise ModelFileError(
            f"{path} is of state version {document.get('state_version')!r}; "
            f"this version of tiltfit reads {states[kind].VERSION}. Update tiltfit, or save the model with the version "
            "you have."
        )
    try:
        restored: TiltClassifier | TiltTagger = states[kind].restore(document, arrays)
        return restored
    except (TiltfitError, ArithmeticError, LookupError, ValueError, TypeError, AttributeError, RecursionError) as error:
        what = str(error) if isinstance(error, TiltfitError) else f"{type(error).__name__}: {error}"
        raise ModelFileError(f"{path} is damaged: {what}") from error
