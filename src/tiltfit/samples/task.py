"""The two tasks: documents (or rows) to classify, and sequences to tag.

A task reads X, decodes y, and knows the words for what it is about. Everything that asks "documents or sequences?" asks
one of the two values ``DOCUMENTS`` and ``SEQUENCES``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import IntArray
from tiltfit.data.beside import WithEvidence, apart
from tiltfit.data.documents import document_inputs
from tiltfit.data.inputs import Inputs, Unit
from tiltfit.data.sequences import TOKENS, Sequences, as_sequences
from tiltfit.errors import DataError, UnsupportedError, did_you_mean
from tiltfit.inference.chain import Chains
from tiltfit.inference.independent import Independent
from tiltfit.language.constraint import Constraint
from tiltfit.samples.labels import (
    Targets,
    as_objects,
    is_list,
    is_tagged,
    row_targets,
    rows_of,
    tag_targets,
    tags_of,
)

TaskName = Literal["classify", "tag"]


@dataclass(frozen=True)
class Task:
    """``name``: as ``--task`` and ``compare(task=)`` have it. ``instance``, ``position``: the nouns of what is labelled
    together and of what has one label. ``estimator``: what learns it. ``models``: the models there are, the default
    first. ``unit``: what sentences about constraints call positions, where X is not needed to know it."""

    name: TaskName
    instance: str
    position: str
    estimator: str
    models: tuple[str, ...]
    unit: Unit | None
    is_sequences: bool

    def read(self, X: Any, feature_names: Iterable[str] | None = None, *, allow_empty: bool = True) -> Inputs:
        """X as conditions see it. ``allow_empty=False`` refuses X without instances and empty instances."""
        if isinstance(X, WithEvidence):
            return X.beside(self.read(X.X, feature_names, allow_empty=allow_empty))
        if not self.is_sequences:
            inputs = document_inputs(X, feature_names)
            if not allow_empty and inputs.n == 0:
                raise DataError("X has no rows: at least one is needed.", parameter="X")
            return inputs
        if feature_names is not None:
            raise DataError(
                "feature_names= names the columns of a matrix, but X holds sequences. Leave it out.",
                parameter="feature_names",
            )
        return as_sequences(X, allow_empty=allow_empty)

    def targets(
        self,
        y: Any,
        inputs: Any,
        classes: Iterable[object] | None = None,
        named: Iterable[object] = (),
        least: int = 2,
    ) -> Targets:
        """Decode y; parameters as for ``samples.labels.row_targets``."""
        if self.is_sequences:
            return tag_targets(y, inputs, classes, named, least)
        return row_targets(y, inputs.n, classes, named, least)

    def shown(self, y: Any, inputs: Any) -> list[Any]:
        """The labels in y, those in sets as well."""
        if y is None:
            return []
        return (tags_of(y, inputs) if self.is_sequences else rows_of(as_objects(y))).shown()

    def structure(self, inputs: Any) -> Independent | Chains:
        """The structure of the positions (all edges of one kind)."""
        if self.is_sequences:
            return Chains(inputs.offsets, np.zeros(inputs.n, dtype=np.int32), 1)
        return Independent(inputs.n)

    def named(self, labels: IntArray, classes: npt.NDArray[Any], inputs: Any) -> Any:
        """Class numbers, one per position, as the labels that ``predict`` returns."""
        if not self.is_sequences:
            return np.asarray(classes[labels])
        names = classes.tolist()
        return [[names[k] if k >= 0 else None for k in row.tolist()] for row in inputs.split(labels)]

    def per_instance(self, values: npt.NDArray[Any], inputs: Any) -> Any:
        """Values, one per position, as ``project`` and ``predict_marginals`` return them."""
        return inputs.split(values) if self.is_sequences else values

    def flat(self, values: Any) -> list[Any]:
        """The inverse of ``named``: one label per position."""
        return [label for row in values for label in row] if self.is_sequences else list(values)


DOCUMENTS = Task(
    name="classify",
    instance="row",
    position="row",
    estimator="classifier",
    models=("maxent", "naive_bayes", "bernoulli_naive_bayes"),
    unit=None,
    is_sequences=False,
)
SEQUENCES = Task(
    name="tag",
    instance="sequence",
    position="token",
    estimator="tagger",
    models=("crf", "hmm"),
    unit="tokens",
    is_sequences=True,
)
TASKS: Mapping[str, Task] = {task.name: task for task in (DOCUMENTS, SEQUENCES)}
"""By name."""


def task_named(name: str, y: Any) -> Task:
    """The task of this name; ``"auto"``: sequences if y holds lists of labels."""
    if name == "auto":
        return SEQUENCES if is_tagged(y) else DOCUMENTS
    if name in TASKS:
        return TASKS[name]
    known = ("auto", *TASKS)
    raise UnsupportedError(
        f"task={name!r} is unknown: use one of {', '.join(known)}.{did_you_mean(name, known)}", parameter="task"
    )


def task_of(X: Any, y: Any, constraints: Sequence[Constraint] = ()) -> Task:
    """Sequences if X or y holds lists of tokens or labels, or if X may and a constraint is about sequences."""
    X = apart(X).X
    if isinstance(X, Sequences) or is_tagged(y):
        return SEQUENCES
    if hasattr(X, "columns") or isinstance(X, dict):
        names = list(X.columns if hasattr(X, "columns") else X)
        return SEQUENCES if TOKENS in names and any(is_list(row) for row in X[TOKENS]) else DOCUMENTS
    if not isinstance(X, list | tuple) or not X or not is_list(X[0]):
        return DOCUMENTS
    inside = next((row[0] for row in X if is_list(row) and len(row)), None)
    # A list of lists of numbers is a matrix; tokens are texts, and attributes dicts or lists of texts.
    tokens = any(c.is_sequence for c in constraints) or isinstance(inside, str | dict | list | tuple)
    return SEQUENCES if tokens else DOCUMENTS
