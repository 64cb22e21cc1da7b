"""When a link may carry what waits, as a list of times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from vulcan_traces.links import LinkTrace

# A full packet: 1,500 bytes on the wire
_PACKET_BITS = 1500 * 8.0


def opportunity_times(trace: LinkTrace, until: int) -> NDArray[np.int64]:
    """Every delivery opportunity of a trace up to `until` (ns), nondecreasing int64 ns; the trace repeats.

    A trace of rates gives an opportunity whenever the link has had the time for one more 1,500-byte packet.
    """
    repeats = -(-until // trace.period)
    starts = np.arange(repeats, dtype=np.int64) * trace.period
    if trace.kind == "opportunities":
        every: NDArray[np.int64] = (starts[:, None] + trace.times[None, :]).reshape(-1)
        return every[every <= until]
    edges = np.append((starts[:, None] + trace.times[None, :]).reshape(-1), repeats * trace.period).astype(np.float64)
    rates = np.tile(trace.rates, repeats)
    carried = np.concatenate(([0.0], np.cumsum(rates * np.diff(edges) * 1e-9)))
    packets = np.arange(1, int(carried[-1] // _PACKET_BITS) + 1) * _PACKET_BITS
    # The first stretch at whose end the link has carried so much; its rate is above 0
    stretch = np.searchsorted(carried, packets, "left") - 1
    when = edges[stretch] + (packets - carried[stretch]) / rates[stretch] * 1e9
    times: NDArray[np.int64] = np.ceil(when - 1e-3).astype(np.int64)
    return times[times <= until]
