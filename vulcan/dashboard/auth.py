"""Who is let in: only a browser on this machine that was given the token, and only from the page itself.

Against other users of this machine: the token. Against pages of other sites in the same browser: a cookie that is not
sent from there (SameSite=Strict), a secret in a header for whatever changes something, the name by which the server was
called (Host; DNS rebinding), and where a request says it comes from. Against text that a model wrote: a
Content-Security-Policy under which no script but the page's own files runs and nothing is asked from elsewhere.
"""

from __future__ import annotations

import hmac
import html
import secrets
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

NAMES = ("127.0.0.1", "localhost", "[::1]")
"""What the server may be called. Any port: it may be reached through a tunnel."""

CHANGES = "x-vulcan-token"
"""The header of requests that change something."""

MAX_BODY = 256 << 10
"""Bytes of a request."""

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
    """The secrets of one server: the token of its address, what the cookie holds, and what changes are asked with."""

    token: str = field(default_factory=_secret)
    session: str = field(default_factory=_secret)
    changes: str = field(default_factory=_secret)
    cookie: str = field(default_factory=lambda: f"vulcan_{secrets.token_hex(4)}")
    """The cookie's name: cookies of one host are shared by all of its ports."""


class Guard:
    """Lets through what may pass, refuses the rest with 403, and gives every answer its headers."""

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
        """The answer in place of the application's; None for a request that may pass."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if _without_port(host) not in NAMES:
            return _refusal("this page answers to 127.0.0.1 and localhost alone")
        given = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
        reads = scope["method"] in ("GET", "HEAD")
        if "token" in given and reads:
            if not _same(given["token"], self._keys.token):
                return _refusal("the token is wrong: open the address that `vulcan ui` has printed")
            return self._welcome(scope["path"], given)
        cookies = cookie_parser(headers.get("cookie", ""))
        if not _same(cookies.get(self._keys.cookie, ""), self._keys.session):
            return _refusal("not let in: open the address that `vulcan ui` has printed; each start has another one")
        if reads:
            return None
        origin = headers.get("origin")
        if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
            return _refusal("a change must be asked for by the page itself")
        if not _same(headers.get(CHANGES, ""), self._keys.changes):
            return _refusal("a change needs the page's token: reload the page")
        length = headers.get("content-length", "")
        if not length.isdecimal() or int(length) > MAX_BODY:
            return PlainTextResponse(f"a request has at most {MAX_BODY} bytes, and says how many", 413)
        return None

    def _welcome(self, path: str, given: dict[str, str]) -> Response:
        """Sets the cookie, and has the page itself go on: a link from elsewhere would not send a strict cookie."""
        rest = urlencode({name: value for name, value in given.items() if name != "token"})
        there = html.escape(quote("/" + path.lstrip("/")) + (f"?{rest}" if rest else ""), quote=True)
        answer = HTMLResponse(
            f'<!doctype html><html lang="en"><meta http-equiv="refresh" content="0; url={there}">'
            f'<title>Vulcan</title><p><a href="{there}">Go on</a></p></html>'
        )
        answer.set_cookie(self._keys.cookie, self._keys.session, path="/", httponly=True, samesite="strict")
        return answer


def _refusal(why: str) -> Response:
    return PlainTextResponse(f"{why}\n", 403)


def _same(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), secret.encode())


def _without_port(host: str) -> str:
    """The name in a Host header."""
    name, colon, port = host.rpartition(":")
    return name.lower() if colon and port.isdecimal() else host.lower()
