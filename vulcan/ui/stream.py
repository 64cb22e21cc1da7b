"""What happens in a run as server-sent events, from any row on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from starlette.concurrency import run_in_threadpool

from vulcan.errors import UserError
from vulcan.ui.watched import WatchedRun

_BETWEEN_LOOKS = 0.4
"""Seconds. A look costs two calls of stat where nothing was written."""

_SIGN_OF_LIFE = 15.0
"""Seconds after which something is sent, so that a connection that is dead is noticed."""


async def happenings(run: WatchedRun, after: int) -> AsyncIterator[str]:
    """Messages `rows`, each with the id of its last row, and `standing` when the run starts or stops; without end.

    A browser that lost its connection sends the id of the last message that it got, and is told what came since.
    """
    standing: dict[str, Any] | None = None
    quiet = 0.0
    while True:
        try:
            await run_in_threadpool(run.refresh)
        except UserError as error:
            yield _message("trouble", {"error": " ".join(str(error).split())})
            return
        sent = False
        while new := run.after(after):
            after = new[-1].row
            yield _message("rows", {"rows": [one.document() for one in new]}, after)
            sent = True
            await asyncio.sleep(0)  # whoever has gone away is noticed here
        now = (await run_in_threadpool(run.standing)).document()
        if now != standing:
            standing = now
            yield _message("standing", now)
            sent = True
        quiet = 0.0 if sent else quiet + _BETWEEN_LOOKS
        if quiet >= _SIGN_OF_LIFE:
            quiet = 0.0
            yield ": nothing new\n\n"
        await asyncio.sleep(_BETWEEN_LOOKS)


def _message(event: str, data: dict[str, Any], row: int | None = None) -> str:
    """JSON has no line breaks of its own, so that it is one line of a message."""
    number = "" if row is None else f"id: {row}\n"
    return f"event: {event}\n{number}data: {json.dumps(data)}\n\n"
