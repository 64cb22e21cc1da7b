"""Sort API errors into permanent and transient ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import openai

from vulcan.models.base import ModelRefused
from vulcan.models.redact import MIN_IN_REPLY, redact
from vulcan.models.retry import TransientError, requested_wait

_TRANSIENT_STATUSES = frozenset({408, 409, 425, 429})
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

    `credentials` says what to set where the server does not accept the key; `key` is never shown.
    """

    model: str
    endpoint: str
    credentials: str
    key: str = ""

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


def sort_fault(error: openai.OpenAIError, caller: Caller) -> ModelRefused | TransientError:
    """Return the exception to raise for an error of the `openai` package (litellm's errors derive from it)."""
    if isinstance(error, openai.APITimeoutError):
        return TransientError("the call timed out")
    message = caller.one_line(_message(error))
    if isinstance(error, openai.APIConnectionError):
        cause = f": {caller.one_line(str(error.__cause__))}" if error.__cause__ else ""
        return TransientError(f"connection failed ({message}{cause})")
    status = getattr(error, "status_code", None)  # litellm's APIError has one without being an APIStatusError
    if not isinstance(status, int):
        return TransientError(message)
    if status == 429 and _NO_CREDIT.search(message):
        return _refused(caller, status, message, "the account has no credit left")
    if status in _TRANSIENT_STATUSES or status >= 500:
        return TransientError(f"status {status}: {message}", _retry_after(error))
    return _refused(caller, status, message, _advice(status, message, caller))


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


def _refused(caller: Caller, status: int, message: str, advice: str) -> ModelRefused:
    return ModelRefused(f"{caller.what} refused the call with status {status} ({message}); {advice}")


def _advice(status: int, message: str, caller: Caller) -> str:
    if status in (401, 403) or (status == 400 and _BAD_KEY.search(message)):
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
