"""Time-out, token limit and sampling of every call, and the temperature schedule."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from vulcan.errors import UserError
from vulcan.models.retry import RetryPolicy


@dataclass(frozen=True, slots=True)
class Temperature:
    """A linear schedule from `first` at the start of a search to `last` at its end."""

    first: float
    last: float

    def at(self, progress: float) -> float:
        """Return the temperature at a progress from 0 to 1 (clamped), to 4 decimals."""
        share = min(max(progress, 0.0), 1.0)
        return round(self.first + (self.last - self.first) * share, 4)


def parse_temperature(text: str) -> Temperature:
    """Parse `0.7` (constant) or `1.1:0.4` (a schedule from 1.1 to 0.4). Raises UserError."""
    parts = text.split(":")
    try:
        values = [float(part) for part in parts]
    except ValueError:
        values = []
    if len(values) not in (1, 2) or not all(0 <= value < math.inf for value in values):
        raise UserError(
            f"temperature {text!r}: write a number, such as 0.7, or two, such as 1.1:0.4, from first to last"
        )
    return Temperature(values[0], values[-1])


DEFAULT_TIMEOUT = 300.0
"""Seconds for each attempt of a call; reasoning models may take minutes."""


@dataclass(frozen=True, slots=True)
class CallSettings:
    """Limits and sampling of every call.

    `timeout` bounds each attempt from the first to the last byte, in seconds. `temperature` and `max_tokens` (of the
    reply) are left to the server where None.
    """

    timeout: float = DEFAULT_TIMEOUT
    temperature: Temperature | None = None
    max_tokens: int | None = None
    retry: RetryPolicy = field(default_factory=RetryPolicy)

    def sampling(self, progress: float) -> dict[str, float | int]:
        """Return the sampling parameters that are set, at a progress of the search from 0 to 1."""
        temperature = None if self.temperature is None else self.temperature.at(progress)
        chosen = {"temperature": temperature, "max_tokens": self.max_tokens}
        return {name: value for name, value in chosen.items() if value is not None}
