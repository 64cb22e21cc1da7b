"""The report of several runs of one task: their verdicts side by side, their progress laid over one another."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from vulcan import svg
from vulcan.documents.report import ComparedRun, ComparisonDocument, Difference, SeedsDocument
from vulcan.errors import UserError
from vulcan.results import figures
from vulcan.results.figures import Curve
from vulcan.results.report.data import Report, progress
from vulcan.results.report.html_page import PLACE, aligned, inlined, page_templates
from vulcan.results.run import state_of
from vulcan.results.seeds import seed_result, seeds_document
from vulcan.searches.evidence import SPLITS
from vulcan.svg import Figure

_OF_THE_MACHINE = ("seed", "executor", "workers")


def configuration(config: Mapping[str, Any]) -> str:
    """Return a digest of a search's configuration without its seed: equal for runs that are seeds of one another."""
    same = {name: value for name, value in config.items() if name not in _OF_THE_MACHINE}
    return hashlib.sha256(json.dumps(same, sort_keys=True, default=str).encode()).hexdigest()[:12]


def comparison_document(reports: Sequence[Report]) -> ComparisonDocument:
    """Return the comparison as JSON. Raises UserError for runs of different tasks or objectives."""
    for what in ("task", "objective"):
        known = {str(report.record.config.get(what)): report.path.name for report in reports}
        if len(known) > 1:
            first, second = list(known.items())[:2]
            raise UserError(
                f"{first[1]} has the {what} {first[0]!r}, {second[1]} {second[0]!r}: their scores cannot be compared"
            )
    return {
        "task": str(reports[0].record.config.get("task")),
        "objective": str(reports[0].record.config.get("objective")),
        "same_instances": all(one.record.instances == reports[0].record.instances for one in reports),
        "runs": [_compared(report) for report in reports],
        "differences": _differences(reports),
        "together": _together(reports),
    }


def _together(reports: Sequence[Report]) -> SeedsDocument | None:
    """Return what finished searches that differ in their seed alone say together; None for others."""
    configurations = {configuration(report.record.config) for report in reports}
    seeds = {report.record.config.get("seed") for report in reports}
    if len(configurations) > 1 or len(seeds) < len(reports):
        return None
    if any(state_of(report.record) != "finished" for report in reports):
        return None
    if any(report.record.instances != reports[0].record.instances for report in reports):
        return None
    return seeds_document([seed_result(report.path, report.record, report.scorer) for report in reports])


def _compared(report: Report) -> ComparedRun:
    return {
        **report.summary,
        "seed": report.record.config.get("seed"),
        "configuration": configuration(report.record.config),
        "progress": list(progress(report)),
    }


def _differences(reports: Sequence[Report]) -> list[Difference]:
    """Return the options in which the searches differ, with their values in the order of runs."""
    configs = [report.record.config for report in reports]
    names = dict.fromkeys(name for config in configs for name in config)
    values = {name: [json.dumps(config.get(name), ensure_ascii=False) for config in configs] for name in names}
    return [{"option": name, "values": found} for name, found in values.items() if len(set(found)) > 1]


def _name(run: ComparedRun) -> str:
    return run["run"].rstrip("/").rpartition("/")[2]


def _judged(run: ComparedRun) -> int:
    return sum(run["candidates"].values())


def _overlay(document: ComparisonDocument) -> Figure | None:
    """Draw the best train score so far over candidates, a line per run; seeds of a configuration share a colour."""
    curves = [
        Curve(
            f"{_name(run)}, seed {run['seed']}",
            run["configuration"],
            tuple((float(p["candidate"]), p["best"]) for p in run["progress"] if p["best"] is not None),
            float(_judged(run)),
        )
        for run in document["runs"]
    ]
    trained = (run["train"] and run["train"]["best_baseline"] for run in document["runs"])
    known = {baseline["policy"]: baseline["score"] for baseline in trained if baseline}
    return figures.curves("The best scores so far", curves, known if document["same_instances"] else {})


_COLUMNS = ("run", "verdict", "seed", "candidates", "dollars", *SPLITS, "gain on validation", "95% interval")


def _cells(run: ComparedRun) -> list[str]:
    def shown(value: float | None, form: str = ".4f") -> str:
        return "-" if value is None else f"{value:{form}}"

    gain = next((gain for gain in run["gains"] if gain["split"] == "validation"), None)
    interval = gain and gain["interval"]
    return [
        _name(run),
        run["verdict"] or run["state"],
        str(run["seed"]),
        f"{_judged(run):,}",
        shown(run["cost"]["dollars"], ".2f"),
        *(shown(scores and scores["score"]) for scores in (run["train"], run["validation"], run["test"])),
        shown(gain and gain["shrunk"], "+.4f"),
        "-" if interval is None else f"{interval['low']:.4f} to {interval['high']:.4f}",
    ]


def comparison_page(document: ComparisonDocument, head: Markup | None = None) -> str:
    """Render the comparison as one HTML page, self-contained unless its style is in `head`; models' text is escaped."""
    drawn = _overlay(document)
    return (
        page_templates(PLACE, aligned=aligned)
        .get_template("comparison.html.j2")
        .render(
            doc=document,
            columns=_COLUMNS,
            lines=[_cells(run) for run in document["runs"]],
            named=[(_name(run), run) for run in document["runs"]],
            drawn=None if drawn is None else Markup(drawn.svg()),
            head=head or inlined(svg.STYLE),
        )
    )


def comparison_text(reports: Sequence[Report], form: str) -> str:
    """Render the comparison in a format: html or json. Raises UserError."""
    document = comparison_document(reports)
    return comparison_page(document) if form == "html" else json.dumps(document, indent=2, allow_nan=False) + "\n"
