"""Parts of a model file: long lists of strings, tables with many zeros, encoders and streams, each as plain values for
the document and as arrays.

Unpacking bounds its memory before it allocates, as ``storage`` does: a small file may not become a large model. A
stream has everything that the next step needs, and going on after loading gives the same bits as going on without:
tables are written as they are, with the ridge that rows still owe, and numbers as JSON has them, which is exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import FloatArray
from tiltfit.errors import ModelFileError, UnsupportedError
from tiltfit.estimators.encoders import Bag, TableEncoder, TextEncoder
from tiltfit.estimators.given_features import GivenFeatures
from tiltfit.estimators.options import online_options
from tiltfit.estimators.sequence_encoder import SequenceEncoder, as_edge_templates, as_templates
from tiltfit.estimators.stream import Stream
from tiltfit.estimators.token_vectors import EncodedTokens, GivenTokens, TokenVectors
from tiltfit.features.edges import EdgeTemplates
from tiltfit.features.meaning import Vectors, WordsAndMeaning
from tiltfit.features.text import UNITS, WEIGHTINGS, BagOfWords, HashedWords, Views
from tiltfit.features.tokens import AttributeEncoder, AttributeTemplates, TokenEncoder, TokenTemplates, written_names
from tiltfit.features.vectors import ENCODERS
from tiltfit.language.constraint import ConstraintSet
from tiltfit.methods.online import Learner
from tiltfit.optimize.lazy import LazyTable
from tiltfit.projections.ledger import COLUMNS, Ledger
from tiltfit.storage.container import MAX_BYTES

Arrays = dict[str, npt.NDArray[Any]]
Document = dict[str, Any]

FITTED = "fitted"
"""In place of a parameter that the encoder was fitted with: lexicons are long, and once is enough."""

_STRING = 64  # bytes that a string and its place in a list take besides its characters
_CHARACTER = 4  # bytes that a character may take, once one of a string is beyond the first plane


def pack_strings(name: str, strings: Sequence[str]) -> Arrays:
    """``name.text``: all strings as UTF-8, one after the other; ``name.bytes``: the length of each."""
    try:
        parts = [string.encode("utf-8") for string in strings]
    except UnicodeEncodeError as error:
        raise UnsupportedError(
            f"A model file cannot hold the attribute {str(error.object)[:40]!a}: it contains half a character (a lone "
            "surrogate). Clean the texts."
        ) from None
    text = np.frombuffer(b"".join(parts), dtype=np.uint8)
    if _memory_of_strings(len(parts), len(text)) > MAX_BYTES:
        raise UnsupportedError(f"The model has too many attributes for a file ({len(parts)}). Use min_count=.")
    return {f"{name}.text": text, f"{name}.bytes": np.array([len(part) for part in parts], dtype=np.uint32)}


def unpack_strings(name: str, arrays: Arrays) -> list[str]:
    """The inverse of ``pack_strings``."""
    text, lengths = arrays[f"{name}.text"], arrays[f"{name}.bytes"]
    sound = text.dtype == np.uint8 and lengths.dtype == np.uint32 and text.ndim == lengths.ndim == 1
    if not sound or int(lengths.sum(dtype=np.uint64)) != len(text):
        raise ModelFileError(f"The strings {name!r} do not have the lengths that they should have.")
    if _memory_of_strings(len(lengths), len(text)) > MAX_BYTES:
        raise ModelFileError(f"The strings {name!r} would take more than {MAX_BYTES} bytes of memory.")
    data, ends = text.tobytes(), np.cumsum(lengths, dtype=np.int64).tolist()
    return [data[start:end].decode("utf-8") for start, end in zip([0, *ends], ends, strict=False)]


def pack_table(name: str, table: FloatArray) -> Arrays:
    """A table (rows × labels): as it is, or without its zeros where that is smaller.

    ``name.count``: entries in each row; ``name.label``, ``name.value``: their columns and values, row by row.
    """
    table = np.ascontiguousarray(table)
    if table.nbytes > MAX_BYTES:
        raise UnsupportedError(
            f"The model's weights are too many for a file: {table.size}. Use min_count=, or a smaller hashing=."
        )
    filled = table.view(np.uint64) != 0  # not `table != 0`: −0 is to stay −0
    width = np.min_scalar_type(table.shape[1])
    count = filled.sum(axis=1)
    if len(table) * width.itemsize + int(count.sum()) * (width.itemsize + 8) >= table.nbytes:
        return {name: table}
    label = np.nonzero(filled)[1]
    return {f"{name}.count": count.astype(width), f"{name}.label": label.astype(width), f"{name}.value": table[filled]}


def unpack_table(name: str, arrays: Arrays, n_labels: int) -> FloatArray:
    """The inverse of ``pack_table``."""
    if name in arrays:
        return np.asarray(arrays[name], dtype=np.float64)
    count, label, value = (arrays[f"{name}.{part}"] for part in ("count", "label", "value"))
    flat = all(part.ndim == 1 for part in (count, label, value)) and count.dtype.kind == label.dtype.kind == "u"
    if not flat or int(count.sum(dtype=np.uint64)) != len(label) or len(label) != len(value):
        raise ModelFileError(f"The table {name!r} does not have as many entries as it should have.")
    if len(count) * n_labels * 8 > MAX_BYTES:
        raise ModelFileError(f"The table {name!r} would take more than {MAX_BYTES} bytes of memory.")
    row = np.repeat(np.arange(len(count)), count.astype(np.int64))
    place = row * n_labels + label.astype(np.int64)
    if label.max(initial=0) >= n_labels or np.any(np.diff(place) <= 0):
        raise ModelFileError(f"The table {name!r} has an entry twice, or outside.")
    table = np.zeros((len(count), n_labels))
    table.ravel()[place] = value
    return table


def _memory_of_strings(n: int, n_bytes: int) -> int:
    return n * _STRING + n_bytes * _CHARACTER


# Encoders of texts and tables


def dump_encoder(
    encoder: TextEncoder | TableEncoder | GivenFeatures | None, arrays: Arrays, lost: list[str]
) -> Document | None:
    """The document; adds to ``arrays`` and, by name, to ``lost`` what cannot be written."""
    if encoder is None:
        return None
    if isinstance(encoder, TableEncoder):
        bags = {name: _dump_bag(bag, f"idf.{k}", arrays) for k, (name, bag) in enumerate(encoder.bags.items())}
        return {"kind": "table", "numeric": list(encoder.numeric), "bags": bags}
    if isinstance(encoder, GivenFeatures):
        return {"kind": "given", "dimensions": encoder.dimensions, "factor": encoder.factor}
    if encoder.bag is None:
        foreign = encoder.foreign.encoder if isinstance(encoder.foreign, Vectors) else encoder.foreign
        lost.append("the vectorizer" if foreign is None else f"the vectorizer {type(foreign).__name__}")
        if encoder.length is not None:
            return {"kind": "vectors", "length": encoder.length}
        return {"kind": "text", "bag": None}
    return {"kind": "text", "bag": _dump_bag(encoder.bag, "idf", arrays)}


def restore_encoder(document: Document | None, arrays: Arrays) -> TextEncoder | TableEncoder | GivenFeatures | None:
    """The inverse of ``dump_encoder``."""
    if document is None:
        return None
    if document["kind"] == "table":
        bags = {str(name): _restore_bag(bag, arrays) for name, bag in document["bags"].items()}
        return TableEncoder(tuple(str(n) for n in document["numeric"]), bags)
    if document["kind"] == "text":
        return TextEncoder(bag=None if document["bag"] is None else _restore_bag(document["bag"], arrays))
    if document["kind"] == "vectors":
        return TextEncoder(length=_positive(document, "length"))
    if document["kind"] == "given":
        return GivenFeatures(_dimensions(document), _positive(document, "factor"))
    raise ModelFileError(f"Unknown encoder {document['kind']!r}.")


def _positive(document: Document, key: str) -> float:
    value = document[key]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise ModelFileError(f"The {key} of features must be a positive, finite number, but is {value!r}.")
    return float(value)


def _dimensions(document: Document) -> int:
    value = document["dimensions"]
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ModelFileError(f"The number of dimensions must be a whole number above 0, but is {value!r}.")
    return value


def _dump_bag(bag: Bag, key: str, arrays: Arrays) -> Document:
    if isinstance(bag, HashedWords):
        arrays[f"{key}.frequency"] = bag.frequency
        return {
            "weighting": bag.weighting,
            "size": bag.size,
            "n": bag.n,
            "frequency": f"{key}.frequency",
            **_marks(bag),
        }
    if isinstance(bag, WordsAndMeaning):
        vectors = {"encoder": bag.encoder, "dimensions": bag.dimensions, "length": bag.length}
        vectors |= {"apart": True} if bag.apart else {}
        return {"weighting": bag.weighting, "bag": _dump_bag(bag.words, key, arrays), **vectors}
    if isinstance(bag, Views):
        views = [_dump_view(view, f"{key}.{view.unit}", arrays) for view in bag.bags]
        return {"weighting": bag.weighting, "views": views}
    if bag.idf is not None:
        arrays[key] = bag.idf
    return {
        "words": list(bag.words),
        "weighting": bag.weighting,
        "idf": key if bag.idf is not None else None,
        **_marks(bag),
    }


def _dump_view(bag: BagOfWords, key: str, arrays: Arrays) -> Document:
    """A view of texts: its vocabulary is long, so it goes into arrays."""
    assert bag.idf is not None  # views are tf-idf
    arrays[key] = bag.idf
    arrays |= pack_strings(key, bag.words)
    return {"unit": bag.unit, "key": key, **_marks(bag)}


def _restore_view(document: Document, arrays: Arrays) -> BagOfWords:
    words, idf = tuple(unpack_strings(document["key"], arrays)), np.asarray(arrays[document["key"]], dtype=np.float64)
    if document["unit"] not in UNITS or len(set(words)) < len(words) or not _is_weighting(idf, len(words)):
        raise ModelFileError("A view of the texts is damaged.")
    return BagOfWords(words, "tfidf", idf, str(document["unit"]), _has_marks(document))


def _marks(bag: BagOfWords | HashedWords) -> Document:
    return {"marks": True} if bag.marks else {}


def _has_marks(document: Document) -> bool:
    """Files of earlier versions do not say: marks were no part of words, and their weights are for such words."""
    return document.get("marks", False) is True


def _is_weighting(idf: FloatArray, n: int) -> bool:
    return idf.shape == (n,) and bool(np.all(np.isfinite(idf) & (idf > 0)))


def _restore_bag(document: Document, arrays: Arrays) -> Bag:
    if document["weighting"] == HashedWords.weighting:
        n, frequency = document["n"], np.array(arrays[document["frequency"]], dtype=np.int64)
        sound = isinstance(n, int) and n >= 0 and frequency.shape == ((document["size"],) if n else (0,))
        if not sound or np.any((frequency < 0) | (frequency > n)):
            raise ModelFileError("The counts of hashed words are damaged.")
        return HashedWords(document["size"], n, frequency, _has_marks(document))
    if document["weighting"] == WordsAndMeaning.weighting:
        words_alone, name = _restore_bag(document["bag"], arrays), str(document["encoder"])
        if not isinstance(words_alone, BagOfWords):
            raise ModelFileError("The words beside an encoder are damaged.")
        ENCODERS.find(name)  # refuses a name that nobody has registered; the encoder is loaded when it is needed
        length, apart = _positive(document, "length"), document.get("apart", False) is True
        return WordsAndMeaning(words_alone, _dimensions(document), name, length, apart)
    if document["weighting"] == Views.weighting:
        views = tuple(_restore_view(view, arrays) for view in document["views"])
        if not views or len({view.unit for view in views}) < len(views):
            raise ModelFileError("The views of the texts are damaged.")
        return Views(views)
    words = tuple(str(word) for word in document["words"])
    idf = None if document["idf"] is None else np.asarray(arrays[document["idf"]], dtype=np.float64)
    sound = document["weighting"] in WEIGHTINGS and (idf is not None) == (document["weighting"] == "tfidf")
    if not sound or len(set(words)) < len(words) or (idf is not None and not _is_weighting(idf, len(words))):
        raise ModelFileError("The vocabulary is damaged.")
    return BagOfWords(words, str(document["weighting"]), idf, marks=_has_marks(document))


# Encoders of sequences


def dump_sequence_encoder(encoder: SequenceEncoder, arrays: Arrays, lost: list[str]) -> Document:
    """The document; adds to ``arrays`` and, by name, to ``lost`` what cannot be written."""
    arrays |= pack_strings("attributes", written_names(encoder.attributes.names))
    templates = _templates(encoder)
    # Files of taggers without vectors are those of versions that do not know them.
    vectors = {} if encoder.vectors is None else {"vectors": _dump_token_vectors(encoder.vectors, lost)}
    return {
        **vectors,
        "templates": None if templates is None else templates.to_document(),
        "hashing": getattr(encoder.attributes, "hashing", None) if templates is None else None,
        "edges": encoder.edges.to_document(),
        "boundaries": encoder.boundaries,
    }


def restore_sequence_encoder(document: Document, arrays: Arrays) -> SequenceEncoder:
    """The inverse of ``dump_sequence_encoder``."""
    parts = {**document, "names": unpack_strings("attributes", arrays)}
    attributes: TokenEncoder | AttributeEncoder
    attributes = (AttributeEncoder if document["templates"] is None else TokenEncoder).from_document(parts)
    edges, vectors = EdgeTemplates.from_document(document["edges"]), document.get("vectors")
    restored = None if vectors is None else _restore_token_vectors(vectors)
    return SequenceEncoder(attributes, edges, flag(document, "boundaries"), restored)


def _dump_token_vectors(vectors: TokenVectors, lost: list[str]) -> Document:
    if isinstance(vectors, GivenTokens):
        return {"kind": "given", "dimensions": vectors.dimensions, "factor": vectors.factor}
    assert isinstance(vectors, EncodedTokens)
    named = isinstance(vectors.encoder, str)
    if not named:
        what = "" if vectors.encoder is None else f" {type(vectors.encoder).__name__}"
        lost.append(f"the encoder{what} of tokens")
    name = vectors.encoder if named else None
    return {"kind": "encoded", "encoder": name, "dimensions": vectors.dimensions, "length": vectors.length}


def _restore_token_vectors(document: Document) -> TokenVectors:
    if document["kind"] == "given":
        return GivenTokens(_dimensions(document), _positive(document, "factor"))
    if document["kind"] != "encoded":
        raise ModelFileError(f"Unknown vectors of tokens {document['kind']!r}.")
    name = document["encoder"]
    if name is not None:
        ENCODERS.find(name)  # refuses a name that nobody has registered; the encoder is loaded when it is needed
    return EncodedTokens(name, _dimensions(document), _positive(document, "length"))


def dump_features(features: Any, encoder: SequenceEncoder) -> Document | str | None:
    """The parameter ``features=``."""
    if features is None:
        return None
    templates = as_templates(features, encoder.kind)
    if isinstance(templates, AttributeTemplates):
        return asdict(templates)
    return FITTED if templates == _templates(encoder) else templates.to_document()


def restore_features(features: Any, encoder: SequenceEncoder) -> TokenTemplates | AttributeTemplates | None:
    """The inverse of ``dump_features``."""
    if features is None:
        return None
    fitted = _templates(encoder)
    return fitted if fitted is not None and features == FITTED else as_templates(features, encoder.kind)


def dump_transitions(transitions: Any, encoder: SequenceEncoder) -> Document | str | None:
    """The parameter ``transitions=``."""
    if transitions is None:
        return None
    templates = as_edge_templates(transitions)
    return FITTED if templates == encoder.edges else templates.to_document()


def restore_transitions(transitions: Any, encoder: SequenceEncoder) -> EdgeTemplates | None:
    """The inverse of ``dump_transitions``."""
    if transitions is None:
        return None
    return encoder.edges if transitions == FITTED else as_edge_templates(transitions)


def flag(document: Document, name: str) -> bool:
    """A field that must be true or false."""
    if not isinstance(document[name], bool):
        raise ModelFileError(f"{name!r} must be true or false.")
    return bool(document[name])


def _templates(encoder: SequenceEncoder) -> TokenTemplates | None:
    return getattr(encoder.attributes, "templates", None)


# Streams


_COUNTS = ("seed", "seen", "unlabelled", "positions", "unlabelled_in_all")
_NUMBERS = ("alpha", "gamma", "size", "clock")
_SUMS = ("visits", "support", "owed", "recent_support")
_KNOWN = ("dual", "second", *_SUMS)  # other columns may be NaN before there are samples


def dump_stream(stream: Stream | None, arrays: Arrays, number: Mapping[int, int]) -> Document | None:
    """The document; adds to ``arrays``. ``number``: of constraints in the file; those that it cannot hold have none."""
    if stream is None:
        return None
    learner, ledger = stream.learner, stream.learner.ledger
    _dump_table("nodes", learner.nodes, arrays)
    if learner.edges is not None:
        _dump_table("edges", learner.edges, arrays)
    kept = [k for k, key in enumerate(ledger.keys) if key[0] in number]
    arrays["ledger"], arrays["declared"] = ledger.table[:, kept], ledger.declared[kept]
    return {
        "online": asdict(learner.online),
        **{name: int(getattr(learner, name)) for name in _COUNTS},
        **{name: float(getattr(learner, name)) for name in _NUMBERS},
        "free": learner.nodes.free[0] if learner.nodes.free[1] else -1,  # and all rows after it
        "free_edges": learner.edges is not None and learner.edges.free[1] > 0,  # the first row
        "n_features": len(learner.nodes.value) - 1,
        "keys": [[number[ledger.keys[k][0]], *ledger.keys[k][1:]] for k in kept],
        "columns": list(COLUMNS),
        "apart": [[number[k], support] for k, support in sorted(stream.apart.items()) if k in number],
        "place": stream.place,
    }


def restore_stream(document: Document, arrays: Arrays, estimator: Any, n_rows: int, n_edges: int | None) -> None:
    """Give the estimator its stream; ``n_rows`` attributes (and intercepts) of positions, ``n_edges`` of edges."""
    estimator.strength_ = replace(estimator.strength_, smooth=True)  # as in every stream
    n_labels, strength = len(estimator.classes_), estimator.strength_
    online = online_options(document["online"])
    if document["columns"] != list(COLUMNS):
        raise ModelFileError("The stream holds other columns than this version of tiltfit.")
    squares = online.rule.squares
    first = int(document["free"])
    if not -1 <= first <= n_rows:
        raise ModelFileError(f"The stream has no row {first} of weights.")
    free = ((0, 0) if first < 0 else (first, n_rows)), (0, int(document.get("free_edges", False)))
    nodes = _restore_table("nodes", (n_rows, n_labels), arrays, squares=squares, free=free[0])
    edges = None
    if n_edges is not None:
        edges = _restore_table("edges", (n_edges, n_labels**2), arrays, squares=squares, free=free[1])
    figures: Document = {name: int(document[name]) for name in _COUNTS}
    figures |= {name: float(document[name]) for name in _NUMBERS}
    if any(float(document[name]) < 0 for name in figures) or figures["gamma"] == 0:
        raise ModelFileError("The stream counts something below zero.")
    learner = Learner(online=online, nodes=nodes, edges=edges, ledger=Ledger(), **figures)
    for table in (nodes, edges):
        if table is not None and np.any(table.settled > learner.clock):
            raise ModelFileError("Weights of the stream have had their ridge before it was due.")
    apart = {int(k): float(v) for k, v in document["apart"]}
    if any(not 0 <= k < len(estimator.constraints_) for k in apart):
        raise ModelFileError("The stream has supports of constraints that are not in the file.")
    stream = Stream(learner, strength, apart, dict(document["place"]))
    _restore_ledger(stream, document, arrays, estimator.constraints_, estimator.classes_.tolist())
    estimator.stream_ = stream


def _dump_table(name: str, table: LazyTable, arrays: Arrays) -> None:
    arrays |= pack_table(f"{name}.value", table.value)
    if table.square.shape[1]:
        arrays |= pack_table(f"{name}.square", table.square)
    arrays[f"{name}.settled"] = table.settled


def _restore_table(
    name: str, shape: tuple[int, int], arrays: Arrays, *, squares: bool, free: tuple[int, int]
) -> LazyTable:
    value = unpack_table(f"{name}.value", arrays, shape[1])
    square = unpack_table(f"{name}.square", arrays, shape[1]) if squares else np.zeros((shape[0], 0))
    settled = np.array(arrays[f"{name}.settled"], dtype=np.float64)
    sound = value.shape == shape and square.shape == (shape[0], shape[1] if squares else 0)
    if not sound or settled.shape != shape[:1]:
        raise ModelFileError(f"The weights {name!r} of the stream do not have the shape {shape}.")
    if not all(np.all(np.isfinite(array)) for array in (value, square, settled)) or np.any(square < 0):
        raise ModelFileError(f"The weights {name!r} of the stream are not finite.")
    return LazyTable(value.copy(order="C"), square.copy(order="C"), settled, free)


def _restore_ledger(
    stream: Stream, document: Document, arrays: Arrays, constraints: ConstraintSet, classes: list[Any]
) -> None:
    ledger = stream.learner.ledger
    keys = [(int(number), int(component), group) for number, component, group in document["keys"]]
    if any(not 0 <= number < len(constraints) for number, _, _ in keys) or len(set(keys)) < len(keys):
        raise ModelFileError("The stream has prices of constraints that are not in the file.")
    ledger.enter(keys, lambda key: stream.describe(key, constraints, classes))
    table, declared = (np.array(arrays[name], dtype=np.float64) for name in ("ledger", "declared"))
    if table.shape != ledger.table.shape or declared.shape != ledger.declared.shape:
        raise ModelFileError("The prices of the stream do not fit its constraints.")
    known = table[[k for k, name in enumerate(COLUMNS) if name in _KNOWN]]
    ledger_share = ledger.column("share")
    if not np.all(np.isfinite(known)) or not np.all(np.isfinite(declared)) or np.any(declared < 0):
        raise ModelFileError("The prices of the stream are not finite.")
    ledger.table, ledger.declared = table, declared
    if any(np.any(ledger.column(name) < 0) for name in _SUMS):
        raise ModelFileError("The prices of the stream have supports below zero.")
    if not np.array_equal(ledger.column("share"), ledger_share, equal_nan=True):
        raise ModelFileError("The prices of the stream are of other shares than its constraints.")
