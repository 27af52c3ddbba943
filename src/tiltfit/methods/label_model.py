"""A generative model of the votes, then the model fitted to what it infers: ``method="label_model"``.

    P(y, fires) = π_y · Π_k r_k(y)^{fires_k} (1 − r_k(y))^{1 − fires_k},    r_k(y) = a_k if y ∈ event_k, else b_k
    min_λ  Σ_labelled −log p_λ(y|x) + γ·Σ_voted −Σ_y P(y|fires) log p_λ(y|x) + ½·α‖λ‖²

Constraints are the sources: where its condition fires, a constraint votes for the labels of its event, elsewhere it
abstains (``methods.votes``). Given the label they are independent. How often each fires on its own labels and
on others is found by EM on all rows: sources that agree with others earn trust. Rows with known labels have them; a set
in y leaves its members. A share u that a constraint states counts as ``strength`` more firings of which a share u was
right. π is what constraints without a condition state (``distributed_as``, ``about``, ``between``, ``exactly``), else
estimated.

On sequences tokens are the rows, and the model is fitted to the evidence of the votes at tokens that have some,

    γ·Σ −log Σ_y p_λ(y|x)·Π_{t voted} P(fires_t|y_t),

the likelihood of the votes with the chain in the place of π: nothing is known of how labels of neighbours go together.

Alternating projections meet the stated shares by the model's own features, and neither assume that constraints are
independent nor leave out rows. (Dawid & Skene 1979; Ratner, De Sa, Wu, Selsam & Ré 2016; Ratner et al. 2017.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import logsumexp

from tiltfit.arrays import BoolArray, FloatArray, IntArray
from tiltfit.language.constraint import Constraint, ConstraintSet
from tiltfit.language.values import match
from tiltfit.methods.direct import Term, minimise_objective
from tiltfit.methods.evidence import only, said_by_labels, with_evidence, with_report
from tiltfit.methods.history import Fit
from tiltfit.methods.joint import solve_jointly
from tiltfit.methods.method import Method, Run, Training
from tiltfit.methods.refusals import check_number, check_whole
from tiltfit.methods.vote import nothing_voted, votes_of
from tiltfit.methods.vote import roles as roles_of_votes
from tiltfit.methods.votes import Votes
from tiltfit.models.model import linear
from tiltfit.projections.moment import moment_objective

_EVEN = 1.0  # rows of each class that are imagined before the balance is estimated
_NEVER, _SURE = 1e-6, 0.99  # rates, shares and balances that statements cannot go beyond
_VAGUE = 0.2  # wider intervals say too little to fix a balance
_ENOUGH = 1e-8  # relative rise of the likelihood at which EM stops


@dataclass(frozen=True)
class Options:
    """``strength``: how many firings the share that a constraint states counts for. ``max_rounds``: of EM."""

    strength: float = 10.0
    max_rounds: int = 500

    def __post_init__(self) -> None:
        check_number("strength", self.strength, "a positive, finite number of firings", above=True)
        check_whole("max_rounds", self.max_rounds)


@dataclass(frozen=True, eq=False)
class LabelModel:
    """``balance``: π. ``right`` and ``wrong``: a_k and b_k, how often each source fires where the label is one of its
    own, and where it is not. ``elected``: sources × classes. ``objective``: of every round of EM, log-likelihood and
    log-prior."""

    balance: FloatArray
    right: FloatArray
    wrong: FloatArray
    elected: BoolArray
    objective: tuple[float, ...] = ()

    @property
    def rates(self) -> FloatArray:
        """r_k(y): sources × classes."""
        return np.where(self.elected, self.right[:, None], self.wrong[:, None])

    @property
    def accuracy(self) -> FloatArray:
        """P(y ∈ event_k | fires_k): what a constraint's share estimates."""
        own = self.elected @ self.balance
        hits = self.right * own
        return np.asarray(hits / (hits + self.wrong * (1 - own)))

    def log_likelihood(self, votes: Votes) -> FloatArray:
        """log P(fires|y): rows × classes."""
        silent = np.log1p(-self.rates)
        return np.asarray(votes.fires @ (np.log(self.rates) - silent) + silent.sum(axis=0))

    def log_joint(self, votes: Votes) -> FloatArray:
        """log P(y, fires): rows × classes."""
        with np.errstate(divide="ignore"):  # a class that constraints say never happens
            return self.log_likelihood(votes) + np.log(self.balance)


def fit(training: Training, start: FloatArray, run: Run) -> Fit:
    """Fit the label model to the votes, and the model to what it infers."""
    votes, ruled_out = votes_of(training, "label_model"), said_by_labels(training)
    problem = training.problem
    voted = votes.voted & (problem.labels < 0)
    if not voted.any():
        raise nothing_voted(training, "label_model")
    known = np.flatnonzero(problem.labels >= 0)
    only(problem.labels[known], known, ruled_out)
    weight = np.asarray(problem.model.structure.spread(problem.weight), dtype=np.float64)
    balance = stated_balance(training.grounded.constraints)
    model = estimate(votes, weight, ruled_out, balance, run.options)
    if problem.model.structure.has_edges:
        evidence = model.log_likelihood(votes)
        evidence -= evidence.max(axis=1, keepdims=True)
        evidence[~voted] = 0.0
        evidence[ruled_out] = -np.inf
        said = with_evidence(problem, evidence, "is voted", said_by_labels(training))
        return with_report(training, solve_jointly(said, start, run))
    q = posterior(model.log_joint(votes), ruled_out)[0]
    soft = np.flatnonzero(voted | (ruled_out.any(axis=1) & (problem.labels < 0)))
    return fit_soft_labels(training, q, soft, start, run)


def fit_soft_labels(training: Training, q: FloatArray, soft: IntArray, start: FloatArray, run: Run) -> Fit:
    """Fit to the labelled rows and to ``q`` (rows × classes) on the rows ``soft``: one moment projection with q given
    (Eq. 9),

        min_λ  Σ_labelled −w log p_λ(y|x) + γ·Σ_soft −w Σ_y q(y) log p_λ(y|x) + ½·α‖λ‖²

    What the model cannot have (``base=`` of 0) is taken out of q; rows of which nothing is left are not used.
    """
    problem, q = training.problem, q.copy()
    q[problem.labelled] = np.eye(q.shape[1])[problem.labels[problem.labelled]]
    if problem.model.base is not None:
        q[np.isneginf(problem.model.base.node)] = 0.0
    mass = q.sum(axis=1, keepdims=True)
    keep = np.union1d(problem.labelled, soft)
    keep = keep[mass[keep, 0] > 0]
    few = problem.take(keep)
    weight, base = few.omega, few.model.base
    mass = weight[:, None] * (q[keep] / mass[keep])
    target = linear(few.model, "fitting soft labels").features.expect(mass)
    constant = 0.0 if base is None else float(np.sum(mass * np.where(np.isneginf(base.node), 0.0, base.node)))

    def objective(weights: FloatArray) -> Term:
        value, gradient = moment_objective(few.model.moments(weights, weight), weights, target, few.alpha)
        return Term(value - constant, gradient)

    return minimise_objective(training, objective, start, run)


def estimate(
    votes: Votes, weight: FloatArray, ruled_out: BoolArray, balance: FloatArray | None, options: Options
) -> LabelModel:
    """The rates of the sources, and the class balance unless it is given, by EM from what the constraints state.

    ``weight``: of rows. ``ruled_out``: labels that y leaves no row (rows × classes).
    """
    votes, weight, ruled_out = _condensed(votes, weight, ruled_out)
    prior = _Prior.of(votes, weight, balance, options.strength)
    model = LabelModel(prior.balance, prior.right, prior.wrong, votes.elected)
    reached: list[float] = []
    for _ in range(options.max_rounds):
        q, likelihood = posterior(model.log_joint(votes), ruled_out)
        reached.append(float(weight @ likelihood) + prior.log_density(model))
        if len(reached) > 1 and reached[-1] - reached[-2] <= _ENOUGH * abs(reached[-1]):
            break
        model = prior.update(votes, weight[:, None] * q)
    return LabelModel(model.balance, model.right, model.wrong, votes.elected, tuple(reached))


def posterior(log_joint: FloatArray, ruled_out: BoolArray) -> tuple[FloatArray, FloatArray]:
    """P(y|fires) among the labels that are left, and the log-likelihood of every row."""
    scores = np.where(ruled_out, -np.inf, log_joint)
    likelihood = logsumexp(scores, axis=1)
    return np.exp(scores - likelihood[:, None]), likelihood


def stated_balance(constraints: ConstraintSet) -> FloatArray | None:
    """π as constraints on single labels without a condition state it; what they leave is shared equally by the labels
    that they do not name. None if nothing is stated."""
    names = list(constraints.classes or ())
    shares = np.full(len(names), np.nan)
    for c in filter(_states_balance, constraints):
        if c.relation.shares:
            shares[:] = 0.0
            for label, share in c.relation.shares:
                shares[match(label, names)] = share
        else:
            shares[match(c.event.names[0], names)] = float(np.mean(c.relation.numbers))
    if np.isnan(shares).all():
        return None
    open_ = np.isnan(shares)
    if float(np.nansum(shares)) > 1 + _NEVER:  # soft statements that cannot all be so: no balance
        return None
    shares[open_] = max(0.0, 1 - float(np.nansum(shares))) / max(1, int(open_.sum()))
    shares = np.maximum(shares, _NEVER)
    return np.asarray(shares / shares.sum())


def _states_balance(c: Constraint) -> bool:
    """True if it fixes the share of one label, or of all, in all the data."""
    if c.given is not None or c.per != "dataset" or c.event.place != "all":
        return False
    if c.relation.shares:
        return True
    narrow = max(c.relation.numbers) - min(c.relation.numbers) <= _VAGUE
    one = len(c.event.names) == 1 and c.of is None
    return narrow and one and bool(np.all(np.isfinite(c.relation.bounds)))


def roles(constraints: ConstraintSet, votes: Votes | None, options: Options) -> dict[int, str]:
    """Constraints on single positions vote; shares of labels in all the data are the balance."""
    found = roles_of_votes(constraints, votes, options)
    if stated_balance(constraints) is not None:
        found |= {k: "states the balance" for k, c in enumerate(constraints) if _states_balance(c)}
    return found


@dataclass(frozen=True, eq=False)
class _Prior:
    """Rates and balance to begin with, and how many firings of each sort they stand for (Beta and Dirichlet priors).
    ``fixed``: whether the balance is known."""

    balance: FloatArray
    right: FloatArray
    wrong: FloatArray
    hits: FloatArray
    misses: FloatArray
    fixed: bool

    @staticmethod
    def of(votes: Votes, weight: FloatArray, balance: FloatArray | None, strength: float) -> _Prior:
        """A share u of the firings of a source is on its own labels: a = u·c/π(own), b = (1 − u)·c/(1 − π(own)) for a
        source that fires on a share c of all rows."""
        total = votes.counts.sum(axis=1)
        shares = votes.counts[total > 0] / total[total > 0, None]
        start = weight[total > 0] @ shares + _EVEN if balance is None else balance
        start = start / start.sum()
        own, u = votes.elected @ start, np.minimum(votes.stated, _SURE)
        coverage = votes.fires.T @ weight / weight.sum()
        return _Prior(
            balance=start,
            right=np.clip(u * coverage / own, _NEVER, _SURE),
            wrong=np.clip((1 - u) * coverage / np.maximum(1 - own, _NEVER), _NEVER, _SURE),
            hits=strength * u,
            misses=strength * (1 - u),
            fixed=balance is not None,
        )

    def update(self, votes: Votes, mass: FloatArray) -> LabelModel:
        """The most probable rates and balance where labels have the weights ``mass`` (rows × classes)."""
        rows, fired = mass.sum(axis=0), votes.fires.T @ mass
        hits, misses = (np.where(inside, fired, 0.0).sum(axis=1) for inside in (votes.elected, ~votes.elected))
        right = (hits + self.hits) / (votes.elected @ rows + self.hits / self.right)
        wrong = (misses + self.misses) / (~votes.elected @ rows + self.misses / self.wrong)
        balance = self.balance if self.fixed else (rows + _EVEN) / (rows + _EVEN).sum()
        return LabelModel(balance, right, wrong, votes.elected)

    def log_density(self, model: LabelModel) -> float:
        """Of the prior at ``model``, up to a constant."""
        value = 0.0 if self.fixed else _EVEN * float(np.log(model.balance).sum())
        for rate, count, first in ((model.right, self.hits, self.right), (model.wrong, self.misses, self.wrong)):
            value += float(count @ (np.log(rate) + (1 / first - 1) * np.log1p(-rate)))
        return value


def _condensed(votes: Votes, weight: FloatArray, ruled_out: BoolArray) -> tuple[Votes, FloatArray, BoolArray]:
    """The rows of which something is known, and one more that stands for all others."""
    some = votes.voted | ruled_out.any(axis=1)
    rest = sparse.csr_array((1, len(votes.source)))
    fires = sparse.csr_array(sparse.vstack([votes.fires[np.flatnonzero(some)], rest], format="csr"))
    nothing = np.zeros((1, ruled_out.shape[1]), dtype=np.bool_)
    return (
        Votes(fires, votes.elected, votes.stated, votes.source),
        np.append(weight[some], weight[~some].sum()),
        np.concatenate([ruled_out[some], nothing]),
    )


METHOD = Method(
    "label_model",
    "a generative model of the votes",
    fit,
    options=Options,
    needs=("votes", "linear"),
    constraints="reported",
    inference=("exact", "sampled"),
    roles=roles,
)
