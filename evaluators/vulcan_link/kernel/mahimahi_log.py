"""A bottleneck's log in the form of `mm-link`'s, which Mahimahi's own tools read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vulcan_link.kernel.bottleneck import OPPORTUNITY_BYTES, LinkLog

_MS = 1_000_000


def mahimahi_log(log: LinkLog, opportunities: Sequence[int]) -> Iterator[str]:
    """The lines, in order of time (ms).

    `t + bytes` is an arrival, `t - bytes delay` a departure, `t # 1504` an opportunity, `t d 1 bytes` a drop.
    `opportunities` are the times (ns) that the bottleneck was given; those that it has used up are written.
    """
    events = [(when, 0, f"{when // _MS} # {OPPORTUNITY_BYTES}") for when in opportunities[: log.opportunities]]
    events += [(when, 1, f"{when // _MS} - {size} {(when - came) // _MS}") for when, size, came in log.departed]
    events += [(when, 2, f"{when // _MS} + {size}") for when, size in log.arrived]
    events += [(when, 3, f"{when // _MS} d 1 {size}") for when, size in log.dropped]
    yield "# base timestamp: 0"
    yield from (line for _, _, line in sorted(events, key=lambda event: event[:2]))
