"""The other library: python-crfsuite with the same attributes and the same objective as ours.

CRFsuite minimises −log-likelihood + c2·‖w‖², without ½, so that our alpha is 2·c2; c1 = 0. ``possible_transitions`` is
always on, since we have a weight for every pair of labels; ``possible_states`` if there are weights for all attributes
and labels. It has no weights of first and last labels.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tokens import Tokens
from tiltfit.arrays import FloatArray

C2 = 1.0
ALPHA = 2 * C2
MISSING = "python-crfsuite is not installed: pip install 'tiltfit[benchmark]'"


def installed() -> bool:
    """Return whether python-crfsuite can be imported."""
    try:
        import pycrfsuite  # noqa: F401
    except ImportError:
        return False
    return True


def trainer(tokens: Tokens, *, observed: bool, **parameters: Any) -> Any:
    """A trainer that holds the sequences. Without ``parameters`` it stops after max_iterations only."""
    import pycrfsuite

    never = {"epsilon": 1e-12, "delta": 1e-12, "period": 10_000}
    chosen = {
        "c1": 0.0,
        "c2": C2,
        "feature.possible_states": not observed,
        "feature.possible_transitions": True,
        **(parameters or never),
    }
    found = pycrfsuite.Trainer("lbfgs", chosen, verbose=False)
    for s in range(tokens.n_sequences):
        found.append(pycrfsuite.ItemSequence(tokens.attributes(s)), tokens.tags(s))
    return found


def train(trainer: Any, n_iter: int, path: Path) -> None:
    """At most ``n_iter`` iterations from zero; the model goes to ``path``."""
    trainer.set("max_iterations", n_iter)
    trainer.train(str(path))


def tables(path: Path, tokens: Tokens) -> tuple[FloatArray, FloatArray]:
    """The weights of a model: attributes × labels, labels × labels."""
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    info = tagger.info()
    attribute = {name: j for j, name in enumerate(tokens.names)}
    label = {name: k for k, name in enumerate(tokens.classes)}
    W, T = np.zeros((len(attribute), len(label))), np.zeros((len(label), len(label)))
    for (name, y), weight in info.state_features.items():
        W[attribute[name], label[y]] = weight
    for (a, b), weight in info.transitions.items():
        T[label[a], label[b]] = weight
    return W, T


def predict(path: Path, tokens: Tokens) -> list[list[str]]:
    """The labels that a model gives."""
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    return [list(tagger.tag(pycrfsuite.ItemSequence(tokens.attributes(s)))) for s in range(tokens.n_sequences)]
