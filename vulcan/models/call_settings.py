"""Time-out, token limit and sampling of every call, and the temperature schedule."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from vulcan.errors import UserError
from vulcan.models.retry import RetryPolicy


@dataclass(frozen=True, slots=True)
class Temperature:
    """A linear schedule from `first` at the start of a search to `last` at its end. Raises UserError."""

    first: float
    last: float

    def __post_init__(self) -> None:
        for value in (self.first, self.last):
            if not 0 <= value < math.inf:
                raise UserError(f"temperature {value:g}: it must be 0 or more")

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
    if len(values) not in (1, 2) or not all(map(math.isfinite, values)):
        raise UserError(
            f"temperature {text!r}: write a number, such as 0.7, or two, such as 1.1:0.4, from first to last"
        )
    return Temperature(values[0], values[-1])


DEFAULT_TIMEOUT = 300.0
"""Seconds for each attempt of a call; reasoning models may take minutes."""


@dataclass(frozen=True, slots=True)
class CallSettings:
    """Limits and sampling of every call.

    `timeout` bounds each attempt from the first to the last byte, in seconds. `temperature` (one throughout, or a
    schedule over the search) and `max_tokens` (of the reply) are left to the server where None. `hedge_after` is the
    least time, in seconds, after which a call without a reply is made a second time. Raises UserError for values no
    server could accept.
    """

    timeout: float = DEFAULT_TIMEOUT
    temperature: float | Temperature | None = None
    max_tokens: int | None = None
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    hedge_after: float = 30.0

    def __post_init__(self) -> None:
        if not 0 < self.timeout < float("inf"):
            raise UserError(f"a time limit of {self.timeout:g} s a call: it must be above 0 and finite")
        if isinstance(self.temperature, (int, float)):
            Temperature(self.temperature, self.temperature)  # refuses what no server takes
        if self.max_tokens is not None and self.max_tokens < 1:
            raise UserError(f"{self.max_tokens} tokens a reply: at least 1 is needed")

    def sampling(self, progress: float = 0.0) -> dict[str, float | int]:
        """Return the sampling parameters that are set, at a progress of the search from 0 to 1."""
        temperature = self.temperature.at(progress) if isinstance(self.temperature, Temperature) else self.temperature
        chosen = {"temperature": temperature, "max_tokens": self.max_tokens}
        return {name: value for name, value in chosen.items() if value is not None}
