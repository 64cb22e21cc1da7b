"""The server of the live page: on this machine alone, at an address with a token in it.

The application: its addresses, behind the guard.
"""

from __future__ import annotations

import socket
import webbrowser
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from urllib.parse import quote

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from vulcan.dashboard import api, pages
from vulcan.dashboard.api import AppState
from vulcan.dashboard.auth import Guard, Keys
from vulcan.dashboard.runs import Runs
from vulcan.errors import UserError


def make_app(desk: AppState, keys: Keys) -> Starlette:
    """The application over a desk, which it closes when it ends."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        desk.close()

    app = Starlette(
        routes=[*pages.ROUTES, *api.ROUTES, Mount("/static", StaticFiles(directory=pages.PLACE / "static"))],
        middleware=[Middleware(Guard, keys=keys)],
        exception_handlers={UserError: _failed, 404: pages.not_found},
        lifespan=lifespan,
    )
    app.state.desk, app.state.keys = desk, keys
    return app


def _failed(request: Request, error: Exception) -> Response:
    """A mistake, as whoever asked can show it."""
    assert isinstance(error, UserError)
    return api.failed(error) if request.url.path.startswith("/api/") else pages.failed(request, error)


_HOST = "127.0.0.1"


def serve(runs: Path, run: Path | None, port: int, told: Callable[[str], None], *, browser: bool) -> None:
    """Serve until interrupted. `told` gets the address. Raises UserError where the port is taken.

    Port 0 is any that is free. A run that is named is read before its address is told: its page is there at once.
    """
    keys, desk = Keys(), AppState(Runs(runs, run))
    if run is not None:
        desk.runs.get(run.name)
    with closing(_listening(port)) as listening:
        path = f"/runs/{quote(run.name, safe='')}" if run is not None else "/"
        address = f"http://{_HOST}:{listening.getsockname()[1]}{path}?token={keys.token}"
        config = uvicorn.Config(
            make_app(desk, keys),
            log_level="warning",
            access_log=False,  # addresses have the token in them
            server_header=False,
            timeout_graceful_shutdown=1,  # live connections have no end of their own
            ws="none",
        )
        told(address)
        desk.runs.lines()  # begins to read what is there
        if browser:
            webbrowser.open(address)
        uvicorn.Server(config).run(sockets=[listening])


def _listening(port: int) -> socket.socket:
    opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((_HOST, port))
        opened.listen()  # before its address is told: who comes at once waits, and is not turned away
    except (OSError, OverflowError) as error:
        opened.close()
        why = getattr(error, "strerror", None) or error
        raise UserError(f"cannot serve at port {port}: {why}; name another one with --port, or 0 for any") from error
    return opened
