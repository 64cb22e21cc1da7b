"""The JSON API of the dashboard: run data, charts and server-sent events. It reads, and changes nothing."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from vulcan.dashboard.live_run import LiveRun
from vulcan.dashboard.runs import Runs
from vulcan.dashboard.status import RunStatus
from vulcan.errors import UserError
from vulcan.foreign_code import one_line
from vulcan.results.drawing import draw
from vulcan.results.explanation import EXPLAIN_SECONDS, Explanation, explain_candidate
from vulcan.results.notes import read_notes
from vulcan.searches.options import check_choice
from vulcan.svg import Figure

_POLL_SECONDS = 0.4
"""Polling interval in seconds. A poll costs two calls of stat where nothing was written, and sends a heartbeat then: a
page that receives nothing for four intervals says that its server does not answer."""


async def log_lines(run: LiveRun, after: int) -> AsyncIterator[str]:
    """Stream `rows` messages, each with the id of its last row, `status` when the run starts or stops, and `beat`.

    The stream is endless. A browser that reconnects sends the id of the last message that it got, and receives
    everything since.
    """
    status: RunStatus | None = None
    while True:
        try:
            await run_in_threadpool(run.refresh)
        except UserError as error:
            yield _message("failed", {"error": one_line(str(error))})
            return
        sent = False
        while new := run.after(after):
            after = new[-1].row
            yield _message("rows", {"rows": [asdict(one) for one in new]}, after)
            sent = True
            await asyncio.sleep(0)  # lets a disconnect cancel the stream
        now = await run_in_threadpool(run.status)
        if now != status:
            status = now
            yield _message("status", asdict(now))
            sent = True
        if not sent:
            yield _message("beat", {})
        await asyncio.sleep(_POLL_SECONDS)


def _message(event: str, data: Mapping[str, Any], row: int | None = None) -> str:
    """Format a server-sent event; JSON has no raw line breaks, so the data is one line."""
    number = "" if row is None else f"id: {row}\n"
    return f"event: {event}\n{number}data: {json.dumps(data)}\n\n"


COLUMNS = ("candidate", "verdict", "score", "origin", "operator", "parents", "size", "operations", "model")
PAGE = 25
"""Candidates per page."""


@dataclass(frozen=True, slots=True)
class TableQuery:
    """Filter, order and page of the table of candidates. A line must contain all `words`; pages count from 1."""

    words: tuple[str, ...] = ()
    sort: str = "candidate"
    descending: bool = False
    page: int = 1

    @classmethod
    def of(cls, parameters: Mapping[str, str]) -> TableQuery:
        """Parse query parameters. Raises UserError for an unknown column or order, or an invalid page."""
        sort, page = parameters.get("sort", "candidate"), parameters.get("page", "1")
        check_choice("column", sort, COLUMNS)
        if not page.isdecimal() or not 0 < int(page) < 10**9:
            raise UserError(f"page {page[:20]!r}: pages are numbered from 1")
        order = parameters.get("order", "up")
        check_choice("order", order, ("up", "down"))
        words = tuple(parameters.get("filter", "").lower().split())
        return cls(words, sort, order == "down", int(page))


def page_of(lines: Sequence[Mapping[str, Any]], query: TableQuery) -> dict[str, Any]:
    """Return one page of the matching candidates; those without a value in the column sort last in either order."""
    found = list(lines)
    for word in query.words:
        found = [line for line in found if word in line["text"]]
    with_value = [line for line in found if line[query.sort] not in (None, [])]
    without = [line for line in found if line[query.sort] in (None, [])]
    with_value.sort(key=lambda line: line[query.sort], reverse=query.descending)
    ordered = with_value + without
    pages = max(1, -(-len(ordered) // PAGE))
    page = min(query.page, pages)
    shown = ordered[(page - 1) * PAGE : page * PAGE]
    return {
        "columns": list(COLUMNS),
        "found": len(found),
        "total": len(lines),
        "page": page,
        "pages": pages,
        "candidates": [{name: line[name] for name in (*COLUMNS, "rules")} for line in shown],
    }


_SHOWN = 10
"""Number of the best candidates whose lines the tree of descent has."""


def figure_of(run: LiveRun, name: str, candidate: int) -> Figure | None:
    """Return a figure of a run, whose candidates lead to their pages; None where too little has a score.

    `candidate` is the one that it is about, 0 for the best. Raises UserError.
    """

    def link(number: int) -> str:
        return f"/runs/{quote(run.name, safe='')}/candidates/{number}"

    with run.lock:
        record, shown = run.record, run.judged(candidate).candidate if candidate else None
        return draw(name[:20], record, shown, best=_SHOWN, link=link)


LATEST = 30
"""Number of log lines on a newly loaded page."""


class Busy(UserError):
    """The error of a request to explain a policy while another one is being explained."""


_explaining = threading.Lock()


def explain(run: LiveRun, candidate: int) -> Explanation:
    """Explain a candidate, in the sandbox. Raises UserError, and Busy while another one is being explained."""
    if not _explaining.acquire(blocking=False):
        raise Busy("another policy is being explained: one at a time; reload this page in some seconds")
    try:
        return explain_candidate(run.record, candidate, EXPLAIN_SECONDS)
    finally:
        _explaining.release()


def runs_of(request: Request) -> Runs:
    """Return the runs that the application shows."""
    runs: Runs = request.app.state.runs
    return runs


def run_of(request: Request) -> LiveRun:
    """Return the run named in the request's path. Raises UserError."""
    return runs_of(request).get(request.path_params["run"])


def number_of(text: str) -> int:
    """Parse the number of a row or candidate; 0 if it is not one."""
    return int(text) if text.isdecimal() and len(text) < 16 else 0


def _runs(request: Request) -> Response:
    return JSONResponse({"runs": runs_of(request).lines()})


def _summary(request: Request) -> Response:
    run = run_of(request)
    with run.lock:
        latest = [asdict(one) for one in run.log[-LATEST:]]
        return JSONResponse({**run.summary(), "log": latest, "notes": asdict(read_notes(run.path))})


def _candidates(request: Request) -> Response:
    query = TableQuery.of(request.query_params)
    run = run_of(request)
    with run.lock:
        return JSONResponse(page_of(run.lines, query))


def _figure(request: Request) -> Response:
    """Return a figure as SVG; nothing, with the code 204, where too little has a score."""
    candidate = number_of(request.query_params.get("of", ""))
    drawn = figure_of(run_of(request), request.path_params["figure"], candidate)
    return Response(status_code=204) if drawn is None else Response(drawn.svg(""), media_type="image/svg+xml")


async def _events(request: Request) -> Response:
    run = await run_in_threadpool(run_of, request)
    after = request.headers.get("last-event-id") or request.query_params.get("after", "")
    return StreamingResponse(log_lines(run, number_of(after)), media_type="text/event-stream")


def failed(error: UserError) -> Response:
    """Return an error as a JSON response."""
    return JSONResponse({"error": one_line(str(error))}, 409 if isinstance(error, Busy) else 400)


ROUTES = [
    Route("/api/runs", _runs),
    Route("/api/runs/{run}", _summary),
    Route("/api/runs/{run}/candidates", _candidates),
    Route("/api/runs/{run}/figures/{figure}", _figure),
    Route("/api/runs/{run}/events", _events),
]
"""Routes below `/api`."""
