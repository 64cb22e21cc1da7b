"""The HTML report: one self-contained page, with plotly.js inlined, that opens without a network.

Each point of a figure carries the row of the store that it was read from.
"""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, quantiles
from typing import Any

import jinja2
from markupsafe import Markup

from vulcan.evaluator import SplitName
from vulcan.results.candidate import findings_about
from vulcan.results.findings_html import STYLE, by_instance
from vulcan.results.report.data import Report, difference, progress
from vulcan.searches.evidence import SPLITS

_WINNER, _BASELINE, _BOUND, _CONTROL, _PLAIN = "#c0392b", "#2c6fbb", "#7a7a7a", "#b8860b", "#8aa0b4"


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


_MAX_EXACT = 2.0**53
_MAX_LABEL = 28
_MAX_NUMBERED = 16
"""Most columns of a heat map whose cells show their numbers."""
_MIN_ALIGNED, _MAX_ALIGNED = 5e-5, 1e5

_SECTIONS = {
    "result": "Result",
    "progress": "Progress",
    "instances": "Instances",
    "winner": "Program",
    "why": "Findings",
    "lineage": "Lineage",
    "tradeoff": "Complexity",
    "failures": "Failures",
    "cost": "Cost",
    "setup": "Set-up",
    "every": "Every candidate",
}
_COLUMNS = ("candidate", "verdict", "score", "origin", "operator", "parents", "size", "operations", "proposal", "turn")
MEANINGS = {
    "scored": "measured on every training instance",
    "stopped": "shown by cheaper scores not to be among the best",
    "duplicate": "equal to an earlier program",
    "same-decisions": "of the same decisions and measurements as an earlier one",
    "rejected": "not in the language, or refuted in a required property",
    "timeout": "over the time limit",
    "memory": "over the memory limit",
    "crashed": "the cause of its process's death",
    "failed": "an error while it was scored",
    "no-reply": "never given: the model did not reply",
}
"""Readable meaning of each verdict."""


def html_page(report: Report, document: Mapping[str, Any]) -> str:
    """Render the page, with figures, data and scripts inlined; text written by a model is escaped."""
    drawn = figures(report, document)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(PLACE), autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.filters.update(figure=figure_text, aligned=aligned, json=_json, diff_kind=diff_kind)
    splits = [split for split in SPLITS if document[split] is not None]
    return environment.get_template("report.html.j2").render(
        doc=document,
        title=f"{document['task']}: a search for a policy",
        sections=[(id, name) for id, name in _SECTIONS.items() if id != "why" or report.record.workload],
        splits=splits,
        standings=standings(report, document, splits),
        winner_rows=_winner_rows(report, splits),
        candidate_rows=report.rows.judged,
        verdict_meanings=MEANINGS,
        columns=_COLUMNS,
        chart=lambda name, caption: _chart(name, caption, drawn),
        findings=_findings(report),
        style=Markup(page_text("report.css") + STYLE),
        script=Markup(page_text("figures.js") + page_text("report.js")),
        plotly=Markup(plotly_script()),
        data=_embedded(report, document, drawn),
    )


def standings(report: Report, document: Mapping[str, Any], splits: Sequence[SplitName]) -> list[dict[str, Any]]:
    """Return the winner, the control, the baselines and the oracles, sorted by score on the last split, best first.

    Each has its scores, and the rows that they were read from, by split.
    """
    lines = []
    if document["best"] is not None:
        scores = {split: document[split]["score"] for split in splits}
        name = f"candidate {document['best']['candidate']}"
        lines.append(_line(name, "candidate", scores, _winner_rows(report, splits)))
    if document["best"] is not None:
        for name in {name: None for split in splits for name in document[split]["starts"]}:
            scores = {split: document[split]["starts"].get(name) for split in splits}
            lines.append(_line(f"start: {name}", "start", scores, dict.fromkeys(splits)))
    if document["control"] is not None:
        scores = {split: document["control"]["scores"][split] for split in splits}
        lines.append(_line("best-of-n", "control", scores, dict.fromkeys(splits, report.rows.control)))
    for kind in ("baseline", "oracle"):
        known = {policy: None for split in splits for policy in document[split][f"{kind}s"]}
        for policy in known:
            scores = {split: document[split][f"{kind}s"].get(policy) for split in splits}
            rows = {split: report.rows.baselines.get((policy, split)) for split in splits}
            lines.append(_line(policy, kind, scores, rows))
    return sorted(lines, key=lambda line: _order(line["scores"], splits))


def figure_text(value: float | int) -> str:
    """Format a number: floats to five significant digits, integers with thousands separators."""
    if isinstance(value, float) and value.is_integer() and abs(value) < _MAX_EXACT:
        value = int(value)  # a count that an evaluator reports as a float
    return f"{value:,}" if isinstance(value, int) else f"{value:.5g}"


def aligned(value: float | int) -> str:
    """Format a number for a column: floats with four decimals, so that their points align."""
    if isinstance(value, int) or not _MIN_ALIGNED <= abs(value) < _MAX_ALIGNED:
        return figure_text(value) if value else f"{value:.4f}" if isinstance(value, float) else "0"
    return f"{value:.4f}"


def diff_kind(line: str) -> str:
    """Return the CSS class of a line of a unified diff."""
    if line.startswith(("+++", "---", "@@")):
        return "place"
    return {"+": "added", "-": "removed"}.get(line[:1], "kept")


PLACE = Path(__file__).parent / "page"


def page_text(name: str) -> str:
    """Return a file of the page."""
    return (PLACE / name).read_text(encoding="utf-8")


def _line(policy: str, kind: str, scores: Mapping[SplitName, Any], rows: Mapping[SplitName, Any]) -> dict[str, Any]:
    return {"policy": policy, "kind": kind, "scores": scores, "rows": rows}


def _order(scores: Mapping[SplitName, float | None], splits: Sequence[SplitName]) -> float:
    last = scores[splits[-1]] if splits else None
    return float("inf") if last is None else -last


def _winner_rows(report: Report, splits: Sequence[SplitName]) -> dict[SplitName, int | None]:
    if report.winner is None:
        return dict.fromkeys(splits)
    return {split: report.rows.of_candidate(report.winner.candidate, split) for split in splits}


def _findings(report: Report) -> Markup:
    """Return the findings about the workload and the winner that the run recorded, drawn."""
    record = report.record
    about = findings_about(record, report.winner.candidate) if report.winner else ()
    return Markup(by_instance(record.workload.located if record.workload else (), about, "The winner"))


def _chart(name: str, caption: str, drawn: Mapping[str, Any]) -> Markup:
    if name not in drawn:
        return Markup('<p class="note">There is nothing to draw yet.</p>')
    return Markup('<figure><div id="figure-{}"></div><figcaption>{}</figcaption></figure>').format(name, caption)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _embedded(report: Report, document: Mapping[str, Any], drawn: Mapping[str, Any]) -> Markup:
    """Return the data for the page's script as JSON that cannot close its `script` element."""
    record = report.record
    by_proposal = {(call.proposal, call.turn): call.model for call in report.data.calls}
    candidates = [
        {
            **line,
            "rules": list((judged := record.candidates[line["candidate"]]).rules),
            "model": by_proposal.get((judged.proposal, judged.turn)),
        }
        for line in document["all_candidates"]
    ]
    calls = [
        {"proposal": call.proposal, "turn": call.turn, "model": call.model, "reply": call.reply}
        for call in report.data.calls
    ]
    data = {
        "rows": [row.document() for row in report.rows.all],
        "calls": calls,
        "candidates": candidates,
        "columns": _COLUMNS,
        "differences": {number: text for number in record.candidates if (text := difference(record, number))},
        "figures": {name: json.loads(figure.to_json()) for name, figure in drawn.items()},
    }
    return Markup(harmless(json.dumps(data, allow_nan=False)))


def harmless(text: str) -> str:
    """Escape every character of JSON that has a meaning in HTML; the JSON value is unchanged."""
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
