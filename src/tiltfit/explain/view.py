"""A fitted estimator on some data: what its explanations look at, the same for documents and for sequences."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.utils.validation import check_is_fitted

from tiltfit.errors import DataError, TiltfitWarning, UnsupportedError
from tiltfit.estimators.estimator import TiltEstimator
from tiltfit.estimators.projecting import Beliefs, Projected, projected
from tiltfit.inference.potentials import Marginals, Potentials
from tiltfit.models.log_linear import LogLinear
from tiltfit.projections.grounding import Grounded
from tiltfit.samples.sample import Sample


@dataclass(frozen=True, eq=False)
class View:
    """``beliefs``: what the estimator believes about the data."""

    estimator: TiltEstimator
    beliefs: Beliefs

    @staticmethod
    def of(estimator: TiltEstimator, X: Any, y: Any = None, sample_weight: Any = None) -> View:
        """``y``: labels that are known, as for ``project``."""
        check_explainable(estimator)
        return View(estimator, estimator.infer(X, y, sample_weight))

    @property
    def sample(self) -> Sample:
        return self.beliefs.sample

    @property
    def model(self) -> LogLinear:
        return self.beliefs.model

    @property
    def potentials(self) -> Potentials:
        return self.beliefs.potentials

    @property
    def marginals(self) -> Marginals:
        return self.beliefs.marginals

    def ground(self) -> Grounded:
        """The constraints as they apply here, without warnings about inactive ones."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TiltfitWarning)
            return self.estimator.ground(self.beliefs)

    def project(self, grounded: Grounded, prices: str = "solve") -> Projected | None:
        """q on the touched instances, with prices solved here or as for ``project(X, prices=...)``."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TiltfitWarning)
            return projected(self.model, self.potentials, self.marginals, grounded, prices, self.estimator.prices_)

    @property
    def classes(self) -> list[Any]:
        return list(self.sample.classes)

    @property
    def is_sequences(self) -> bool:
        return self.sample.is_sequences

    def place(self, position: int) -> tuple[int, int | None]:
        """The number in X of the instance of a position, and which of its tokens it is."""
        instance = int(self.sample.instance[position])
        inside = position - int(self.model.structure.first[instance]) if self.is_sequences else None
        return int(self.sample.number[instance]), inside

    def text(self, position: int, words: Sequence[str] = ()) -> str:
        """A position as people would recognise it."""
        return self.sample.inputs.excerpt(position, words)

    def text_of(self, instance: int) -> str:
        """A whole instance as people would recognise it."""
        return self.sample.inputs.instance_excerpt(instance)


def check_explainable(estimator: Any) -> None:
    """Refuse anything but a fitted estimator with all its constraints."""
    if not isinstance(estimator, TiltEstimator):
        raise DataError(f"{estimator!r:.80} cannot be explained: pass a fitted TiltClassifier or TiltTagger.")
    check_is_fitted(estimator)
    if estimator.weights_ is not None or estimator.learned_ is not None:
        raise UnsupportedError(
            f"model={estimator.model_!r} cannot be explained: scores that are not linear in the weights have no shares."
        )
    check_nothing_lost(estimator, "predict works; to explain it, fit again")


def check_nothing_lost(estimator: TiltEstimator, instead: str) -> None:
    """Refuse a model whose file could not hold all of its constraints. ``instead``: what would work."""
    if estimator.lost_:
        raise UnsupportedError(
            f"This model was loaded from a file, which could not hold {'; '.join(estimator.lost_)}. "
            f"{instead[0].upper()}{instead[1:]}."
        )
