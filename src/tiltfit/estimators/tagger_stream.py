"""``TiltTagger.partial_fit``: the next sequences of a stream as a problem, and what the first of them fix."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltfit.data.sequences import as_sequences
from tiltfit.errors import UnsupportedError
from tiltfit.estimators.options import TAGGERS, Options, threads
from tiltfit.estimators.sequence_encoder import SequenceEncoder, refuse_invalid
from tiltfit.estimators.starts import generator
from tiltfit.estimators.streaming import Stream, declared_classes, refuse_other_classes, refuse_start
from tiltfit.execution.workers import Workers
from tiltfit.language.constraint import ConstraintSet
from tiltfit.methods.problem import Problem
from tiltfit.projections.grounding import Grounded
from tiltfit.projections.strength import PRIOR_RATE
from tiltfit.samples.labels import tag_targets
from tiltfit.samples.sample import instance_weights

if TYPE_CHECKING:
    from tiltfit.estimators.tagger import TiltTagger


def begin(tagger: TiltTagger, X: Any, y: Any, classes: Any) -> None:
    """Fix parameters, classes and attributes by the first sequences of a stream."""
    options, constraints = Options.of(tagger, models=TAGGERS), ConstraintSet.of(tagger.constraints, "tokens")
    refuse_observed(tagger)
    refuse_start(tagger.init)
    sequences = as_sequences(X, allow_empty=False)
    named = [name for constraint in constraints for name in constraint.names]
    declared = declared_classes(
        classes,
        tagger.classes,
        constraints,
        lambda: list(tag_targets(y, sequences, named=named, least=1).classes.tolist()),
    )
    found = tag_targets(y, sequences, declared).classes
    names = found.tolist()
    tagger.classes_, tagger._constraints = found, constraints.with_classes(names, "tokens")
    tagger._encoder, _ = SequenceEncoder.fit(
        sequences, tagger.features, tagger.transitions, boundaries=tagger.boundaries
    )
    tagger._valid, tagger._unit = bool(tagger.valid_only), "tokens"
    tagger._inference = str(tagger.inference), int(generator(tagger.random_state).integers(2**31))
    # How often the events happen that shares are of is not known beforehand, and stays what it is taken for.
    shares = {k: PRIOR_RATE for k, constraint in enumerate(constraints) if constraint.of is not None}
    tagger._strength = replace(options.strength, rates=shares)
    tagger.transition_names_ = np.array(tagger._encoder.edge_names, dtype=object)
    tagger.__dict__.pop("attribute_names_", None)
    n_edges = len(tagger._encoder.edge_names)
    given = tagger._given_tables(found, tagger._encoder)
    tagger._stream = Stream.begin(len(tagger._encoder.names), len(names), n_edges, options, tagger)
    tagger._stream.strength = tagger._strength
    if given is not None:
        tagger._stream.learner.start_from(np.concatenate([table.ravel() for table in given]))


def go_on(tagger: TiltTagger) -> None:
    """A stream that starts from the weights and with the attributes of a batch fit."""
    options = Options.of(tagger, models=TAGGERS)
    refuse_observed(tagger)
    table, edges = tagger.coef_.T, tagger.transitions_
    tagger._stream = Stream.begin(len(table), len(tagger.classes_), len(edges), options, tagger)
    tagger._stream.strength = tagger._strength
    tagger._stream.learner.start_from(np.concatenate([table.ravel(), edges.ravel()]))


def chunk(tagger: TiltTagger, X: Any, y: Any, classes: Any, sample_weight: Any) -> tuple[Problem, Grounded]:
    """These sequences, as the stream that has begun takes them."""
    names = tagger.classes_.tolist()
    refuse_other_classes(classes, names)
    sequences = as_sequences(X, allow_empty=False)
    _, labels, banned = tag_targets(y, sequences, names)
    if tagger._valid:
        refuse_invalid(names, labels, sequences)
    weight = instance_weights(sample_weight, sequences.n_sequences, "sequence")
    matrix, workers = tagger._encoder.transform(sequences), Workers(threads(tagger.n_jobs))
    model = tagger._encoder.model(matrix, sequences, names, workers, valid=tagger._valid)
    grounded = tagger._ground(sequences, model, weight, labels, part=True, banned=banned)
    problem = Problem(
        model=model,
        labels=labels,
        weight=weight,
        alpha=np.empty(0),
        gamma=tagger._stream.learner.gamma,
        tilt=grounded.tilt,
        touched=grounded.touched,
    )
    return problem, grounded


def refuse_observed(tagger: TiltTagger) -> None:
    """Which pairs of attribute and label occur is not known before the end of a stream."""
    if tagger.weights != "all":
        raise UnsupportedError(
            f"weights={tagger.weights!r} must know all labels beforehand, which online learning does not: use "
            "weights='all'."
        )
