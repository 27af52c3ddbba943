"""``TiltTagger`` to and from the document and the arrays of a ``.tilt`` file."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from tiltfit.errors import ModelFileError
from tiltfit.estimators import state, stream_state
from tiltfit.estimators.options import TAGGERS, Options
from tiltfit.estimators.packing import pack_strings, pack_table, unpack_strings, unpack_table
from tiltfit.estimators.sequence_encoder import SequenceEncoder, as_edge_templates, as_templates
from tiltfit.estimators.state import Arrays, Document
from tiltfit.estimators.tagger import TiltTagger
from tiltfit.features.attribute_lists import AttributeEncoder, AttributeTemplates
from tiltfit.features.edges import EdgeTemplates
from tiltfit.features.tokens import TokenEncoder, TokenTemplates, written_names

VERSION = 1
PARAMETERS = ("weights", "boundaries", "valid_only", "inference")

FITTED = "fitted"
"""In place of a parameter that is what the encoder was fitted with: lexicons are long, and once is enough."""


def dump(tagger: TiltTagger, arrays: Arrays, lost: list[str]) -> Document:
    """All there is to write; adds to ``arrays`` and, by name, to ``lost`` what cannot be written."""
    common = state.dump(tagger, PARAMETERS, arrays, lost, "tokens")
    encoder = tagger._encoder
    arrays |= pack_strings("attributes", written_names(encoder.attributes.names))
    number = state.numbers_in_file(common["constraints"])
    stream = stream_state.dump(vars(tagger).get("_stream"), arrays, number)
    if stream is None:
        arrays |= pack_table("coef", tagger.coef_.T)
        arrays["transitions"] = tagger.transitions_
    templates = encoder.attributes.templates if isinstance(encoder.attributes, TokenEncoder) else None
    return {
        **common,
        "features": _dump_features(tagger.features, templates),
        "transitions": _dump_transitions(tagger.transitions, encoder.edges),
        "stream": stream,
        "seed": tagger._inference[1],
        "rates": [[number[k], rate] for k, rate in sorted(tagger._strength.rates.items()) if k in number],
        "encoder": {
            "templates": None if templates is None else templates.to_document(),
            "hashing": encoder.attributes.hashing if isinstance(encoder.attributes, AttributeEncoder) else None,
            "edges": encoder.edges.to_document(),
            "boundaries": encoder.boundaries,
            "valid_only": tagger._valid,
        },
    }


def restore(document: Document, arrays: Arrays) -> TiltTagger:
    """The inverse of ``dump``."""
    tagger = state.construct(TiltTagger, PARAMETERS, document)
    strength = Options.of(tagger, models=TAGGERS).strength  # refuses parameters that no fit could have had
    tagger._inference = str(tagger.inference), int(document.get("seed", 0))
    tagger._strength = replace(strength, rates=_rates(document.get("rates", [])))
    if tagger.weights not in ("all", "observed"):
        raise ModelFileError(f"The file sets weights={tagger.weights!r}, which is unknown.")
    tagger._generates = tagger.model
    state.restore(tagger, document, arrays)
    encoder = _restore_encoder(document["encoder"], arrays)
    tagger._encoder, tagger._valid = encoder, _flag(document["encoder"], "valid_only")
    tagger.features = _restore_features(document["features"], encoder)
    given = document["transitions"]
    tagger.transitions = encoder.edges if given == FITTED else None if given is None else as_edge_templates(given)
    n, names, edges = len(tagger.classes_), encoder.names, encoder.edge_names
    tagger._unit = "tokens"
    if document.get("stream") is None:
        tagger.coef_ = np.ascontiguousarray(unpack_table("coef", arrays, n).T)
        tagger.transitions_ = np.ascontiguousarray(arrays["transitions"], dtype=np.float64)
        state.check_weights(n, (tagger.coef_, (n, len(names))), (tagger.transitions_, (len(edges), n, n)))
    else:
        stream_state.restore(document["stream"], arrays, tagger, len(names), len(edges))
    tagger.transition_names_ = np.array(edges, dtype=object)
    return tagger


def _dump_features(features: Any, fitted: TokenTemplates | None) -> Document | str | None:
    if features is None:
        return None
    templates = as_templates(features, "attributes" if fitted is None else "tokens")
    if isinstance(templates, AttributeTemplates):
        return asdict(templates)
    return FITTED if templates == fitted else templates.to_document()


def _restore_features(features: Any, encoder: SequenceEncoder) -> TokenTemplates | AttributeTemplates | None:
    if features is None:
        return None
    if not isinstance(encoder.attributes, TokenEncoder):
        return as_templates(features, "attributes")
    return encoder.attributes.templates if features == FITTED else as_templates(features, "tokens")


def _dump_transitions(transitions: Any, fitted: EdgeTemplates) -> Document | str | None:
    if transitions is None:
        return None
    templates = as_edge_templates(transitions)
    return FITTED if templates == fitted else templates.to_document()


def _restore_encoder(document: Document, arrays: Arrays) -> SequenceEncoder:
    parts = {**document, "names": unpack_strings("attributes", arrays)}
    attributes: TokenEncoder | AttributeEncoder
    attributes = (AttributeEncoder if document["templates"] is None else TokenEncoder).from_document(parts)
    return SequenceEncoder(attributes, EdgeTemplates.from_document(document["edges"]), _flag(document, "boundaries"))


def _rates(listed: Any) -> dict[int, float]:
    rates = {int(number): float(rate) for number, rate in listed}
    if not all(0 < rate <= 1 for rate in rates.values()):
        raise ModelFileError("The rates of events that shares are of must be above 0 and at most 1.")
    return rates


def _flag(document: Document, name: str) -> bool:
    if not isinstance(document[name], bool):
        raise ModelFileError(f"{name!r} must be true or false.")
    return bool(document[name])
