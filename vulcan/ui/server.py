"""The server of the live page: on this machine alone, at an address with a token in it."""

from __future__ import annotations

import socket
import webbrowser
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import uvicorn

from vulcan.errors import UserError
from vulcan.ui.answers import Desk
from vulcan.ui.app import make_app
from vulcan.ui.guard import Keys
from vulcan.ui.runs import Runs

_HOST = "127.0.0.1"


def serve(runs: Path, run: Path | None, port: int, told: Callable[[str], None], *, browser: bool) -> None:
    """Serve until interrupted. `told` gets the address. Raises UserError where the port is taken.

    Port 0 is any that is free. A run that is named is read before its address is told: its page is there at once.
    """
    keys, desk = Keys(), Desk(Runs(runs, run))
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
