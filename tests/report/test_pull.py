"""The pull of a statement is dO/du: what the fitted objective would be at another target, by finite differences."""

from __future__ import annotations

import numpy as np
import pytest

from tiltfit import TiltClassifier, TiltTagger, column, expect, punctuation, word

H = 1e-3  # the error of O is of second order in H, and in the tolerance of a fit
GAMMA = 0.7
rng = np.random.default_rng(5)
WORDS = ["a", "b", "c", "d", "e", "f"]
TEXTS = [" ".join(rng.choice(WORDS, 4)) for _ in range(60)]
WEIGHT = 0.5 + rng.random(60)
FRAME = {"text": TEXTS, "of": ["u", "v", "w"] * 20}
SEQUENCES = [[str(t) for t in rng.choice(["a", "b", ",", "c"], rng.integers(2, 6))] for _ in range(40)]
KNOWN = [None] * 36 + [["x"] * len(s) for s in SEQUENCES[36:]]

A, B = word("a"), word("b")
OTHER = expect("y", given=B).about(0.8)


def classifier(said, **parameters):
    options = {"classes": ["x", "y", "z"], "gamma": GAMMA, "tol": 1e-6, "max_iter": 2000, "vectorizer": "counts"}
    options |= {"beta": 0.05, "penalize_intercept": True}
    data = FRAME if any(c.per != "dataset" for c in said) else TEXTS
    return TiltClassifier(said, **options | parameters).fit(data, sample_weight=WEIGHT)


def tagger(said, **parameters):
    options = {"classes": ["x", "y"], "gamma": GAMMA, "beta": 0.05, "revise": None, "tol": 1e-6, "max_iter": 2000}
    return TiltTagger(said, **options | parameters).fit(SEQUENCES, KNOWN)


def slope(fit, state, u, *others, h=H):
    """The difference quotient of O in the target."""
    high, low = (fit([state(u + step), *others]).objective_ for step in (h, -h))
    return (high - low) / (2 * h)


def check(fit, state, u, *others, least=0.02):
    """The pull of a statement that does pull is the slope."""
    entry = fit([state(u), *others]).constraint_report_[0]
    measured = slope(fit, state, u, *others)
    assert abs(measured) > least
    assert entry.pull == pytest.approx(measured, rel=2e-3)
    return entry


DOCUMENTS = {
    "about": (lambda u: expect("x", given=A).about(u), 0.8),
    "about l1": (lambda u: expect("x", given=A).about(u, penalty="l1", beta=0.5), 0.8),
    "its own beta": (lambda u: expect("x", given=A).about(u, beta=0.3), 0.1),
    "at least": (lambda u: expect("x", given=A).at_least(u), 0.7),
    "at most, slack": (lambda u: expect("x", given=A).at_most(u, slack=0.2), 0.1),
    "between, the lower edge": (lambda u: expect("x", given=A).between(u, u + 0.1), 0.7),
    "between, the upper edge": (lambda u: expect("x", "z", given=A).between(u - 0.05, u), 0.1),
    "exactly": (lambda u: expect("x").exactly(u), 0.6),
    "groups": (lambda u: expect("x", given=A, per=column("of")).about(u), 0.8),
    "each document": (lambda u: expect("x", given=A, per="instance").at_least(u), 0.6),
    "each document, soft": (lambda u: expect("x", given=A, per="instance").about(u), 0.6),
}


@pytest.mark.parametrize("scale", ["unit", "support"])
@pytest.mark.parametrize("case", DOCUMENTS)
def test_of_documents(case, scale):
    state, u = DOCUMENTS[case]
    check(lambda said: classifier(said, scale=scale), state, u, OTHER)


SHARE = {"given": punctuation.before, "of": expect.change()}
IN_SEQUENCES = {
    "about": (lambda u: expect("x", given=A).about(u), 0.8),
    "transitions": (lambda u: expect.change(given=~punctuation.before).at_most(u), 0.2),
    "known labels count": (lambda u: expect("x", given=A, on="all").about(u), 0.3),
    "a mean number": (lambda u: expect.segments("x").about(u), 1.3),
    "a mean number, hard": (lambda u: expect.segments("x").at_most(u), 0.6),
    "in each sequence": (lambda u: expect("x", per="sequence").at_least(u), 0.6),
    "a number in each": (lambda u: expect.segments("x", per="sequence").at_most(u), 0.6),
    "a share of another event": (lambda u: expect.change(**SHARE).about(u), 0.8),
    "a share between bounds": (lambda u: expect.change(**SHARE).between(u, u + 0.1), 0.7),
    "whole sequences": (lambda u: expect.repeats().at_most(u), 0.05),
}


@pytest.mark.parametrize("scale", ["unit", "support"])
@pytest.mark.parametrize("case", IN_SEQUENCES)
def test_of_sequences(case, scale):
    state, u = IN_SEQUENCES[case]
    exact = {"inference": "exact"} if case == "whole sequences" else {}
    fixed = {"scale": scale, "solver": "joint", **exact}  # what comes last is not at the minimum of O
    check(lambda said: tagger(said, **fixed), state, u, expect("y", given=B).about(0.8))


@pytest.mark.parametrize("scale", ["unit", "support"])
def test_of_a_distribution_it_is_that_of_the_expectation(scale):
    """U = [u·log(u/m) − u + m]/β is not a function of m − u alone: there dO/du = γ/β·log(1 + β·pull/γ)."""
    beta = 0.4

    def state(u):
        return expect(given=A).distributed_as({"x": u, "y": 0.9 - u, "z": 0.1}, beta=beta)

    def fit(said):
        return classifier(said, scale=scale)

    x, y, _ = (e for e in fit([state(0.6), OTHER]).constraint_report_ if e.component is not None)
    soft = beta / GAMMA / (x.support if scale == "support" else 1.0)
    of_target = [np.log1p(soft * e.pull) / soft for e in (x, y)]
    measured = slope(fit, state, 0.6, OTHER)
    assert abs(measured) > 0.02
    assert of_target[0] - of_target[1] == pytest.approx(measured, rel=2e-3)
