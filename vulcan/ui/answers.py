"""What the page's scripts ask for: JSON, read from the runs; and what they have done to them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from vulcan.errors import UserError
from vulcan.ui.chart import chart
from vulcan.ui.control import BUDGETS, Resumed, raise_budget
from vulcan.ui.holder import interrupt
from vulcan.ui.playground import Busy, Playground
from vulcan.ui.runs import Runs
from vulcan.ui.stream import happenings
from vulcan.ui.table import Query, page_of
from vulcan.ui.watched import WatchedRun

LATEST = 30
"""Happenings that a page begins with."""

Change = Callable[["Desk", WatchedRun, dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class Desk:
    """What the answers are made from."""

    runs: Runs
    playground: Playground = field(default_factory=Playground)
    resumed: Resumed = field(default_factory=Resumed)

    def close(self) -> None:
        self.playground.close()
        self.runs.close()


def error_line(error: UserError) -> str:
    """A mistake in one line."""
    return " ".join(str(error).split())


def desk_of(request: Request) -> Desk:
    desk: Desk = request.app.state.desk
    return desk


def run_of(request: Request) -> WatchedRun:
    """The run of an address. Raises UserError."""
    return desk_of(request).runs.get(request.path_params["run"])


def number_of(text: str) -> int:
    """A row or a candidate by its number; 0 for what is none."""
    return int(text) if text.isdecimal() and len(text) < 16 else 0


def _runs(request: Request) -> Response:
    return JSONResponse({"runs": desk_of(request).runs.lines()})


def _summary(request: Request) -> Response:
    run = run_of(request)
    desk = desk_of(request)
    with run.lock:
        latest = [one.document() for one in run.happenings[-LATEST:]]
        document = {**run.summary(), "happenings": latest}
    return JSONResponse({**document, "trouble": desk.resumed.trouble(run.place)})


def _candidates(request: Request) -> Response:
    query = Query.of(request.query_params)
    run = run_of(request)
    with run.lock:
        return JSONResponse(page_of(run.lines, query))


def _chart(request: Request) -> Response:
    run = run_of(request)
    with run.lock:
        wanted = number_of(request.query_params.get("of", ""))
        best = run.best()
        if wanted:
            run.judged(wanted)
        return JSONResponse(chart(run.record, wanted or (best.candidate if best else None)))


async def _events(request: Request) -> Response:
    run = await run_in_threadpool(run_of, request)
    after = request.headers.get("last-event-id") or request.query_params.get("after", "")
    return StreamingResponse(happenings(run, number_of(after)), media_type="text/event-stream")


def _check(desk: Desk, run: WatchedRun, given: dict[str, Any]) -> dict[str, Any]:
    return desk.playground.check(run.record, _text(given, "source"))


def _score(desk: Desk, run: WatchedRun, given: dict[str, Any]) -> dict[str, Any]:
    return desk.playground.score(run.record, _text(given, "source"), _text(given, "instance"))


def _stop(desk: Desk, run: WatchedRun, given: dict[str, Any]) -> dict[str, Any]:
    return {"pid": interrupt(run.place)}


def _resume(desk: Desk, run: WatchedRun, given: dict[str, Any]) -> dict[str, Any]:
    workers = given.get("workers", 0)
    if isinstance(workers, bool) or not isinstance(workers, int) or not 0 <= workers <= 4096:
        raise UserError(f"workers is {workers!r}: a whole number is needed, 0 for one a processor")
    return {"pid": desk.resumed.start(run.place, run.record, _text(given, "executor"), workers)}


def _raise_budget(desk: Desk, run: WatchedRun, given: dict[str, Any]) -> dict[str, Any]:
    name = _text(given, "budget")
    value = raise_budget(run.place, run.record, name, given.get("value"))
    return {"budget": name, "unit": BUDGETS[name], "value": value}


def _text(given: dict[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str):
        raise UserError(f"{name} is missing, or no text")
    return value


def _change(change: Change) -> Callable[[Request], Any]:
    """An address that takes a JSON object; the work is done in a thread of its own."""

    async def endpoint(request: Request) -> Response:
        try:
            given = json.loads(await request.body())
        except (ValueError, RecursionError) as error:
            raise UserError(f"the request is no JSON: {error}") from error
        if not isinstance(given, dict):
            raise UserError("the request is no JSON object")
        return JSONResponse(await run_in_threadpool(lambda: change(desk_of(request), run_of(request), given)))

    return endpoint


def failed(error: UserError) -> Response:
    """A mistake as JSON."""
    return JSONResponse({"error": error_line(error)}, 409 if isinstance(error, Busy) else 400)


ROUTES = [
    Route("/api/runs", _runs),
    Route("/api/runs/{run}", _summary),
    Route("/api/runs/{run}/candidates", _candidates),
    Route("/api/runs/{run}/chart", _chart),
    Route("/api/runs/{run}/events", _events),
    *(
        Route(f"/api/runs/{{run}}/{name}", _change(change), methods=["POST"])
        for name, change in (
            ("check", _check),
            ("score", _score),
            ("stop", _stop),
            ("resume", _resume),
            ("budget", _raise_budget),
        )
    ),
]
"""The addresses below `/api`."""
