"""The figures that the README claims for real collections, where these are at hand."""

from __future__ import annotations

import pytest
from benchmarks.corpora import available
from benchmarks.text import MUST, measure


@pytest.mark.usefixtures("shared_data")
@pytest.mark.parametrize("name", sorted(MUST))
def test_labelled_words_alone_reach_the_mark(name: str) -> None:
    if not available(name):
        pytest.skip(f"the collection {name} is not on this machine")
    assert measure(name)["macro_f1"] >= MUST[name]
