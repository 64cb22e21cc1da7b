"""Dispatch to the algorithms by number: one branch each, because numba compiles no table of functions."""

from vulcan.kernel_support import function
from vulcan_link import algorithms as a
from vulcan_link.algorithms import bbr, bdp_oracle, copa, cubic, fixed, reno, vegas
from vulcan_link.flow_state import ALGORITHM, CWND, PRIOR_CWND

_MODULES = {
    a.FIXED: fixed,
    a.RENO: reno,
    a.CUBIC: cubic,
    a.BBR: bbr,
    a.VEGAS: vegas,
    a.COPA: copa,
    a.ORACLE: bdp_oracle,
}


def _branch(number, own, others):
    @function
    def branch(flow):
        if int(flow[ALGORITHM]) == number:
            return own(flow)
        return others(flow)

    return branch


def _dispatch(hook, otherwise):
    """Return the function that calls the flow's algorithm's own of that name; `otherwise` where it has none."""
    chosen = otherwise
    for number, module in _MODULES.items():
        if hasattr(module, hook):
            chosen = _branch(number, getattr(module, hook), chosen)
    return chosen


@function
def nothing(_):
    return None


@function
def larger_window(flow):
    return max(flow[CWND], flow[PRIOR_CWND])


begin, sampled, acknowledged, changed = (
    _dispatch(hook, nothing) for hook in ("begin", "sampled", "acknowledged", "changed")
)
reduced, undone = _dispatch("reduced", reno.reduced), _dispatch("undone", larger_window)
