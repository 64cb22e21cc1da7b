"""The sampling temperature over a search."""

from __future__ import annotations

import math
from dataclasses import dataclass

from vulcan.errors import UserError


@dataclass(frozen=True, slots=True)
class Temperature:
    """From `first` at the beginning of a search to `last` at its end, linear in between. Raises UserError."""

    first: float
    last: float

    def __post_init__(self) -> None:
        for value in (self.first, self.last):
            if not 0 <= value < math.inf:
                raise UserError(f"temperature {value:g}: it must be 0 or more")

    def at(self, progress: float) -> float:
        """The temperature at a progress from 0 to 1, to 4 decimals; beyond these it stays as it is there."""
        share = min(max(progress, 0.0), 1.0)
        return round(self.first + (self.last - self.first) * share, 4)


def parse_temperature(text: str) -> Temperature:
    """`0.7` is one temperature throughout, `1.1:0.4` goes from 1.1 to 0.4. Raises UserError."""
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
