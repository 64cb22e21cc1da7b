"""Servers whose requests share the cores equally, none with more than a core: egalitarian processor sharing.

Each server has a virtual time, the work that each of its requests was given so far. A request leaves at its virtual
time of arrival plus its work, so that requests are a list in that order, and only the first one's end is computed.
`shared` has, of each server, its virtual time, when that was computed, when a request leaves next and which is the
first; and of each request its end in virtual time, and the one after it.
"""

from __future__ import annotations

import numpy as np

from vulcan.kernel_support import helper


@helper
def spell_at(changes, s, time):
    """Return the number of the last change of a server's speed that is not after a time."""
    low, high = 0, changes.shape[1] - 1
    while low < high:
        middle = (low + high + 1) // 2
        if changes[s, middle] <= time:
            low = middle
        else:
            high = middle - 1
    return low


@helper
def done_at(changes, speeds, s, begin, work):
    """Return the completion time of work that begins then, as the server's speed changes."""
    k, last = spell_at(changes, s, begin), changes.shape[1] - 1
    at = begin
    while k < last:
        room = (changes[s, k + 1] - at) * speeds[s, k]
        if room >= work:
            break
        work -= room
        at = changes[s, k + 1]
        k += 1
    return at + work / speeds[s, k]


@helper
def done_between(changes, speeds, s, begin, end):
    """Work that a core of a server does from one time to another."""
    k = spell_at(changes, s, begin)
    last = changes.shape[1] - 1
    done = 0.0
    at = begin
    while k < last and changes[s, k + 1] < end:
        done += (changes[s, k + 1] - at) * speeds[s, k]
        at = changes[s, k + 1]
        k += 1
    return done + (end - at) * speeds[s, k]


@helper
def next_departure(shared, until):
    """Return when the next request leaves, and which; -1 where none does until then."""
    due, first = shared[2], shared[3]
    s = np.argmin(due)
    if due[s] > until or first[s] < 0:
        return 0.0, -1
    return due[s], first[s]


@helper
def advance(shared, changes, speeds, cores, in_flight, busy, s, now, horizon):
    """Bring a server's virtual time up to now."""
    virtual, since = shared[0], shared[1]
    if in_flight[s] > 0.0:
        share = min(1.0, cores / in_flight[s])
        virtual[s] += share * done_between(changes, speeds, s, since[s], now)
        busy[s] += min(cores, in_flight[s]) * (min(now, horizon) - min(since[s], horizon))
    since[s] = now


@helper
def expect(shared, changes, speeds, cores, s, now, flying):
    """Compute when the first of so many requests leaves."""
    virtual, _, due, first, end, _ = shared
    if first[s] < 0:
        due[s] = np.inf
        return
    left = max(end[first[s]] - virtual[s], 0.0) / min(1.0, cores / flying)
    due[s] = done_at(changes, speeds, s, now, left)


@helper
def join(shared, changes, speeds, cores, in_flight, busy, s, i, now, work, horizon):
    """Request i joins a server; the caller counts it."""
    advance(shared, changes, speeds, cores, in_flight, busy, s, now, horizon)
    virtual, _, _, first, end, after = shared
    end[i] = virtual[s] + work
    if first[s] < 0 or end[i] < end[first[s]]:
        after[i] = first[s]
        first[s] = i
    else:
        at = first[s]
        while after[at] >= 0 and end[after[at]] <= end[i]:
            at = after[at]
        after[i] = after[at]
        after[at] = i
    expect(shared, changes, speeds, cores, s, now, in_flight[s] + 1.0)


@helper
def depart(shared, changes, speeds, cores, in_flight, busy, s, now, horizon):
    """Remove the first request of a server; the caller counts it."""
    advance(shared, changes, speeds, cores, in_flight, busy, s, now, horizon)
    virtual, _, _, first, end, after = shared
    virtual[s] = end[first[s]]
    first[s] = after[first[s]]
    expect(shared, changes, speeds, cores, s, now, in_flight[s] - 1.0)
