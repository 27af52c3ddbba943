"""Sequences as the model labels them: those that the constraints change most, or else those it is least sure of."""

from __future__ import annotations

import numpy as np

from tiltfit.markup.element import Element, element
from tiltfit.pages.account import Account
from tiltfit.pages.layout import left_out, percent, section
from tiltfit.pages.tagged import Palette, tagged

_MOST = 8


def sequences_section(account: Account) -> Element | None:
    """None for documents."""
    if account.sequences is None:
        return None
    palette = palette_of(account)
    chosen = choose_sequences(account, _MOST)
    total = int((account.sequences.lengths > 0).sum())
    lead = "Each run of a label is a box with its name; the sequences that the model is least sure of come first."
    known = len(account.known) > 0
    mistakes = " Tokens with a wavy line are labelled otherwise in the data." if known else ""
    return section(
        "sequences",
        "Tagged sequences",
        element("p", lead + mistakes),
        palette.key(),
        *(_article(account, k, palette) for k in chosen),
        left_out(total - len(chosen), "sequence"),
    )


def palette_of(account: Account) -> Palette:
    """Colours of the labels; those that the model gives most often differ most."""
    often = np.bincount(account.predicted, minlength=len(account.classes))
    return Palette([account.classes[k] for k in np.argsort(-often, kind="stable")])


def choose_sequences(account: Account, most: int) -> list[int]:
    """Numbers of the sequences with the lowest mean confidence, lowest first; not of the empty ones."""
    offsets = account.offsets
    sums = np.concatenate([[0.0], np.cumsum(account.confidence)])
    lengths = np.diff(offsets)
    mean = np.divide(sums[offsets[1:]] - sums[offsets[:-1]], lengths, out=np.ones(len(lengths)), where=lengths > 0)
    order = np.argsort(mean, kind="stable")
    return [int(k) for k in order if lengths[k] > 0][:most]


def tokens_of(account: Account, k: int) -> list[str]:
    """The tokens of one sequence; of attributes, their names."""
    assert account.sequences is not None
    start, stop = (int(v) for v in account.offsets[k : k + 2])
    if account.sequences.kind == "tokens":
        return [str(token) for token in account.sequences.items[start:stop]]
    return [f"({i})" for i in range(stop - start)]


def shown_sequence(account: Account, k: int, palette: Palette, at: int | None = None) -> Element:
    """One sequence under the model."""
    start, stop = (int(v) for v in account.offsets[k : k + 2])
    labels = [account.classes[c] for c in account.predicted[start:stop]]
    truth = [None if c < 0 else account.name(int(c)) for c in account.truth[start:stop]]
    return tagged(tokens_of(account, k), labels, palette, truth=truth, at=at)


def _article(account: Account, k: int, palette: Palette) -> Element:
    start, stop = (int(v) for v in account.offsets[k : k + 2])
    sure = float(np.mean(account.confidence[start:stop]))
    known = account.truth[start:stop] >= 0
    right = float(np.mean((account.predicted == account.truth)[start:stop][known])) if known.any() else None
    told = f"Sequence {k} · {percent(sure)} sure"
    return element(
        "article",
        element("h3", told + ("" if right is None else f" · {percent(right)} of tokens right")),
        shown_sequence(account, k, palette),
    )
