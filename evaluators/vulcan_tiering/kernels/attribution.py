"""Kernel that divides the time of a simulation by what it was spent on, from the history of placements."""

from vulcan.kernel_support import allocating_kernel, types
from vulcan_tiering.kernels.cost import (
    COMPUTE,
    FAST_LATENCY,
    OUTSTANDING,
    SLOW_LATENCY,
    STALL,
    WEIGHT,
    busy_fast,
    busy_slow,
    interval_time,
    loaded_latency,
)
from vulcan_tiering.kernels.state import MAPPED_FAST, MAPPED_SLOW

(
    COMPUTING, MIGRATING, FAST_HOT, FAST_COLD, SLOW_COLD, NEW, RISING, NEVER, DEMOTED_BEFORE, BANDWIDTH, PARTS,
) = range(11)  # fmt: skip
"""Parts of the time: computing, stalls of migrations, loads of the fast tier from hot and from cold pages, loads of the
slow tier from cold pages, and from hot ones: mapped in this interval; hot since this interval; hot for longer, and
never in the fast tier; and demoted before. BANDWIDTH is what is left: waiting for a tier that is busy all the time."""

(
    PROMOTIONS, UNPAID, BACK_UP, DEMOTIONS, BACK_DOWN, HOT_DEMOTED, SAVED, FACTS,
) = range(8)  # fmt: skip
"""Of the measured intervals: promotions; those that saved less than their stalls; within `SOON` intervals of the page's
demotion; demotions; within `SOON` of the page's promotion; of pages hot in the next interval; ns that promoted pages
saved."""

SOON = 4

_COUNTS = types.Array(types.uint32, 2, "C", readonly=True)
_BYTES = types.Array(types.uint8, 2, "C", readonly=True)
_FLOATS = types.Array(types.float64, 1, "C")


@allocating_kernel(
    types.void(
        _COUNTS,
        _COUNTS,  # loads, stores
        _BYTES,  # history
        _BYTES,  # 1 for hot pages
        _FLOATS,  # the machine's numbers
        types.int64,
        types.int64,  # measured intervals: from, to
        types.Array(
            types.int64, 2, "C"
        ),  # room, (pages, 2): intervals of the latest promotion and demotion, 0 for none
        types.Array(types.float64, 1, "C"),  # room: what each page has saved since its promotion
        types.Array(types.float64, 2, "C"),  # nanoseconds, (intervals, PARTS)
        _FLOATS,  # facts
    )
)
def attribute(loads, stores, history, hot, m, first, last, moved, saved, parts, facts):
    """Add the time of the measured intervals to `parts`, and counts of migrations to `facts`, times the weight."""
    weight = m[WEIGHT]
    gain = (m[SLOW_LATENCY] - m[FAST_LATENCY]) / m[OUTSTANDING]
    pages = history.shape[1]
    for interval in range(last):
        counted = interval >= first
        up = down = 0
        served = [0.0] * PARTS
        fast_loads = slow_loads = fast_stores = slow_stores = 0.0
        for page in range(pages):
            place = history[interval, page]
            if place == 0:
                continue
            before = history[interval - 1, page] if interval > 0 else 0
            is_hot = hot[interval, page] != 0
            if before == MAPPED_SLOW and place == MAPPED_FAST:
                up += 1
                if counted:
                    facts[PROMOTIONS] += weight
                    facts[BACK_UP] += weight * (moved[page, 1] > 0 and interval - moved[page, 1] <= SOON)
                moved[page, 0] = interval
                saved[page] = 0.0
            if before == MAPPED_FAST and place == MAPPED_SLOW:
                down += 1
                if counted:
                    facts[DEMOTIONS] += weight
                    facts[BACK_DOWN] += weight * (moved[page, 0] > 0 and interval - moved[page, 0] <= SOON)
                    facts[HOT_DEMOTED] += weight * is_hot
                if moved[page, 0] >= max(first, 1):
                    facts[UNPAID] += weight * (saved[page] < 2.0 * m[STALL])
                moved[page, 0] = 0
                moved[page, 1] = interval
            served_here = float(loads[interval, page])
            if place == MAPPED_FAST:
                fast_loads += served_here
                fast_stores += float(stores[interval, page])
                part = FAST_HOT if is_hot else FAST_COLD
                if moved[page, 0] >= max(first, 1) and counted:
                    saved[page] += served_here * gain
                    facts[SAVED] += served_here * gain * weight
            else:
                slow_loads += served_here
                slow_stores += float(stores[interval, page])
                if not is_hot:
                    part = SLOW_COLD
                elif before == 0:
                    part = NEW
                elif hot[interval - 1, page] == 0:
                    part = RISING
                elif moved[page, 1] > 0:
                    part = DEMOTED_BEFORE
                else:
                    part = NEVER
            served[part] += served_here
        if not counted:
            continue
        fast_busy = busy_fast(m, fast_loads * weight, fast_stores * weight, up * weight, down * weight)
        slow_busy = busy_slow(m, slow_loads * weight, slow_stores * weight, up * weight, down * weight)
        migrations = (up + down) * weight
        time = interval_time(m, fast_loads * weight, slow_loads * weight, fast_busy, slow_busy, migrations)
        fast_wait = loaded_latency(m, m[FAST_LATENCY], fast_busy, time) / m[OUTSTANDING] * weight
        slow_wait = loaded_latency(m, m[SLOW_LATENCY], slow_busy, time) / m[OUTSTANDING] * weight
        spent = m[COMPUTE] * (fast_loads + slow_loads) * weight
        parts[interval - first, COMPUTING] += spent
        parts[interval - first, MIGRATING] += m[STALL] * migrations
        spent += m[STALL] * migrations
        for part in range(FAST_HOT, BANDWIDTH):
            waited = served[part] * (fast_wait if part <= FAST_COLD else slow_wait) if served[part] > 0.0 else 0.0
            parts[interval - first, part] += waited
            spent += waited
        parts[interval - first, BANDWIDTH] += time - spent
    for page in range(pages):
        if moved[page, 0] >= max(first, 1):
            facts[UNPAID] += weight * (saved[page] < m[STALL])
