"""The figures of a run's page, and its table of operators."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any
from urllib.parse import quote

from vulcan.dashboard.live_run import LiveRun
from vulcan.errors import UserError, did_you_mean
from vulcan.results import figures
from vulcan.results.behaviour_map import behaviour
from vulcan.results.report.comparison import configuration
from vulcan.results.run import scorer_of
from vulcan.svg import Figure

FIGURES = ("progress", "instances", "constants", "behaviour", "descent")
UNITS = ("candidate", "minutes", "dollars", "tokens")


def figure_of(
    run: LiveRun, name: str, query: Mapping[str, str], candidate: int, others: Sequence[LiveRun]
) -> Figure | None:
    """Return a figure of a run, whose candidates lead to their pages; None where too little has a score.

    `candidate` is the one that it is about, 0 for the best; `others` are runs whose curves are laid over. Raises
    UserError.
    """
    if name not in FIGURES:
        raise UserError(f"no figure {name[:20]!r}{did_you_mean(name, FIGURES)} (known: {', '.join(FIGURES)})")
    unit = query.get("over", "candidate")
    if unit not in UNITS:
        raise UserError(f"no axis {unit[:20]!r}{did_you_mean(unit, UNITS)} (known: {', '.join(UNITS)})")
    curves = []
    for other in others:
        with other.lock:  # one lock at a time
            of = configuration(other.record.config)
            curves.append(figures.curve_of(other.record, other.name, of, _place_of(other, unit)))
    with run.lock:
        if candidate:
            run.judged(candidate)
        return _drawn(run, name, query, unit, candidate or None, curves)


def _drawn(
    run: LiveRun,
    name: str,
    query: Mapping[str, str],
    unit: str,
    candidate: int | None,
    curves: Sequence[figures.Curve],
) -> Figure | None:
    record = run.record

    def link(number: int) -> str:
        return f"/runs/{quote(run.name, safe='')}/candidates/{number}"

    match name:
        case "progress":
            place, zoom = _place_of(run, unit), _zoom(query.get("zoom", ""))
            return figures.best_score(record, place, unit, curves, candidate, link, zoom)
        case "instances":
            return figures.by_instance(record, scorer_of(record), candidate)
        case "constants":
            return figures.constants(record, candidate)
        case "descent":
            best = query.get("best", "")
            return figures.descent(record, int(best) if best.isdecimal() and len(best) < 5 else 1, link)
    mapped = behaviour(record, scorer_of(record), query.get("across", ""), query.get("up", ""), link)
    if mapped is None:
        return None
    figure, axes, shown = mapped
    told = f' data-axes="{escape(json.dumps(axes))}" data-shown="{escape(json.dumps(shown))}"'
    return replace(figure, data=figure.data + told)


def _place_of(run: LiveRun, unit: str) -> Callable[[int], float]:
    """Return where a candidate is on an axis of this unit."""
    return float if unit == "candidate" else lambda number: float(run.line_of(number)[unit])


def _zoom(text: str) -> tuple[float, float] | None:
    """Return the ends of the axis in a text such as `10:20`; None for any other."""
    try:
        low, high = map(float, text.split(":"))
    except ValueError:
        return None
    return (low, high) if math.isfinite(low) and math.isfinite(high) and low < high else None


def _gain(lines: Sequence[Mapping[str, Any]], line: Mapping[str, Any]) -> float | None:
    """Return what a candidate gained over the best of its parents; None without both scores."""
    parents = [score for parent in line["parents"] if (score := lines[parent - 1]["score"]) is not None]
    return None if line["score"] is None or not parents else line["score"] - max(parents)


def operators(lines: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return, for each operator and model, its candidates, how many were scored, and what they gained.

    `gain` is the sum of the steps by which its candidates raised the best score of the run.
    """
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    raised: dict[int, float] = {}
    best: float | None = None
    for line in lines:
        found.setdefault((line["operator"], line["model"] or line["origin"]), []).append(line)
        if line["verdict"] == "scored" and line["score"] is not None and (best is None or line["score"] > best):
            raised[line["candidate"]] = 0.0 if best is None else line["score"] - best
            best = line["score"]
    rows: list[dict[str, Any]] = [
        {
            "operator": operator,
            "model": model,
            "proposals": len({line["proposal"] for line in made}),
            "accepted": sum(line["verdict"] == "scored" for line in made) / len(made),
            "improved": sum((_gain(lines, line) or 0.0) > 0 for line in made),
            "gain": sum(raised.get(line["candidate"], 0.0) for line in made),
        }
        for (operator, model), made in found.items()
    ]
    return sorted(rows, key=lambda row: (-row["gain"], row["operator"], row["model"]))
