"""A stream to and from the document and the arrays of a ``.tilt`` file: everything that the next step needs.

Going on after loading gives the same bits as going on without: tables are written as they are, with the ridge that rows
have not made up for yet, and numbers as JSON has them, which is exactly.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from tiltfit.errors import ModelFileError
from tiltfit.estimators.packing import pack_table, unpack_table
from tiltfit.estimators.state import Arrays, Document
from tiltfit.estimators.streaming import Stream, online_options
from tiltfit.language.constraint import ConstraintSet
from tiltfit.methods.online import Learner
from tiltfit.optimize.lazy import LazyTable
from tiltfit.projections.ledger import COLUMNS, Ledger

_COUNTS = ("seed", "seen", "unlabelled", "positions")
_NUMBERS = ("alpha", "gamma", "size", "clock")


def dump(stream: Stream | None, arrays: Arrays) -> Document | None:
    """The document; adds to ``arrays``."""
    if stream is None:
        return None
    learner, ledger = stream.learner, stream.learner.ledger
    _dump_table("nodes", learner.nodes, arrays)
    if learner.edges is not None:
        _dump_table("edges", learner.edges, arrays)
    arrays["ledger"], arrays["declared"] = ledger.table, ledger.declared
    return {
        "online": asdict(learner.online),
        **{name: int(getattr(learner, name)) for name in _COUNTS},
        **{name: float(getattr(learner, name)) for name in _NUMBERS},
        "free": learner.nodes.free,
        "n_features": len(learner.nodes.value) - 1,
        "keys": [list(key) for key in ledger.keys],
        "columns": list(COLUMNS),
        "apart": [[number, support] for number, support in sorted(stream.apart.items())],
        "place": stream.place,
    }


def restore(document: Document | None, arrays: Arrays, estimator: Any, n_rows: int, n_edges: int | None) -> None:
    """Give the estimator its stream, if it had one; ``n_rows`` attributes (and intercepts) of positions, ``n_edges`` of
    edges."""
    if document is None:
        return
    n_labels, strength = len(estimator.classes_), estimator._strength
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
    for name in _COUNTS:
        setattr(learner, name, int(document[name]))
    for name in _NUMBERS:
        setattr(learner, name, float(document[name]))
    apart = {int(k): float(v) for k, v in document["apart"]}
    stream = Stream(learner, strength, apart, dict(document["place"]))
    _restore_ledger(stream, document, arrays, estimator._constraints, estimator.classes_.tolist())
    estimator._stream = stream


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
    ledger.table, ledger.declared = table, declared
