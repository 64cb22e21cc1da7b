"""Fixed window of `parameter` packets. After a timeout the mechanism's holds until something is acknowledged."""

from vulcan.kernel_support import function
from vulcan_link.flow_state import CWND, PARAMETER, SSTHRESH


@function
def undone(flow):
    return max(flow[PARAMETER], 1.0)


@function
def begin(flow):
    flow[CWND] = undone(flow)


@function
def reduced(flow):
    return flow[SSTHRESH]


acknowledged = begin
