from __future__ import annotations

import itertools
import time

import pytest

from tiltfit.data.inputs import WordIndex
from tiltfit.language.texts import nearest_word


@pytest.mark.parametrize(
    ("slip", "meant"),
    [("hokcey", "hockey"), ("hocky", "hockey"), ("jockey", "hockey"), ("HOCKEYS", "hockey"), ("hckoey", "hockey")],
)
def test_slips(slip: str, meant: str) -> None:
    assert nearest_word(slip, WordIndex([["hockey", "baseball", "Straße"]])) == meant


def test_other_scripts_and_strangers() -> None:
    index = WordIndex([["straße", "ήλιος"]])
    assert nearest_word("strase", index) == "strasse"
    assert nearest_word("ήλος", index) == "ήλιοσ"  # words are kept case folded
    assert nearest_word("q", index) is None


def test_a_large_vocabulary_is_answered_quickly() -> None:
    stems = ["".join(letters) for letters in itertools.product("aeioust", repeat=5)]
    index = WordIndex([[stem + end for stem in stems for end in ("", "b", "cd", "gre", "lmnp", "bcvf", "xyzbc", "q")]])
    start = time.process_time()
    assert nearest_word("satuoxlmp", index) is not None
    assert nearest_word("zzzzzzz", index) is None
    assert time.process_time() - start < 1.5  # some 0.1 s; comparing with every word takes several seconds
