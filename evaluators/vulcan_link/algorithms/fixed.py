"""Fixed window of `parameter` packets. After a timeout the mechanism's holds until something is acknowledged."""

from vulcan.kernel_support import function
from vulcan_link.flow_state import PARAMETER


@function
def window(flow):
    return max(flow[PARAMETER], 1.0)
