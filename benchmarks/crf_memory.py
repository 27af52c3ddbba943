"""Peak memory of supervised training, CoNLL-2000, all weights; ``python -m benchmarks.crf`` calls it.

Each library runs in a separate process and gets the same file of numbered attributes. ``data`` is what its own copy
of the tokens takes (our sparse matrix, the sequences inside CRFsuite's trainer); ``peak`` is the most that training
takes above that: all that the operating system saw, our compiled kernels and threads included.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from benchmarks import crfsuite
from benchmarks.memory import resident, resident_growth
from benchmarks.tokens import Tokens, chunks, generate
from benchmarks.training import supervised
from tiltfit.execution.workers import Workers
from tiltfit.methods.joint import solve_jointly
from tiltfit.methods.method import Run

LIBRARIES = ("tiltfit", "CRFsuite")


def measure(tokens: Tokens | None = None, max_iter: int = 10) -> list[dict[str, Any]]:
    """Bytes that training takes, library by library. The memory of L-BFGS is full after six iterations."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokens.npz"
        _write(path, tokens or chunks())
        return [_ask(library, path, max_iter) for library in LIBRARIES]


def _ask(library: str, path: Path, max_iter: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.crf_memory", library, str(path), str(max_iter)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return dict(json.loads(done.stdout))


def _ours(path: Path, max_iter: int) -> tuple[int, int]:
    small = supervised(generate(500, n_labels=4, n_words=200), Workers(2))
    solve_jointly(small, np.zeros(small.model.n_weights), Run(max_iter=2, tol=1e-12))  # compiles the kernels
    before = resident()
    tokens = _read(path)
    data = resident() - before

    def train() -> None:
        problem = supervised(tokens, Workers(2), alpha=crfsuite.ALPHA)
        solve_jointly(problem, np.zeros(problem.model.n_weights), Run(max_iter=max_iter, tol=1e-12))

    return data, resident_growth(train)


def _theirs(path: Path, max_iter: int) -> tuple[int, int]:
    tokens = _read(path)
    before = resident()
    trainer = crfsuite.trainer(tokens, observed=False)
    data = resident() - before
    model = path.with_suffix(".crfsuite")
    return data, resident_growth(lambda: crfsuite.train(trainer, max_iter, model))


def _write(path: Path, tokens: Tokens) -> None:
    X = tokens.X
    np.savez(
        path,
        indices=X.indices,
        indptr=X.indptr,
        shape=X.shape,
        offsets=tokens.offsets,
        labels=tokens.labels,
        classes=tokens.classes,
    )


def _read(path: Path) -> Tokens:
    with np.load(path) as file:
        ones = np.ones(len(file["indices"]))
        X = sparse.csr_array((ones, file["indices"], file["indptr"]), shape=tuple(file["shape"]))
        names = [f"a{j}" for j in range(X.shape[1])]
        return Tokens(path.stem, [], file["offsets"], X, names, file["labels"], file["classes"].tolist())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", choices=LIBRARIES)
    parser.add_argument("tokens", type=Path)
    parser.add_argument("max_iter", type=int)
    arguments = parser.parse_args()
    with threadpool_limits(1):
        run = _ours if arguments.library == "tiltfit" else _theirs
        data, peak = run(arguments.tokens, arguments.max_iter)
    print(json.dumps({"library": arguments.library, "data": data, "peak": peak}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
