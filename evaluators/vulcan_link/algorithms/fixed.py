"""Fixed window of `parameter` packets."""

from __future__ import annotations

from vulcan.kernel_support import function
from vulcan_link.flow_state import CWND, PARAMETER, SSTHRESH


@function
def begin(flow):
    flow[CWND] = max(flow[PARAMETER], 1.0)


@function
def sampled(flow):
    pass


@function
def acknowledged(flow):
    flow[CWND] = max(flow[PARAMETER], 1.0)


@function
def reduced(flow):
    return flow[SSTHRESH]


@function
def changed(flow):
    pass  # after a timeout the mechanism's window holds until something is acknowledged


@function
def undone(flow):
    return max(flow[PARAMETER], 1.0)
