"""Of how much the constraints speak at all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tiltfit.check.data import Data
from tiltfit.check.support import find_supports, places_of
from tiltfit.errors import TiltfitError
from tiltfit.markup.element import Element, Node, element
from tiltfit.pages.account import Account
from tiltfit.pages.axes import WIDTH, label, rect, svg
from tiltfit.pages.layout import caption, count, figure, percent, section

_MOST = 3  # as many constraints or more share a part of the bar
_NEVER = 5  # constraints named that find nothing


@dataclass(frozen=True)
class Coverage:
    """``depth[k]``: on how many positions k conditions fire, the last entry ``_MOST`` or more. ``never``: titles of the
    constraints whose condition fires nowhere here. ``instances`` of ``all_instances`` documents or sequences have a
    position on which one fires."""

    depth: tuple[int, ...]
    instances: int
    all_instances: int
    never: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """The share of documents, rows or tokens on which some condition fires."""
        return 1.0 - self.depth[0] / max(1, sum(self.depth))


def coverage(account: Account) -> Coverage | str:
    """Where conditions fire; or why that cannot be told. Statements without a condition speak of everything and do not
    count."""
    constraints = account.estimator._constraints
    X = account.X if account.sequences is None else account.sequences.without_empty()
    try:
        data = Data.of(constraints, X, None, getattr(account.estimator, "feature_names", None))
        supports = find_supports(constraints, data)
    except TiltfitError as error:
        return str(error)
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
    depth = np.bincount(np.minimum(firing, _MOST), minlength=_MOST + 1)
    reached = _instances(firing > 0, data)
    return Coverage(tuple(depth.tolist()), reached, len(data.sample.structure), tuple(never))


def _instances(touched: npt.NDArray[np.bool_], data: Data) -> int:
    return len(np.unique(data.sample.instance[touched]))


def coverage_section(account: Account, found: Coverage | str) -> Element:
    if isinstance(found, str):
        why = f"Where the constraints apply cannot be told on these data: {found}"
        return section("coverage", "Coverage", element("p", why))
    never = None
    if found.never:
        some = "; ".join(f"“{title}”" for title in found.never[:_NEVER])
        more = f"; and {len(found.never) - _NEVER} more" if len(found.never) > _NEVER else ""
        who = "One constraint finds" if len(found.never) == 1 else f"{len(found.never)} constraints find"
        never = element("p", f"{who} nothing here: {some}{more}.")
    return section(
        "coverage",
        "Coverage",
        element("p", _lead(account, found)),
        figure(_bar(found, account.unit), caption(
            f"{account.unit.capitalize()} by the number of conditions that fire there. Of the others the model knows "
            "only what it carries over from these.")),
        never,
    )  # fmt: skip


def _lead(account: Account, found: Coverage) -> str:
    of_all = f"Some condition fires on {percent(found.share)} of {sum(found.depth):,} {account.unit}"
    if account.sequences is None:
        return f"{of_all}."
    reached = percent(found.instances / max(1, found.all_instances))
    return f"{of_all}, in {reached} of {count(found.all_instances, 'sequence')}."


def _bar(found: Coverage, unit: str) -> Element:
    """One bar in parts; each part says its number and share below."""
    total, at = sum(found.depth), 4.0
    room = WIDTH - 8
    names = ["none", *(str(k) for k in range(1, _MOST)), f"{_MOST} or more"]
    nodes: list[Node] = []
    for k, (n, name) in enumerate(zip(found.depth, names, strict=True)):
        width = room * n / max(1, total)
        nodes.append(rect(at, 6, width - 1, 26, f"part p{k}"))
        x = 4.0 + room * k / len(names)
        nodes.append(rect(x, 46, 10, 10, f"part p{k}"))
        nodes.append(label(name, x + 15, 55, "start", "name"))
        nodes.append(label(f"{n:,} ({percent(n / max(1, total))})", x, 73, "start"))
        at += width
    told = ", ".join(f"{name}: {n:,}" for n, name in zip(found.depth, names, strict=True))
    return svg(f"{unit.capitalize()} by the number of conditions that fire: {told}", nodes, 80.0)
