"""``TiltClassifier.partial_fit``: the next rows of a stream as a problem, and what the first of them fix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tiltfit.estimators.base import log_base, refuse_impossible_labels
from tiltfit.estimators.encoders import TableEncoder
from tiltfit.estimators.options import Options, threads
from tiltfit.estimators.streaming import Stream, declared_classes, refuse_other_classes, refuse_start
from tiltfit.execution.workers import Workers
from tiltfit.features.hashing import buckets
from tiltfit.language.constraint import ConstraintSet
from tiltfit.methods.problem import Problem
from tiltfit.projections.grounding import Grounded
from tiltfit.samples.labels import row_targets, shown_labels

if TYPE_CHECKING:
    from tiltfit.estimators.classifier import TiltClassifier


def begin(classifier: TiltClassifier, X: Any, y: Any, classes: Any) -> None:
    """Fix parameters, classes and features by the first rows of a stream."""
    options, constraints = Options.of(classifier), ConstraintSet.of(classifier.constraints)
    refuse_start(classifier.init)
    vectorizer = "hashing" if isinstance(classifier.vectorizer, str) and classifier.vectorizer == "auto" else None
    encoder, matrix, inputs = classifier._learn_encoder(X, vectorizer or classifier.vectorizer, part=True)
    declared = declared_classes(classes, classifier.classes, constraints, lambda: shown_labels(y))
    found = row_targets(y, inputs.n, declared).classes
    classifier.classes_, classifier._constraints = found, constraints.with_classes(found.tolist())
    classifier._encoder, classifier._base = None if encoder is None else encoder.anew(), classifier.base
    classifier._strength, classifier._unit = options.strength, inputs.unit
    classifier._model_names = encoder.names if encoder is not None else classifier._names()
    if isinstance(encoder, TableEncoder):
        classifier.columns_in_ = encoder.columns
    if encoder is not None:
        classifier.n_features_in_ = matrix.shape[1]
        if not buckets(encoder.names):
            classifier.feature_names_in_ = np.array(encoder.names, dtype=object)
    given = classifier._given_start(found, classifier._model_names, matrix.shape[1])
    classifier._stream = Stream.begin(
        matrix.shape[1] + 1, len(found), None, options, classifier, free=not classifier.penalize_intercept
    )
    if given is not None:
        classifier._stream.learner.start_from(given)


def go_on(classifier: TiltClassifier) -> None:
    """A stream that starts from the weights and with the features of a batch fit."""
    options = Options.of(classifier)
    weights = np.vstack([classifier.coef_.T, classifier.intercept_])
    classifier._stream = Stream.begin(
        len(weights), len(classifier.classes_), None, options, classifier, free=not classifier.penalize_intercept
    )
    classifier._stream.strength = classifier._strength
    classifier._stream.learner.start_from(weights.ravel())


def chunk(classifier: TiltClassifier, X: Any, y: Any, classes: Any, sample_weight: Any) -> tuple[Problem, Grounded]:
    """These rows, as the stream that has begun takes them."""
    names = classifier.classes_.tolist()
    refuse_other_classes(classes, names)
    encoder = classifier._encoder_for(X)
    if encoder is None:
        matrix = classifier._matrix(X)
    else:
        classifier._encoder, matrix = encoder.learn(X)
    inputs = classifier._inputs(X, matrix)
    _, labels, banned = row_targets(y, inputs.n, names)
    weight = classifier._weights(sample_weight, matrix)
    q0 = log_base(classifier._base_now, X, inputs.n, classifier.classes_, fitting=False)
    refuse_impossible_labels(q0, labels, classifier.classes_, banned)
    workers = Workers(threads(classifier.n_jobs))
    grounded = classifier._ground(inputs, weight, labels, workers, part=True, banned=banned)
    problem = Problem(
        model=classifier._model(matrix, q0, workers),
        labels=labels,
        weight=weight,
        alpha=np.empty(0),
        gamma=classifier._stream.learner.gamma,
        tilt=grounded.tilt,
        touched=grounded.touched,
    )
    return problem, grounded
