"""Eq. 6 as a loss on scores, so that any model can be p.

    O(s) = Σ_labelled w·(−log p_s(y|x)) + γ·min_q [Σ_unlabelled w·D(q‖p_s) + U(m(q))],      p_s(y|x) ∝ exp(s(x, y))

    ∂O/∂s = ω·(p − q)        (Danskin, at the minimising q; ω = w on labelled rows, where q is the label, else γ·w)

whatever made the scores. On chains s has one score per token and label, and a table of transitions (from × to) that
all edges share. Rows that are neither labelled nor touched by a constraint have q = p, and add nothing. A ridge, or
whatever else holds the model down, is the caller's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.data.beside import apart
from tiltfit.errors import DataError, UnsupportedError
from tiltfit.estimators.classifier import TiltClassifier
from tiltfit.estimators.options import Options
from tiltfit.estimators.tagger import TiltTagger
from tiltfit.execution.workers import one_blas_thread
from tiltfit.inference.chain import Chains
from tiltfit.inference.potentials import Potentials
from tiltfit.language.constraint import ConstraintSet
from tiltfit.language.sentences import titled
from tiltfit.methods.problem import Evaluation, Problem
from tiltfit.methods.refusals import check_number
from tiltfit.methods.scored import softened
from tiltfit.models.scores import Scores
from tiltfit.optimize.lbfgs import minimise
from tiltfit.projections.grounding import Grounded, Grounding, ground
from tiltfit.projections.information import Start
from tiltfit.projections.revision import revise
from tiltfit.report.constraints import ConstraintReport
from tiltfit.report.outcome import report_constraints
from tiltfit.samples.sample import Sample, make_sample
from tiltfit.samples.task import DOCUMENTS, SEQUENCES

_TOL = 1e-8


class Objective:
    """O(s) of some rows, or of some sequences, and what is known about them. Made by ``tiltfit.objective``.

    Scores are an array of rows × ``classes`` (tokens × classes, all sequences one after the other), as is every result
    of that form. Transitions (classes × classes, from × to) are zero where they are left out. The last prices are kept,
    but only to find the next ones sooner.

    Attributes
    ----------
    classes : array
        The labels, in the order of the columns.
    shape : (int, int)
        The form of scores.
    lengths : array of int
        The tokens of each sequence; ones for documents.
    """

    def __init__(self, problem: Problem, grounded: Grounded, sample: Sample, lengths: IntArray) -> None:
        self.classes = np.array(sample.classes)
        self.lengths = lengths
        self.shape = (int(lengths.sum()), len(self.classes))
        self._problem, self._grounded, self._sample = problem, grounded, sample
        self._start: Start | None = None

    def value_and_grad(self, scores: Any, transitions: Any = None) -> tuple[Any, ...]:
        """O, and ∂O/∂scores; of chains with ``transitions`` also ∂O/∂transitions."""
        found = self._evaluate(scores, transitions)
        n = self.shape[0] * self.shape[1]
        value, grad = float(found.value), found.gradient[:n].reshape(self.shape)
        return (value, grad) if transitions is None else (value, grad, found.gradient[n:].reshape(self.shape[1], -1))

    def hess(self, scores: Any, transitions: Any = None) -> FloatArray:
        """ω·p·(1 − p) of every score: the curvature of O alone, without that of q, so that it is never negative; 0 on
        rows that O does not depend on."""
        problem, p = self._problem, self._marginals(scores, transitions)
        omega = np.where(problem.is_labelled | problem.is_touched, problem.omega, 0.0)
        return np.asarray(problem.model.structure.spread(omega)[:, None] * p * (1 - p))

    def proba(self, scores: Any, transitions: Any = None) -> FloatArray:
        """p(y|x) of every row or token."""
        return self._marginals(scores, transitions)

    def projected(self, scores: Any, transitions: Any = None) -> FloatArray:
        """q(y|x) of every row or token: the labels where they are known, p where no constraint acts."""
        problem, q = self._problem, self._marginals(scores, transitions)
        found = self._evaluate(scores, transitions)
        if found.projection is not None:
            q[problem.model.structure.positions(problem.touched)] = found.projection.marginals.node
        known = problem.model.structure.positions(problem.labelled)
        q[known] = np.eye(self.shape[1])[problem.labels[known]]
        return q

    def report(self, scores: Any, transitions: Any = None) -> ConstraintReport:
        """What became of each constraint under p and q."""
        grounded, p, predicted = self._grounded, None, None
        if grounded.tilt is not None:
            touched = self._problem.model.take(grounded.touched)
            potentials = touched.potentials(self._weights(scores, transitions))
            predicted = grounded.of_labels(touched.structure.best(potentials, touched.workers)[0])
            p = grounded.tilt.of_model(potentials)
        projection = self._evaluate(scores, transitions).projection
        classes, unit = self.classes.tolist(), self._sample.inputs.unit
        return report_constraints(grounded, p, projection, classes, unit, self._problem.gamma, None, predicted)

    def fit_transitions(self, scores: Any, alpha: float = 1.0, max_iter: int = 100) -> FloatArray:
        """argmin_T O(scores, T) + ½·α‖T‖²: the transitions that go with these scores."""
        self._needs_chains("fit_transitions")
        check_number("alpha", alpha, "a finite number of at least 0")
        n = self.shape[1]

        def objective(flat: FloatArray) -> tuple[float, FloatArray]:
            value, _, grad = self.value_and_grad(scores, flat.reshape(n, n))
            return value + 0.5 * alpha * float(flat @ flat), grad.ravel() + alpha * flat

        found = minimise(objective, np.zeros(n * n), gradient_tol=1e-4, max_iter=max_iter)
        return found.x.reshape(n, n)

    def decode(self, scores: Any, transitions: Any = None, lengths: Sequence[int] | None = None) -> Any:
        """The labels of greatest probability: of documents an array, of sequences a list of lists (Viterbi).
        ``lengths``: of sequences other than those that it was made for."""
        if not self.is_chains or lengths is None:
            weights = self._weights(scores, transitions)
            best = self._problem.model.structure.best(self._problem.model.potentials(weights), self._workers)[0]
            cuts = self.lengths
        else:
            cuts = np.asarray(lengths)
            if cuts.ndim != 1 or cuts.dtype.kind not in "iu" or np.any(cuts < 0):
                raise DataError("lengths must be whole numbers: the tokens of each sequence.", parameter="lengths")
            some = np.flatnonzero(cuts > 0)
            offsets = np.concatenate([[0], np.cumsum(cuts[some])]).astype(np.intp)
            node = _as_scores(scores, (int(cuts.sum()), self.shape[1]), "scores")
            edge = self._transitions(transitions)[None]
            chains = Chains(offsets, np.zeros(len(node), dtype=np.int32), 1)
            best = chains.best(Potentials(node, edge), self._workers)[0]
        names = self.classes[best]
        if not self.is_chains:
            return names
        ends = np.cumsum(cuts)
        return [names[end - n : end].tolist() for n, end in zip(cuts.tolist(), ends.tolist(), strict=True)]

    @property
    def is_chains(self) -> bool:
        """True if it is about sequences."""
        return bool(self._problem.model.structure.has_edges)

    # Inside

    @property
    def _workers(self) -> Any:
        return self._problem.model.workers

    def _needs_chains(self, what: str) -> None:
        if not self.is_chains:
            raise UnsupportedError(f"{what} is about sequences, but this objective is about documents.")

    def _transitions(self, transitions: Any) -> FloatArray:
        n = self.shape[1]
        if transitions is None:
            return np.zeros((n, n))
        self._needs_chains("transitions=")
        return _as_scores(transitions, (n, n), "transitions")

    def _weights(self, scores: Any, transitions: Any) -> FloatArray:
        node = _as_scores(scores, self.shape, "scores")
        if not self.is_chains:
            self._transitions(transitions)
            return node.ravel()
        return np.concatenate([node.ravel(), self._transitions(transitions).ravel()])

    def _marginals(self, scores: Any, transitions: Any) -> FloatArray:
        return self._problem.model.infer(self._weights(scores, transitions)).node

    def _evaluate(self, scores: Any, transitions: Any) -> Evaluation:
        with one_blas_thread():
            found = self._problem.evaluate(self._weights(scores, transitions), self._start, _TOL)
        self._start = found.start
        return found

    def running(self) -> Running:
        """For mini-batches: a table of the latest scores, which are zero before the first batch."""
        return Running(self)


class Running:
    """Mini-batches: the scores of every row as they were last seen, and the prices that go with these.

    A step replaces the scores of its rows (of sequences: of all their tokens) and looks at the gradient there. Other
    rows take part in the statements with the scores that they had when they were in a batch, and with zeros before;
    with small steps of the model this is the gradient of the full objective. It costs one information projection of all
    rows, warm-started.
    """

    def __init__(self, objective: Objective) -> None:
        self._objective = objective
        self.scores = np.zeros(objective.shape)
        ends = np.cumsum(objective.lengths)
        self._places = [np.arange(end - n, end) for n, end in zip(objective.lengths, ends, strict=True)]

    def step(self, instances: Any, scores: Any, transitions: Any = None) -> tuple[Any, ...]:
        """O with the latest scores of all rows, and its gradient by those of the batch. ``instances``: the numbers of
        its rows, or sequences, each once."""
        numbers, n = np.asarray(instances), len(self._places)
        if not numbers.size:
            raise DataError("instances is empty: a batch needs a row.")
        if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or np.any((numbers < 0) | (numbers >= n)):
            raise DataError(f"instances must be whole numbers from 0 to {n - 1}: the rows that the batch is of.")
        if len(np.unique(numbers)) != len(numbers):
            raise DataError("instances must differ: a row that is twice in a batch has two scores.")
        places = np.concatenate([self._places[k] for k in numbers.tolist()])
        latest = self.scores.copy()
        latest[places] = _as_scores(scores, (len(places), self._objective.shape[1]), "scores")
        found = self._objective.value_and_grad(latest, transitions)
        self.scores = latest
        return (found[0], found[1][places], *found[2:])


def objective(
    constraints: Any,
    X: Any,
    y: Any = None,
    *,
    sequences: bool | None = None,
    classes: Iterable[object] | None = None,
    sample_weight: Any = None,
    feature_names: Iterable[str] | None = None,
    gamma: float = 1.0,
    beta: float | str = "auto",
    scale: str = "auto",
    inference: str = "auto",
) -> Objective:
    """Eq. 6 on X as a loss on scores: its value, its gradient, and q, for any model that makes scores.

    Parameters
    ----------
    constraints, classes, gamma, beta, scale
        As for ``TiltClassifier`` and ``TiltTagger``.
    X : texts, table or matrix; or lists of tokens
        What conditions look at. The model may look at anything else.
    y : list, optional
        Labels as for ``fit``; None where unknown.
    sequences : bool, optional
        Whether X holds sequences to tag. Default: if its instances are lists.
    sample_weight : array, optional
        One per row or sequence.
    feature_names : list of str, optional
        Names of the columns of a matrix.
    inference : {"auto", "exact"}
        Of statistics of whole sequences. They must be exact: a sampled q has no value to differentiate.

    Examples
    --------
    >>> import numpy as np
    >>> from tiltfit import expect, objective, word
    >>> texts = ["the puck", "a puck", "the bat", "a bat"]
    >>> o = objective([expect("hockey", given=word("puck")).about(0.9)], texts, classes=["baseball", "hockey"])
    >>> value, grad = o.value_and_grad(np.zeros((4, 2)))
    >>> grad.round(3).tolist()                    # ω·(p − q): towards hockey where there is a puck
    [[0.4, -0.4], [0.4, -0.4], [0.0, 0.0], [0.0, 0.0]]
    """
    task = SEQUENCES if (_is_sequences(X) if sequences is None else sequences) else DOCUMENTS
    said = ConstraintSet.of(constraints, task.unit)
    if inference not in ("auto", "exact"):
        raise DataError(f"inference={inference!r} is unknown here: use 'auto' or 'exact'.", parameter="inference")
    estimator = (TiltTagger if task.is_sequences else TiltClassifier)(gamma=gamma, beta=beta, scale=scale)
    options = Options.of(estimator)
    inputs = task.read(X, feature_names)
    sample = make_sample(task, inputs, y, sample_weight, classes=classes, constraints=said)
    said = said.with_classes(sample.classes, task.unit)
    options.check(said, inputs.unit)
    revisions = revise(said, sample) if options.revise else {}
    strength = replace(options.strength, near_votes=False, sized=False)
    grounded = ground(said, sample, strength, Grounding(inference=inference, revisions=revisions))
    options.check_anything(grounded.tilt is not None or bool(np.any(sample.labels >= 0)), task.position)
    model = Scores.of(sample.structure, len(sample.classes))
    problem = Problem.of(model, sample, grounded, np.zeros(model.n_weights), float(gamma))
    if problem.is_sampled:
        name = next(titled(c, inputs.unit) for c in said if c.event.whole)
        raise UnsupportedError(
            f"The constraint {name!r} is about whole sequences, and q can only be sampled here, so that the loss has "
            "no value. Use inference='exact' where that is possible, state it of fewer labels, or leave it out.",
            constraint=name,
        )
    with one_blas_thread():
        problem = softened(problem)
    lengths = np.asarray(inputs.lengths if task.is_sequences else np.ones(inputs.n), dtype=np.intp)
    return Objective(problem, grounded, sample, lengths)


def _is_sequences(X: Any) -> bool:
    """Return whether X is a list whose first instance is a list of tokens."""
    X = apart(X).X
    if not isinstance(X, list | tuple):
        return False
    first = next((row for row in X if isinstance(row, list | tuple | np.ndarray) and len(row)), None)
    return first is not None and isinstance(first[0], str | dict | list | tuple)


def _as_scores(scores: Any, shape: tuple[int, int], name: str) -> FloatArray:
    """Scores as an array of 64 bits; anything that is not one number per cell of ``shape`` is refused."""
    try:
        found: npt.NDArray[Any] = np.asarray(scores)
        if found.dtype.kind not in "biufO":
            raise TypeError(f"its type is {found.dtype}")
        found = found.astype(np.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise DataError(
            f"{name} must be an array of numbers ({error}). Of a tensor pass scores.detach().float().cpu().numpy(), or "
            "use tiltfit.torch.TiltLoss.",
            parameter=name,
        ) from error
    if found.shape != shape:
        of = "one row per document or token of X, one column per class" if name == "scores" else "from × to"
        raise DataError(
            f"{name} has the shape {found.shape}, but this objective is about {shape[0]} × {shape[1]}: {of}.",
            parameter=name,
        )
    bad = np.flatnonzero(~np.isfinite(found).all(axis=1))
    if len(bad):
        first = f"(row {bad[0]} first)"
        raise DataError(
            f"{name} has NaN or infinite numbers in {len(bad)} rows {first}.", parameter=name, instances=bad
        )
    return found
