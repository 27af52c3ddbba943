"""The account of a fitted model and some data: gather the values that a page shows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.check.support import Data, find_supports, places_of
from tiltfit.data.beside import apart
from tiltfit.data.documents import as_table, as_texts
from tiltfit.data.inputs import TableInputs
from tiltfit.data.sequences import Sequences, as_sequences
from tiltfit.errors import DataError, TiltfitError, TiltfitWarning, UnsupportedError
from tiltfit.estimators.estimator import TiltEstimator
from tiltfit.explain.causes import why
from tiltfit.explain.disputes import disputes
from tiltfit.language.constraint import ConstraintSet
from tiltfit.methods.catalogue import METHODS
from tiltfit.report.account import MOST_CONDITIONS, Account, Coverage, Disputed, Disputes, Example, Training
from tiltfit.report.html.page import Page, page_of
from tiltfit.report.targets import targets_of
from tiltfit.samples.labels import as_objects, row_targets, tag_targets

_MOST, _EACH = 6, 3  # disputed constraints, and examples of each
_WEIGHTY = 4  # words underlined in a document


def report_page(estimator: Any, X: Any, y: Any = None, *, title: str = "Constraint report") -> Page:
    """Return a page about a fitted model and its predictions on X: constraints with their prices, disputed examples,
    label proportions, coverage, calibration and convergence. ``y``: labels of X, where there are any.

    >>> from tiltfit import TiltClassifier, expect, report_page, word
    >>> texts = ["the puck hit the goalie", "goalie saves the puck", "a bat and a pitcher", "the pitcher has a bat"]
    >>> clf = TiltClassifier([expect("hockey", given=word("puck")).about(0.9),
    ...                       expect("baseball", given=word("bat")).about(0.9)]).fit(texts)
    >>> page = report_page(clf, texts)
    >>> page.html.count("<section"), "http://" in page.html
    (6, False)
    """
    account = account_of(estimator, X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TiltfitWarning)  # the account's notes have them
        given = X if account.sequences is None else account.sequences
        found = replace(account, coverage=coverage_of(estimator, given), disputes=_disputes(estimator, given, account))
    return page_of(found, title)


def account_of(estimator: Any, X: Any, y: Any = None) -> Account:
    """Return the predictions on X, without coverage and disputes. y may hold None where a label is not known."""
    fitted(estimator, "A page is")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", TiltfitWarning)
        account = _account(estimator, X, y)
    notes = [str(w.message) for w in said if issubclass(w.category, TiltfitWarning)]
    for other in (w for w in said if not issubclass(w.category, TiltfitWarning)):
        warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    return replace(account, notes=tuple(dict.fromkeys([*account.notes, *notes])))


def fitted(estimator: Any, what: str) -> Any:
    """Return the estimator; refuses anything but a fitted one of tiltfit. ``what``: the subject of the message."""
    if not isinstance(estimator, TiltEstimator):
        raise UnsupportedError(
            f"{what} about a fitted TiltClassifier or TiltTagger, but got {type(estimator).__name__}."
        )
    check_is_fitted(estimator)
    return estimator


def _account(estimator: TiltEstimator, X: Any, y: Any) -> Account:
    found = estimator.infer(X)
    sequences = as_sequences(found.inputs) if found.sample.is_sequences else None
    if not found.sample.n:
        raise DataError(f"There are no {'documents' if sequences is None else 'tokens'} to report on.")
    names, truth = _labels(y, estimator, found.sample.n) if sequences is None else _tags(y, estimator, sequences)
    classes, p = _classes(estimator), found.marginals.node
    notes: tuple[str, ...] = ()
    q: FloatArray | None = None
    try:
        found_q: Any = estimator.project(X, prices="solve")  # a report is about all of X
        q = found_q if sequences is None else np.concatenate(found_q)
    except TiltfitError as error:
        notes = (f"The data could not be projected onto the constraints: {error}",)
    training = Training(
        type(estimator).__name__,
        estimator.model,
        METHODS[estimator.method].title,
        estimator.history_,
        estimator.converged_,
        str(estimator.message_).rstrip("."),
    )
    constraints, unit = estimator.constraints_, estimator.unit_
    return Account(
        training, unit, estimator.constraint_report_, classes, p, q, found.best, truth, names, sequences,
        targets_of(constraints, classes, unit), stated_shares(constraints, classes), notes=notes,
    )  # fmt: skip


def _classes(estimator: Any) -> list[str]:
    return [str(name) for name in estimator.classes_.tolist()]


def _labels(y: Any, estimator: Any, n: int) -> tuple[list[str], IntArray]:
    """Return the names of labels, and the number of each; a file may have the class 1 as "1"."""
    classes = estimator.classes_.tolist()
    if y is None:
        return _classes(estimator), np.full(n, -1, dtype=np.intp)
    respelt = {str(name): name for name in classes}
    values = [v if isinstance(v, list | tuple | set | frozenset) else respelt.get(str(v), v) for v in as_objects(y)]
    return _classes(estimator), row_targets(values, n, classes).labels


def _tags(y: Any, estimator: Any, sequences: Sequences) -> tuple[list[str], IntArray]:
    """Return the names of tags, those that the model does not know last, and the number of each."""
    names = _classes(estimator)
    found, codes, _ = tag_targets(y, sequences, named=estimator.classes_.tolist(), least=1)
    number = {name: k for k, name in enumerate(names)}
    # A -1 that is not a class means unlabelled; the last entry is for codes of -1.
    table = [-1 if t == -1 and str(t) not in names else number.setdefault(str(t), len(number)) for t in found.tolist()]
    return list(number), np.array([*table, -1], dtype=np.intp)[codes]


def stated_shares(constraints: ConstraintSet, classes: Sequence[str]) -> Mapping[str, tuple[float, float]]:
    """Return what is asked of single labels in all data; of several statements, the narrowest."""
    found: dict[str, tuple[float, float]] = {}

    def note(name: str, low: float, high: float) -> None:
        before = found.get(name, (0.0, 1.0))
        found[name] = max(before[0], low), min(before[1], high)

    for c in constraints:
        if c.given is not None or c.of is not None or c.per != "dataset":
            continue
        if c.relation.shares:
            asked = {str(name): share for name, share in c.relation.shares}
            for name in classes:
                note(name, asked.get(name, 0.0), asked.get(name, 0.0))
        elif c.event.place == "all" and len(c.event.names) == 1:
            note(str(c.event.names[0]), *c.relation.bounds)
    return found


def coverage_of(estimator: Any, X: Any) -> Coverage:
    """Return where conditions fire. Statements without a condition are about everything and do not count."""
    constraints = estimator.constraints_
    given = estimator.task.read(X).without_empty() if estimator.task.is_sequences else X
    try:
        data = Data.of(constraints, given, None, getattr(estimator, "feature_names", None))
        supports = find_supports(constraints, data)
    except TiltfitError as error:
        return Coverage(unknown=str(error))
    firing = np.zeros(data.n, dtype=np.intp)
    never = []
    for number in supports.usable:
        constraint = constraints[number]
        if constraint.given is None:
            continue
        places, _ = places_of(constraint, data)
        firing += places
        if not places.any():
            never.append(supports.entries[number].title)
    depth = np.bincount(np.minimum(firing, MOST_CONDITIONS), minlength=MOST_CONDITIONS + 1)
    reached = len(np.unique(data.sample.instance[firing > 0]))
    return Coverage(tuple(depth.tolist()), reached, len(data.sample.structure), tuple(never))


def _disputes(estimator: Any, X: Any, account: Account) -> Disputes:
    """Return the places that are most at odds with each of the constraints that pull hardest."""
    if not len(account.report):
        return Disputes()
    try:
        found = disputes(estimator, X, top=_EACH)
    except TiltfitError as error:
        return Disputes(unknown=str(error))
    fought = [(entry, d) for entry, d in zip(account.report, found, strict=True) if d.fights]
    fought.sort(key=lambda pair: (-abs(pair[1].pull or 0.0), -pair[1].fights[0].amount))
    shown = fought[:_MOST]
    texts, words = _words(estimator, X, sorted({fight.index for _, d in shown for fight in d.fights}), account)
    entries = []
    for entry, d in shown:
        examples = tuple(
            Example(f.index, f.position, f.model, f.projected, f.text, None)
            if texts is None
            else Example(f.index, f.position, f.model, f.projected, texts[f.index], words.get(f.index, ()))
            for f in d.fights
        )
        entries.append(Disputed(entry, d.verdict, examples))
    return Disputes(tuple(entries), len(fought) - len(shown))


def _words(
    estimator: Any, X: Any, wanted: Sequence[int], account: Account
) -> tuple[Sequence[str] | None, Mapping[int, tuple[str, ...]]]:
    """Return the texts of X, if it has any, and for the wanted ones the words that count most for the prediction."""
    if account.sequences is not None:
        return None, {}
    X = apart(X).X
    texts, table = as_texts(X), as_table(X)
    columns: Sequence[str] = ()
    part: Any
    if texts is not None:
        part = [texts[i] for i in wanted]
    elif table is not None and TableInputs(table).text_columns:
        columns = TableInputs(table).text_columns
        part = {name: values[np.array(wanted, dtype=np.intp)] for name, values in table.items()}
        of_columns = [TableInputs(table).texts(name) for name in columns]
        texts = [" — ".join(filter(None, row)) for row in zip(*of_columns, strict=True)]
    else:
        return None, {}
    if not wanted:
        return texts, {}
    try:
        causes = why(estimator, part, top=_WEIGHTY)
    except TiltfitError:
        return texts, {}
    words = (
        tuple(_word(p.name, columns) for p in cause.parts if p.kind == "feature" and p.amount > 0) for cause in causes
    )
    return texts, dict(zip(wanted, words, strict=True))


def _word(name: str, columns: Sequence[str]) -> str:
    """Return the word of a feature: in a table it is called ``column:word``."""
    column = next((c for c in columns if name.startswith(f"{c}:")), None)
    return name if column is None else name.removeprefix(f"{column}:")
