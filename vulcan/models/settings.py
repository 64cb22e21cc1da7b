"""How a model is called."""

from __future__ import annotations

from dataclasses import dataclass, field

from vulcan.errors import UserError
from vulcan.models.retry import RetryPolicy


@dataclass(frozen=True, slots=True)
class CallSettings:
    """Limits and sampling of every call.

    `timeout` bounds each attempt from the first to the last byte, in seconds. `temperature` and `max_tokens`
    (of the reply) are left to the server where None. Raises UserError for values no server could accept.
    """

    timeout: float = 300.0
    temperature: float | None = None
    max_tokens: int | None = None
    retry: RetryPolicy = field(default_factory=RetryPolicy)

    def __post_init__(self) -> None:
        if not 0 < self.timeout < float("inf"):
            raise UserError(f"a time limit of {self.timeout:g} s a call: it must be above 0 and finite")
        if self.temperature is not None and not 0 <= self.temperature < float("inf"):
            raise UserError(f"temperature {self.temperature:g}: it must be 0 or more")
        if self.max_tokens is not None and self.max_tokens < 1:
            raise UserError(f"{self.max_tokens} tokens a reply: at least 1 is needed")

    def sampling(self) -> dict[str, float | int]:
        """The parameters of the request that are set."""
        chosen = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        return {name: value for name, value in chosen.items() if value is not None}
