"""A call of a model as it was answered."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from vulcan.models.base import Message, Reply


@dataclass(frozen=True, slots=True)
class Recorded:
    """What was asked in one turn of a proposal, and the reply to it."""

    proposal: int
    turn: int
    messages: tuple[Message, ...]
    reply: Reply


def content_hash(messages: tuple[Message, ...]) -> str:
    """SHA-256 over the roles and contents in order, each with its length before it, in hexadecimal."""
    digest = hashlib.sha256()
    for message in messages:
        for part in (message.role, message.content):
            data = part.encode("utf-8", "surrogatepass")
            digest.update(b"%d:" % len(data))
            digest.update(data)
    return digest.hexdigest()
