"""How a model is called."""

from __future__ import annotations

from dataclasses import dataclass, field

from vulcan.errors import UserError
from vulcan.models.retry import RetryPolicy
from vulcan.models.temperature import Temperature


@dataclass(frozen=True, slots=True)
class CallSettings:
    """Limits and sampling of every call.

    `timeout` bounds each attempt from the first to the last byte, in seconds. `temperature` (one throughout, or a
    schedule over the search) and `max_tokens` (of the reply) are left to the server where None. Raises UserError
    for values no server could accept.
    """

    timeout: float = 300.0
    temperature: float | Temperature | None = None
    max_tokens: int | None = None
    retry: RetryPolicy = field(default_factory=RetryPolicy)

    def __post_init__(self) -> None:
        if not 0 < self.timeout < float("inf"):
            raise UserError(f"a time limit of {self.timeout:g} s a call: it must be above 0 and finite")
        if isinstance(self.temperature, (int, float)):
            Temperature(self.temperature, self.temperature)  # refuses what no server takes
        if self.max_tokens is not None and self.max_tokens < 1:
            raise UserError(f"{self.max_tokens} tokens a reply: at least 1 is needed")

    def sampling(self, progress: float = 0.0) -> dict[str, float | int]:
        """The parameters of a request that are set, at a progress of the search from 0 to 1."""
        temperature = self.temperature.at(progress) if isinstance(self.temperature, Temperature) else self.temperature
        chosen = {"temperature": temperature, "max_tokens": self.max_tokens}
        return {name: value for name, value in chosen.items() if value is not None}
