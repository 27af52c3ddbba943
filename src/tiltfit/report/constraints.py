"""The constraint report: the targets, the model, the projection, and the price of each constraint."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from tiltfit.errors import UnmetConstraintWarning
from tiltfit.report.entry import Entry, drift_of, numbers_of, percent, sentence_of
from tiltfit.report.sampling import warn_sampling

if TYPE_CHECKING:
    from rich.table import Table

_FAR = 0.25  # a soft constraint missed by this much has hardly had an effect


@dataclass(frozen=True)
class ConstraintReport:
    """One entry per constraint, in the order given. ``print`` it, or use ``to_dicts()`` and ``to_table()``."""

    entries: tuple[Entry, ...]

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __getitem__(self, index: int) -> Entry:
        return self.entries[index]

    @property
    def worst(self) -> Entry | None:
        """The constraint that is missed most: by q, or by the model where it was not followed."""
        return max(self.entries, key=lambda e: e.judged, default=None)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return rows for JSON."""
        return [asdict(entry) | {"verdict": entry.verdict, "meaning": entry.meaning} for entry in self.entries]

    @staticmethod
    def from_dicts(rows: Sequence[dict[str, Any]]) -> ConstraintReport:
        """Return the inverse of ``to_dicts``."""
        derived = ("verdict", "meaning")
        return ConstraintReport(tuple(Entry(**{k: v for k, v in row.items() if k not in derived}) for row in rows))

    def to_table(self) -> Table:
        """Return a table for the terminal (rich)."""
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        table.add_column("constraint", ratio=1)
        streamed = any(entry.drift is not None for entry in self.entries)
        for heading in ("support", "model", "projected", "price", *(["drift"] if streamed else [])):
            table.add_column(heading, justify="right", no_wrap=True)
        table.add_column("verdict", max_width=26)
        for entry in self.entries:
            style = {"violated": "red", "rests": "yellow", "missed": ""}.get(entry.status, "")
            verdict = entry.verdict if entry.sampled is None else f"{entry.verdict}; {entry.sampled}"
            drift = [drift_of(entry)] if streamed else []
            table.add_row(Text(sentence_of(entry)), *numbers_of(entry), *drift, Text(verdict, style=style))
        return table

    def _repr_html_(self) -> str:
        from tiltfit.report.html.constraints import constraint_table
        from tiltfit.report.html.tables import fragment

        return fragment(constraint_table(self))

    def __str__(self) -> str:
        if not self.entries:
            return "no constraints"
        lines = []
        for entry in self.entries:
            lines.append(sentence_of(entry))
            support, model, projected, price = numbers_of(entry)
            if entry.projected is None:
                lines.append(f"    support {support}; {entry.verdict}")
            else:
                groups = f" in {entry.groups} groups" if entry.groups > 1 else ""
                drift = "" if entry.drift is None else f", drift {drift_of(entry)}"
                of_model = f"model {model}, " if model else ""
                lines.append(
                    f"    {of_model}projected {projected}, price {price}, "
                    f"support {support}{groups}{drift}; {entry.verdict}"
                    + ("" if entry.sampled is None else f"; {entry.sampled}")
                )
        return "\n".join(lines)

    def warn_unmet(self, stacklevel: int = 1, *, vectorizer: bool = True, followed: bool = True) -> None:
        """Warn about hard constraints that do not hold, and if most soft ones do not (unless the model does not follow
        them). ``vectorizer``: whether the model has one that could be changed."""
        unmet = sorted((e for e in self.entries if e.status == "violated"), key=lambda e: -e.violation)
        if unmet:
            names = "; ".join(f"{e.title!r} is off by {e.miss}" for e in unmet[:3])
            more = f"; and {len(unmet) - 3} more" if len(unmet) > 3 else ""
            message = (
                f"Hard constraints do not hold, so some of them contradict each other on this data: {names}{more}. "
                "Relax a target, or give one of them slack=. ConstraintSet.check(X), or tiltfit check, shows the "
                "smallest change that would help."
            )
            warnings.warn(UnmetConstraintWarning(message, constraint=unmet[0].title), stacklevel=stacklevel + 1)
        soft = [e for e in self.entries if e.status in ("met", "missed") and e.price is not None]
        far = [e for e in soft if e.status == "missed" and e.violation > _FAR]
        advice = ", scale the features up, or let vectorizer='tfidf' do it" if vectorizer else ""
        if followed and len(far) > len(soft) / 2:
            warnings.warn(
                f"Most constraints ({len(far)} of {len(soft)}) are missed by more than {percent(_FAR)}. Either the "
                "targets are far from the data, or the model can hardly move. In that case the ridge alpha= is strong "
                f"for features of this scale (or beta= is soft): lower it{advice}.",
                UnmetConstraintWarning,
                stacklevel=stacklevel + 1,
            )

    def warn_sampling(self, stacklevel: int = 1) -> None:
        """Warn about constraints that were not sampled well."""
        found = [(e.title, e.effective, e.r_hat) for e in self.entries]
        warn_sampling([(t, n, r) for t, n, r in found if n is not None and r is not None], stacklevel=stacklevel + 1)

    @property
    def violated(self) -> bool:
        """True if some hard constraint does not hold."""
        return any(e.status == "violated" for e in self.entries)
