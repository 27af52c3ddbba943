"""Learn classifiers from unlabelled data plus stated expectations.

>>> from tiltfit import TiltClassifier, expect, word
>>> texts = ["the puck hit the goalie", "goalie saves the puck", "a bat and a pitcher", "the pitcher has a bat"]
>>> clf = TiltClassifier([expect("hockey", given=word("puck")).about(0.9),
...                       expect("baseball", given=word("bat")).about(0.9)])
>>> clf.fit(texts).predict(["our goalie", "their pitcher"]).tolist()
['hockey', 'baseball']
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from tiltfit.comparison.compare import compare as compare
    from tiltfit.comparison.result import Comparison as Comparison
    from tiltfit.data.beside import WithEvidence as WithEvidence
    from tiltfit.estimators.classifier import TiltClassifier as TiltClassifier
    from tiltfit.estimators.from_labels import constraints_from_labels as constraints_from_labels
    from tiltfit.estimators.from_votes import statements_from_votes as statements_from_votes
    from tiltfit.estimators.given_features import WithFeatures as WithFeatures
    from tiltfit.estimators.model_selection import LabelledKFold as LabelledKFold
    from tiltfit.estimators.model_selection import labelled_scorer as labelled_scorer
    from tiltfit.estimators.objective import Objective as Objective
    from tiltfit.estimators.objective import objective as objective
    from tiltfit.estimators.persistence import load as load
    from tiltfit.estimators.tagger import TiltTagger as TiltTagger
    from tiltfit.explain.account import report_page as report_page
    from tiltfit.explain.causes import why as why
    from tiltfit.explain.displays import ConstraintDisplay as ConstraintDisplay
    from tiltfit.explain.displays import ConvergenceDisplay as ConvergenceDisplay
    from tiltfit.explain.displays import ReliabilityDisplay as ReliabilityDisplay
    from tiltfit.explain.disputes import disputes as disputes
    from tiltfit.explain.influence import leave_one_out as leave_one_out
    from tiltfit.explain.influence import sensitivity as sensitivity
    from tiltfit.features.vectors import register_encoder as register_encoder
    from tiltfit.inference.potentials import Potentials as Potentials
    from tiltfit.inference.statistic import Statistic as Statistic
    from tiltfit.inference.statistics import register_statistic as register_statistic
    from tiltfit.language.condition import Condition as Condition
    from tiltfit.language.condition import register_condition as register_condition
    from tiltfit.language.conditions import column as column
    from tiltfit.language.conditions import feature as feature
    from tiltfit.language.conditions import first as first
    from tiltfit.language.conditions import last as last
    from tiltfit.language.conditions import lexicon as lexicon
    from tiltfit.language.conditions import near as near
    from tiltfit.language.conditions import phrase as phrase
    from tiltfit.language.conditions import position as position
    from tiltfit.language.conditions import punctuation as punctuation
    from tiltfit.language.conditions import regex as regex
    from tiltfit.language.conditions import when as when
    from tiltfit.language.conditions import witness as witness
    from tiltfit.language.conditions import word as word
    from tiltfit.language.constraint import Constraint as Constraint
    from tiltfit.language.constraint import ConstraintSet as ConstraintSet
    from tiltfit.language.event import Event as Event
    from tiltfit.language.event import register_event as register_event
    from tiltfit.language.expect import expect as expect
    from tiltfit.methods.catalogue import register_method as register_method
    from tiltfit.methods.history import Fit as Fit
    from tiltfit.methods.history import Journal as Journal
    from tiltfit.methods.history import Round as Round
    from tiltfit.methods.method import Method as Method
    from tiltfit.methods.method import Run as Run
    from tiltfit.methods.method import Training as Training
    from tiltfit.models.model import Model as Model
    from tiltfit.models.registry import register_model as register_model
    from tiltfit.optimize.result import Stop as Stop
    from tiltfit.penalties.penalty import Penalty as Penalty
    from tiltfit.penalties.penalty import register_penalty as register_penalty
    from tiltfit.report.html.page import Page as Page
    from tiltfit.suggesting.suggest import suggest as suggest
    from tiltfit.suggesting.suggestions import Suggestions as Suggestions
    from tiltfit.testing import check_penalty as check_penalty

# Resolved on first use, so that `import tiltfit` pays neither for scikit-learn nor for Numba.
_HOME = {
    "TiltClassifier": "tiltfit.estimators.classifier",
    "TiltTagger": "tiltfit.estimators.tagger",
    "objective": "tiltfit.estimators.objective",
    "register_encoder": "tiltfit.features.vectors",
    "Objective": "tiltfit.estimators.objective",
    "compare": "tiltfit.comparison.compare",
    "Comparison": "tiltfit.comparison.result",
    "disputes": "tiltfit.explain.disputes",
    "leave_one_out": "tiltfit.explain.influence",
    "sensitivity": "tiltfit.explain.influence",
    "why": "tiltfit.explain.causes",
    "WithFeatures": "tiltfit.estimators.given_features",
    "WithEvidence": "tiltfit.data.beside",
    "LabelledKFold": "tiltfit.estimators.model_selection",
    "labelled_scorer": "tiltfit.estimators.model_selection",
    "constraints_from_labels": "tiltfit.estimators.from_labels",
    "statements_from_votes": "tiltfit.estimators.from_votes",
    "load": "tiltfit.estimators.persistence",
    "Statistic": "tiltfit.inference.statistic",
    "register_statistic": "tiltfit.inference.statistics",
    "expect": "tiltfit.language.expect",
    "Constraint": "tiltfit.language.constraint",
    "ConstraintSet": "tiltfit.language.constraint",
    "ConstraintDisplay": "tiltfit.explain.displays",
    "ConvergenceDisplay": "tiltfit.explain.displays",
    "ReliabilityDisplay": "tiltfit.explain.displays",
    "Page": "tiltfit.report.html.page",
    "report_page": "tiltfit.explain.account",
    "register_method": "tiltfit.methods.catalogue",
    "register_model": "tiltfit.models.registry",
    "check_penalty": "tiltfit.testing",
    "Condition": "tiltfit.language.condition",
    "Event": "tiltfit.language.event",
    "Penalty": "tiltfit.penalties.penalty",
    "register_condition": "tiltfit.language.condition",
    "register_event": "tiltfit.language.event",
    "register_penalty": "tiltfit.penalties.penalty",
    **dict.fromkeys(["Method", "Run", "Training"], "tiltfit.methods.method"),
    **dict.fromkeys(["Fit", "Journal", "Round"], "tiltfit.methods.history"),
    "Stop": "tiltfit.optimize.result",
    "Model": "tiltfit.models.model",
    "Potentials": "tiltfit.inference.potentials",
    "suggest": "tiltfit.suggesting.suggest",
    "Suggestions": "tiltfit.suggesting.suggestions",
    **dict.fromkeys(
        [
            "column",
            "feature",
            "first",
            "last",
            "lexicon",
            "near",
            "phrase",
            "position",
            "punctuation",
            "regex",
            "when",
            "witness",
            "word",
        ],
        "tiltfit.language.conditions",
    ),
}

__all__ = ["__version__", *sorted(_HOME)]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'tiltfit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
