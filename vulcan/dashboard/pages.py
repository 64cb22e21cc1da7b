"""The pages that a person opens. What a model wrote is text in them, and never markup."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from vulcan.dashboard.api import desk_of, error_line, number_of, run_of
from vulcan.dashboard.control import BUDGETS
from vulcan.dashboard.live_run import LiveRun
from vulcan.dashboard.playground import instances_for, seed_of
from vulcan.errors import UserError
from vulcan.results.candidate import candidate_document, lineage
from vulcan.results.report.data import difference
from vulcan.results.report.html_page import MEANINGS, diff_kind, figure_text
from vulcan.results.run import compare_instances, scorer_of

PLACE = Path(__file__).parent
_TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(PLACE / "page"), autoescape=True, undefined=jinja2.StrictUndefined
)
_TEMPLATES.filters.update(figure=figure_text, diff_kind=diff_kind, part=lambda name: quote(str(name), safe=""))


def _page(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    keys = request.app.state.keys
    return HTMLResponse(_TEMPLATES.get_template(template).render(changes=keys.changes, **values), status)


def _runs(request: Request) -> Response:
    return _page(request, "runs.html.j2", directory=str(desk_of(request).runs.directory))


def _run(request: Request) -> Response:
    run = run_of(request)
    return _page(request, "run.html.j2", run=run.name, meanings=MEANINGS, budgets=BUDGETS)


def _candidate(request: Request) -> Response:
    run = run_of(request)
    number = number_of(request.path_params["candidate"])
    judged = run.judged(number)
    reply = run.reply_to(judged)
    with run.lock:
        record = run.record
        return _page(
            request, "candidate.html.j2",
            run=run.name, doc=candidate_document(record, judged, reply), reply=reply.reply if reply else None,
            meaning=MEANINGS[judged.verdict], operator=record.proposals[judged.proposal].operator,
            difference=difference(record, number).splitlines(), instances=_beside(run),
            ancestors=_ancestors(run, number), children=run.children_of(number), last=len(record.candidates),
        )  # fmt: skip


def _beside(run: LiveRun) -> dict[tuple[str, str], Any]:
    """The best baseline and bound on each instance."""
    record = run.record
    return {(row.split, row.instance): row for row in compare_instances(record, scorer_of(record))}


def _ancestors(run: LiveRun, number: int) -> list[tuple[int, list[Any]]]:
    """What a candidate was made from, by how many steps back."""
    return [
        (steps, [run.line_of(candidate) for candidate in generation])
        for steps, generation in enumerate(lineage(run.record, number), 1)
    ]


def _playground(request: Request) -> Response:
    run = run_of(request)
    with run.lock:
        if not run.record.instances:
            raise UserError(f"{run.name} has no instances yet: wait until its baselines are being measured")
        start = number_of(request.query_params.get("from", ""))
        best = run.best()
        begun_with = start or (best.candidate if best else 0)
        return _page(
            request, "playground.html.j2",
            run=run.name, source=seed_of(run.record, start or None), begun_with=begun_with,
            instances=instances_for(run.record), task=run.record.config["task"],
            objective=run.record.config["objective"],
        )  # fmt: skip


def failed(request: Request, error: UserError) -> Response:
    """A mistake as a page of one line."""
    return _page(request, "error.html.j2", 404, error=error_line(error))


def not_found(request: Request, _: Exception) -> Response:
    return _page(request, "error.html.j2", 404, error="there is no such page")


ROUTES = [
    Route("/", _runs),
    Route("/runs/{run}", _run),
    Route("/runs/{run}/candidates/{candidate}", _candidate),
    Route("/runs/{run}/playground", _playground),
]
"""The addresses that are pages."""
