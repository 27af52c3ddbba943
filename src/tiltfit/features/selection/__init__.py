"""Words that are worth labelling: rankings of the columns of a matrix, for suggestions and for experiments.

``most_informative``   by what they say of known labels: information gain
``topic_words``        as the words of topics that are learned without labels: latent Dirichlet allocation
``topic_shares``       the topics of each document
``most_uncertain``     by how much the documents with them puzzle a model

All take documents × words, X ≥ 0, and give a ``Ranking``: columns, best first, with their scores. Any matrix with one
column per condition will do: words, phrases, attributes of tokens (one row per token).
"""

from __future__ import annotations

from tiltfit.features.selection.information import (
    information_gain,
    labelled_words,
    most_informative,
    presence_counts,
)
from tiltfit.features.selection.ranking import Ranking
from tiltfit.features.selection.topics import learn_topics, topic_shares, topic_words
from tiltfit.features.selection.uncertainty import most_uncertain, uncertainty

__all__ = [
    "Ranking",
    "information_gain",
    "labelled_words",
    "learn_topics",
    "most_informative",
    "most_uncertain",
    "presence_counts",
    "topic_shares",
    "topic_words",
    "uncertainty",
]
