"""The coverage section: on how much of the data conditions fire."""

from __future__ import annotations

from tiltfit.report.account import MOST_CONDITIONS, Account, Coverage
from tiltfit.report.html.charts import WIDTH, label, rect, svg
from tiltfit.report.html.element import Element, Node, element
from tiltfit.report.html.layout import caption, count, figure, percent, section

_NEVER = 5  # constraints named that never fire


def coverage_section(account: Account) -> Element:
    found = account.coverage
    if found.unknown is not None:
        why = f"Where the constraints apply could not be found on these data: {found.unknown}"
        return section("coverage", "Coverage", element("p", why))
    never = None
    if found.never:
        some = "; ".join(f"“{title}”" for title in found.never[:_NEVER])
        more = f"; and {len(found.never) - _NEVER} more" if len(found.never) > _NEVER else ""
        who = "One constraint never fires" if len(found.never) == 1 else f"{len(found.never)} constraints never fire"
        never = element("p", f"{who} here: {some}{more}.")
    return section(
        "coverage",
        "Coverage",
        element("p", _lead(account, found)),
        figure(_bar(found, account.unit), caption(
            f"{account.unit.capitalize()} by the number of conditions that fire there. About the others the model "
            "knows only what it generalises from these.")),
        never,
    )  # fmt: skip


def _lead(account: Account, found: Coverage) -> str:
    of_all = f"Some condition fires on {percent(found.share)} of {sum(found.depth):,} {account.unit}"
    if account.sequences is None:
        return f"{of_all}."
    reached = percent(found.instances / max(1, found.all_instances))
    return f"{of_all}, in {reached} of {count(found.all_instances, 'sequence')}."


def _bar(found: Coverage, unit: str) -> Element:
    """Return one bar in parts; each part has its number and share below."""
    total, at = sum(found.depth), 4.0
    room = WIDTH - 8
    names = ["none", *(str(k) for k in range(1, MOST_CONDITIONS)), f"{MOST_CONDITIONS} or more"]
    nodes: list[Node] = []
    for k, (n, name) in enumerate(zip(found.depth, names, strict=True)):
        width = room * n / max(1, total)
        nodes.append(rect(at, 6, width - 1, 26, f"part p{k}"))
        x = 4.0 + room * k / len(names)
        nodes.append(rect(x, 46, 10, 10, f"part p{k}"))
        nodes.append(label(name, x + 15, 55, "start", "name"))
        nodes.append(label(f"{n:,} ({percent(n / max(1, total))})", x, 73, "start"))
        at += width
    counts = ", ".join(f"{name}: {n:,}" for n, name in zip(found.depth, names, strict=True))
    return svg(f"{unit.capitalize()} by the number of conditions that fire: {counts}", nodes, 80.0)
