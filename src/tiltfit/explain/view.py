"""A fitted estimator on some data: what its explanations look at, the same for documents and for sequences."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tiltfit.arrays import IntArray
from tiltfit.data.sequences import as_sequences
from tiltfit.errors import DataError, TiltfitWarning, UnsupportedError
from tiltfit.estimators.classifier import TiltClassifier
from tiltfit.estimators.learning import Projected, projected
from tiltfit.estimators.tagger import TiltTagger
from tiltfit.execution.workers import Workers
from tiltfit.inference.chain import Chains
from tiltfit.inference.potentials import Marginals, Potentials
from tiltfit.models.log_linear import LogLinear
from tiltfit.projections.grounding import Grounded
from tiltfit.samples.labels import row_targets, tag_targets
from tiltfit.samples.sample import Sample, instance_weights

Estimator = TiltClassifier | TiltTagger


@dataclass(frozen=True, eq=False)
class View:
    """``model``, ``potentials``, ``marginals``: p on the data. ``sample``: what constraints see of them. ``number``:
    the number in X of every instance (sequences without tokens are left out)."""

    estimator: Estimator
    model: LogLinear
    potentials: Potentials
    marginals: Marginals
    sample: Sample
    number: IntArray
    _ground: Callable[[], Grounded]

    @staticmethod
    def of(estimator: Estimator, X: Any, y: Any = None, sample_weight: Any = None) -> View:
        """``y``: labels that are known, as for ``project``."""
        check_explainable(estimator)
        if isinstance(estimator, TiltTagger):
            return _of_sequences(estimator, X, y, sample_weight)
        return _of_documents(estimator, X, y, sample_weight)

    def ground(self) -> Grounded:
        """The constraints as they apply here; which of them rest is not said."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TiltfitWarning)
            return self._ground()

    def project(self, grounded: Grounded) -> Projected | None:
        """q on the touched instances, prices solved here."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TiltfitWarning)
            return projected(self.model, self.potentials, self.marginals, grounded, "solve", {})

    @property
    def classes(self) -> list[Any]:
        return self.estimator.classes_.tolist()  # type: ignore[no-any-return]

    @property
    def is_sequences(self) -> bool:
        return isinstance(self.model.structure, Chains)

    def place(self, position: int) -> tuple[int, int | None]:
        """The number in X of the instance of a position, and which of its tokens it is."""
        instance = int(self.sample.instance[position])
        inside = position - int(self.model.structure.first[instance]) if self.is_sequences else None
        return int(self.number[instance]), inside

    def text(self, position: int, words: Sequence[str] = ()) -> str:
        """A position as people would recognise it."""
        return self.sample.inputs.excerpt(position, words)

    def text_of(self, instance: int) -> str:
        """A whole instance as people would recognise it."""
        return self.sample.inputs.instance_excerpt(instance)


def check_explainable(estimator: Any) -> None:
    """Refuse what is no fitted estimator with all its constraints."""
    if not isinstance(estimator, TiltClassifier | TiltTagger):
        raise DataError(f"{estimator!r:.80} cannot be explained: pass a fitted TiltClassifier or TiltTagger.")
    check_is_fitted(estimator)
    if "weights_" in vars(estimator):
        raise UnsupportedError(
            f"model={estimator.model!r} cannot be explained: scores that are not linear in the weights have no shares."
        )
    check_nothing_lost(estimator, "predict works; to explain it, fit again")


def check_nothing_lost(estimator: Estimator, instead: str) -> None:
    """Refuse a model whose file could not hold all of its constraints. ``instead``: what would work."""
    lost = vars(estimator).get("_lost_constraints", ())
    if lost:
        raise UnsupportedError(
            f"This model was loaded from a file, which cannot hold when(...) conditions: {', '.join(lost)}; {instead}."
        )


def _of_documents(estimator: TiltClassifier, X: Any, y: Any, sample_weight: Any) -> View:
    matrix = estimator._matrix(X)
    classes = estimator.classes_.tolist()
    _, labels, banned = row_targets(y, matrix.shape[0], classes)
    model, potentials, marginals = estimator._infer(X, matrix)
    weight = estimator._weights(sample_weight, matrix)
    inputs = estimator._inputs(X, matrix)
    return View(
        estimator=estimator,
        model=model,
        potentials=potentials,
        marginals=marginals,
        sample=Sample(inputs, classes, model.structure, labels, weight, banned=banned),
        number=np.arange(len(weight)),
        _ground=lambda: estimator._ground(inputs, weight, labels, Workers(), banned=banned),
    )


def _of_sequences(estimator: TiltTagger, X: Any, y: Any, sample_weight: Any) -> View:
    sequences, model, potentials = estimator._potentials(as_sequences(X))
    classes, full = estimator.classes_.tolist(), sequences.without_empty()
    _, labels, banned = tag_targets(y, sequences, classes)
    number = np.flatnonzero(sequences.lengths > 0)
    weight = instance_weights(sample_weight, sequences.n_sequences, "sequence")[number]
    return View(
        estimator=estimator,
        model=model,
        potentials=potentials,
        marginals=model.structure.infer(potentials, model.workers),
        sample=Sample(full, classes, model.structure, labels, weight, banned=banned),
        number=number,
        _ground=lambda: estimator._ground(full, model, weight, labels, banned=banned),
    )
