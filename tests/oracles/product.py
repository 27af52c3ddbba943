"""The whole product model × method × relation × scope × inference: what a cell may do, and whether it does.

A cell either is refused, by an error that names what does not go together and says what does, or gives a fit that
agrees with an oracle: ``fit`` and ``agree`` raise AssertionError for anything else.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from tests.oracles import objectives as oracle
from tests.oracles.labelling import (
    constraint_driven,
    elected,
    label_model,
    self_trained,
    top_k_of,
    voted,
)  # fmt: skip
from tests.oracles.sequence_primal import primal
from tests.oracles.sequences import Row
from tests.oracles.statements import NAME, RELATIONS, SCOPES, Statement, scale_of
from tests.oracles.tiny import DOCUMENTS, MODELS, Tiny, data, estimator, logsumexp, tiny, weights_of

from tiltfit.errors import TiltfitError
from tiltfit.methods.catalogue import METHODS

NEAR = 1e-4  # of objectives and weights; ten times that of slopes
ROUGH = 5e-3  # of weights that are counted where q is sampled
_WAY_OUT = re.compile(r"\b([Uu]se|[Gg]ive|[Ll]eave|[Ss]tate|[Nn]arrow|[Aa]dd|[Cc]hange|[Ss]often|[Ww]rite|meant for)\b")


@dataclass(frozen=True)
class Cell:
    """One combination. ``scope`` and ``relation`` "none": without any constraint."""

    model: str
    method: str
    scope: str = "none"
    relation: str = "none"
    inference: str = "auto"
    solver: str = "auto"

    def __str__(self) -> str:
        more = [self.inference] if self.inference != "auto" else []
        more += [self.solver] if self.solver != "auto" else []
        return "-".join([self.model, self.method, self.scope, self.relation, *more])


class Refused(Exception):
    """The message of a refusal."""


@cache
def world_of(model: str) -> Tiny:
    return tiny(model)


def fit(cell: Cell, **options: object):
    """The library's fit; ``Refused`` if it is refused as it should be."""
    world = world_of(cell.model)
    if cell.method == "codl":
        options = {"method_options": {"top_k": top_k_of(world), "max_rounds": 30}, **options}
    if cell.method == "ap" and cell.model == "crf" and cell.solver == "auto":
        # Bounds that come last are not fitted to the end (tests/methods/test_late.py): an explicit start has none.
        options = {"init": "zeros", **options}
    options = {"tol": 1e-5, "max_iter": 5000, "scale": scale_of(cell.relation), **options}
    named = (NAME, f"{cell.method!r}", f"{cell.model!r}", f"solver={cell.solver!r}", "expect")
    with refusing(*named), warnings.catch_warnings():
        constraints = [] if cell.scope == "none" else [Statement(world, cell.scope, cell.relation).constraint]
        found = estimator(
            world, constraints, method=cell.method, inference=cell.inference, solver=cell.solver, **options
        )
        warnings.filterwarnings("ignore", message=".*is violated more often than kept by labelled data")
        warnings.filterwarnings("ignore", message="Most constraints .* are missed")  # soft ones, and it says why
        warnings.filterwarnings("ignore", message=".* does not follow constraints and goes on")
        return found.fit(*data(world))


@contextmanager
def refusing(*named: str) -> Iterator[None]:
    """Turn an error of the library into ``Refused``, if it names one of these and says what would work."""
    try:
        yield
    except TiltfitError as error:
        message = str(error)
        assert any(name in message for name in named), f"names nothing: {message}"
        assert _WAY_OUT.search(message), f"shows no way out: {message}"
        raise Refused(message) from error


def agree(cell: Cell, found) -> None:
    """Whether a fit is what its method promises, by an oracle; raises AssertionError if not."""
    world = world_of(cell.model)
    statement = None if cell.scope == "none" else Statement(world, cell.scope, cell.relation)
    lam = weights_of(found)
    assert np.all(np.isfinite(lam)), "weights are not finite"
    here = world.at(lam)
    rows = [] if statement is None else statement.rows(here)
    if not METHODS[cell.method].follows and {row.key for row in rows} != set(found.prices_):
        unmoved(cell, found)
        return
    allowed = oracle.agreeing(here) if statement is None else statement.allowed(here)
    assert {row.key for row in rows} == set(found.prices_), "rows differ"
    prices = [found.prices_[row.key] for row in rows]
    if cell.inference == "sampled":
        q, value, near = *oracle.check_sampled(here, rows, prices, allowed, found.constraint_report_.entries), ROUGH
    else:
        q, value, near = *oracle.check_projection(here, rows, prices, allowed, NEAR), NEAR
    CHECKS[cell.method](Checked(here, statement, rows, q, value, found, near))


def unmoved(cell: Cell, found) -> None:
    """Of a method that does not follow constraints, where they cannot hold: others are stopped, it is as without."""
    with pytest.raises(Refused, match="rules out the label"):
        fit(Cell(cell.model, "ap", cell.scope, cell.relation))
    plain = fit(Cell(cell.model, cell.method, "none", "none"))
    np.testing.assert_allclose(weights_of(found), weights_of(plain), atol=1e-9)
    assert {entry.status for entry in found.constraint_report_} <= {"met", "missed"}


def nearly_least(cell: Cell, found) -> None:
    """Of solvers that take random steps: Eq. 6 has fallen nearly as far as an exact solver gets."""
    world, exact = world_of(cell.model), Cell(cell.model, cell.method, cell.scope, cell.relation)
    best = fit(exact)
    agree(exact, best)
    statement = None if cell.scope == "none" else Statement(world, cell.scope, cell.relation)

    def value(lam: np.ndarray) -> float:
        here = world.at(lam)
        if statement is None:
            return oracle.known(world)(lam)
        least, _ = primal(here, statement.rows(here), statement.allowed(here))
        return oracle.labelled(here) + oracle.ridge(lam) + oracle.GAMMA * least

    lam = weights_of(found)
    now, first, last = value(lam), value(np.zeros(len(lam))), value(weights_of(best))
    assert last == _near(best.objective_)
    left = 0.3 if cell.solver == "sgd" else 0.05  # its steps of 1/t are those of the paper
    assert now - last <= left * (first - last), f"{now}, but {last} can be reached from {first}"


@dataclass(frozen=True, eq=False)
class Checked:
    """A fit at ``world.lam``, the constraint, and the proven projection of the model onto it."""

    world: Tiny
    statement: Statement | None
    rows: list[Row]
    q: list[np.ndarray]
    value: float
    found: object
    near: float  # where it depends on q

    @property
    def lam(self) -> np.ndarray:
        return self.world.lam

    def minimal(self, objective: oracle.Objective) -> None:
        """The fit's objective is this one, and it has no slope."""
        assert self.found.objective_ == _near(objective(self.lam))
        flat(oracle.slope(objective, self.lam))

    def same(self, lam: np.ndarray, near: float = NEAR) -> None:
        np.testing.assert_allclose(self.lam, lam, atol=20 * near, rtol=near)

    @property
    def error(self) -> np.ndarray:
        """Of Σ ω·E_q[F], by how many draws the report says that the chains are worth (rules say nothing: 100)."""
        world, told = self.world, [entry.effective for entry in self.found.constraint_report_.entries]
        spread = sum(
            world.omega[s] ** 2 * (q @ world.features[s] ** 2 - (q @ world.features[s]) ** 2)
            for s, q in enumerate(self.q)
            if world.undecided(s)
        )
        return np.sqrt(np.maximum(spread, 0.0) / min(100.0 if n is None else n for n in told))

    def worth(self, value: float) -> None:
        """The fit's objective is this; it is not known where q is sampled."""
        if self.near == NEAR:
            assert self.found.objective_ == _near(value)
        else:
            assert np.isnan(self.found.objective_)


def _near(value: float):
    import pytest

    return pytest.approx(value, rel=NEAR, abs=NEAR)


def flat(gradient: np.ndarray, error: np.ndarray | float = 0.0) -> None:
    """No slope, but for five standard ``error``s of it."""
    beyond = np.abs(gradient) - 5 * error
    assert np.all(beyond <= 10 * NEAR), f"a slope of {gradient} ± {error}"


def _alternating_projections(c: Checked) -> None:
    if c.world.is_generative:
        return _posterior_regularization(c)
    c.worth(oracle.labelled(c.world) + oracle.ridge(c.lam) + oracle.GAMMA * c.value)
    return flat(oracle.danskin(c.world, c.q), 0.0 if c.near == NEAR else c.error)


def _posterior_regularization(c: Checked) -> None:
    c.worth(oracle.joint(c.world, c.value))
    c.same(oracle.counted(c.world, c.world.expected(c.q)), c.near)


def _supervised(c: Checked) -> None:
    if not c.world.is_generative:
        return c.minimal(oracle.supervised(c.world))
    truth = oracle.truths(c.world)
    c.same(oracle.counted(c.world, c.world.expected(truth)))
    value = -float(c.lam @ c.world.expected(truth)) - oracle.log_prior(c.world, c.lam)
    assert c.found.objective_ == _near(value)
    return None


def _label_regularization(c: Checked) -> None:
    stated = None
    if c.statement is not None and (c.statement.relation, c.statement.scope) == ("distributed_as", "share"):
        stated = np.array([share for _, share in sorted(c.statement.constraint.relation.shares)])
    c.minimal(oracle.label_regularization(c.world, stated))


def _self_training(c: Checked) -> None:
    c.same(_self_trained(c.world.model))


@cache
def _self_trained(model: str) -> np.ndarray:
    return self_trained(world_of(model))


def _constraint_driven(c: Checked) -> None:
    assert c.statement is not None or c.found.converged_
    statement = c.statement if c.statement is not None else NoStatement(c.world)
    lam, value = constraint_driven(statement, top_k_of(c.world))
    c.same(lam)
    assert c.found.objective_ == _near(value)


@dataclass(frozen=True, eq=False)
class NoStatement:
    """Nothing but what y says."""

    world: Tiny
    is_rule = True

    def allowed(self, world: Tiny) -> list[np.ndarray]:
        return oracle.agreeing(world)


def _vote(c: Checked) -> None:
    votes = voted(c.statement)
    assert votes is not None, "nobody votes, and yet it is fitted"
    c.minimal(oracle.evident(c.world, elected(c.world, votes[1])))


def _label_model(c: Checked) -> None:
    votes = voted(c.statement)
    assert votes is not None, "nobody votes, and yet it is fitted"
    share, places = votes
    fires, silent, balance = _label_model_of(c.world.model, share, tuple(map(tuple, places)))
    if c.world.model in DOCUMENTS:
        q = []
        for s, agree_ in enumerate(oracle.agreeing(c.world)):
            score = np.where(agree_, np.log(balance) + (fires if places[s] else silent), -np.inf)
            q.append(np.exp(score - logsumexp(score)) if places[s] or not agree_.all() else None)
        objective = oracle.cross_entropy(c.world, q)
    else:
        log_e = []
        for s, agree_ in enumerate(oracle.agreeing(c.world)):
            at = [t for t in places[s] if c.world.is_open(s, t)]
            numbers = [[c.world.classes.index(y[t]) for t in at] for y in c.world.labellings(s)]
            told = np.array([sum(fires[k] - fires.max() for k in row) for row in numbers])
            log_e.append(np.where(agree_, told, -np.inf))
        objective = oracle.soft(c.world, log_e)
    c.minimal(objective)


@cache
def _label_model_of(model: str, share: float, places: tuple[tuple[int, ...], ...]):
    return label_model(world_of(model), share, [list(at) for at in places])


CHECKS: dict[str, Callable[[Checked], None]] = {
    "ap": _alternating_projections,
    "em": _posterior_regularization,
    "ge": lambda c: c.minimal(oracle.generalized_expectation(c.world, c.rows)),
    "supervised": _supervised,
    "entropy": lambda c: c.minimal(oracle.entropy(c.world)),
    "label_regularization": _label_regularization,
    "self_training": _self_training,
    "codl": _constraint_driven,
    "vote": _vote,
    "label_model": _label_model,
}


def cells() -> list[Cell]:
    """All of them, exact inference, ``solver="auto"``."""
    found = []
    for model in MODELS:
        for method in METHODS:
            found.append(Cell(model, method))
            found += [Cell(model, method, scope, relation) for scope in SCOPES for relation in RELATIONS]
    return found
