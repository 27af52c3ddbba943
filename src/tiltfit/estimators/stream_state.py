"""A stream to and from the document and the arrays of a ``.tilt`` file: everything that the next step needs.

Going on after loading gives the same bits as going on without: tables are written as they are, with the ridge that rows
still owe, and numbers as JSON has them, which is exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from tiltfit.errors import ModelFileError
from tiltfit.estimators.encoder_files import Arrays, Document
from tiltfit.estimators.options import online_options
from tiltfit.estimators.packing import pack_table, unpack_table
from tiltfit.estimators.stream import Stream
from tiltfit.language.constraint import ConstraintSet
from tiltfit.methods.online import Learner
from tiltfit.optimize.lazy import LazyTable
from tiltfit.projections.ledger import COLUMNS, Ledger

_COUNTS = ("seed", "seen", "unlabelled", "positions", "unlabelled_in_all")
_NUMBERS = ("alpha", "gamma", "size", "clock")
_KNOWN = (
    "dual",
    "second",
    "visits",
    "support",
    "owed",
    "recent_support",
)  # other columns may be NaN before there are samples


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
        "free": learner.nodes.free,
        "n_features": len(learner.nodes.value) - 1,
        "keys": [[number[ledger.keys[k][0]], *ledger.keys[k][1:]] for k in kept],
        "columns": list(COLUMNS),
        "apart": [[number[k], support] for k, support in sorted(stream.apart.items()) if k in number],
        "place": stream.place,
    }


def restore_stream(document: Document | None, arrays: Arrays, estimator: Any, n_rows: int, n_edges: int | None) -> None:
    """Give the estimator its stream, if it had one; ``n_rows`` attributes (and intercepts) of positions, ``n_edges`` of
    edges."""
    if document is None:
        return
    n_labels, strength = len(estimator.classes_), estimator.strength_
    online = online_options(document["online"])
    if document["columns"] != list(COLUMNS):
        raise ModelFileError("The stream keeps something else than this version of tiltfit.")
    squares = online.rule.squares
    nodes = _restore_table("nodes", (n_rows, n_labels), arrays, squares=squares, free=int(document["free"]))
    edges = None if n_edges is None else _restore_table("edges", (n_edges, n_labels**2), arrays, squares=squares)
    learner = Learner(
        online=online,
        nodes=nodes,
        edges=edges,
        ledger=Ledger(strength.scale == "support"),
        alpha=float(document["alpha"]),
        gamma=float(document["gamma"]),
    )
    if any(float(document[name]) < 0 for name in (*_COUNTS, *_NUMBERS)) or learner.gamma == 0:
        raise ModelFileError("The stream counts something below zero.")
    for name in _COUNTS:
        setattr(learner, name, int(document[name]))
    for name in _NUMBERS:
        setattr(learner, name, float(document[name]))
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


def _restore_table(name: str, shape: tuple[int, int], arrays: Arrays, *, squares: bool, free: int = -1) -> LazyTable:
    value = np.ascontiguousarray(unpack_table(f"{name}.value", arrays, shape[1]))
    square = (
        np.ascontiguousarray(unpack_table(f"{name}.square", arrays, shape[1])) if squares else np.zeros((shape[0], 0))
    )
    settled = np.array(arrays[f"{name}.settled"], dtype=np.float64)
    sound = value.shape == shape and square.shape == (shape[0], shape[1] if squares else 0)
    if not sound or settled.shape != shape[:1] or not -1 <= free < shape[0]:
        raise ModelFileError(f"The weights {name!r} of the stream do not have the shape {shape}.")
    if not all(np.all(np.isfinite(array)) for array in (value, square, settled)) or np.any(square < 0):
        raise ModelFileError(f"The weights {name!r} of the stream are not finite.")
    return LazyTable(value.copy(), square.copy(), settled, free)


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
    if any(np.any(ledger.column(name) < 0) for name in ("visits", "support", "owed", "recent_support")):
        raise ModelFileError("The prices of the stream have supports below zero.")
    if not np.array_equal(ledger.column("share"), ledger_share, equal_nan=True):
        raise ModelFileError("The prices of the stream are of other shares than its constraints.")
