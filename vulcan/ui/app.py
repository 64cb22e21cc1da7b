"""The application: its addresses, behind the guard."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from vulcan.errors import UserError
from vulcan.ui import answers, pages
from vulcan.ui.answers import Desk
from vulcan.ui.guard import Guard, Keys


def make_app(desk: Desk, keys: Keys) -> Starlette:
    """The application over a desk, which it closes when it ends."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        desk.close()

    app = Starlette(
        routes=[*pages.ROUTES, *answers.ROUTES, Mount("/static", StaticFiles(directory=pages.PLACE / "static"))],
        middleware=[Middleware(Guard, keys=keys)],
        exception_handlers={UserError: _failed, 404: pages.not_found},
        lifespan=lifespan,
    )
    app.state.desk, app.state.keys = desk, keys
    return app


def _failed(request: Request, error: Exception) -> Response:
    """A mistake, as whoever asked can show it."""
    assert isinstance(error, UserError)
    return answers.failed(error) if request.url.path.startswith("/api/") else pages.failed(request, error)
