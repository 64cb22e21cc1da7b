"""Keeps keys out of what is shown, logged or stored."""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit, urlunsplit

_SECRET_VARIABLE = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS)\Z", re.IGNORECASE)
_SHORTEST_SECRET = 6  # shorter values would blank out ordinary words


def redact(text: str, *secrets: str) -> str:
    """The text without these secrets, and without the value of any environment variable named like one.

    A server's error message may repeat the key it was sent.
    """
    named = (value.strip() for name, value in os.environ.items() if _SECRET_VARIABLE.search(name))
    hidden = {secret for secret in (*secrets, *named) if len(secret) >= _SHORTEST_SECRET}
    for secret in sorted(hidden, key=len, reverse=True):
        text = text.replace(secret, "[hidden]")
    return text


def shown_url(url: str) -> str:
    """The address without user name, password, query and fragment."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
