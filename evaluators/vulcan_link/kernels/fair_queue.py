"""Queues of FQ-CoDel (RFC 8290): one for each flow, served in turn by deficit round robin, sparse flows first.

No two flows share a queue, as they may by a hash. Packets are rows of the bottleneck's array, in linked lists; the
lists and CoDel's state of each flow follow the link's own slots. CoDel itself is that of the bottleneck, to which the
state of the flow in turn is lent.
"""

from __future__ import annotations

from vulcan.kernel_support import helper
from vulcan_link import engine_state as m

QUANTUM = 1514

# After the link's slots: a stack of free rows, the flow in turn, and the lists of new and old flows; -1 for none.
FREE, USED, TURN, LISTS = range(m.LINK_SLOTS, m.LINK_SLOTS + 4)
NEW, OLD = 1, 2  # LISTS + 2 * (list - 1): its head, and then its tail
FLOWS = LISTS + 4

# A record a flow.
FIRST, LAST, BYTES, CREDIT, MEMBER, FOLLOWER, CODEL = range(7)
RECORD = CODEL + 5


def slots(flows: int, rows: int) -> int:
    """Return how many slots the link has."""
    return FLOWS + RECORD * flows + rows


@helper
def begin(link, flows):
    link[FREE] = link[TURN] = -1
    link[USED] = 0
    link[LISTS] = link[LISTS + 1] = link[LISTS + 2] = link[LISTS + 3] = -1
    for f in range(flows):
        link[FLOWS + RECORD * f + FIRST] = link[FLOWS + RECORD * f + LAST] = -1


@helper
def append(link, which, f):
    """Put a flow at the end of a list."""
    at = LISTS + 2 * (which - 1)
    link[FLOWS + RECORD * f + MEMBER] = which
    link[FLOWS + RECORD * f + FOLLOWER] = -1
    if link[at] < 0:
        link[at] = f
    else:
        link[FLOWS + RECORD * link[at + 1] + FOLLOWER] = f
    link[at + 1] = f


@helper
def leave(link, which):
    """Take the first flow of a list off it."""
    at = LISTS + 2 * (which - 1)
    f = link[at]
    link[at] = link[FLOWS + RECORD * f + FOLLOWER]
    link[FLOWS + RECORD * f + MEMBER] = 0


@helper
def push(link, f, flows, size):
    """Return the row of a packet that joins its flow's queue."""
    rows = FLOWS + RECORD * flows
    at = link[FREE]
    if at < 0:
        at = link[USED]
        link[USED] += 1
    else:
        link[FREE] = link[rows + at]
    link[rows + at] = -1
    flow = FLOWS + RECORD * f
    if link[flow + FIRST] < 0:
        link[flow + FIRST] = at
    else:
        link[rows + link[flow + LAST]] = at
    link[flow + LAST] = at
    link[flow + BYTES] += size
    if link[flow + MEMBER] == 0:
        link[flow + CREDIT] = QUANTUM
        append(link, NEW, f)
    return at


@helper
def first(link, f):
    """Return the row of the first packet of a flow, -1 where none waits."""
    return link[FLOWS + RECORD * f + FIRST]


@helper
def pop(link, f, flows, size):
    """Take the first packet of a flow off its queue."""
    rows = FLOWS + RECORD * flows
    flow = FLOWS + RECORD * f
    at = link[flow + FIRST]
    link[flow + FIRST] = link[rows + at]
    link[flow + BYTES] -= size
    link[rows + at] = link[FREE]
    link[FREE] = at


@helper
def fattest(link, flows):
    """Return the flow with the most bytes waiting."""
    best = 0
    for f in range(1, flows):
        if link[FLOWS + RECORD * f + BYTES] > link[FLOWS + RECORD * best + BYTES]:
            best = f
    return best


@helper
def next_flow(link):
    """Return the flow whose turn it is, and lend its CoDel state to the link; -1 where nothing waits."""
    while True:
        which = NEW if link[LISTS] >= 0 else OLD
        f = link[LISTS + 2 * (which - 1)]
        if f < 0:
            return -1
        flow = FLOWS + RECORD * f
        if link[flow + CREDIT] > 0:
            link[TURN] = f
            lend(link, flow)
            return f
        link[flow + CREDIT] += QUANTUM
        leave(link, which)
        append(link, OLD, f)


@helper
def lend(link, flow):
    link[m.FIRST_ABOVE] = link[flow + CODEL]
    link[m.DROP_NEXT] = link[flow + CODEL + 1]
    link[m.DROPS] = link[flow + CODEL + 2]
    link[m.LAST_DROPS] = link[flow + CODEL + 3]
    link[m.DROPPING] = link[flow + CODEL + 4]


@helper
def served(link, f, size):
    """Take CoDel's state back from the link, and charge the flow for a packet; size 0: it had none left."""
    flow = FLOWS + RECORD * f
    link[flow + CODEL] = link[m.FIRST_ABOVE]
    link[flow + CODEL + 1] = link[m.DROP_NEXT]
    link[flow + CODEL + 2] = link[m.DROPS]
    link[flow + CODEL + 3] = link[m.LAST_DROPS]
    link[flow + CODEL + 4] = link[m.DROPPING]
    if size > 0:
        link[flow + CREDIT] -= size
        return
    which = link[flow + MEMBER]
    leave(link, which)
    if which == NEW and link[LISTS + 2] >= 0:
        append(link, OLD, f)
