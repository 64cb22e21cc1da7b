"""Kernel of the mechanism `queues`: up to four FIFO queues and a ghost list; the policy decides where objects go.

A queue is a ring of links with a sentinel behind the objects: what follows the sentinel is the queue's tail, where
objects leave, and what precedes it is the head, where they come. The two ghost lists are queues more; only what
`on_room` chooses is put on the second. `links` has two numbers per object, then two for each sentinel: the next towards
the head, and the next towards the tail.
"""

import math

import numpy as np

from vulcan.anvil.native.policy_calls import call_event, call_score
from vulcan.kernel_support import B1, F1, helper, types
from vulcan_cache import queue_layout as m
from vulcan_cache.kernels.common import (
    AHEAD,
    HALF_WORDS,
    U,
    fetch_object,
    note_eviction,
    note_miss,
    policy_kernel,
    tell,
    time_of,
    with_one_more,
)
from vulcan_cache.kernels.intrinsics import likely, prefetch, unlikely

MOVES_PER_REQUEST = 4
"""Moves of objects from tails that a request brings; as many for each object in the cache can be saved up."""

NEARER = AHEAD // U(2)

_GHOST = U(m.GHOST)
_ALL = U(0xFF)  # queues, one bit each
_FORGET = -1
_NOWHERE = 0
_REFUSE = -1  # of `room.queue`
_NO_LIST, _FIRST_LIST = 0, 1  # of `room.list`


@helper
def _unlink(links, node):
    newer = links[node << U(1)]
    older = links[(node << U(1)) | U(1)]
    links[(U(newer) << U(1)) | U(1)] = older
    links[U(older) << U(1)] = newer


@helper
def _link(links, sentinel, node):
    """Put the object at the head."""
    newest = links[(sentinel << U(1)) | U(1)]
    links[node << U(1)] = np.uint32(sentinel)
    links[(node << U(1)) | U(1)] = newest
    links[U(newest) << U(1)] = np.uint32(node)
    links[(sentinel << U(1)) | U(1)] = np.uint32(node)


@helper
def _rounded(number, low, high):
    return np.int64(math.floor(min(max(number, low), high) + 0.5))


@helper
def _answer(function, constant, globals_, records, statistics, width, key, low):
    """Call one of the policy's functions, if it has an address; the result is from `low` through the last queue."""
    if function == 0:
        return constant
    answer = call_score(function, globals_, records, key << U(3), statistics, key * width, float(np.int64(key)))
    return _rounded(answer, low, float(m.QUEUES))


@helper
def _ask_shares(share, globals_, records, statistics, shares):
    queue = 0
    while queue <= m.QUEUES:
        globals_[m.ASKED] = float(queue)
        bytes_ = call_score(share, globals_, records, U(0), statistics, U(0), 0.0)
        shares[queue] = min(max(bytes_, 0.0), globals_[m.CAPACITY])
        queue += 1


@helper
def _overfull(globals_, shares, filled):
    """Return the last queue that is over its share and among those that were put into; 0 if none is."""
    queue = U(m.QUEUES)
    while queue > U(0) and not ((filled >> queue) & U(1) and globals_[U(m.USED_IN) + queue] > shares[queue]):
        queue -= U(1)
    return queue


@helper
def _to_shrink(globals_, shares):
    """Return the last queue that is over its share; if none is, the first that is not empty."""
    queue = _overfull(globals_, shares, _ALL)
    if queue > U(0):
        return queue
    queue = U(1)
    while globals_[U(m.OBJECTS_IN) + queue] == 0.0 and queue < U(m.QUEUES):
        queue += U(1)
    return queue


@helper
def _put(globals_, records, links, objects, key, queue, weight):
    records[(key << U(3)) | U(m.QUEUE)] = float(np.int64(queue))
    globals_[U(m.USED_IN) + queue] += records[(key << U(3)) | U(m.SIZE)] * weight
    globals_[U(m.OBJECTS_IN) + queue] += weight
    _link(links, objects + queue, key)


@helper
def _take(globals_, records, links, key, queue, weight):
    _unlink(links, key)
    globals_[U(m.USED_IN) + queue] -= records[(key << U(3)) | U(m.SIZE)] * weight
    globals_[U(m.OBJECTS_IN) + queue] -= weight


@helper
def _forget_oldest(globals_, records, statistics, width, links, objects, number, weight, on_forget):
    """Push the longest listed object off a ghost list that is not empty."""
    forgotten = U(links[(objects + U(m.QUEUES) + number) << U(1)])
    prefetch(records, U(links[forgotten << U(1)]) << U(3))  # of the one that will be forgotten next
    tell(on_forget, globals_, records, statistics, width, forgotten)
    _unlink(links, forgotten)
    records[(forgotten << U(3)) | U(m.QUEUE)] = 0.0
    globals_[U(m.GHOSTS_IN) + number] -= records[(forgotten << U(3)) | U(m.SIZE)] * weight


@helper
def _remember(
    globals_, records, statistics, width, links, lists, objects, key, number, count, now, share, weight, on_forget
):
    """Put an object on a ghost list, from whose tail others are pushed out."""
    at = key << U(3)
    size = records[at | U(m.SIZE)] * weight
    if size <= share:
        while globals_[U(m.GHOSTS_IN) + number] + size > share:
            _forget_oldest(globals_, records, statistics, width, links, objects, number, weight, on_forget)
        records[at | U(m.LEFT_COUNT)] = count
        records[at | U(m.LEFT_AT)] = now
        records[at | U(m.QUEUE)] = float(m.GHOST)
        _link(links, objects + U(m.QUEUES) + number, key)
        globals_[U(m.GHOSTS_IN) + number] += size
        if lists.shape[0]:
            lists[key] = np.uint8(number)


@helper
def _refuse(
    on_refuse, on_forget, share, globals_, records, statistics, width, links, lists, objects, key, holder, number, now,
    shares, is_fixed, weight,
):  # fmt: skip
    """Do not let an object in, and put it on the ghost list of that number, if any."""
    known = records[(key << U(3)) | U(m.LEFT_COUNT)] if holder == _GHOST else 0.0
    tell(on_refuse, globals_, records, statistics, width, key)
    records[(key << U(3)) | U(m.QUEUE)] = 0.0
    if number != _NO_LIST:
        if not is_fixed:
            _ask_shares(share, globals_, records, statistics, shares)
        _remember(
            globals_, records, statistics, width, links, lists, objects, key, U(number), known + 1.0, now, shares[0],
            weight, on_forget,
        )  # fmt: skip


@helper
def _show_tails(globals_, records, links, objects, tails):
    """Set what the policy reads of the objects at the tails; where there is none, -1, no bytes and the time."""
    queue = U(1)
    while queue <= U(m.QUEUES):
        oldest = U(links[(objects + queue) << U(1)])
        is_empty = oldest >= objects
        globals_[U(m.TAIL_ID) + queue] = -1.0 if is_empty else float(np.int64(oldest))
        if (tails >> queue) & U(1):
            record = oldest << U(3)
            globals_[U(m.TAIL_SIZE) + queue] = 0.0 if is_empty else records[record | U(m.SIZE)]
            globals_[U(m.TAIL_ACCESS) + queue] = globals_[m.NOW] if is_empty else records[record | U(m.LAST_ACCESS)]
        queue += U(1)


@policy_kernel(
    18,  # share, insert, hit, tail, keep, enter, update, leave, the handlers of `simulate.QUEUE_EVENTS`, release
    types.boolean,  # whether shares stay as they are
    types.uint64,  # 1 if the policy reads anything of the objects at the tails, with a bit for each queue whose records
    types.boolean,  # whether it reads that at hits too
    types.boolean,  # whether what `insert` answers stays the same while room is made
    F1,  # what `insert`, `hit` and `tail` return where they have no address
    F1,  # room for the share of the ghost list and of each queue, in bytes
    HALF_WORDS,  # links
    B1,  # the ghost list that each object was put on; empty if there is only one
)
def queues(
    policy, objects, sizes, times, weight, globals_, records, statistics, width, capacity, measure_from, history,
    is_fixed, tails, shows_at_hits, is_insert_steady, constants, shares, links, lists,
):  # fmt: skip
    """Objects enter at the head of a queue, and the policy says of those at a tail whether they leave or move."""
    share, insert, hit, tail, keep, enter, update, leave = policy[:8]
    on_hit, on_ghost_hit, on_miss, on_refuse, on_evict, on_insert, on_move, on_forget, on_room, release = policy[8:]
    handles = (
        on_hit | on_ghost_hit | on_miss | on_refuse | on_evict | on_insert | on_move | on_forget | on_room | release
    )
    inserts = _rounded(constants[0], float(_FORGET), float(m.QUEUES))
    hits = _rounded(constants[1], float(_NOWHERE), float(m.QUEUES))
    leaves = _rounded(constants[2], float(_FORGET), float(m.QUEUES))
    moves_at_hits = hit != 0 or hits != _NOWHERE
    count = U(links.shape[0] // 2 - m.GHOST - m.GHOST_LISTS)
    room = float(capacity)
    globals_[m.CAPACITY] = room
    globals_[m.LISTED] = float(m.GHOST)
    queue = U(0)
    while queue < _GHOST + U(m.GHOST_LISTS):
        node = count + queue
        links[node << U(1)] = links[(node << U(1)) | U(1)] = np.uint32(node)
        queue += U(1)
    _ask_shares(share, globals_, records, statistics, shares)
    residents = moves = 0
    brought = np.int64(-1)  # the last request whose moves are among them
    evicted = U(0)
    misses = missed_bytes = bypassed = 0
    end = U(objects.shape[0])
    r = U(0)
    while r < end:
        if likely(r + AHEAD < end):
            ahead = U(objects[r + AHEAD])
            prefetch(links, ahead << U(1))
            fetch_object(records, statistics, width, ahead)
            if moves_at_hits:  # its neighbours, by its links, which have been fetched
                nearer = U(objects[r + NEARER]) << U(1)
                prefetch(links, U(links[nearer]) << U(1))
                prefetch(links, U(links[nearer | U(1)]) << U(1))
        key = U(objects[r])
        at = key << U(3)
        now = time_of(times, r)
        globals_[m.NOW] = now
        holder = U(np.int64(records[at | U(m.QUEUE)]))
        is_hit = holder - U(1) < U(m.QUEUES)  # neither 0 nor that of the ghost list
        fits = False
        needed = 0.0  # bytes for the object that is admitted
        filled = U(0)  # the queues that a hit has put something into, one bit each
        asks = False  # the policy has a say in how room is made
        number = np.int64(_FIRST_LIST)  # the ghost list for what leaves or is refused
        if likely(is_hit):
            records[at | U(m.COUNT)] += 1.0
            records[at | U(m.HITS)] += 1.0
            records[at | U(m.LAST_ACCESS)] = now
            if unlikely(shows_at_hits):
                _show_tails(globals_, records, links, count, tails)
            if unlikely(update != 0):
                call_event(update, globals_, records, at, statistics, key * width, float(np.int64(key)))
            if handles:
                tell(on_hit, globals_, records, statistics, width, key)
            to = _answer(hit, hits, globals_, records, statistics, width, key, 0.0)
            if to != _NOWHERE:
                if U(to) == holder:
                    _unlink(links, key)
                    _link(links, count + holder, key)
                else:
                    _take(globals_, records, links, key, holder, weight)
                    _put(globals_, records, links, count, key, U(to), weight)
                if handles:
                    globals_[m.SOURCE] = float(np.int64(holder))
                    tell(on_move, globals_, records, statistics, width, key)
                filled |= U(U(to) != holder) << U(to)
        else:
            size = float(sizes[r])
            fits = size * weight <= room
            if likely(fits):
                if holder == _GHOST:  # it stays known as a ghost until it has entered
                    _unlink(links, key)
                    listed = U(lists[key]) if lists.shape[0] else U(_FIRST_LIST)
                    globals_[U(m.GHOSTS_IN) + listed] -= records[at | U(m.SIZE)] * weight
                records[at | U(m.SIZE)] = size
                records[at | U(m.COUNT)] = 1.0
                records[at | U(m.HITS)] = 0.0
                records[at | U(m.LAST_ACCESS)] = now
                records[at | U(m.INSERTION)] = now
                if handles:
                    tell(on_ghost_hit if holder == _GHOST else release, globals_, records, statistics, width, key)
                    tell(on_miss, globals_, records, statistics, width, key)
                to = _answer(insert, inserts, globals_, records, statistics, width, key, -1.0)
                if likely(to > _NOWHERE):
                    needed = size * weight
                    asks = on_room != 0
                elif to == _FORGET:
                    number = np.int64(_NO_LIST)
        if needed > 0.0 or filled != U(0):
            moves = min(moves + MOVES_PER_REQUEST * (np.int64(r) - brought), MOVES_PER_REQUEST * residents)
            brought = np.int64(r)
        shrinking = U(0)
        asks_again = asks  # where the object goes: `on_room` may have changed the state, or the queues have changed
        while unlikely(asks or filled != U(0) or globals_[m.USED] + needed > room):
            if asks:
                globals_[m.ROOM_QUEUE] = 0.0
                globals_[m.ROOM_LIST] = float(_FIRST_LIST)
                if tails != U(0):
                    _show_tails(globals_, records, links, count, tails)
                tell(on_room, globals_, records, statistics, width, key)
                chosen = _rounded(globals_[m.ROOM_QUEUE], float(_REFUSE), float(m.QUEUES + m.GHOST_LISTS))
                number = _rounded(globals_[m.ROOM_LIST], float(_NO_LIST), float(m.GHOST_LISTS))
                if unlikely(chosen == _REFUSE):
                    needed = 0.0
                    break
                if chosen > m.QUEUES and globals_[U(m.GHOSTS_IN - m.QUEUES) + U(chosen)] > 0.0:
                    listed = U(chosen - m.QUEUES)
                    _forget_oldest(globals_, records, statistics, width, links, count, listed, weight, on_forget)
                    continue
                if _NOWHERE < chosen <= m.QUEUES and globals_[U(m.OBJECTS_IN) + U(chosen)] > 0.0:
                    shrinking = U(chosen)
                    if not is_fixed:
                        _ask_shares(share, globals_, records, statistics, shares)
                elif globals_[m.USED] + needed <= room:
                    break
            if shrinking == U(0) or filled != U(0) or globals_[U(m.OBJECTS_IN) + shrinking] == 0.0:
                if not is_fixed:
                    _ask_shares(share, globals_, records, statistics, shares)
                if filled != U(0):
                    shrinking = _overfull(globals_, shares, filled)
                    if shrinking == U(0):
                        break
                else:
                    shrinking = _to_shrink(globals_, shares)
            asks_again = True
            victim = U(links[(count + shrinking) << U(1)])
            place = victim << U(3)
            fetch_object(records, statistics, width, U(links[victim << U(1)]))
            goes = _answer(tail, leaves, globals_, records, statistics, width, victim, -1.0)
            if unlikely(goes > _NOWHERE) and moves > 0:
                moves -= 1
                kept = call_score(keep, globals_, records, place, statistics, victim * width, float(np.int64(victim)))
                _take(globals_, records, links, victim, shrinking, weight)
                records[place | U(m.HITS)] = math.floor(min(max(kept, 0.0), m.MAX_REMEMBERED))
                _put(globals_, records, links, count, victim, U(goes), weight)
                if handles:
                    globals_[m.SOURCE] = float(np.int64(shrinking))
                    tell(on_move, globals_, records, statistics, width, victim)
                if filled != U(0):
                    filled |= U(1) << U(goes)
            else:
                if handles:
                    tell(on_evict, globals_, records, statistics, width, victim)
                if unlikely(leave != 0):
                    call_event(leave, globals_, records, place, statistics, victim * width, float(np.int64(victim)))
                _take(globals_, records, links, victim, shrinking, weight)
                globals_[m.USED] -= records[place | U(m.SIZE)] * weight
                globals_[m.OBJECTS] -= weight
                globals_[m.EVICTIONS] += weight
                residents -= 1
                evicted = with_one_more(evicted, victim)
                note_eviction(history, records[place | U(m.LAST_ACCESS)], r)
                records[place | U(m.QUEUE)] = 0.0
                if goes != _FORGET and number != _NO_LIST:
                    _remember(
                        globals_, records, statistics, width, links, lists, count, victim, U(number),
                        records[place | U(m.COUNT)], now, shares[0], weight, on_forget,
                    )  # fmt: skip
                shrinking = U(0)
        if likely(is_hit):
            r += U(1)
            continue
        note_miss(history, r, needed > 0.0)
        if r >= U(measure_from):
            misses += 1
            missed_bytes += sizes[r]
            bypassed += needed == 0.0
        if needed > 0.0:
            if asks_again and not is_insert_steady:
                to = max(_answer(insert, inserts, globals_, records, statistics, width, key, -1.0), np.int64(1))
            globals_[m.USED] += needed
            globals_[m.OBJECTS] += weight
            residents += 1
            _put(globals_, records, links, count, key, U(to), weight)
            if unlikely(shows_at_hits):
                _show_tails(globals_, records, links, count, tails)
            if unlikely(enter != 0):
                call_event(enter, globals_, records, at, statistics, key * width, float(np.int64(key)))
            if handles:
                tell(on_insert, globals_, records, statistics, width, key)
        elif fits:
            evicted = with_one_more(evicted, key)
            _refuse(
                on_refuse, on_forget, share, globals_, records, statistics, width, links, lists, count, key, holder,
                number, now, shares, is_fixed, weight,
            )  # fmt: skip
        r += U(1)
    return misses, missed_bytes, bypassed, evicted
