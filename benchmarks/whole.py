"""Speed of the sampler of whole-sequence statistics: ``python -m benchmarks.whole [--turns N] [--steps N]``.

Potentials of a conditional random field trained on Cora (generated tokens where it is absent), 13 labels, repeats of
all fields priced, one thread. A step of the sampler is two sweeps, a proposal of all labels and a Gibbs pass; tokens
times sweeps must reach 10 million a second. Beside it, how many steps one independent value of the total takes.
Exit status 1 if the speed is missed.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

from benchmarks.interleaved import take_turns
from benchmarks.tokens import citations
from benchmarks.training import supervised
from tiltfit.execution.workers import Workers
from tiltfit.inference.chain import Chains
from tiltfit.inference.diagnostics import effective_sample_size
from tiltfit.inference.fields import Fields
from tiltfit.inference.statistics import repeats
from tiltfit.inference.whole import SamplerState, WholeChains
from tiltfit.methods.joint import solve_jointly
from tiltfit.methods.method import Run

MUST = 10e6
PRICES = (-1.0, -4.0)


def measure(turns: int, n_steps: int) -> dict[float, tuple[float, float, float]]:
    """By price: tokens·sweeps a second, steps an independent value of the total, the share of accepted proposals."""
    tokens = citations()
    problem = supervised(tokens, Workers(1))
    fit = solve_jointly(problem, np.zeros(problem.model.n_weights), Run(max_iter=100, tol=1e-3))
    potentials, chains = problem.model.potentials(fit.weights), problem.model.structure
    assert isinstance(chains, Chains)
    whole = WholeChains(chains, (repeats(Fields.plain(tokens.classes)),))
    result = {}
    for price in PRICES:
        state = whole.sample(potentials, np.array([price]), whole.start(), 1, burn_in=50).state
        assert state is not None

        def run(price: float = price, state: SamplerState = state) -> float:
            whole.sample(potentials, np.array([price]), state, n_steps)
            return float(n_steps)

        found = take_turns({"sample": run}, turns)["sample"]
        last = whole.sample(potentials, np.array([price]), state, 2000)
        size = float(effective_sample_size(last.totals)[0])
        result[price] = 2 * len(tokens.labels) / found.cpu, 2000 / size, float(last.accepted.mean())
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--steps", type=int, default=100, help="steps of the sampler in a turn")
    arguments = parser.parse_args()
    result = measure(arguments.turns, arguments.steps)
    for price, (speed, steps, accepted) in result.items():
        print(
            f"price {price:g}: {speed / 1e6:.1f} M tokens/s, one independent value in {steps:.1f} steps,"
            f" {accepted:.0%} of the proposals accepted"
        )
    return 1 if min(speed for speed, *_ in result.values()) < MUST else 0


if __name__ == "__main__":
    sys.exit(main())
