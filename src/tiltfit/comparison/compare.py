"""``tiltfit.compare``: several methods on the same data and constraints, judged on the same test part."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tiltfit.comparison.cells import Cell, cells
from tiltfit.comparison.figures import LEVEL, Evidence, gather, judged
from tiltfit.comparison.parts import Parts, prepare
from tiltfit.comparison.result import Comparison, Row, plain
from tiltfit.comparison.worker import Done, Failed, packed, run, run_apart
from tiltfit.estimators.options import whole_parameter
from tiltfit.methods.catalogue import METHODS
from tiltfit.report.segments import segments_by_sequence

logger = logging.getLogger("tiltfit")

Progress = Callable[[int, int, str], object]


def compare(
    constraints: Any,
    X: Any,
    y: Any = None,
    *,
    test: tuple[Any, Any],
    methods: Any = "all",
    task: str = "auto",
    classes: Iterable[object] | None = None,
    labelled: int | None = None,
    random_state: int = 0,
    n_bootstrap: int = 1000,
    isolate: bool = True,
    progress: Progress | None = None,
    **parameters: Any,
) -> Comparison:
    """Fit each method on X (and y, where there are labels), judge it on ``test``, and set the figures side by side.

    A method that is refused or fails is a row with the reason; the others go on.

    Parameters
    ----------
    constraints : constraints, a ``ConstraintSet``, or the path of a TOML file
    X, y : as for ``TiltClassifier.fit`` or ``TiltTagger.fit``
    test : (X_test, y_test)
        What is judged on: labelled, and not part of X. What has no label there does not count.
    methods : "all", list of words, or dict
        Words of the catalogue (in a list, or with commas between them), with a model behind a slash if not the usual
        one: ``["ap", "ap/naive_bayes"]``. A dict names them and gives parameters of the estimator: ``{"AP, beta 0.01":
        dict(method="ap", beta=0.01)}``, or are objects for ``model=`` themselves: ``{"a network": module}``. The first
        that runs is the reference, to which the others are compared.
        A method that cannot train the usual model gets one that it can; one that takes no constraints (``"em"``) gets
        none. Both are noted.
    task : {"auto", "classify", "tag"}
        Documents or sequences; ``auto``: as y_test shows.
    classes : list, optional
        All labels. Default: those of the constraint file, else of y (and, if it shows fewer than two, of the
        constraints).
    labelled : int, optional
        Keep the labels of so many training instances, drawn at random, and take the others away.
    random_state : int
        For that draw, for the bootstrap, and for the estimators.
    n_bootstrap : int
        Draws of the paired bootstrap over test instances, from which the intervals come; 0: no intervals.
    isolate : bool
        Run each method in a separate process, so its memory can be measured; False: all in this one.
    progress : callable, optional
        Called with number, total and name before each method.
    **parameters
        Of the estimator, for all methods: ``beta=0.01``, ``n_jobs=2``.

    Examples
    --------
    >>> from tiltfit import compare, expect, word
    >>> texts = ["the puck on ice", "a goalie on ice", "the bat and ball", "a pitcher with a ball"]
    >>> said = [expect("hockey", given=word("puck")).about(0.9), expect("baseball", given=word("bat")).about(0.9)]
    >>> held_out = ["ice in the rink", "one more ball"], ["hockey", "baseball"]
    >>> found = compare(said, texts, test=held_out, methods=["ap", "supervised"], isolate=False)
    >>> found["ap"].figures["accuracy"].value
    1.0
    >>> found["supervised"].status, found["supervised"].reason
    ('refused', "method='supervised' learns from labels, but no instance of y is labelled. Use method='ap'.")
    """
    seed, draws = whole_parameter("random_state", random_state, 0), whole_parameter("n_bootstrap", n_bootstrap, 0)
    parts = prepare(constraints, X, y, test, task=task, classes=classes, labelled=labelled, seed=seed)
    asked = cells(methods, parameters, parts.work.estimator)
    found = _run_all(parts, asked, isolate, progress)
    done = [k for k, one in enumerate(found) if one.status == "ok"]
    evidence = [_evidence(parts, one) for one in found if one.status == "ok"]
    figures = dict(zip(done, judged(evidence, draws, np.random.default_rng([seed, 1])), strict=True))
    rows = [_row(parts, cell, one, figures.get(k)) for k, (cell, one) in enumerate(zip(asked, found, strict=True))]
    return Comparison(
        task=parts.work.task.name,
        rows=tuple(rows),
        reference=asked[done[0]].name if done else None,
        train=parts.work.n,
        labelled=parts.labelled,
        test=len(parts.judged),
        positions=int(parts.known.sum()),
        n_bootstrap=draws,
        level=LEVEL,
        seed=seed,
    )


def _run_all(parts: Parts, asked: tuple[Cell, ...], isolate: bool, progress: Progress | None) -> list[Done | Failed]:
    apart = isolate and bool(sys.executable)  # embedded interpreters do not say where they are
    work = packed(parts.work, "X, y, the constraints or X_test") if apart else b""
    found: list[Done | Failed] = []
    for k, cell in enumerate(asked):
        if progress is not None:
            progress(k + 1, len(asked), cell.name)
        one = run_apart(work, cell) if apart and cell.is_known else run(parts.work, cell)
        if one.status != "ok":
            logger.info("%s %s: %s", cell.name, one.status, one.reason)
            logger.debug("%s", one.trace)
        else:
            logger.info("%s: %.3g s, %d rounds", cell.name, one.seconds, one.rounds)
        found.append(one)
    return found


def _evidence(parts: Parts, done: Done) -> Evidence:
    known, segments = parts.known, None
    if parts.work.task.is_sequences:
        true, guess = parts.nested(parts.codes), parts.nested(done.predicted)
        segments = segments_by_sequence(true, guess, parts.names)[parts.judged]
    return gather(parts.truth, done.predicted[known], done.proba[known], segments)


def _notes(cell: Cell, parts: Parts) -> list[str]:
    """Notes on what a method did without."""
    method, found = METHODS[cell.method], []
    if not method.takes and len(parts.work.constraints):
        found.append(f"without the constraints, since method={method.name!r} takes none")
    if not method.takes and not parts.labelled:
        found.append("nothing is labelled, so that its classes are clusters in no particular order")
    return found


def _row(parts: Parts, cell: Cell, one: Done | Failed, figures: Any) -> Row:
    parameters = plain({name: value for name, value in cell.parameters.items() if name not in ("method", "model")})
    if one.status != "ok":
        return Row(cell.name, cell.method, cell.model, parameters, one.status, one.reason, notes=cell.notes)
    violation, constraint = one.worst if one.worst is not None else (None, None)
    return Row(
        name=cell.name,
        method=cell.method,
        model=one.model,
        parameters=parameters,
        status=one.status,
        figures=figures,
        worst_violation=violation,
        worst_constraint=constraint,
        seconds=one.seconds,
        memory=one.memory,
        rounds=one.rounds,
        converged=one.converged,
        warnings=one.warnings,
        notes=(*cell.notes, *_notes(cell, parts)),
    )
