"""A check in words: a verdict in one line, and sections with what matters most first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from tiltfit.check.support import Dispute
from tiltfit.language.prose import join, rough_percent

if TYPE_CHECKING:
    from tiltfit.check.check import Check

MOST = 8
"""Lines of a section; the rest is counted."""

Section = tuple[str, list[str]]


def page(check: Check) -> str:
    """Everything, for people."""
    lines = [check.verdict, ""]
    entries = check.supports.entries
    # Of many, those that find least are those to look at.
    shown = (
        entries if len(entries) <= 2 * MOST else sorted(entries, key=lambda e: -1 if e.support is None else e.support)
    )
    told = [
        ("-" if e.support is None else f"{e.support:,} ({rough_percent(e.coverage or 0.0)})", e.sentence) for e in shown
    ]
    width = max((len(where) for where, _ in told), default=0)
    lines += [f"  {where:>{width}}  {sentence}" for where, sentence in told[: 2 * MOST]]
    lines += _more(len(entries) - 2 * MOST)
    lines += ["", coverage(check)]
    conflicts = [conflict_sentence(check, core) for core in check.feasibility.conflicts]
    wrong = [("Errors:", check.errors), ("Cannot hold together:", conflicts)]
    problems = [(heading, cut(found)) for heading, found in wrong if found]
    for heading, body in (*problems, *sections(check)):
        lines += ["", heading, *(f"  {line}" for line in body)]
    if check.warnings:
        lines += ["", "Never fires:", *(f"  {note}" for note in cut(check.warnings))]
    return "\n".join(lines)


def verdict(check: Check) -> str:
    """One line: errors, or else what is worth a look, or else that there is nothing to object to."""
    feasibility = check.feasibility
    wrong = [
        *_counted(len(check.errors), "error"),
        *_counted(len(feasibility.conflicts), "set of hard constraints that cannot hold together", "sets"),
    ]
    look = [
        *_counted(sum(e.support == 0 for e in check), "constraint that never fires", "constraints"),
        *(["soft targets that cannot all be met"] if feasibility.tension else []),
        *_counted(sum(e.gap > 0 for e in check.evidence), "target that the labels contradict", "targets"),
        *_counted(len(check.overlap.disputes), "pair that disputes labels", "pairs"),
        *_counted(len(check.implied), "constraint that says nothing new", "constraints"),
    ]
    if wrong:
        return f"Not as it stands: {join(wrong, 'and')}." + (f" Also: {join(look, 'and')}." if look else "")
    held = "The hard constraints can hold together." if feasibility.asked and not check.not_covered else "No error."
    return f"{held} Worth a look: {join(look, 'and')}." if look else f"{held} Nothing to object to."


def coverage(check: Check) -> str:
    """On how much of the data some condition fires."""
    found = check.supports
    text = f"At least one condition fires on {_of(found.covered, found.rows, check.unit)}"
    if found.sequences is not None and found.sequences_covered is not None:
        text += f", in {_of(found.sequences_covered, found.sequences, 'sequences')}"
    return f"{text}."


def conflict_sentence(check: Check, core: Sequence[int]) -> str:
    names = [repr(check.title(number)) for number in core]
    if len(names) == 1:
        return f"{names[0]} cannot hold on these data."
    return f"{join(names, 'and')} cannot {'both' if len(names) == 2 else 'all'} hold on these data."


def sections(check: Check) -> Iterator[Section]:
    """Headings with their lines, cut."""
    feasibility = check.feasibility
    if feasibility.relaxation:
        yield (
            "Smallest change after which all hard constraints can hold:",
            cut(f"{check.title(c.number)}: {c.to} instead of {c.said}" for c in feasibility.relaxation),
        )
    if feasibility.tension:
        total = sum(c.by for c in feasibility.tension)
        yield (
            f"Soft targets that cannot all be met: in total they miss by at least {rough_percent(total)}, for example",
            cut(f"{check.title(c.number)}: {c.to} instead of {c.said}" for c in feasibility.tension),
        )
    if check.evidence:
        against = [e for e in check.evidence if e.gap > 0]
        yield (
            f"Against the labels: {len(check.evidence) - len(against)} of {len(check.evidence)} targets agree with them"
            f" (95% intervals){':' if against else '.'}",
            cut(f"{check.title(e.number)}: {e.sentence}" for e in against),
        )
    yield from _disputes(check)
    if check.implied:
        yield "Nothing new on these data:", cut(_implied(check))
    if check.not_tried:
        yield f"Of {check.not_tried:,} hard constraints it was not tried whether others imply them: too many.", []
    if feasibility.skipped:
        yield f"Conflicts were not looked for: {feasibility.skipped}.", []
    if check.not_covered:
        yield (
            "Looked at one by one, not for conflicts with others (only labels of single positions are, not "
            "transitions, segments, whole sequences or shares of other events):",
            cut(check.title(number) for number in check.not_covered),
        )


def _disputes(check: Check) -> Iterator[Section]:
    overlap = check.overlap
    if not overlap.shared:
        return
    where = check.unit.removesuffix("s") if overlap.shared == 1 else check.unit
    yield (
        f"Two or more constraints point to a label on {overlap.shared:,} {where}, and disagree on "
        f"{overlap.disputed:,} of these ({rough_percent(overlap.disputed / overlap.shared)})"
        + (":" if overlap.disputes else "."),
        cut(_dispute(check, d) for d in overlap.disputes),
    )


def _dispute(check: Check, dispute: Dispute) -> str:
    text = dispute.examples[0][1]
    return (
        f"{check.title(dispute.first)} / {check.title(dispute.second)}: both fire on {dispute.overlap:,} "
        f"(Jaccard {dispute.jaccard:.2f}), as in: {text}"
    )


def _implied(check: Check) -> Iterator[str]:
    for found in check.implied:
        title, others = check.title(found.number), [repr(check.title(k)) for k in found.by]
        if not others:
            yield f"{title}: always holds"
        elif found.soft:
            yield f"{title}: says the same as {others[0]}, and so doubles its weight"
        else:
            yield f"{title}: follows from {join(others, 'and')}"


def cut(lines: Iterable[str]) -> list[str]:
    """The first few, and how many more there are."""
    found = list(lines)
    return [*found[:MOST], *_more(len(found) - MOST)]


def _more(n: int) -> list[str]:
    return [f"and {n:,} more"] if n > 0 else []


def _counted(n: int, one: str, many: str | None = None) -> list[str]:
    """``2 pairs that dispute labels``: the verb agrees."""
    if not n:
        return []
    if n == 1:
        return [f"1 {one}"]
    noun, _, rest = one.partition(" ")
    plural = many or f"{noun}s"
    verbs = {" never fires": " never fire", " disputes": " dispute", " says": " say"}
    for single, several in verbs.items():
        rest = f" {rest}".replace(single, several).strip()
    return [f"{n:,} {plural} {rest}".rstrip()]


def _of(n: int, whole: int, noun: str) -> str:
    return f"{n:,} of {whole:,} {noun} ({rough_percent(n / whole if whole else 0.0)})"
