"""The words that the oracle is shown, and what it says about them.

``infogain``: the most informative words of each label. ``LDA``: the words of topics that are learned without labels.
Both come from the documents to learn from. The oracle is that of ``experiments.oracle_words``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from experiments.oracle_words import LabelledWord, ask
from experiments.table1.data import Sides
from tiltfit.features.selection import labelled_words, learn_topics, topic_words

INFOGAIN, LDA = "infogain", "LDA"
TOPICS, VOCABULARY, PASSES = 100, 10_000, 2


@dataclass(frozen=True)
class Amount:
    """``size`` words for each label (``infogain``) or, with a ``relevance``, of each topic (``LDA``): with 0 those that
    are most the topic's own, with 1 the most probable ones."""

    size: int
    relevance: float | None = None

    def __str__(self) -> str:
        if self.relevance is None:
            return f"{self.size} a label"
        return f"{self.size} a topic, relevance {self.relevance:g}"


def candidates(sides: Sides, amount: Amount) -> npt.NDArray[np.intp]:
    """Columns."""
    if amount.relevance is None:
        content = sides.content
        found = labelled_words(sides.train[:, content], sides.codes, len(sides.classes), per_label=amount.size)
        return np.asarray(content[[column for column, _ in found]])
    often, topics = _topics(sides)
    ranking = topic_words(sides.train[:, often], per_topic=amount.size, relevance=amount.relevance, topics=topics)
    return np.asarray(often[ranking.columns])


def labelled(sides: Sides, columns: npt.NDArray[np.intp]) -> list[LabelledWord]:
    """The statements of the oracle about them; rejected ones are missing."""
    counts = sides.train[:, columns].astype(bool).astype(np.float64)
    return ask(counts, sides.codes, sides.classes, sides.words[columns].tolist())


@lru_cache(maxsize=1)
def _topics(sides: Sides) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float64]]:
    """The most frequent content words, and their topics."""
    often = sides.content[np.argsort(-sides.frequency[sides.content], kind="stable")[:VOCABULARY]]
    return often, learn_topics(sides.train[:, often], TOPICS, passes=PASSES)
