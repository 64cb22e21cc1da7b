"""Congestion-control algorithms, one file each, of up to six functions over a flow's state.

Each function is compiled by numba (`algorithm` below decorates it) and takes `flow`, the flow's row of float64 whose
slots `vulcan_link.flow_state` names. It reads what the mechanism keeps there, and sets `CWND`, `SSTHRESH` and
`PACING_RATE`; from `OWN` on the slots are its own. It touches nothing else, and asks for randomness only
`vulcan_link.kernels.random_numbers.below`.

    begin(flow)         the flow starts: CWND is INITIAL_WINDOW, SSTHRESH is NO_THRESHOLD, PACING_RATE is 0
    sampled(flow)       an acknowledgement has been taken in: RTT, ACKED ... are of it (Linux: pkts_acked)
    acknowledged(flow)  the window may be raised (Linux: cong_avoid). Not called while the mechanism reduces the window
                        in recovery, by proportional rate reduction (RFC 6937), unless the algorithm `controls` it:
                        then it is called at every acknowledgement, in every state (Linux: cong_control)
    reduced(flow)       recovery, a reduction for an ECN mark, or a timeout begins (CAUSE says which): returns the new
                        SSTHRESH, at least 2 (Linux: ssthresh)
    changed(flow)       STATE has changed from PRIOR_STATE; at a timeout CWND is 1 more than what is in flight
    undone(flow)        a timeout was found to be spurious: returns the window to resume (Linux: undo_cwnd)

`ALGORITHMS` is the table: what an algorithm is called, whether it `controls` the window in recovery and whether it is
`paced` (packets then leave at PACING_RATE). To add one: write its file, and add a row to the table and its module to
`dispatch.py`. What an algorithm does not have is Reno's, or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

POLICY = 0
"""The number of the policy that `simulate` is given; it is called by the mechanism itself."""


@dataclass(frozen=True, slots=True)
class Algorithm:
    """`number` is what the kernel knows it by; `controls` and `paced` are explained above.

    One that `is_offline` is given what the link will carry, which no sender could know: `COMING`, set at every event.
    """

    name: str
    number: int
    controls: bool = False
    paced: bool = False
    is_offline: bool = False


FIXED, RENO, CUBIC, BBR, VEGAS, COPA, ORACLE = range(1, 8)

_TABLE = (
    Algorithm("policy", POLICY, controls=True),
    Algorithm("fixed", FIXED, controls=True),
    Algorithm("reno", RENO),
    Algorithm("cubic", CUBIC),
    Algorithm("bbr", BBR, controls=True, paced=True),
    Algorithm("vegas", VEGAS),
    Algorithm("copa", COPA, controls=True, paced=True),
    Algorithm("bdp-oracle", ORACLE, controls=True, is_offline=True),
)

ALGORITHMS: Mapping[str, Algorithm] = MappingProxyType({row.name: row for row in _TABLE})
