"""Queue managers RED, PIE and policy: called as a packet arrives and as one leaves.

RED is that of Floyd and Jacobson (IEEE/ACM Transactions on Networking 1(4), 1993, figure 2) with thresholds in packets,
PIE that of RFC 8033 with the delay of the packet that left last (5.2) in the place of an estimate. PIE's timer is kept
when packets arrive and leave, between which nothing but time changes.
"""

import math

from vulcan.anvil.native.policy_calls import call_event, call_score
from vulcan.kernel_support import carray, cfunc, helper, types
from vulcan_link import engine_state as m
from vulcan_link.aqm import layout as q
from vulcan_link.kernels.bottleneck import ADMIT, DEPARTURE, DROP, MARK, OVERFLOW

ALPHA, BETA = 0.125, 1.25
MAX_BURST_MS = 150.0
FEW_BYTES = 2 * 1500.0
DRAIN_BYTES = 16 * 1024.0
"""The rate at which the queue drains is measured again over this many bytes (RFC 8033, 5.1)."""
MIN_TIMER_MS = 1.0

_SIGNATURE = types.int64(
    types.CPointer(types.int64),
    types.CPointer(types.int64),
    types.CPointer(types.float64),
    types.int64,
    types.int64,
    types.int64,
    types.int64,
)


@helper
def uniform(state):
    """Return the minimal standard generator, as in `random`."""
    state[q.RANDOM] = (state[q.RANDOM] * 48271.0) % 2147483647.0
    return (state[q.RANDOM] - 1.0) / 2147483646.0


@helper
def look(link, state, now, leaving, leaving_bytes):
    """Write what the queue is like, `leaving` packets that were just taken from it included."""
    state[q.NOW] = now
    state[q.PACKETS] = link[m.TAIL] - link[m.HEAD] + leaving
    state[q.BYTES] = link[m.WAITING_BYTES] + leaving_bytes
    if state[q.PACKETS] == 0.0:
        state[q.DELAY] = 0.0
    state[q.IDLE] = now - state[q.EMPTY_SINCE] if state[q.EMPTY_SINCE] >= 0.0 else 0.0
    state[q.SINCE_DROP] = now - state[q.LAST_DROP]
    state[q.EXPECTED] = state[q.BYTES] * 8e3 / state[q.DRAIN] if state[q.DRAIN] > 0.0 else 0.0


@helper
def pie_updates(state, now):
    """Update the probability to now (RFC 8033, 4.2); every update since the last event has the delay that it left."""
    while state[q.NEXT_UPDATE] <= now:
        delay, old, reference = state[q.DELAY], state[q.OLD_DELAY], state[q.REFERENCE]
        probability = state[q.PROBABILITY]
        change = ALPHA * (delay - reference) / 1e3 + BETA * (delay - old) / 1e3
        if probability < 0.000001:
            change /= 2048.0
        elif probability < 0.00001:
            change /= 512.0
        elif probability < 0.0001:
            change /= 128.0
        elif probability < 0.001:
            change /= 32.0
        elif probability < 0.01:
            change /= 8.0
        elif probability < 0.1:
            change /= 2.0
        if probability >= 0.1 and change > 0.02:
            change = 0.02
        probability += change
        if delay == 0.0 and old == 0.0:
            probability *= 0.98
        state[q.PROBABILITY] = min(max(probability, 0.0), 1.0)
        state[q.OLD_DELAY] = delay
        state[q.BURST] = max(0.0, state[q.BURST] - state[q.PERIOD_MS])
        if state[q.PROBABILITY] == 0.0 and delay < reference / 2.0 and old < reference / 2.0:
            state[q.BURST] = MAX_BURST_MS
        state[q.NEXT_UPDATE] += state[q.PERIOD_MS]


@helper
def pie(state):
    """Check whether a packet that arrives is to go (RFC 8033, 4.1 and 5.4)."""
    if state[q.BURST] > 0.0:
        return False
    if state[q.PROBABILITY] == 0.0:
        state[q.ACCUMULATED] = 0.0
    state[q.ACCUMULATED] += state[q.PROBABILITY]
    if (state[q.OLD_DELAY] < state[q.REFERENCE] / 2.0 and state[q.PROBABILITY] < 0.2) or state[q.BYTES] <= FEW_BYTES:
        return False
    if state[q.ACCUMULATED] < 0.85:
        return False
    if state[q.ACCUMULATED] >= 8.5 or uniform(state) < state[q.PROBABILITY]:
        state[q.ACCUMULATED] = 0.0
        return True
    return False


@helper
def red(state):
    """Check whether a packet that arrives is to go."""
    weight = state[q.WEIGHT]
    if state[q.PACKETS] > 0.0 or state[q.IDLE] <= 0.0:
        state[q.AVERAGE] += weight * (state[q.PACKETS] - state[q.AVERAGE])
    else:
        state[q.AVERAGE] *= (1.0 - weight) ** (state[q.IDLE] / state[q.TYPICAL_MS])
    average = state[q.AVERAGE]
    if average < state[q.MIN]:
        state[q.COUNT] = -1.0
        return False
    if average >= state[q.MAX]:
        state[q.COUNT] = 0.0
        return True
    state[q.COUNT] += 1.0
    base = state[q.MAX_PROBABILITY] * (average - state[q.MIN]) / (state[q.MAX] - state[q.MIN])
    spread = 1.0 - state[q.COUNT] * base
    if spread <= 0.0 or uniform(state) < base / spread:
        state[q.COUNT] = 0.0
        return True
    return False


@helper
def by_policy(state, settings):
    """Drawn with the probability that the policy gives, kept from 0 to 1."""
    if settings[m.MANAGER_UPDATE] != 0:
        call_event(settings[m.MANAGER_UPDATE], state, state, 0, state, 0, 0.0)
    asked = call_score(settings[m.MANAGER_SCORE], state, state, 0, state, 0, 0.0)
    probability = min(max(asked, 0.0), 1.0)
    state[q.CALLS] += 1.0
    state[q.DECISIONS] = (state[q.DECISIONS] * 31.0 + math.floor(probability * 1e6)) % 9007199254740881.0
    return uniform(state) < probability


@helper
def handle(handler, state, now):
    """Call the policy's handler, and set the timer if it asks for that."""
    state[q.DROP_REQUEST] = 0.0
    state[q.TIMER_REQUEST] = 0.0
    call_event(handler, state, state, 0, state, 0, 0.0)
    if state[q.TIMER_REQUEST] > 0.0:
        state[q.TIMER] = now + max(state[q.TIMER_REQUEST], MIN_TIMER_MS)


@helper
def timers(link, settings, state, now, leaving, leaving_bytes):
    """Call the policy's timer as often as it was due, each time at its time: nothing else has changed since."""
    while state[q.TIMER] <= now:
        at = state[q.TIMER]
        state[q.TIMER] = math.inf
        if settings[m.MANAGER_TIMER] != 0:
            look(link, state, at, leaving, leaving_bytes)
            handle(settings[m.MANAGER_TIMER], state, at)


@helper
def show_packet(state, size, sojourn, capable, marked, overflowed):
    state[q.PACKET_SIZE] = size
    state[q.SOJOURN] = sojourn
    state[q.CAPABLE] = capable
    state[q.MARKED] = marked
    state[q.OVERFLOWED] = overflowed


@helper
def drops_departing(link, settings, state, now, sojourn, capable):
    """Check whether the policy drops, or marks, a packet that is about to depart."""
    look(link, state, now, 0, 0)
    show_packet(state, link[m.CURRENT + m.Q_BYTES], sojourn / 1e6, capable, link[m.CURRENT + m.Q_MARK], 0)
    if settings[m.MANAGER_DEPARTURE] != 0:
        call_event(settings[m.MANAGER_DEPARTURE], state, state, 0, state, 0, 0.0)
    if settings[m.MANAGER_DEQUEUE] == 0:
        return False
    handle(settings[m.MANAGER_DEQUEUE], state, now)
    if state[q.DROP_REQUEST] <= 0.0:
        return False
    state[q.DECISIONS] = (state[q.DECISIONS] * 31.0 + float(sojourn % 1000003) + 2e6) % 9007199254740881.0
    if not capable and settings[m.MANAGER_DROP] != 0:
        handle(settings[m.MANAGER_DROP], state, now)
    state[q.LAST_DROP] = now
    state[q.DROPS] += 1.0
    return True


@helper
def departs(link, settings, state, now, sojourn, capable):
    """Handle a packet that left the queue. Returns its fate."""
    asks = settings[m.MANAGER_DEQUEUE] | settings[m.MANAGER_DEPARTURE]
    drop = asks != 0 and drops_departing(link, settings, state, now, sojourn, capable)
    dropped = drop and not capable
    waiting = link[m.TAIL] - link[m.HEAD]
    if not dropped:
        state[q.DELAY] = sojourn / 1e6
    if waiting == 0:
        state[q.DELAY] = 0.0
        state[q.EMPTY_SINCE] = now
        state[q.BUSY_FROM] = -1.0
    elif not dropped and state[q.BUSY_FROM] < 0.0:
        state[q.BUSY_FROM], state[q.BUSY_BYTES] = now, 0.0
    elif not dropped:
        state[q.BUSY_BYTES] += link[m.CURRENT + m.Q_BYTES]
        if state[q.BUSY_BYTES] >= DRAIN_BYTES and now > state[q.BUSY_FROM]:
            rate = state[q.BUSY_BYTES] * 8e3 / (now - state[q.BUSY_FROM])
            state[q.DRAIN] = rate if state[q.DRAIN] == 0.0 else 0.5 * (state[q.DRAIN] + rate)
            state[q.BUSY_FROM], state[q.BUSY_BYTES] = now, 0.0
    return DROP if dropped else MARK if drop else ADMIT


@cfunc(_SIGNATURE, cache=True, nopython=True)
def manage(link_at, settings_at, state_at, now, event, number, capable):
    """See `call_manager`. Returns what becomes of the packet."""
    link = carray(link_at, (m.LINK_SLOTS,))
    settings = carray(settings_at, (m.SETTINGS,))
    state = carray(state_at, (settings[m.MANAGER_SLOTS],))
    ms = now / 1e6
    who = settings[m.MANAGER_KIND]
    if who == q.POLICY and state[q.TIMER] <= ms:
        leaving = 1 if event == DEPARTURE else 0
        timers(link, settings, state, ms, leaving, leaving * link[m.CURRENT + m.Q_BYTES])
    if event == DEPARTURE:
        if who == q.PIE:
            pie_updates(state, ms)
        return departs(link, settings, state, ms, number, capable)
    look(link, state, ms, 0, 0)
    state[q.PACKET] = number
    if event == OVERFLOW:
        show_packet(state, number, 0.0, capable, 0, 1)
        handle(settings[m.MANAGER_DROP], state, ms)
        return DROP
    if who == q.RED:
        drop = red(state)
    elif who == q.PIE:
        pie_updates(state, ms)
        drop = pie(state)
    else:
        drop = by_policy(state, settings)
        show_packet(state, number, 0.0, capable, drop and capable != 0, 0)
        handler = settings[m.MANAGER_DROP if drop and not capable else m.MANAGER_ENQUEUE]
        if handler != 0:
            handle(handler, state, ms)
    if not drop:
        state[q.EMPTY_SINCE] = -1.0
        return ADMIT
    state[q.LAST_DROP] = ms
    state[q.DROPS] += 1.0
    return MARK if capable else DROP
