"""Where statements vote on most tokens, a tagger is held near the majority of their votes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tiltfit import Constraint, TiltTagger, expect, word
from tiltfit.language.relations import About
from tiltfit.projections.components import PULL_AMONG_VOTES

NAMES, OTHERS = ["anna", "bert", "carla", "dora"], ["sees", "the", "dog", "of", "and"]
pytestmark = pytest.mark.filterwarnings("ignore::tiltfit.errors.TiltfitWarning")


def sentences(n: int = 40) -> list[list[str]]:
    rng = np.random.default_rng(3)
    return [rng.choice(NAMES + OTHERS, size=rng.integers(3, 9)).tolist() for _ in range(n)]


def said() -> list[Constraint]:
    """Every token is spoken of; of "dora" two statements say opposite things."""
    name, other = word(NAMES[0]), word(OTHERS[0])
    for more in NAMES[1:]:
        name |= word(more)
    for more in [*OTHERS[1:], "dora"]:
        other |= word(more)
    return [expect("name", given=name).about(0.9), expect("other", given=other).about(0.8)]


def marginals(tagger: TiltTagger, X: list[list[str]]) -> np.ndarray:
    return np.concatenate([np.asarray(m) for m in tagger.predict_marginals(X)])


def test_it_is_a_fit_with_the_votes_for_its_base() -> None:
    X = sentences()
    ours = TiltTagger(said(), tol=1e-9, max_iter=2000).fit(X)
    assert "held near" in ours.message_
    voted = TiltTagger(said(), method="vote", tol=1e-9, max_iter=2000).fit(X)
    pulls = [replace(c, relation=About(c.relation.numbers[0], penalty="l1"), beta=1 / PULL_AMONG_VOTES) for c in said()]
    oracle = TiltTagger(pulls, base=voted, penalize_intercept=True, tol=1e-9, max_iter=2000).fit(X)
    found = marginals(ours, X)
    np.testing.assert_allclose(found, marginals(oracle, X), atol=1e-3)
    assert np.abs(found - marginals(voted, X)).max() > 0.01  # the statements do move it
    assert ours.objective_ == pytest.approx(oracle.objective_, rel=1e-3)


def test_labels_a_start_and_a_development_set_go_with_it() -> None:
    X = sentences()
    truth = [["name" if token in NAMES[:3] else "other" for token in row] for row in X]
    y = [*truth[:5], *[None] * (len(X) - 5)]
    plain = TiltTagger(said(), tol=1e-9, max_iter=2000).fit(X, y)
    again = TiltTagger(said(), init=plain, tol=1e-9, max_iter=2000).fit(X, y)
    np.testing.assert_allclose(marginals(again, X), marginals(plain, X), atol=1e-3)
    stopped = TiltTagger(said()).fit(X, y, dev=(X[5:], truth[5:]), patience=2)
    assert stopped.score(X, truth) == pytest.approx(max(r.dev_score for r in stopped.history_), abs=0.05)


@pytest.mark.parametrize(
    "options", [{"beta": 0.05}, {"scale": "unit"}, {"model": "hmm"}, {"method": "ge"}, {"solver": "online"}]
)
def test_it_is_off_where_strength_is_stated_or_weights_are_not_free(options: dict[str, object]) -> None:
    fitted = TiltTagger(said(), **options).fit(sentences())
    assert "held near" not in fitted.message_


def test_few_tokens_do_not_vote() -> None:
    few = [expect("name", given=word("anna")).about(0.9), expect("other", given=word("the")).about(0.9)]
    assert "held near" not in TiltTagger(few).fit(sentences()).message_
