"""The whole product model × method × relation × scope × inference: every cell agrees with an oracle, or is refused with
the reason and with what would work. There is no third outcome: neither another error or warning, nor weights that are
not numbers, nor a fit that is not what its method promises (``tests.oracles.product``).

``tests/oracles/refusals.txt`` says which cells are refused, and why. Every cell is compared with it, including those
that only ``pytest -m exhaustive`` fits: a refusal that is new or gone fails here until the file says so. ``python -m
tests.oracles.refusals`` writes the file; with ``--table`` it prints the summary of docs/rivals.md instead.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from tests.oracles.product import CHECKS, Cell, Refused, agree, cells, fit, nearly_least
from tests.oracles.refusals import FILE, FITTED, legend, letter, of, pinned, table
from tests.oracles.statements import DOCUMENT_SCOPES, RELATIONS, SCOPES
from tests.oracles.tiny import DOCUMENTS, SEQUENCES

from tiltfit.errors import NotConvergedWarning
from tiltfit.methods.catalogue import METHODS

PINNED = pinned()
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


def fitted(cell: Cell, **options: object):
    """The fit, None if it is refused; raises AssertionError if the refusal table says otherwise."""
    found = None
    try:
        found, outcome = fit(cell, **options), FITTED
    except Refused as refusal:
        outcome = letter(refusal)
    assert outcome == PINNED[cell]
    return found


def check(cell: Cell, **options: object) -> None:
    found = fitted(cell, **options)
    if found is not None:
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)  # it says after how many rounds
        found = fitted(cell, max_iter=150, tol=1e-3, online={"passes": 200, "batch_size": 2})
    if found is not None:
        nearly_least(cell, found)


def test_every_cell_is_in_the_refusal_table():
    assert FILE.read_text(encoding="utf-8").startswith(legend())
    assert set(cells()) | set(WHOLE) | set(SOLVERS) <= set(PINNED)


FITTED_ABOVE = {cell for cell in (*cells(), *WHOLE, *SOLVERS) if not hardly_differs(cell)}


@pytest.mark.parametrize("method", METHODS)
def test_what_is_refused_is_what_the_table_says(method: str):
    rest = {cell: mark for cell, mark in PINNED.items() if cell.method == method and cell not in FITTED_ABOVE}
    changed = {cell: f"{mark} → {now}" for cell, mark in rest.items() if (now := of(cell)) != mark}
    assert not changed


def test_the_table_of_the_documentation_is_true():
    assert table() in (Path(__file__).parents[1] / "docs" / "rivals.md").read_text(encoding="utf-8")
