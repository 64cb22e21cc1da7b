"""Dispatch to the algorithms by number: one branch each, because numba compiles no table of functions."""

from vulcan.kernel_support import function
from vulcan_link import algorithms as a
from vulcan_link.algorithms import bbr, copa, cubic, reno, vegas
from vulcan_link.flow_state import ALGORITHM, COMING, CWND, PARAMETER, PRIOR_CWND, SSTHRESH

ORACLE_MIN_CWND = 2.0


@function
def fixed_window(flow):
    """Fixed window of `parameter` packets. After a timeout the mechanism's holds until something is acknowledged."""
    return max(flow[PARAMETER], 1.0)


@function
def oracle_window(flow):
    """BDP oracle: the window is what the link can carry in the round trip that begins as a packet reaches it.

    An oracle rather than an algorithm, and not a proven bound: it sees the future of the link's rate and the path's
    delay, so that it keeps the link busy with a short queue where nothing is shared and nothing stops. It knows nothing
    of other flows, pays for outages as others do, and does not pace: its queue is that of bursts. Policies may beat it.
    """
    return max(flow[COMING], ORACLE_MIN_CWND)


@function
def begin(flow):
    number = int(flow[ALGORITHM])
    if number == a.RENO:
        reno.begin(flow)
    elif number == a.CUBIC:
        cubic.begin(flow)
    elif number == a.BBR:
        bbr.begin(flow)
    elif number == a.FIXED:
        flow[CWND] = fixed_window(flow)
    elif number == a.VEGAS:
        vegas.begin(flow)
    elif number == a.COPA:
        copa.begin(flow)
    elif number == a.ORACLE:
        flow[CWND] = oracle_window(flow)


@function
def sampled(flow):
    number = int(flow[ALGORITHM])
    if number == a.CUBIC:
        cubic.sampled(flow)
    elif number == a.VEGAS:
        vegas.sampled(flow)
    elif number == a.COPA:
        copa.sampled(flow)


@function
def acknowledged(flow):
    number = int(flow[ALGORITHM])
    if number == a.RENO:
        reno.acknowledged(flow)
    elif number == a.CUBIC:
        cubic.acknowledged(flow)
    elif number == a.BBR:
        bbr.acknowledged(flow)
    elif number == a.FIXED:
        flow[CWND] = fixed_window(flow)
    elif number == a.VEGAS:
        vegas.acknowledged(flow)
    elif number == a.COPA:
        copa.acknowledged(flow)
    elif number == a.ORACLE:
        flow[CWND] = oracle_window(flow)


@function
def reduced(flow):
    number = int(flow[ALGORITHM])
    if number == a.CUBIC:
        return cubic.reduced(flow)
    if number == a.BBR:
        return bbr.reduced(flow)
    if number in (a.FIXED, a.COPA, a.ORACLE):
        return flow[SSTHRESH]
    return reno.reduced(flow)


@function
def changed(flow):
    number = int(flow[ALGORITHM])
    if number == a.RENO:
        reno.changed(flow)
    elif number == a.CUBIC:
        cubic.changed(flow)
    elif number == a.BBR:
        bbr.changed(flow)
    elif number == a.VEGAS:
        vegas.changed(flow)
    elif number == a.COPA:
        copa.changed(flow)
    elif number == a.ORACLE:
        flow[CWND] = oracle_window(flow)


@function
def undone(flow):
    number = int(flow[ALGORITHM])
    if number == a.BBR:
        return bbr.undone(flow)
    if number == a.FIXED:
        return fixed_window(flow)
    if number in (a.COPA, a.ORACLE):
        return flow[CWND]
    return max(flow[CWND], flow[PRIOR_CWND])
