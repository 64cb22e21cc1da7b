"""Reader of the JSON that SkyPilot's public spot traces and the simulator of "Can't Be Late" share.

    {"metadata": {"gap_seconds": 600}, "data": [1, 1, 0, ...], "prices": [0.97, ...]}

The two use opposite signs. In github.com/skypilot-org/spot-traces a number is how many VMs could be had; in the windows
that come with the simulator (which carry a key `generator`) 1 says that the VM was preempted. A file may have
`prices` alongside `data`, dollars an hour on spot in each tick; whether they count is the evaluator's setting.
"""

from __future__ import annotations

import json
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from vulcan.errors import UserError
from vulcan_traces.spot.spot_trace import SpotTrace

Meaning = Literal["available", "preempted"]
MAX_GAP = 86_400
"""Seconds."""

MAX_PRICE = 1e6
"""Dollars an hour."""

MEANINGS: tuple[Meaning, ...] = ("available", "preempted")


def read_spot(text: bytes, name: str, origin: str, meaning: Meaning | None = None, nodes: int = 1) -> SpotTrace:
    """Return the trace in a file's content; `origin` is what errors name.

    `meaning` says what the numbers count, VMs that are available or that were preempted; without it a file with a key
    `generator` is taken for the latter. Where they count available VMs, `nodes` of them are needed at a time. Raises
    UserError for anything else than the format above.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{origin}: not JSON: {error}") from error
    if not isinstance(document, dict) or not isinstance(document.get("metadata"), dict):
        raise UserError(f"{origin}: not a spot trace: an object with `metadata` and `data` is needed")
    gap = document["metadata"].get("gap_seconds")
    if not isinstance(gap, int | float) or isinstance(gap, bool) or not 1 <= gap <= MAX_GAP or gap % 1:
        raise UserError(
            f"{origin}: metadata.gap_seconds is {gap!r}, and should be a whole number from 1 to {MAX_GAP:,}"
        )
    counts = _counts(document.get("data"), origin)
    meaning = meaning or ("preempted" if "generator" in document else "available")
    if meaning == "preempted":
        if counts.max() > 1:
            raise UserError(f"{origin}: data has {counts.max()}; where 1 says preempted, only 0 and 1 may occur")
        available = counts == 0
    else:
        available = counts >= nodes
    start = document["metadata"].get("start_time")
    prices = _prices(document.get("prices"), len(counts), origin)
    return SpotTrace(name, int(gap), available.astype(np.uint8), start if isinstance(start, int) else None, prices)


def _prices(data: Any, ticks: int, origin: str) -> npt.NDArray[np.float64] | None:
    if data is None:
        return None
    if not isinstance(data, list) or len(data) != ticks:
        raise UserError(f"{origin}: `prices` should be a list as long as `data`, of {ticks:,} numbers")
    for tick, price in enumerate(data):
        if not isinstance(price, int | float) or isinstance(price, bool) or not 0 <= price < MAX_PRICE:
            raise UserError(f"{origin}: prices[{tick}] is {price!r}, and should be dollars an hour")
    return np.asarray(data, dtype=np.float64)


def _counts(data: Any, origin: str) -> npt.NDArray[np.int64]:
    if not isinstance(data, list) or not data:
        raise UserError(f"{origin}: `data` should be a list of counts, and is {'empty' if data == [] else 'none'}")
    for tick, count in enumerate(data):
        if not isinstance(count, int) or not 0 <= count < 2**31:
            raise UserError(f"{origin}: data[{tick}] is {count!r}, and should be a count of VMs")
    return np.asarray(data, dtype=np.int64)
