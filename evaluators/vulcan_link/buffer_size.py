"""How many packets a link's queue holds."""

from __future__ import annotations

import math
import re

from vulcan.errors import UserError
from vulcan_traces.links import LinkTrace

PACKET_BITS = 1500 * 8
MAX = 1_000_000

_SPEC = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)(?P<unit>bdp)?\Z")


def buffer_in_packets(spec: str, link: LinkTrace, delay_ms: float) -> int:
    """`100` packets, or `1.5bdp`: 1.5 times what the link sends at its mean rate in a round-trip time without a queue.

    At least 2 packets. Raises UserError for anything else, and for more than a million packets.
    """
    match = _SPEC.match(spec.strip().lower())
    if match is None:
        raise UserError(f"buffer {spec!r}: packets (100) or multiples of the bandwidth-delay product (1bdp)")
    number = float(match["number"])
    if match["unit"]:
        packets = round(number * link.mean_rate * 2 * delay_ms / 1e3 / PACKET_BITS)
    elif number == math.floor(number):
        packets = int(number)
    else:
        raise UserError(f"buffer {spec!r}: a whole number of packets, or multiples of the BDP as {spec}bdp")
    if not (number > 0 and packets <= MAX):
        raise UserError(f"buffer {spec!r}: from 1 to {MAX} packets, and this would be {packets}")
    return max(2, packets)
