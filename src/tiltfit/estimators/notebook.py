"""The view of an estimator in notebooks: scikit-learn's diagram, and below it the report on the constraints."""

from __future__ import annotations

from typing import Any

_MOST = 30  # rows


class ShownWithReport:
    """Before scikit-learn's ``BaseEstimator`` among the bases."""

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + report_html(self)  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += report_html(self)
        return bundle


def report_html(estimator: Any) -> str:
    """The constraint table of a fitted estimator, with targets; nothing before it is fitted."""
    report = vars(estimator).get("constraint_report_")
    if not report:
        return ""
    from tiltfit.report.html.constraints import constraint_table
    from tiltfit.report.html.layout import count, fragment, left_out
    from tiltfit.report.targets import targets_of

    targets = targets_of(estimator.constraints_, estimator.classes_.tolist(), estimator.unit_)
    ended = "converged" if estimator.converged_ else "not converged"
    more, caption = len(report) - _MOST, f"{count(len(report), 'statement')}, {ended}"
    return fragment(
        constraint_table(report, targets, caption=caption, only=range(min(_MOST, len(report)))),
        left_out(more, "statement"),
    )
