"""``TiltClassifier`` to and from the document and the arrays of a ``.tilt`` file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tiltfit.errors import ModelFileError
from tiltfit.estimators import state, stream_state
from tiltfit.estimators.base import LostBase
from tiltfit.estimators.classifier import TiltClassifier
from tiltfit.estimators.encoders import Bag, TableEncoder, TextEncoder
from tiltfit.estimators.options import Options
from tiltfit.estimators.state import Arrays, Document
from tiltfit.features.hashed_text import HashedWords
from tiltfit.features.hashing import buckets
from tiltfit.features.text import WEIGHTINGS, BagOfWords

VERSION = 1
PARAMETERS = ("penalize_intercept",)


def dump(classifier: TiltClassifier, arrays: Arrays, lost: list[str]) -> Document:
    """All there is to write; adds to ``arrays`` and, by name, to ``lost`` what cannot be written."""
    common = state.dump(classifier, PARAMETERS, arrays, lost, "documents")
    number = state.numbers_in_file(common["constraints"])
    stream = stream_state.dump(vars(classifier).get("_stream"), arrays, number)
    if stream is None:
        arrays |= {"coef": classifier.coef_, "intercept": classifier.intercept_}
    names = classifier.feature_names
    return {
        **common,
        "vectorizer": classifier.vectorizer if isinstance(classifier.vectorizer, str) else None,
        "feature_names": None if names is None else [str(n) for n in names],
        "feature_names_in": _names_in(classifier),
        "has_base": _has_base(classifier, lost),
        "encoder": _dump_encoder(classifier._encoder, arrays, lost),
        "stream": stream,
        "unit": classifier._unit,
    }


def restore(document: Document, arrays: Arrays) -> TiltClassifier:
    """The inverse of ``dump``."""
    classifier = state.construct(TiltClassifier, PARAMETERS, document)
    classifier._strength = Options.of(classifier).strength  # refuses parameters that no fit could have had
    classifier._generates = classifier.model
    classifier.vectorizer = document["vectorizer"] or "auto"
    classifier.feature_names = document["feature_names"]
    classifier.base = classifier._base = LostBase() if document.get("has_base", False) else None
    state.restore(classifier, document, arrays)
    stream = document.get("stream")
    if stream is None:
        classifier.coef_, classifier.intercept_ = _weights(arrays, len(classifier.classes_))
        classifier.n_features_in_ = classifier.coef_.shape[1]
    else:
        classifier.n_features_in_ = int(stream["n_features"])
        stream_state.restore(stream, arrays, classifier, classifier.n_features_in_ + 1, None)
    classifier._unit = document.get("unit", "documents")
    classifier._encoder = _restore_encoder(document["encoder"], arrays)
    if isinstance(classifier._encoder, TableEncoder):
        classifier.columns_in_ = classifier._encoder.columns
    classifier._model_names = document["feature_names"]
    names = classifier._encoder.names if classifier._encoder is not None else document["feature_names_in"]
    if names:
        if len(names) != classifier.n_features_in_:
            raise ModelFileError(f"{len(names)} feature names for {classifier.n_features_in_} features.")
        classifier._model_names = names
        if not buckets(names):
            classifier._model_names = list(names)
            classifier.feature_names_in_ = np.array(names, dtype=object)
    return classifier


def _has_base(classifier: TiltClassifier, lost: list[str]) -> bool:
    if classifier._base is None:
        return False
    lost.append("the base distribution (set model.base again after loading)")
    return True


def _names_in(classifier: TiltClassifier) -> list[str] | None:
    # A text model's names are its vocabulary, which the encoder holds already.
    if classifier._encoder is not None or not hasattr(classifier, "feature_names_in_"):
        return None
    return [str(name) for name in classifier.feature_names_in_]


def _dump_encoder(encoder: TextEncoder | TableEncoder | None, arrays: Arrays, lost: list[str]) -> Document | None:
    if encoder is None:
        return None
    if isinstance(encoder, TableEncoder):
        bags = {name: _dump_bag(bag, f"idf.{k}", arrays) for k, (name, bag) in enumerate(encoder.bags.items())}
        return {"kind": "table", "numeric": list(encoder.numeric), "bags": bags}
    if encoder.bag is None:
        lost.append(f"the vectorizer {type(encoder.foreign).__name__}")
        return {"kind": "text", "bag": None}
    return {"kind": "text", "bag": _dump_bag(encoder.bag, "idf", arrays)}


def _dump_bag(bag: Bag, key: str, arrays: Arrays) -> Document:
    if isinstance(bag, HashedWords):
        arrays[f"{key}.frequency"] = bag.frequency
        return {"weighting": bag.weighting, "size": bag.size, "n": bag.n, "frequency": f"{key}.frequency"}
    if bag.idf is not None:
        arrays[key] = bag.idf
    return {"words": list(bag.words), "weighting": bag.weighting, "idf": key if bag.idf is not None else None}


def _weights(arrays: Arrays, n_classes: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    coef = np.ascontiguousarray(arrays["coef"], dtype=np.float64)
    intercept = np.asarray(arrays["intercept"], dtype=np.float64)
    state.check_weights(n_classes, (coef, (n_classes, *coef.shape[1:2])), (intercept, (n_classes,)))
    return coef, intercept


def _restore_encoder(document: Document | None, arrays: Arrays) -> TextEncoder | TableEncoder | None:
    if document is None:
        return None
    if document["kind"] == "table":
        bags = {str(name): _restore_bag(bag, arrays) for name, bag in document["bags"].items()}
        return TableEncoder(tuple(str(n) for n in document["numeric"]), bags)
    if document["kind"] == "text":
        return TextEncoder(bag=None if document["bag"] is None else _restore_bag(document["bag"], arrays))
    raise ModelFileError(f"Unknown encoder {document['kind']!r}.")


def _restore_bag(document: Document, arrays: Mapping[str, npt.NDArray[Any]]) -> Bag:
    if document["weighting"] == HashedWords.weighting:
        n, frequency = document["n"], np.array(arrays[document["frequency"]], dtype=np.int64)
        if not isinstance(n, int) or n < 0 or frequency.shape != ((document["size"],) if n else (0,)):
            raise ModelFileError("The counts of hashed words are damaged.")
        if np.any((frequency < 0) | (frequency > n)):
            raise ModelFileError("The counts of hashed words are damaged.")
        return HashedWords(document["size"], n, frequency)
    words = tuple(str(word) for word in document["words"])
    idf = None if document["idf"] is None else np.asarray(arrays[document["idf"]], dtype=np.float64)
    sound = document["weighting"] in WEIGHTINGS and (idf is not None) == (document["weighting"] == "tfidf")
    if not sound or len(set(words)) < len(words) or (idf is not None and idf.shape != (len(words),)):
        raise ModelFileError("The vocabulary is damaged.")
    return BagOfWords(words, str(document["weighting"]), idf)
