"""The whole product model × method × relation × scope × inference: every cell agrees with an oracle, or is refused with
the reason and with what would work. There is no third outcome: neither another error or warning, nor weights that are
not numbers, nor a fit that is not what its method promises (``tests.oracles.product``).

``python -m tests.oracles.product`` prints which is which, as docs/rivals.md has it ("What goes together").
"""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from tests.oracles.product import CHECKS, Cell, Refused, agree, cells, fit, nearly_least, table
from tests.oracles.statements import DOCUMENT_SCOPES, RELATIONS, SCOPES
from tests.oracles.tiny import DOCUMENTS, SEQUENCES

from tiltfit.errors import NotConvergedWarning
from tiltfit.methods.catalogue import METHODS

FEW = ("none", "about", "at_least", "never", "distributed_as")


def hardly_differs(cell: Cell) -> bool:
    """Cells that hardly differ from others, and of which there are many."""
    if cell.inference != "auto":
        return (cell.model, cell.method, cell.scope, cell.relation) != ("crf", "ap", "repeats", "at_most")
    if cell.solver in ("sgd", "online"):
        return cell.model == "crf" or cell.relation != "about"
    if cell.model in DOCUMENTS and cell.scope not in (*DOCUMENT_SCOPES, "none"):
        return cell.relation != "about"
    if cell.method == "ap" and cell.model in ("naive_bayes", "hmm") and cell.scope != "given":
        return cell.relation not in FEW  # projected by the code of maxent and crf
    return cell.relation not in FEW and (cell.method != "ap" or cell.model == "bernoulli_naive_bayes")


def listed(found: list[Cell]):
    return [
        pytest.param(cell, id=str(cell), marks=[pytest.mark.exhaustive] if hardly_differs(cell) else [])
        for cell in found
    ]


def check(cell: Cell, **options: object) -> None:
    try:
        found = fit(cell, **options)
    except Refused:
        return
    agree(cell, found)


def test_every_method_has_an_oracle():
    assert set(CHECKS) == set(METHODS)


@pytest.mark.parametrize("cell", listed(cells()))
def test_a_cell_agrees_or_is_refused(cell: Cell):
    check(cell)


WHOLE = [
    Cell(model, method, scope, relation, inference)
    for inference in ("exact", "sampled")
    for model in SEQUENCES
    for method in METHODS
    for scope in SCOPES
    for relation in RELATIONS
    if SCOPES[scope].whole
]


@pytest.mark.parametrize("cell", listed(WHOLE))
def test_so_it_does_however_whole_sequences_are_inferred(cell: Cell):
    check(cell, **({"tol": 1e-3} if cell.method == "ap" and cell.inference == "sampled" else {}))


SOLVERS = [
    Cell(model, method, scope, relation, solver=solver)
    for model in ("maxent", "naive_bayes", "crf", "hmm")
    for method in METHODS
    for solver in sorted({solver for method_ in METHODS.values() for solver in method_.solvers} - {"auto"})
    for scope, relation in (("none", "none"), ("given", "about"), ("given", "at_least"), ("all", "about"))
]


@pytest.mark.parametrize("cell", listed(SOLVERS))
def test_so_it_does_with_every_solver(cell: Cell):
    if cell.solver not in ("sgd", "online"):
        check(cell)
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotConvergedWarning)  # it says after how many rounds
            found = fit(cell, max_iter=150, tol=1e-3, online={"passes": 200, "batch_size": 2})
    except Refused:
        return
    nearly_least(cell, found)


@pytest.mark.exhaustive
def test_the_table_of_the_documentation_is_true():
    assert table() in (Path(__file__).parents[1] / "docs" / "rivals.md").read_text(encoding="utf-8")
