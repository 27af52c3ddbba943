"""Encoders to and from the document and the arrays of a ``.tilt`` file."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from tiltfit.errors import ModelFileError
from tiltfit.estimators.encoders import Bag, TableEncoder, TextEncoder
from tiltfit.estimators.packing import pack_strings, unpack_strings
from tiltfit.estimators.sequence_encoder import SequenceEncoder, as_edge_templates, as_templates
from tiltfit.features.edges import EdgeTemplates
from tiltfit.features.text import WEIGHTINGS, BagOfWords, HashedWords
from tiltfit.features.tokens import AttributeEncoder, AttributeTemplates, TokenEncoder, TokenTemplates, written_names

Arrays = dict[str, npt.NDArray[Any]]
Document = dict[str, Any]

FITTED = "fitted"
"""In place of a parameter that the encoder was fitted with: lexicons are long, and once is enough."""


# Texts and tables


def dump_encoder(encoder: TextEncoder | TableEncoder | None, arrays: Arrays, lost: list[str]) -> Document | None:
    """The document; adds to ``arrays`` and, by name, to ``lost`` what cannot be written."""
    if encoder is None:
        return None
    if isinstance(encoder, TableEncoder):
        bags = {name: _dump_bag(bag, f"idf.{k}", arrays) for k, (name, bag) in enumerate(encoder.bags.items())}
        return {"kind": "table", "numeric": list(encoder.numeric), "bags": bags}
    if encoder.bag is None:
        lost.append(f"the vectorizer {type(encoder.foreign).__name__}")
        return {"kind": "text", "bag": None}
    return {"kind": "text", "bag": _dump_bag(encoder.bag, "idf", arrays)}


def restore_encoder(document: Document | None, arrays: Arrays) -> TextEncoder | TableEncoder | None:
    """The inverse of ``dump_encoder``."""
    if document is None:
        return None
    if document["kind"] == "table":
        bags = {str(name): _restore_bag(bag, arrays) for name, bag in document["bags"].items()}
        return TableEncoder(tuple(str(n) for n in document["numeric"]), bags)
    if document["kind"] == "text":
        return TextEncoder(bag=None if document["bag"] is None else _restore_bag(document["bag"], arrays))
    raise ModelFileError(f"Unknown encoder {document['kind']!r}.")


def _dump_bag(bag: Bag, key: str, arrays: Arrays) -> Document:
    if isinstance(bag, HashedWords):
        arrays[f"{key}.frequency"] = bag.frequency
        return {"weighting": bag.weighting, "size": bag.size, "n": bag.n, "frequency": f"{key}.frequency"}
    if bag.idf is not None:
        arrays[key] = bag.idf
    return {"words": list(bag.words), "weighting": bag.weighting, "idf": key if bag.idf is not None else None}


def _restore_bag(document: Document, arrays: Arrays) -> Bag:
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


# Sequences


def dump_sequence_encoder(encoder: SequenceEncoder, arrays: Arrays) -> Document:
    """The document; adds to ``arrays``."""
    arrays |= pack_strings("attributes", written_names(encoder.attributes.names))
    templates, hashing = _templates(encoder), getattr(encoder.attributes, "hashing", None)
    return {
        "templates": None if templates is None else templates.to_document(),
        "hashing": hashing if templates is None else None,
        "edges": encoder.edges.to_document(),
        "boundaries": encoder.boundaries,
    }


def restore_sequence_encoder(document: Document, arrays: Arrays) -> SequenceEncoder:
    """The inverse of ``dump_sequence_encoder``."""
    parts = {**document, "names": unpack_strings("attributes", arrays)}
    attributes: TokenEncoder | AttributeEncoder
    attributes = (AttributeEncoder if document["templates"] is None else TokenEncoder).from_document(parts)
    return SequenceEncoder(attributes, EdgeTemplates.from_document(document["edges"]), flag(document, "boundaries"))


def dump_features(features: Any, encoder: SequenceEncoder) -> Document | str | None:
    """The parameter ``features=``."""
    fitted = _templates(encoder)
    if features is None:
        return None
    templates = as_templates(features, "attributes" if fitted is None else "tokens")
    if isinstance(templates, AttributeTemplates):
        return asdict(templates)
    return FITTED if templates == fitted else templates.to_document()


def restore_features(features: Any, encoder: SequenceEncoder) -> TokenTemplates | AttributeTemplates | None:
    """The inverse of ``dump_features``."""
    fitted = _templates(encoder)
    if features is None:
        return None
    return fitted if fitted is not None and features == FITTED else as_templates(features, encoder.kind)


def dump_transitions(transitions: Any, encoder: SequenceEncoder) -> Document | str | None:
    """The parameter ``transitions=``."""
    if transitions is None:
        return None
    templates = as_edge_templates(transitions)
    return FITTED if templates == encoder.edges else templates.to_document()


def restore_transitions(transitions: Any, encoder: SequenceEncoder) -> EdgeTemplates | None:
    """The inverse of ``dump_transitions``."""
    return encoder.edges if transitions == FITTED else None if transitions is None else as_edge_templates(transitions)


def flag(document: Document, name: str) -> bool:
    """A field that must be true or false."""
    if not isinstance(document[name], bool):
        raise ModelFileError(f"{name!r} must be true or false.")
    return bool(document[name])


def _templates(encoder: SequenceEncoder) -> TokenTemplates | None:
    return getattr(encoder.attributes, "templates", None) if encoder.kind == "tokens" else None
