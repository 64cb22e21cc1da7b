"""Redact keys from text that is shown, logged or stored."""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit, urlunsplit

_SECRET_VARIABLE = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS)\Z", re.IGNORECASE)
_MIN_SECRET = 6  # shorter values would blank out ordinary words
MIN_IN_REPLY = 12
"""Minimum length of a secret that is redacted from a model's reply, which is a program made of ordinary words."""


def redact(text: str, *secrets: str, shortest: int = _MIN_SECRET) -> str:
    """Redact these secrets, and the value of any environment variable named like one.

    A server's error message may repeat the key it was sent; so may its answer. Secrets of fewer than `shortest`
    characters stay.
    """
    named = (value.strip() for name, value in os.environ.items() if _SECRET_VARIABLE.search(name))
    hidden = {secret for secret in (*secrets, *named) if len(secret) >= shortest}
    for secret in sorted(hidden, key=len, reverse=True):
        text = text.replace(secret, "[hidden]")
    return text


def shown_url(url: str) -> str:
    """Return the URL without user name, password, query and fragment."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
