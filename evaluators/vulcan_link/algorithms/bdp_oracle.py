"""BDP oracle: the window is what the link can carry in the round trip that begins as a packet reaches it.

An oracle rather than an algorithm, and not a proven bound: it sees the future of the link's rate and the path's delay,
so that it keeps the link busy with a short queue where nothing is shared and nothing stops. It knows nothing of other
flows, pays for outages as others do, and does not pace: its queue is that of bursts. Policies may beat it.
"""

from vulcan.kernel_support import function
from vulcan_link.algorithms import fixed
from vulcan_link.flow_state import COMING, CWND

MIN_CWND = 2.0


@function
def begin(flow):
    flow[CWND] = max(flow[COMING], MIN_CWND)


@function
def undone(flow):
    return flow[CWND]


acknowledged = changed = begin
reduced = fixed.reduced
