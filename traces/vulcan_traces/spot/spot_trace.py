"""Trace of spot availability at regular times."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class SpotTrace:
    """`available` has shape (ticks,): 1 where a spot VM can be had during the tick, else 0.

    A tick lasts `gap` seconds. `start` is the tick at which the trace begins in the longer one it was cut from, None
    where that is not known. `prices`, of shape (ticks,), are dollars an hour on spot, where they are known.
    """

    name: str
    gap: int
    available: npt.NDArray[np.uint8]
    start: int | None = None
    prices: npt.NDArray[np.float64] | None = None

    @property
    def ticks(self) -> int:
        return len(self.available)

    @property
    def digest(self) -> str:
        """A hash of availability and its place in time, not of the name or of prices."""
        content = hashlib.sha256(f"{self.gap},{self.start},".encode())
        content.update(self.available.tobytes())
        return content.hexdigest()
