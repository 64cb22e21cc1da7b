"""Time-out, token limit and sampling of every call."""

from __future__ import annotations

from dataclasses import dataclass, field

from vulcan.models.retry import RetryPolicy

DEFAULT_TIMEOUT = 300.0
"""Seconds for each attempt of a call; reasoning models may take minutes."""


@dataclass(frozen=True, slots=True)
class CallSettings:
    """Limits and sampling of every call.

    `timeout` bounds each attempt from the first to the last byte, in seconds. `temperature` and `max_tokens` (of the
    reply) are left to the server where None.
    """

    timeout: float = DEFAULT_TIMEOUT
    temperature: float | None = None
    max_tokens: int | None = None
    retry: RetryPolicy = field(default_factory=RetryPolicy)

    def sampling(self) -> dict[str, float | int]:
        """Return the sampling parameters that are set."""
        chosen = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        return {name: value for name, value in chosen.items() if value is not None}
