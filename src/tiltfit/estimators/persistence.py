"""Estimators to and from ``.tilt`` files. The container is ``tiltfit.storage``; here is what goes into it.

What cannot be written without pickle (``when(callable)`` conditions, conditions and events that are not registered,
foreign vectorizers) is left out with a warning that names it: after loading, ``predict`` works, and what needs the
missing part is refused by name.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

import tiltfit
from tiltfit.arrays import FloatArray
from tiltfit.data.inputs import Unit
from tiltfit.errors import DataError, ModelFileError, NotSavedWarning, TiltfitError, UnsupportedError, warn_user
from tiltfit.estimators.classifier import TiltClassifier
from tiltfit.estimators.earlier_models import LostBase
from tiltfit.estimators.estimator import TiltEstimator
from tiltfit.estimators.even_shares import stated
from tiltfit.estimators.file_parts import (
    Arrays,
    Document,
    dump_encoder,
    dump_features,
    dump_sequence_encoder,
    dump_stream,
    dump_transitions,
    flag,
    pack_table,
    restore_encoder,
    restore_features,
    restore_sequence_encoder,
    restore_stream,
    restore_transitions,
    unpack_table,
)
from tiltfit.estimators.given_features import GivenFeatures
from tiltfit.estimators.options import Options, as_word, online_options
from tiltfit.estimators.refining import Refinement
from tiltfit.estimators.tagger import TiltTagger
from tiltfit.estimators.token_models import dump_network, restore_network
from tiltfit.language.constraint import Constraint, ConstraintSet
from tiltfit.language.document import from_document, to_document
from tiltfit.language.sentences import titled
from tiltfit.learners.choose import dump, restore
from tiltfit.methods.history import Round
from tiltfit.methods.sharpness import Sharpness
from tiltfit.models.registry import NETWORK, kind_of
from tiltfit.projections.revision import Revision, is_revised
from tiltfit.report.constraints import ConstraintReport
from tiltfit.storage.container import read, write

VERSION = 1
_LARGEST = 1e100  # of weights: larger ones are no result of a fit, and their scores overflow to NaN
COMMON = (
    "model", "method", "solver", "alpha", "beta", "gamma", "scale", "revise", "warm_start", "n_init", "max_iter",
    "tol", "n_jobs", "sharpen",
)  # fmt: skip
"""Parameters that are plain values in both."""

_BASE, _LEARNED = "base.", "learned."  # begin the names of the arrays of a base model, and of an object as model=
_FUNCTION, _CONSTRAINT = "the when(...) condition of", "the constraint"

_IF_PLAIN = {"init": str, "random_state": int}  # written if of this type; anything else is not a plain value


def save(estimator: TiltClassifier | TiltTagger, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator, atomically."""
    lost: list[str] = []
    document, arrays = _state(estimator, lost)
    if lost:
        warn_user(
            f"Not saved: {'; '.join(lost)}. After loading, what needs it is refused by name; the rest works.",
            NotSavedWarning,
        )
    write(Path(path), document, arrays)


def _state(estimator: TiltClassifier | TiltTagger, lost: list[str]) -> tuple[Document, Arrays]:
    """A fitted estimator as a document and arrays; adds what cannot be written to ``lost``."""
    check_is_fitted(estimator)
    name = next(cls.__name__ for cls in type(estimator).__mro__ if cls.__name__ in _KINDS)
    kind = _KINDS[name]
    arrays: Arrays = {}
    head = {"kind": name, "state_version": VERSION, "written_by": tiltfit.__version__}
    common, number = _dump(estimator, kind.parameters, arrays, lost)
    stream = dump_stream(estimator.stream_, arrays, number)
    own = kind.dump(estimator, stream, number, arrays, lost)
    fields = {"fields": dict(estimator.fields_)} if estimator.fields_ else {}
    return {**head, **common, **own, **fields, **_dump_base(estimator, arrays, lost)}, arrays


def _dump_base(estimator: TiltEstimator, arrays: Arrays, lost: list[str]) -> Document:
    """The base distribution: a model of ours as a document in the document, with arrays of its own."""
    base = estimator._base
    if base is None:
        return {"has_base": False}
    if not isinstance(base, TiltClassifier | TiltTagger):
        lost.append("the base distribution (set model.base again after loading)")
        return {"has_base": True}
    missing: list[str] = []
    document, own = _state(base, missing)
    lost += [f"of the base model, {text}" for text in missing]
    arrays |= {f"{_BASE}{name}": array for name, array in own.items()}
    return {"has_base": True, "base": document}


def _restore_base(estimator: TiltEstimator, document: Document, arrays: Arrays) -> None:
    base: Any = LostBase() if document.get("has_base", False) else None
    if document.get("base") is not None:  # files of earlier versions have none
        base = _restored(dict(document["base"]), _own(arrays, _BASE), "The base model")
    estimator.base = estimator.base_ = base


def _own(arrays: Arrays, prefix: str) -> Arrays:
    """The arrays whose names begin with ``prefix``, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def load(path: str | os.PathLike[str], *, model: Any = None) -> TiltClassifier | TiltTagger:
    """Read a ``.tilt`` file. Anything but a sound file raises a ``ModelFileError``; nothing in it is executed.

    Parameters
    ----------
    path : path
        What ``save`` has written.
    model : torch.nn.Module, optional
        For a file that holds the weights of a network: a module of the same architecture. It is copied.
    """
    document, arrays = _contents(Path(path))
    return _restored(document, arrays, str(path), model)


def _restored(document: Document, arrays: Arrays, what: str, model: Any = None) -> TiltClassifier | TiltTagger:
    """The inverse of ``_state``; ``what`` begins every complaint. ``model``: what a file of a network does not hold."""
    name = document.get("kind")
    kind = _KINDS.get(str(name))
    if kind is None:
        raise ModelFileError(f"{what} holds {name!r}, which this version of tiltfit does not know.")
    if document.get("state_version") != VERSION:
        raise ModelFileError(
            f"{what} is of state version {document.get('state_version')!r}; "
            f"this version of tiltfit reads {VERSION}. Update tiltfit, or save the model with the version "
            "you have."
        )
    learned = document.get("learned")  # only an object as model= has one
    if model is not None and learned is None and "network" not in document:
        raise UnsupportedError(
            f"{what} holds model={document['parameters'].get('model')!r} as a whole: load it without model=.",
            parameter="model",
        )
    try:
        estimator: TiltClassifier | TiltTagger = _construct(kind, document)
        if learned is not None:
            estimator.model, estimator.learned_ = restore(learned, _own(arrays, _LEARNED), model)
        _restore(estimator, document, arrays)
        _restore_base(estimator, document, arrays)
        kind.restore(estimator, document, arrays)
        if model is not None and learned is None:
            estimator.model = model  # of a tagger, whose network is filled when it is first needed
        return estimator
    except MemoryError:
        raise
    except Exception as error:  # whatever goes wrong on the way, the file is the cause
        if learned is not None and isinstance(error, DataError | UnsupportedError) and error.parameter == "model":
            raise error.with_message(f"{what}: {error}") from error  # or what was given beside it
        if isinstance(error, TiltfitError) and error.missing is not None:
            needed, named = error.missing
            raise ModelFileError(
                f"{what} needs the {needed} {named!r}, which no installed package registers. Install the package that "
                "does, or, if the file is of a newer tiltfit, update tiltfit.",
                missing=error.missing,
            ) from error
        why = str(error) if isinstance(error, TiltfitError) else f"{type(error).__name__}: {error}"
        raise ModelFileError(f"{what} is damaged: {why}") from error


def _contents(path: Path) -> tuple[Document, Arrays]:
    """The document and the arrays of a file. A constraint file, which is easily taken for one, is refused as such."""
    try:
        return read(path)
    except ModelFileError as error:
        if ".toml" not in path.suffixes:
            raise
        raise ModelFileError(
            f"{path} looks like a constraint file, not a model. A model is a .tilt file, which tiltfit train writes."
        ) from error


def _dump_classifier(
    classifier: Any, stream: Document | None, number: Mapping[int, int], arrays: Arrays, lost: list[str]
) -> Document:
    learned: Document = {}
    if classifier.learned_ is not None:
        learned, own = dump(classifier.learned_)
        arrays |= {f"{_LEARNED}{name}": array for name, array in own.items()}
    elif classifier.weights_ is not None:
        arrays["weights"] = classifier.weights_
    elif stream is None:
        arrays |= {"coef": classifier.coef_, "intercept": classifier.intercept_}
    names = classifier.feature_names
    # A text model's names are its vocabulary, which the encoder already holds.
    names_in = getattr(classifier, "feature_names_in_", None) if classifier.encoder_ is None else None
    return {
        "vectorizer": as_word(classifier.vectorizer),
        "feature_names": None if names is None else [str(n) for n in names],
        "feature_names_in": None if names_in is None else [str(name) for name in names_in],
        "encoder": dump_encoder(classifier.encoder_, arrays, lost),
        "stream": stream,
        "unit": classifier.unit_,
        "n_features": int(classifier.n_features_in_),
        "refinement": None if classifier.refinement_ is None else classifier.refinement_.to_document(),
        **({"learned": learned} if learned else {}),
    }


def _restore_classifier(classifier: Any, document: Document, arrays: Arrays) -> None:
    classifier.vectorizer = document["vectorizer"] or "auto"
    classifier.feature_names = document["feature_names"]
    classifier.inference_, classifier.unit_ = ("auto", 0), document.get("unit", "documents")
    refinement = document.get("refinement")  # files of earlier versions have none
    classifier.refinement_ = None if refinement is None else Refinement.from_document(refinement)
    stream = document.get("stream")
    if classifier.learned_ is not None:
        classifier.n_features_in_ = int(document["n_features"])
    elif not kind_of(classifier.model_).linear:
        classifier.weights_, classifier.n_features_in_ = _own_weights(arrays), int(document["n_features"])
    elif stream is None:
        n = len(classifier.classes_)
        coef = np.ascontiguousarray(arrays["coef"], dtype=np.float64)
        intercept = np.asarray(arrays["intercept"], dtype=np.float64)
        _check_weights(n, (coef, (n, *coef.shape[1:2])), (intercept, (n,)))
        classifier.coef_, classifier.intercept_ = coef, intercept
        classifier.n_features_in_ = coef.shape[1]
    else:
        classifier.n_features_in_ = int(stream["n_features"])
        restore_stream(stream, arrays, classifier, classifier.n_features_in_ + 1, None)
    encoder = restore_encoder(document["encoder"], arrays)
    names_in = document["feature_names_in"]
    if encoder is None and names_in:
        classifier.feature_names_in_ = np.array(names_in, dtype=object)
    classifier._keep_encoder(encoder, classifier.n_features_in_)
    if isinstance(encoder, GivenFeatures) and encoder.dimensions != classifier.n_features_in_:
        raise ModelFileError(f"{encoder.dimensions} dimensions for {classifier.n_features_in_} features.")
    names = names_in if encoder is None else encoder.names
    if names and len(names) != classifier.n_features_in_:
        raise ModelFileError(f"{len(names)} feature names for {classifier.n_features_in_} features.")


def _dump_tagger(
    tagger: Any, stream: Document | None, number: Mapping[int, int], arrays: Arrays, lost: list[str]
) -> Document:
    if tagger.weights_ is not None:
        arrays["weights"] = tagger.weights_
    elif stream is None:
        arrays |= pack_table("coef", tagger.coef_.T)
        arrays["transitions"] = tagger.transitions_
    network = {}
    if tagger.token_network_ is not None:
        network = {"network": dump_network(tagger.token_network_, arrays)}
    return {
        **network,
        "features": dump_features(tagger.features, tagger.encoder_),
        "transitions": dump_transitions(tagger.transitions, tagger.encoder_),
        "stream": stream,
        "seed": tagger.inference_[1],
        "rates": [[number[k], rate] for k, rate in sorted(tagger.strength_.rates.items()) if k in number],
        "encoder": {**dump_sequence_encoder(tagger.encoder_, arrays, lost), "valid_only": tagger.valid_only_},
    }


def _restore_tagger(tagger: Any, document: Document, arrays: Arrays) -> None:
    tagger.inference_, tagger.unit_ = (str(tagger.inference), int(document.get("seed", 0))), "tokens"
    rates = {int(number): float(rate) for number, rate in document.get("rates", [])}
    if not all(0 < rate <= 1 for rate in rates.values()):
        raise ModelFileError("The rates of events that shares are of must be above 0 and at most 1.")
    tagger.strength_ = replace(tagger.strength_, rates=rates)
    if tagger.weights not in ("all", "observed"):
        raise ModelFileError(f"The file sets weights={tagger.weights!r}, which is unknown.")
    encoder = restore_sequence_encoder(document["encoder"], arrays)
    tagger._keep_encoder(encoder, len(encoder.names))
    tagger.valid_only_ = flag(document["encoder"], "valid_only")
    tagger.features = restore_features(document["features"], encoder)
    tagger.transitions = restore_transitions(document["transitions"], encoder)
    n, (n_rows, n_edges) = len(tagger.classes_), tagger._sizes
    if not kind_of(tagger.model_).linear:
        tagger.weights_ = _own_weights(arrays)
        if tagger.model_ == NETWORK.name:
            tagger.token_network_ = restore_network(document["network"], arrays, len(tagger.weights_))
    elif document.get("stream") is None:
        tagger.coef_ = np.ascontiguousarray(unpack_table("coef", arrays, n).T)
        tagger.transitions_ = np.ascontiguousarray(arrays["transitions"], dtype=np.float64)
        _check_weights(n, (tagger.coef_, (n, n_rows)), (tagger.transitions_, (n_edges, n, n)))
    else:
        restore_stream(document["stream"], arrays, tagger, n_rows, n_edges)


@dataclass(frozen=True)
class _Kind:
    """An estimator: the parameters besides ``COMMON`` that are plain values, and the functions that write and read what
    the other kind does not have."""

    cls: type[TiltClassifier | TiltTagger]
    parameters: tuple[str, ...]
    dump: Callable[[Any, Document | None, Mapping[int, int], Arrays, list[str]], Document]
    restore: Callable[[Any, Document, Arrays], None]


_OF_TAGGER = ("weights", "boundaries", "valid_only", "inference", "penalize_intercept")
_KINDS = {
    kind.cls.__name__: kind
    for kind in (
        _Kind(TiltClassifier, ("penalize_intercept", "refine"), _dump_classifier, _restore_classifier),
        _Kind(TiltTagger, _OF_TAGGER, _dump_tagger, _restore_tagger),
    )
}


def _dump(
    estimator: TiltEstimator, parameters: Sequence[str], arrays: Arrays, lost: list[str]
) -> tuple[Document, dict[int, int]]:
    """The common part of the document, and the number in the file of every constraint that could be written; adds the
    history to ``arrays`` and what cannot be written to ``lost``."""
    for name, values_of in _columns(estimator.history_).items():
        arrays[f"history.{name}"] = values_of
    values = {name: _plain(getattr(estimator, name)) for name in (*COMMON, *parameters)}
    values["model"] = estimator.model_  # the name of an object
    for name, kind in _IF_PLAIN.items():
        if isinstance(getattr(estimator, name), kind):
            values[name] = getattr(estimator, name)
    if estimator.method_options:
        values["method_options"] = {name: _written(value) for name, value in estimator.method_options.items()}
    if estimator.online is not None:
        values["online"] = asdict(online_options(estimator.online))
    constraints = list(estimator.constraints_)
    # What one file could not hold is not in the next one either.
    lost += [text for text in estimator.lost_ if text.startswith((_FUNCTION, _CONSTRAINT))]
    written = [
        _dump_constraint(c, lost, estimator.unit_ if estimator.task.is_sequences else "documents") for c in constraints
    ]
    number = {k: n for n, k in enumerate(k for k, constraint in enumerate(written) if constraint is not None)}
    document = {
        "parameters": values,
        "classes": estimator.classes_.tolist(),
        "constraints": written,
        "lost_constraints": lost,
        "revisions": [
            [number[k], estimator.revisions_[c].places, estimator.revisions_[c].hits]
            for k, c in enumerate(constraints)
            if k in number and c in estimator.revisions_
        ],
        "report": estimator.constraint_report_.to_dicts(),
        # The price of a single instance says nothing about others, and there may be very many.
        "prices": [
            [number[key[0]], *key[1:], price]
            for key, price in estimator.prices_.items()
            if key[0] in number and constraints[key[0]].per not in ("instance", "sequence")
        ],
        # Where q was sampled the objective is not known, and JSON has no NaN.
        "objective": None if np.isnan(estimator.objective_) else estimator.objective_,
        "converged": estimator.converged_,
        "message": estimator.message_,
        "sharpness": asdict(estimator.sharpening_),
    }
    return document, number


def _construct(kind: _Kind, document: Document) -> Any:
    """An estimator that is not fitted, with the parameters and those constraints that could be written."""
    values = dict(document["parameters"])
    unknown = set(values) - {*COMMON, *kind.parameters, *_IF_PLAIN, "online", "method_options"}
    if unknown:
        raise ModelFileError(f"The file sets unknown parameters: {sorted(unknown)}.")
    if "method_options" in values:
        values["method_options"] = {name: _read(value) for name, value in dict(values["method_options"]).items()}
    kept = [from_document(c) for c in document["constraints"] if c is not None]
    return kind.cls(kept, classes=list(document["classes"]), **values)


def _restore(estimator: TiltEstimator, document: Document, arrays: Arrays) -> None:
    """Set what a fit would have set, as far as both estimators have it."""
    estimator.strength_ = Options.of(estimator).strength  # refuses parameters that no fit could have had
    estimator.classes_, estimator.model_ = _classes(document["classes"]), str(document["parameters"]["model"])
    estimator.constraints_ = ConstraintSet(tuple(estimator.constraints), tuple(document["classes"]))
    estimator.constraints = stated(estimator.constraints_)  # another fit decides anew what to assume
    estimator.revisions_ = _revisions(document.get("revisions", []), estimator.constraints_)
    estimator.lost_ = tuple(str(text) for text in document["lost_constraints"])
    estimator.prices_ = {(int(o), int(c), g): float(p) for o, c, g, p in document["prices"]}
    estimator.sharpening_ = _sharpness(document.get("sharpness"))
    report = ConstraintReport.from_dicts(document["report"])
    estimator.constraint_report_ = replace(report, note=estimator.sharpening_.sentence)
    str(estimator.constraint_report_)  # a damaged report is refused now, not when it is printed
    objective = document["objective"]
    estimator.objective_ = float("nan") if objective is None else float(objective)
    estimator.converged_ = bool(document["converged"])
    estimator.history_ = _history(arrays)
    estimator.n_iter_ = len(estimator.history_)
    estimator.message_ = str(document.get("message", ""))
    estimator.fields_ = _fields(document.get("fields"))


def _sharpness(written: Any) -> Sharpness:
    """What the weights were multiplied by; files of earlier versions do not say, and did not."""
    if written is None:
        return Sharpness()
    found = Sharpness(**written)
    for factor in (found.positions, 1.0 if found.edges is None else found.edges):
        if isinstance(factor, bool) or not isinstance(factor, int | float) or not 0 < factor < float("inf"):
            raise ModelFileError(f"The sharpness must be a positive, finite number, but is {factor!r}.")
    return found


def _revisions(rows: Sequence[Sequence[float]], constraints: ConstraintSet) -> dict[Constraint, Revision]:
    """What labels said of statements: the number of each, places and hits. Files of earlier versions have none."""
    found: dict[Constraint, Revision] = {}
    for number, places, hits in rows:
        if number not in range(len(constraints)):
            raise ModelFileError(f"Labels have revised the constraint {number!r}, which the file does not have.")
        constraint = constraints[int(number)]
        if not is_revised(constraint) or not 0 <= hits <= places or places == 0:
            raise ModelFileError(f"Labels cannot have revised the constraint {constraint.title!r} in this way.")
        found[constraint] = Revision.of(constraint, float(places), float(hits))
    return found


def _fields(written: Any) -> dict[str, Any] | None:
    """The names of fields that the command line was given; files of earlier versions have none."""
    if written is None:
        return None
    for value in written.values():
        if not isinstance(value, str | int) and not (isinstance(value, list) and {*map(type, value)} == {str}):
            raise ModelFileError(f"The names of fields are damaged: {value!r:.40}.")
    return dict(written)


def _own_weights(arrays: Arrays) -> FloatArray:
    """The weights of a model that is not linear: only on data does it know how many there must be."""
    weights = np.ascontiguousarray(arrays["weights"], dtype=np.float64)
    if weights.ndim != 1 or not np.all(np.abs(weights) <= _LARGEST):
        raise ModelFileError(f"The weights must be one row of numbers of at most {_LARGEST:g}.")
    return weights


def _check_weights(n_classes: int, *tables: tuple[FloatArray, tuple[int, ...]]) -> None:
    """ModelFileError unless every table has its shape, and finite numbers only."""
    for table, shape in tables:
        if table.shape != shape:
            raise ModelFileError(f"Weights of shape {table.shape}, but {shape} is needed for {n_classes} classes.")
        if not np.all(np.abs(table) <= _LARGEST):  # not of NaN either
            raise ModelFileError(f"The weights are not finite, or larger than {_LARGEST:g}.")


def _dump_constraint(constraint: Constraint, lost: list[str], unit: Unit) -> Document | None:
    try:
        return dict(to_document(constraint))
    except TiltfitError as error:
        title = repr(titled(constraint, unit))
        if error.missing is None:
            lost.append(f"{_FUNCTION} {title}")
        else:
            what, name = error.missing
            lost.append(f"{_CONSTRAINT} {title}, whose {what} {name} is not registered (tiltfit.register_{what})")
        return None


def _written(value: Any) -> Any:
    """An option of a method; a mapping as pairs, since keys may be numbers."""
    if isinstance(value, Mapping):
        return {"pairs": [[_plain(key), _plain(one)] for key, one in value.items()]}
    return _plain(value)


def _read(value: Any) -> Any:
    return dict(map(tuple, value["pairs"])) if isinstance(value, dict) else value


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _classes(values: Any) -> npt.NDArray[Any]:
    classes = np.array(values)
    if classes.ndim != 1 or not len(classes) or len(set(classes.tolist())) < len(classes):
        raise ModelFileError("The classes must be a list of different labels.")
    return classes


def _columns(history: Sequence[Round]) -> dict[str, FloatArray]:
    """The rounds as one array per field; NaN for a round without a score. No array of what all rounds have by
    default: files are then those of versions that do not know the field."""
    columns = {field.name: np.array([getattr(r, field.name) for r in history], dtype=float) for field in fields(Round)}
    for field in fields(Round):
        if field.default is not MISSING and all(getattr(r, field.name) == field.default for r in history):
            del columns[field.name]
    return columns


def _history(arrays: Arrays) -> tuple[Round, ...]:
    kept = [field for field in fields(Round) if field.default is MISSING or f"history.{field.name}" in arrays]
    rows = zip(*(arrays[f"history.{field.name}"].tolist() for field in kept), strict=True)
    return tuple(
        Round(**{f.name: _number(f.type, value) for f, value in zip(kept, row, strict=True)})  # type: ignore[arg-type]
        for row in rows
    )


def _number(kind: Any, value: float) -> float | None:
    if kind == "int":
        return int(value)
    return None if kind == "float | None" and np.isnan(value) else float(value)
