"""Scatter plots of two metrics of every policy, as a self-contained HTML page."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from vulcan.errors import UserError
from vulcan.files import write_output
from vulcan.results.report.figures import plotly_script
from vulcan.task import Metrics, Picture

_SYMBOLS = {"candidate": "star", "baseline": "circle", "oracle": "diamond-open"}
_SIZES = {"candidate": 18, "baseline": 11, "oracle": 12}
_POSITIONS = ("top center", "bottom center", "middle right", "middle left")
"""Positions of labels, in turn, as policies are often close to each other."""
_MEAN = "mean of all instances"


@dataclass(frozen=True, slots=True)
class PolicyMetrics:
    """A policy's metrics in the order of the instances; `kind` is candidate, baseline or oracle."""

    policy: str
    kind: str
    metrics: Sequence[Metrics]


def write_pictures(
    path: Path, pictures: Sequence[Picture], instances: Sequence[str], measured: Sequence[PolicyMetrics], title: str
) -> None:
    """Write a page with each picture: one point per policy, for the mean over instances or for a chosen one.

    Means are of the metric itself, not of a score. Raises UserError where there is no picture, the file cannot be
    written, or a metric of a picture was not measured.
    """
    if not pictures:
        raise UserError("the task declares no picture to plot; give it pictures=(Picture(...),) in its task.py")
    figures = [
        figure_of(picture, instances, measured).to_html(
            include_plotlyjs=False, full_html=False, div_id=f"picture-{number}", config={"displaylogo": False}
        )
        for number, picture in enumerate(pictures, 1)
    ]
    heading = html.escape(title)
    page = (
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{heading}</title>\n'
        f"<script>{plotly_script()}</script>\n"
        "<style>body { font: 15px sans-serif; margin: 1.5rem; max-width: 72rem }</style></head>\n"
        f"<body>\n<h1>{heading}</h1>\n{''.join(figures)}\n</body>\n</html>\n"
    )
    write_output(path, page)


def figure_of(picture: Picture, instances: Sequence[str], measured: Sequence[PolicyMetrics]) -> Any:
    """Return the plotly figure of one picture, with a menu of the instances where there are several."""
    from plotly import graph_objects as go

    views = _views(picture, instances, measured)
    least = _least(picture, views)
    figure = go.Figure()
    for number, (_, points) in enumerate(views.items()):
        for policy, (x, y) in zip(measured, points, strict=True):
            shown = max(x, least) if picture.x_log else x
            figure.add_trace(
                go.Scatter(
                    x=[shown],
                    y=[y],
                    name=_label(policy, measured),
                    text=[policy.policy],
                    mode="markers+text",
                    textposition=_POSITIONS[measured.index(policy) % len(_POSITIONS)],
                    visible=number == 0,
                    marker={"symbol": _SYMBOLS.get(policy.kind, "circle"), "size": _SIZES.get(policy.kind, 11)},
                    hovertemplate=f"{html.escape(policy.policy)} ({policy.kind})<br>"
                    f"{html.escape(picture.x_label)}: {x:.4g}<br>"
                    f"{html.escape(picture.y_label)}: {y:.4g}<extra></extra>",
                )
            )
    figure.update_layout(
        title=_titled(picture, next(iter(views))),
        template="plotly_white",
        height=640,
        colorway=["#c0392b", "#2c6fbb", "#2e8b57", "#8e44ad", "#d4841c", "#16828a", "#7f5539", "#5c6b73", "#b0307a"],
        margin={"t": 110},
    )
    figure.update_xaxes(
        title=picture.x_label,
        type="log" if picture.x_log else "linear",
        autorange="reversed" if picture.x_reversed else True,
    )
    figure.update_yaxes(title=picture.y_label, rangemode="tozero")
    if len(views) > 1:
        figure.update_layout(updatemenus=[_menu(picture, list(views), len(measured))])
    return figure


def _label(policy: PolicyMetrics, measured: Sequence[PolicyMetrics]) -> str:
    """Return the policy's name, with its kind if another one has the same name."""
    alone = sum(other.policy == policy.policy for other in measured) == 1
    return policy.policy if alone else f"{policy.policy} ({policy.kind})"


def _views(
    picture: Picture, instances: Sequence[str], measured: Sequence[PolicyMetrics]
) -> Mapping[str, list[tuple[float, float]]]:
    """Return the points of all policies by view: the mean (if there are several instances), then each instance."""
    for policy in measured:
        for name in (picture.x, picture.y):
            if any(name not in metrics for metrics in policy.metrics):
                raise UserError(f"picture {picture.name!r}: {policy.policy} has no metric {name!r}")
    single = {
        instance: [(p.metrics[number][picture.x], p.metrics[number][picture.y]) for p in measured]
        for number, instance in enumerate(instances)
    }
    if len(instances) == 1:
        return single
    mean = [(fmean(m[picture.x] for m in p.metrics), fmean(m[picture.y] for m in p.metrics)) for p in measured]
    return {f"{_MEAN} ({len(instances)})": mean, **single}


def _least(picture: Picture, views: Mapping[str, Sequence[tuple[float, float]]]) -> float:
    """Return where to draw 0 on a logarithmic axis: at half of the smallest positive value."""
    return min((x for points in views.values() for x, _ in points if x > 0), default=1.0) / 2


def _menu(picture: Picture, views: Sequence[str], policies: int) -> dict[str, Any]:
    return {
        "x": 1.0,
        "xanchor": "right",
        "y": 1.14,
        "yanchor": "bottom",
        "buttons": [
            {
                "label": html.escape(view),
                "method": "update",
                "args": [
                    {"visible": [chosen == number for number in range(len(views)) for _ in range(policies)]},
                    {"title.text": _titled(picture, view)},
                ],
            }
            for chosen, view in enumerate(views)
        ],
    }


def _titled(picture: Picture, view: str) -> str:
    return f"{html.escape(picture.name)}: {html.escape(view)}"
