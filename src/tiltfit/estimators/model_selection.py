"""Cross-validation when some rows have no label: they train, but are never scored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import get_scorer
from sklearn.model_selection import BaseCrossValidator, KFold, StratifiedKFold
from sklearn.utils import _safe_indexing

from tiltfit.errors import DataError
from tiltfit.samples.labels import as_objects, find_unlabelled


class LabelledKFold(BaseCrossValidator):  # type: ignore[misc]
    """Stratified folds over the labelled rows; every unlabelled row is in every training part.

    >>> y = ["a", "b", None, "a", "b", None]
    >>> for train, test in LabelledKFold(2).split(y, y):
    ...     print(train.tolist(), test.tolist())
    [2, 3, 4, 5] [0, 1]
    [0, 1, 2, 5] [3, 4]
    """

    def __init__(self, n_splits: int = 5, *, shuffle: bool = False, random_state: Any = None) -> None:
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        return self.n_splits

    def split(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
        """Pairs of training and test rows."""
        if y is None:
            raise DataError("LabelledKFold needs y: it divides the labelled rows.")
        values = as_objects(y)
        labelled = np.flatnonzero(~find_unlabelled(values, None))
        if len(labelled) < self.n_splits:
            raise DataError(
                f"LabelledKFold({self.n_splits}) needs at least as many labelled rows; y has {len(labelled)}."
            )
        names = [str(v) for v in values[labelled]]
        rarest = min(names.count(n) for n in set(names))
        seed = self.random_state if self.shuffle else None
        kind = StratifiedKFold if rarest >= self.n_splits else KFold
        for _, test in kind(self.n_splits, shuffle=self.shuffle, random_state=seed).split(names, names):
            held_out = labelled[test]
            yield np.setdiff1d(np.arange(len(values)), held_out), held_out


@dataclass(frozen=True)
class LabelledScorer:
    """A scikit-learn scorer by name that leaves unlabelled rows out; see ``labelled_scorer``."""

    scoring: str

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        values = as_objects(y)
        labelled = np.flatnonzero(~find_unlabelled(values, list(estimator.classes_)))
        if not len(labelled):
            raise DataError(f"{self.scoring} needs labels, but every row of y is unlabelled.")
        truth = np.array(values[labelled].tolist())
        return float(get_scorer(self.scoring)(estimator, _safe_indexing(X, labelled), truth))


def labelled_scorer(scoring: str) -> LabelledScorer:
    """A scikit-learn scorer by name that leaves unlabelled rows out: ``GridSearchCV(...,
    scoring=labelled_scorer("f1"))``.

    >>> labelled_scorer("f1_macro")
    LabelledScorer(scoring='f1_macro')
    """
    get_scorer(scoring)  # refuses an unknown name now rather than after the first fit
    return LabelledScorer(scoring)
