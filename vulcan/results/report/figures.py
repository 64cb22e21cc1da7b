"""The report's figures, as plotly draws them. Each point carries the row of the store that it was read from."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from statistics import fmean, quantiles
from typing import Any

from vulcan.results.report.data import Report, progress
from vulcan.searches.evidence import SPLITS

_WINNER, _BASELINE, _ORACLE, _CONTROL, _PLAIN = "#c0392b", "#2c6fbb", "#7a7a7a", "#b8860b", "#8aa0b4"
_MAX_LABEL = 28
_MAX_NUMBERED = 16
"""Maximum number of columns of a heat map whose cells show their numbers."""


def figures(report: Report, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plotly figures by name, without those that would be empty."""
    made = {
        "progress": _progress(report, document),
        "heat": _heat(document["scores"]),
        "lineage": _lineage(report, document),
        "tradeoff": _tradeoff(document),
    }
    return {name: figure for name, figure in made.items() if figure is not None}


def empty_figure(**layout: Any) -> Any:
    """Return a plotly figure without data, in the report's style; the page sets its colours, light or dark."""
    from plotly import graph_objects as go

    figure = go.Figure()
    figure.update_layout(
        template="plotly_white",
        margin={"t": 30, "r": 20, "l": 70, "b": 55},
        height=420,
        font={"family": "system-ui, sans-serif", "size": 13},
        legend={"orientation": "h", "y": 1.12},
        **layout,
    )
    return figure


def focus(figure: Any, scores: Sequence[float], marked: Sequence[float] = ()) -> None:
    """Show the range of the better scores; a double click shows all."""
    low, high = score_range(scores, marked)
    figure.update_yaxes(title="mean score on train", range=[low, high])


def score_range(scores: Sequence[float], marked: Sequence[float] = ()) -> tuple[float, float]:
    """Return limits of an axis that show the upper three quarters of the scores, and all that is marked."""
    usual = quantiles(scores, n=4)[0] if len(scores) > 3 else min(scores)
    low, high = min([usual, *marked]), max([*scores, *marked])
    room = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
    return low - room, high + room


def _progress(report: Report, document: Mapping[str, Any]) -> Any:
    """Plot the best train score so far over candidates and, switched by a button, over dollars."""
    points = document["progress"]
    if not any(point["best"] is not None for point in points):
        return None
    figure = empty_figure()
    axes = {"candidates": "candidate"} | ({"dollars": "dollars"} if document["cost"]["dollars"] else {})
    control: list[Mapping[str, Any]] = []
    if report.control:
        control = [point for point in progress(report.control) if point["best"] is not None]
    for axis in axes.values():
        shown = axis == "candidate"
        scored = [point for point in points if point["score"] is not None]
        figure.add_scatter(
            x=[p[axis] for p in scored],
            y=[p["score"] for p in scored],
            customdata=[p["row"] for p in scored],
            mode="markers",
            marker={"color": _PLAIN, "size": 5},
            name="a candidate",
            visible=shown,
            hovertemplate=f"%{{y:.5g}} at {axis} %{{x}}, row %{{customdata}}<extra></extra>",
        )
        known = [point for point in points if point["best"] is not None]
        figure.add_scatter(
            x=[p[axis] for p in known],
            y=[p["best"] for p in known],
            customdata=[p["row"] for p in known],
            mode="lines",
            line={"color": _WINNER, "width": 2.5, "shape": "hv"},
            name="best so far",
            visible=shown,
            hovertemplate=f"best %{{y:.5g}} at {axis} %{{x}}<extra></extra>",
        )
        figure.add_scatter(
            x=[p[axis] for p in control],
            y=[p["best"] for p in control],
            mode="lines",
            line={"color": _CONTROL, "width": 2, "shape": "hv"},
            name="control (best-of-n) so far",
            visible=shown and bool(control),
            showlegend=bool(control),
            hovertemplate=f"control %{{y:.5g}} at {axis} %{{x}}<extra></extra>",
        )
    best = (document["train"] or {}).get("best_baseline")
    if best is not None:
        figure.add_hline(
            y=best["score"],
            line={"color": _BASELINE, "dash": "dash"},
            annotation={"text": f"best baseline: {html.escape(best['policy'])}", "font": {"color": _BASELINE}},
            annotation_position="bottom right",
        )
    figure.update_xaxes(title="candidate")
    focus(figure, [p["score"] for p in points if p["score"] is not None], [] if best is None else [best["score"]])
    if len(axes) > 1:
        figure.update_layout(updatemenus=[_switch(list(axes), 3, with_control=bool(control))])
    return figure


def _switch(axes: Sequence[str], traces: int, *, with_control: bool) -> dict[str, Any]:
    own = [True, True, with_control][:traces]
    return {
        "type": "buttons",
        "direction": "right",
        "x": 1.0,
        "xanchor": "right",
        "y": 1.2,
        "buttons": [
            {
                "label": f"over {axis}",
                "method": "update",
                "args": [
                    {"visible": [here and n == number for n in range(len(axes)) for here in own]},
                    {"xaxis.title.text": axis},
                ],
            }
            for number, axis in enumerate(axes)
        ],
    }


def _heat(scores: Sequence[Mapping[str, Any]]) -> Any:
    """Plot the winner's lead over each baseline and oracle on every instance, as a heat map."""
    own = {(s["split"], s["instance"]): s["score"] for s in scores if s["kind"] == "candidate"}
    others = [s for s in scores if s["kind"] != "candidate" and (s["split"], s["instance"]) in own]
    if not others:
        return None
    cells = {(s["policy"], s["split"], s["instance"]): s for s in others}
    kinds = {s["policy"]: s["kind"] for s in others}
    leads: dict[str, list[float]] = {}
    for s in others:
        leads.setdefault(s["policy"], []).append(own[s["split"], s["instance"]] - s["score"])
    policies = sorted(kinds, key=lambda p: (kinds[p] != "oracle", fmean(leads[p])), reverse=True)
    columns = sorted(own, key=lambda where: SPLITS.index(where[0]))

    def grid(of: Any) -> list[list[Any]]:
        return [
            [None if (cell := cells.get((p, *where))) is None else of(cell, own[where]) for where in columns]
            for p in policies
        ]

    differences = grid(lambda cell, winner: winner - cell["score"])
    sizes = [abs(v) for row in differences for v in row if v is not None]
    widest = (quantiles(sizes, n=4)[1] if len(sizes) > 1 else sizes[0]) or max(sizes) or 1.0
    figure = empty_figure()
    figure.add_heatmap(
        z=differences,
        zmin=-widest,
        zmax=widest,
        colorscale="RdBu",
        customdata=grid(lambda cell, _: cell["row"]),
        text=grid(lambda cell, winner: f"{cell['score']:.5g}, the winner {winner:.5g}; row {cell['row']}"),
        x=[html.escape(f"{split}: {_short(instance)}") for split, instance in columns],
        y=[html.escape(p if kinds[p] == "baseline" else f"{p} ({kinds[p]})") for p in policies],
        colorbar={"title": "winner minus"},
        hovertemplate="%{y} on %{x}: %{text}<extra></extra>",
        texttemplate="%{z:+.3f}" if len(columns) <= _MAX_NUMBERED else None,
        xgap=1,
        ygap=1,
    )
    named = len(columns) <= 40
    below = 130 if named else 30
    figure.update_layout(height=28 * len(policies) + 80 + below, margin={"l": 170, "b": below, "t": 20, "r": 20})
    figure.update_xaxes(showticklabels=named, tickangle=40, title=None if named else "instances, by split")
    return figure


def _short(name: str) -> str:
    """Shorten a name in its middle, for a label."""
    return name if len(name) <= _MAX_LABEL else f"{name[: _MAX_LABEL // 2]}...{name[-_MAX_LABEL // 2 + 3 :]}"


def _lineage(report: Report, document: Mapping[str, Any]) -> Any:
    """Plot every scored candidate in order, with edges from its parents; the winner's line is red."""
    record = report.record
    scored = {
        c["candidate"]: c for c in document["all_candidates"] if c["verdict"] == "scored" and c["score"] is not None
    }
    if not scored:
        return None
    winning = {step["candidate"] for step in document["history"]}
    plain: list[tuple[int, int]] = []
    red: list[tuple[int, int]] = []
    for number in scored:
        for parent in record.parents_of(number):
            if parent in scored:
                (red if number in winning and parent in winning else plain).append((parent, number))
    figure = empty_figure()
    for edges, colour, name in ((plain, "#d3dae1", "parent and child"), (red, _WINNER, "the winner's line")):
        figure.add_scatter(
            x=[x for a, b in edges for x in (a, b, None)],
            y=[y for a, b in edges for y in (scored[a]["score"], scored[b]["score"], None)],
            mode="lines",
            line={"color": colour, "width": 1 if colour != _WINNER else 2},
            name=name,
            hoverinfo="skip",
        )
    figure.add_scatter(
        x=list(scored),
        y=[c["score"] for c in scored.values()],
        customdata=[c["row"] for c in scored.values()],
        mode="markers",
        name="candidate",
        marker={"size": 6, "color": [_WINNER if n in winning else _PLAIN for n in scored]},
        text=[html.escape(f"{c['operator']}, {c['origin']}") for c in scored.values()],
        hovertemplate="candidate %{x}: %{y:.5g} (%{text})<extra></extra>",
    )
    figure.update_xaxes(title="candidate")
    focus(figure, [c["score"] for c in scored.values()])
    return figure


def _tradeoff(document: Mapping[str, Any]) -> Any:
    """Plot score against program size and against operations per call, with the Pareto fronts."""
    scored = [c for c in document["all_candidates"] if c["verdict"] == "scored" and c["score"] is not None]
    if not scored:
        return None
    figure = empty_figure()
    axes = {"nodes of the program": "size", "operations per call, at most": "operations"}
    for number, axis in enumerate(axes.values()):
        here = [c for c in scored if c[axis] is not None]
        front = not_dominated(here, axis)
        figure.add_scatter(
            x=[c[axis] for c in here],
            y=[c["score"] for c in here],
            customdata=[c["row"] for c in here],
            text=[c["candidate"] for c in here],
            mode="markers",
            marker={"color": _PLAIN, "size": 6},
            name="candidate",
            visible=number == 0,
            hovertemplate="candidate %{text}: %{y:.5g} at %{x}<extra></extra>",
        )
        figure.add_scatter(
            x=[c[axis] for c in front],
            y=[c["score"] for c in front],
            customdata=[c["row"] for c in front],
            text=[c["candidate"] for c in front],
            mode="lines+markers",
            line={"color": _WINNER, "shape": "hv"},
            name="not dominated",
            visible=number == 0,
            hovertemplate="candidate %{text}: %{y:.5g} at %{x}<extra></extra>",
        )
    figure.update_xaxes(title=next(iter(axes)))
    focus(figure, [c["score"] for c in scored])
    figure.update_layout(updatemenus=[_switch(list(axes), 2, with_control=False)])
    return figure


def not_dominated(candidates: Sequence[Mapping[str, Any]], cost: str) -> list[Mapping[str, Any]]:
    """Return the Pareto front of score over `cost`, sorted by cost; of equals the first."""
    front: list[Mapping[str, Any]] = []
    for candidate in sorted(candidates, key=lambda c: (c[cost], -c["score"])):
        if not front or candidate["score"] > front[-1]["score"]:
            front.append(candidate)
    return front


def plotly_script() -> str:
    """Return the text of plotly.js, for a `script` element.

    Its credits of map services link to other hosts. Their slashes are escaped, which JavaScript reads alike, so that
    a scan of the page for outside addresses finds none.
    """
    from plotly.offline import get_plotlyjs

    text: str = get_plotlyjs()
    for scheme in ("http", "https"):
        for attribute in ("href", "src"):
            text = text.replace(f'{attribute}="{scheme}://', f'{attribute}="{scheme}:\\/\\/')
    return text
