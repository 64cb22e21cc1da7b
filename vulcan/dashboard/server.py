"""The dashboard's web server: access control, HTML pages and the application.

It reads runs and changes nothing: requests other than GET and HEAD are refused. Only a browser on this machine that was
given the token gets access. Against other users of this machine: the token. Against pages of other sites in the same
browser: a cookie that is not sent from there (SameSite=Strict), and a check of the Host header (DNS rebinding). Against
text that a model wrote: pages escape it, and a Content-Security-Policy allows only the page's own script files and no
requests to other hosts.
"""

from __future__ import annotations

import asyncio
import hmac
import html
import logging
import secrets
import socket
import webbrowser
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

import uvicorn
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request, cookie_parser
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vulcan import svg
from vulcan.dashboard import api
from vulcan.dashboard.api import Busy, explain, number_of, run_of, runs_of
from vulcan.dashboard.runs import Runs
from vulcan.errors import UserError
from vulcan.foreign_code import one_line
from vulcan.results.candidate import candidate_document, candidate_row, lineage
from vulcan.results.explanation import can_explain
from vulcan.results.findings_html import STYLE
from vulcan.results.report.comparison import comparison_document, comparison_page
from vulcan.results.report.data import Report, difference
from vulcan.results.report.html_page import MEANINGS, diff_kind, figure_text, page_templates, page_text
from vulcan.results.run import compare_instances, scorer_of

NAMES = ("127.0.0.1", "localhost", "[::1]")
"""Host names that the server answers to. Any port: it may be reached through a tunnel."""

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


def _secret() -> str:
    return secrets.token_urlsafe(24)


@dataclass(frozen=True, slots=True)
class Keys:
    """The secrets of one server: its URL token, and the cookie's value."""

    token: str = field(default_factory=_secret)
    session: str = field(default_factory=_secret)
    cookie: str = field(default_factory=lambda: f"vulcan_{secrets.token_hex(4)}")
    """Name of the cookie: unique, because all ports of a host share cookies."""


class Guard:
    """Middleware that rejects unauthorized requests (with 403 or 405) and adds the security headers."""

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self._app = app
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        refused = self._refused(scope)
        answer: ASGIApp = self._app if refused is None else refused
        await answer(scope, receive, send_guarded)

    def _refused(self, scope: Scope) -> Response | None:
        """Return the response in place of the application's; None for a request that may pass."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if _without_port(host) not in NAMES:
            return _refusal("this page answers to 127.0.0.1 and localhost alone")
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("this page only reads\n", 405, headers={"allow": "GET, HEAD"})
        given = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
        if "token" in given:
            if not _same(given["token"], self._keys.token):
                return _refusal("the token is wrong: open the address that `vulcan ui` has printed")
            return self._authenticate(scope["path"], given)
        cookies = cookie_parser(headers.get("cookie", ""))
        if not _same(cookies.get(self._keys.cookie, ""), self._keys.session):
            return _refusal("not let in: open the address that `vulcan ui` has printed; each start has another one")
        return None

    def _authenticate(self, path: str, given: dict[str, str]) -> Response:
        """Set the cookie, and reload through the page: a strict cookie is not sent after a link from elsewhere."""
        rest = urlencode({name: value for name, value in given.items() if name != "token"})
        there = html.escape(quote("/" + path.lstrip("/")) + (f"?{rest}" if rest else ""), quote=True)
        answer = HTMLResponse(
            f'<!doctype html><html lang="en"><meta http-equiv="refresh" content="0; url={there}">'
            f'<link rel="icon" href="/static/icon.svg"><title>Vulcan</title><p><a href="{there}">Go on</a></p></html>'
        )
        answer.set_cookie(self._keys.cookie, self._keys.session, path="/", httponly=True, samesite="strict")
        return answer


def _refusal(why: str) -> Response:
    return PlainTextResponse(f"{why}\n", 403)


def _same(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), secret.encode())


def _without_port(host: str) -> str:
    """Return the name in a Host header."""
    name, colon, port = host.rpartition(":")
    return name.lower() if colon and port.isdecimal() else host.lower()


PLACE = Path(__file__).parent
_TEMPLATES = page_templates(
    PLACE / "page", figure=figure_text, diff_kind=diff_kind, part=lambda name: quote(str(name), safe="")
)


def _page(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    return HTMLResponse(_TEMPLATES.get_template(template).render(**values), status)


def _runs(request: Request) -> Response:
    return _page(request, "runs.html.j2", directory=str(runs_of(request).directory))


def _run(request: Request) -> Response:
    run = run_of(request)
    return _page(request, "run.html.j2", run=run.name)


def _candidate(request: Request) -> Response:
    run = run_of(request)
    number = number_of(request.path_params["candidate"])
    judged = run.judged(number)
    reply = run.reply_to(judged)
    if other := number_of(request.query_params.get("against", "")):
        run.judged(other)
    with run.lock:
        record = run.record
        return _page(
            request,
            "candidate.html.j2",
            run=run.name,
            doc=candidate_document(record, judged, reply),
            reply=reply.reply if reply else None,
            meaning=MEANINGS[judged.verdict],
            operator=record.proposals[judged.proposal].operator,
            difference=difference(record, number, other).splitlines(),
            against=other,
            instances={(row["split"], row["instance"]): row for row in compare_instances(record, scorer_of(record))},
            ancestors=[[candidate_row(record, record.candidates[n]) for n in of] for of in lineage(record, number)],
            children=[n for n in record.candidates if number in record.parents_of(n)],
            last=len(record.candidates),
            explained=judged.verdict == "scored" and can_explain(record),
        )


def _why(request: Request) -> Response:
    """Compute the findings on a candidate, and show them: a page that takes some seconds."""
    run, number = run_of(request), number_of(request.path_params["candidate"])
    run.judged(number)
    try:
        explanation = explain(run, number)
    except Busy:
        raise
    except UserError as error:
        raise UserError(
            f"candidate {number} cannot be explained: {error} (paths are taken from where `vulcan ui` was started)"
        ) from error
    content = Markup(explanation.sections())  # of `findings_html`, which escapes all texts
    return _page(
        request, "why.html.j2", run=run.name, candidate=number, content=content, instances=len(explanation.instances)
    )


def _compare(request: Request) -> Response:
    """Compare runs: the page of `vulcan report RUN RUN ...`."""
    paths = [runs_of(request).get(name).path for name in dict.fromkeys(request.query_params.getlist("run"))]
    if len(paths) < 2:
        raise UserError("a comparison needs two runs: select them in the list")
    head = Markup('<link rel="icon" href="/static/icon.svg"><link rel="stylesheet" href="/comparison.css">')
    return HTMLResponse(comparison_page(comparison_document([Report.of(path) for path in paths]), head))


def _comparison_style(request: Request) -> Response:
    return Response(page_text("report.css") + svg.STYLE, media_type="text/css")


def _figures_style(request: Request) -> Response:
    return Response(svg.STYLE + STYLE, media_type="text/css")


def _icon(request: Request) -> Response:
    """Return the icon for browsers that ask for it by its traditional name."""
    return FileResponse(PLACE / "static" / "icon.svg")


def not_found(request: Request, _: Exception) -> Response:
    return _page(request, "error.html.j2", 404, title="Not found", error="there is no such page")


ROUTES = [
    Route("/", _runs),
    Route("/favicon.ico", _icon),
    Route("/runs/{run}", _run),
    Route("/compare", _compare),
    Route("/comparison.css", _comparison_style),
    Route("/figures.css", _figures_style),
    Route("/runs/{run}/candidates/{candidate}", _candidate),
    Route("/runs/{run}/candidates/{candidate}/why", _why),
]
"""Routes of the HTML pages."""


def make_app(runs: Runs, keys: Keys) -> Starlette:
    """Make the application over `runs`, which it closes on shutdown."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        runs.close()

    app = Starlette(
        routes=[*ROUTES, *api.ROUTES, Mount("/static", StaticFiles(directory=PLACE / "static"))],
        middleware=[Middleware(Guard, keys=keys)],
        exception_handlers={UserError: _failed, 404: not_found},
        lifespan=lifespan,
    )
    app.state.runs = runs
    return app


def _failed(request: Request, error: Exception) -> Response:
    """Return an error as JSON for the API, and as a page elsewhere."""
    assert isinstance(error, UserError)
    if request.url.path.startswith("/api/"):
        return api.failed(error)
    return _page(request, "error.html.j2", 404, title="Not available", error=one_line(str(error)))


_HOST = "127.0.0.1"


def serve(runs: Path, run: Path | None, port: int, announce: Callable[[str], None], *, browser: bool) -> None:
    """Serve until interrupted. `announce` is called with the address. Raises UserError where the port is taken.

    Port 0 picks any free one. A run that is named is read before its address is reported: its page loads at once.
    """
    keys, known = Keys(), Runs(runs, run)
    if run is not None:
        known.get(run.name)
    with closing(_listening(port)) as listening:
        path = f"/runs/{quote(run.name, safe='')}" if run is not None else "/"
        address = f"http://{_HOST}:{listening.getsockname()[1]}{path}?token={keys.token}"
        config = uvicorn.Config(
            make_app(known, keys),
            log_level="warning",
            access_log=False,  # URLs contain the token
            server_header=False,
            timeout_graceful_shutdown=1,  # event streams never end by themselves
            ws="none",
        )
        announce(address)
        known.lines()  # start reading the runs in the background
        if browser:
            webbrowser.open(address)
        logging.getLogger("uvicorn.error").addFilter(_is_no_ending)
        uvicorn.Server(config).run(sockets=[listening])


def _is_no_ending(record: logging.LogRecord) -> bool:
    """Return whether a log record is about anything but requests that are left unanswered when the server ends."""
    kind = record.exc_info[0] if record.exc_info else None
    ends = kind is not None and issubclass(kind, asyncio.CancelledError)
    return not (ends or record.getMessage().startswith("Cancel "))


def _listening(port: int) -> socket.socket:
    opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((_HOST, port))
        opened.listen()  # before the address is reported: early connections wait instead of being refused
    except (OSError, OverflowError) as error:
        opened.close()
        why = getattr(error, "strerror", None) or error
        raise UserError(f"cannot serve at port {port}: {why}; name another one with --port, or 0 for any") from error
    return opened
