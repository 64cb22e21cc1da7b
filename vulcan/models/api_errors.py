"""Sort API errors into permanent and transient ones."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit
from urllib.request import proxy_bypass

import openai

from vulcan.models.base import ModelRefused, RequestRefused
from vulcan.models.redact import MIN_IN_REPLY, redact
from vulcan.models.retry import TransientError, requested_wait

_TRANSIENT_STATUSES = frozenset({408, 409, 425, 429})
_OF_EVERY_CALL = frozenset({401, 402, 403, 404, 410})
_GAVE_UP_WAITING = frozenset({408, 499, 504, 524})
_CLIENTS = frozenset({"httpx", "httpx2"})  # whose errors are named alike: openai 3 moved to the latter, litellm did not
_NEVER_CONNECTED = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout"})
_MAX_MESSAGE = 300
# litellm puts its own class names before the server's words
_PREFIX = re.compile(r"\A(litellm\.\w+: )?(\w+Error: )?(\w+Exception - )?")
_NO_CREDIT = re.compile(r"insufficient[_ ](quota|balance|credit)|exceeded your current quota", re.IGNORECASE)
_BAD_KEY = re.compile(r"api[_ -]?key", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Caller:
    """The model and endpoint of a call, as error messages name them.

    `credentials` says what to set where the server does not accept the key; `key` is never shown. `proxy` says that a
    proxy stands between here and a server on this host.
    """

    model: str
    endpoint: str
    credentials: str
    key: str = ""
    proxy: str = ""

    @property
    def what(self) -> str:
        return f"model {self.model!r} at {self.endpoint}"

    def without_keys(self, reply: str) -> str:
        """Redact keys from a server's reply, which is stored and shown."""
        return redact(reply, self.key, shortest=MIN_IN_REPLY)

    def one_line(self, message: str) -> str:
        """Return a server's message on one line, truncated and without keys."""
        line = " ".join(redact(message, self.key).split())
        return line if len(line) <= _MAX_MESSAGE else line[:_MAX_MESSAGE] + "..."


_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


def proxy_in_the_way(api_base: str) -> str:
    """Say that a proxy of the environment stands before a server on this host; empty if none does."""
    host = urlsplit(api_base).hostname or ""
    named = [name for name in _PROXIES if os.environ.get(name)]
    if not named or host not in ("localhost", "127.0.0.1", "::1") or proxy_bypass(host):
        return ""
    return f"; {named[0]} is set, so that a proxy is asked for this host: set NO_PROXY={host}"


def sort_fault(error: openai.OpenAIError, caller: Caller) -> ModelRefused | RequestRefused | TransientError:
    """Return the exception to raise for an error of the `openai` package (litellm's errors derive from it).

    A refusal is of every call where its status or its words say so, and else of this one.
    """
    if isinstance(error, openai.APITimeoutError):
        return TransientError("the call timed out")
    message = caller.one_line(_message(error))
    if isinstance(error, openai.APIConnectionError):
        cause = f": {caller.one_line(str(error.__cause__))}" if error.__cause__ else ""
        return TransientError(f"connection failed ({message}{cause}){caller.proxy}")
    status = getattr(error, "status_code", None)  # litellm's APIError has one without being an APIStatusError
    if not isinstance(status, int):
        return TransientError(message)
    no_credit = bool(_NO_CREDIT.search(message))
    if (status in _TRANSIENT_STATUSES or status >= 500) and not (status == 429 and no_credit):
        return TransientError(f"status {status}: {message}{caller.proxy}", _retry_after(error))
    of_every_call = status in _OF_EVERY_CALL or no_credit or _is_bad_key(status, message)
    kind = ModelRefused if of_every_call else RequestRefused
    advice = _advice(402 if no_credit else status, message, caller)
    return kind(f"{caller.what} refused the call with status {status} ({message}); {advice}")


def refusal_of(error: openai.OpenAIError) -> str | None:
    """Return the words in which a server refused a call for what was sent; None for errors of other kinds."""
    status = getattr(error, "status_code", None)
    if not isinstance(status, int) or not 400 <= status < 500 or status in {401, 402, 403, *_TRANSIENT_STATUSES}:
        return None
    body = getattr(error, "body", None)
    named = [body.get(name) for name in ("param", "code")] if isinstance(body, Mapping) else []
    return " ".join([_message(error), *(word for word in named if isinstance(word, str))])


def may_be_paid(error: openai.OpenAIError) -> bool:
    """Check whether a call without an answer may have been billed.

    False where no connection was made or the server itself returned an error. A gateway's time-out says nothing
    about the model behind it.
    """
    if never_connected(error):
        return False
    # litellm makes up a status where there was no response, and then has no headers of one
    answered = any(isinstance(headers, Mapping) and headers for headers in _headers(error))
    return not answered or getattr(error, "status_code", None) in _GAVE_UP_WAITING


def never_connected(error: BaseException) -> bool:
    """Check whether no connection to the server was made."""
    link: BaseException | None = error
    while link is not None:
        kind = type(link)
        if kind.__name__ in _NEVER_CONNECTED and kind.__module__.partition(".")[0] in _CLIENTS:
            return True
        link = link.__cause__ or link.__context__
    return False


def _is_bad_key(status: int, message: str) -> bool:
    return status in (401, 403) or (status == 400 and _BAD_KEY.search(message) is not None)


def _advice(status: int, message: str, caller: Caller) -> str:
    if _is_bad_key(status, message):
        return caller.credentials
    if status == 402:
        return "the account has no credit left"
    if status in (404, 410):
        return "check the model's name and the server's address"
    return "change the model or its settings so that the server accepts the request"


def _message(error: openai.OpenAIError) -> str:
    body = getattr(error, "body", None)
    if isinstance(body, Mapping) and isinstance(body.get("message"), str):
        return str(body["message"])
    return _PREFIX.sub("", str(getattr(error, "message", error)))


def _retry_after(error: openai.OpenAIError) -> float | None:
    for headers in _headers(error):
        if not isinstance(headers, Mapping):
            continue
        milliseconds = requested_wait(headers.get("retry-after-ms"))  # OpenAI's and Azure's finer form
        asked = milliseconds / 1000 if milliseconds is not None else requested_wait(headers.get("retry-after"))
        if asked is not None:
            return asked
    return None


def _headers(error: openai.OpenAIError) -> tuple[object, object]:
    # litellm's errors carry a made-up response, and the server's headers apart
    response = getattr(error, "response", None)
    return getattr(error, "litellm_response_headers", None), getattr(response, "headers", None)
