"""A network on vectors of tokens beside linear models: ``python -m experiments.token_network``.

Entities of laptop, from 50 labelled sentences (three draws) and without labels (sources at 0.9, O at 0.97 where none
speaks), scored by entity F1 on the *validation* part. Writes a table of ``docs/howto/embeddings.md``. Needs
TILTFIT_DATA and ``pip install 'tiltfit[embeddings,torch]'``; takes a few minutes.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from experiments.command import write_between
from experiments.defaults.tasks import entity_f1
from experiments.entities import entities
from experiments.token_meaning import DRAWS, LABELLED, PAGE
from tiltfit import TiltTagger
from tiltfit.features.tokens import TokenTemplates
from tiltfit.features.vectors import STATIC, encode, named_encoder

NAME, HIDDEN = "laptop", 32
ALONE, BESIDE = TokenTemplates.only(vectors=STATIC), TokenTemplates(vectors=STATIC)
TRIED: dict[str, tuple[TokenTemplates, bool]] = {
    "linear, vectors alone": (ALONE, False),
    "linear, attributes and vectors": (BESIDE, False),
    "network, vectors alone": (ALONE, True),
    "network, attributes beside it": (BESIDE, True),
}


def network(n_classes: int, seed: int) -> Any:
    """One layer of 32 units, with random weights."""
    import torch

    dimensions = encode(named_encoder(STATIC), ["word"]).shape[1]
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(dimensions, HIDDEN), torch.nn.Tanh(), torch.nn.Linear(HIDDEN, n_classes))


def row(features: TokenTemplates, with_network: bool) -> tuple[float, float, float]:
    """F1 from a few labels and without any, and the seconds of the latter fit."""
    train, valid = entities(NAME, "train"), entities(NAME, "valid")

    def made(seed: int, constraints: Any = ()) -> TiltTagger:
        model = network(len(train.classes), seed) if with_network else "crf"
        return TiltTagger(constraints, classes=train.classes, features=features, model=model)

    scores = []
    for draw in DRAWS:
        few = train.take(np.random.default_rng(draw).permutation(len(train.tags))[: LABELLED[NAME]])
        scores.append(entity_f1(valid.tags, made(draw).fit(few.X, few.tags).predict(valid.X)))
    begun = time.perf_counter()
    told = made(0, train.constraints()).fit(train.X)
    seconds = time.perf_counter() - begun
    return float(np.mean(scores)), entity_f1(valid.tags, told.predict(valid.X)), seconds


def table() -> str:
    """In percent, as Markdown."""
    lines = [
        f"| | {NAME}, {LABELLED[NAME]} labelled | {NAME}, no labels | seconds, no labels |",
        "|---|---:|---:|---:|",
    ]
    for title, (features, with_network) in TRIED.items():
        few, none, seconds = row(features, with_network)
        lines.append(f"| {title} | {100 * few:.1f} | {100 * none:.1f} | {seconds:.0f} |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


def main() -> int:
    return write_between(PAGE, "python -m experiments.token_network", table())


if __name__ == "__main__":
    sys.exit(main())
