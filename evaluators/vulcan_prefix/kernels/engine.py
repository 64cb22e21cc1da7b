"""The kernel: a server that answers one request after the other, with a prefix cache.

Prompts are computed in the order of arrival, one at a time; outputs are written in parallel, each at a constant pace.
At the head of the queue a request's prompt is matched (but for its last token, which is always computed), and what it
found is pinned. Then room is made for the rest of its prompt and its output; while too little is evictable, it waits
until others finish. When its prompt is computed its full blocks are inserted, and when it has finished those of its
output. A request that is larger than the cache is computed without it.

Whenever room is needed, every evictable leaf is scored, and the lowest leave until there is enough; of equals the one
that was accessed longest ago. A parent that becomes a leaf is scored at once, and is a candidate too. By blocks, no
more of the last leaf leaves than is needed, from its end.
"""

from __future__ import annotations

import numpy as np

from vulcan.anvil.native.policy_calls import call_event
from vulcan.kernel_support import F1, I1, RF1, RI1, allocating_kernel, helper, types
from vulcan_prefix import layout as at
from vulcan_prefix.kernels.scores import TURNS, class_of, key_of, sift_down, sift_up
from vulcan_prefix.kernels.tree import (
    CHILDREN,
    CLOCK,
    COLUMNS,
    COUNTERS,
    EVICTABLE,
    FREE,
    LEAVES,
    LENGTH,
    LOCKS,
    PARENT,
    REF,
    SERIAL,
    SPARE,
    new_slot,
    pin,
    prefill_seconds,
    release,
    remove,
    same_blocks,
    split,
    trim,
    update_leaf,
)

U = types.uint64
_SIGNATURE = types.uint64(
    types.int64,  # what decides
    types.boolean,  # whether blocks leave one by one, from a leaf's end
    types.UniTuple(types.int64, 7),  # addresses of the policy: score, enter, update, leave, its handlers of hits,
    # insertions and evictions; 0 for none
    RF1,  # arrivals, s
    RI1,  # tokens of prompts
    RI1,  # tokens of outputs
    RI1,  # where a request's blocks start
    RI1,  # blocks
    RI1,  # full blocks of prompts
    RI1,  # sessions
    RI1,  # whether the session ends with the request
    RI1,  # turns
    RI1,  # kinds
    RI1,  # priorities
    types.int64,  # how many different blocks there are
    types.int64,  # tokens of a block
    types.int64,  # capacity, blocks
    types.int64,  # capacity of the host, blocks
    F1,  # the server's numbers
    F1,  # globals
    F1,  # initial statistics of a node
    types.int64,  # slots of these
    I1,  # blocks of each request's prompt found in the tree
    I1,  # blocks found in the host after these
    F1,  # seconds to compute each prompt
    F1,  # time to first token, s
)


# The second tier, host memory, keeps blocks that left the tree, the longest untouched of which leave it in turn: a list
# of blocks linked both ways, `later` and `earlier`, whose ends are at `block_count`; -1 stands for a block not in it.


@helper
def _unlink(earlier, later, block):
    later[earlier[block]] = later[block]
    earlier[later[block]] = earlier[block]
    earlier[block] = -1


@helper
def _keep_in_host(earlier, later, end, count, capacity, block):
    """Make a block the newest; return the number of blocks there are then."""
    if capacity == 0:
        return 0
    if earlier[block] >= 0:
        _unlink(earlier, later, block)
        count -= 1
    elif count == capacity:
        _unlink(earlier, later, later[end])
        count -= 1
    newest = earlier[end]
    earlier[block] = newest
    later[newest] = block
    later[block] = end
    earlier[end] = block
    return count + 1


@helper
def _tell(address, globals_, tree, records, flat, statistics, slots, node):
    if address != 0:
        records[node, at.SIBLINGS] = tree[tree[node, PARENT], CHILDREN] - 1
        call_event(address, globals_, flat, U(node * at.RECORD), statistics, U(node * slots), records[node, at.ID])


@allocating_kernel(_SIGNATURE)
def serve(
    who, by_blocks, addresses, arrivals, prompt_tokens, output_tokens, starts, blocks, prompt_blocks, sessions,
    ends_session, turns, kinds, priorities, block_count, block_tokens, capacity, host_capacity, numbers, globals_,
    initial, slots, found, found_in_host, seconds, waits,
):  # fmt: skip
    """Return a hash of the nodes that were evicted, in order."""
    score, enter, update, leave, on_hit, on_insert, on_evict = addresses
    n = arrivals.shape[0]
    room = min(capacity, 5 * n) + 8
    tree = np.zeros((room, COLUMNS), np.int64)
    records = np.zeros((room, at.RECORD))
    flat = records.reshape(room * at.RECORD)
    statistics = np.zeros(room * slots + 1)
    leaves, spare = np.zeros(room, np.int64), np.arange(room, 0, -1) - 1
    counters = np.zeros(COUNTERS, np.int64)
    counters[FREE], counters[SPARE] = capacity, room - 1
    tree[0, LOCKS] = 1
    head = np.full(block_count, -1, np.int32)
    keys, stamps, nodes = np.zeros(room), np.zeros(room), np.zeros(room, np.int64)
    earlier = np.full(block_count + 1, -1, np.int64)
    later = np.full(block_count + 1, block_count, np.int64)
    earlier[block_count] = block_count
    in_host = 0
    # running requests: a heap by when they finish
    ends, numbered = np.zeros(n + 1), np.zeros(n + 1)
    running = np.zeros(n + 1, np.int64)
    last_node = np.zeros(n, np.int64)
    count = 0
    highest_kind = 0
    for r in range(n):
        highest_kind = max(highest_kind, kinds[r])
    classes = np.zeros(((highest_kind + 1) * TURNS, 3))
    life = 60.0
    inflation = 0.0
    digest = U(0)
    free_at = 0.0
    arrived = 0
    tokens = float(block_tokens)
    globals_[at.CAPACITY] = capacity * tokens
    for r in range(n):
        begin = starts[r]
        limit = min(prompt_blocks[r], (prompt_tokens[r] - 1) // block_tokens)
        total = (prompt_tokens[r] + output_tokens[r] + block_tokens - 1) // block_tokens
        now = max(arrivals[r], free_at)
        matched = 0
        node = 0
        is_matched = False
        is_computed = False
        is_bypassed = total > capacity
        need = 0
        while True:
            # what to do next: insert what has finished, or start, or end the computation of this prompt
            waits_for_room = is_matched and not is_computed and need > counters[FREE] + counters[EVICTABLE]
            finishing = count > 0 and (ends[0] <= now or waits_for_room)
            who_inserts = r
            inserted = 0
            first = 0
            last = 0
            time = now
            if finishing:
                time = ends[0]
                now = max(now, time)
                who_inserts = running[0]
                inserted = prompt_blocks[who_inserts]
                first = starts[who_inserts]
                last = starts[who_inserts + 1] - first
                count -= 1
                ends[0], numbered[0], running[0] = ends[count], numbered[count], running[count]
                sift_down(ends, numbered, running, count, 0)
            elif not is_matched:
                is_matched = True
                first, last = begin, 0 if is_bypassed else limit
            elif not is_computed:
                # make room; all that is evictable would do
                free_at = now
                globals_[at.NOW] = now
                if need > counters[FREE]:
                    while arrived < n and arrivals[arrived] <= now:
                        arrived += 1
                    globals_[at.RUNNING] = count
                    globals_[at.WAITING] = max(arrived - r - 1, 0)
                    globals_[at.USED] = (capacity - counters[FREE]) * tokens
                    globals_[at.NEEDED] = (need - counters[FREE]) * tokens
                    globals_[at.LEAVES] = counters[LEAVES]
                    size = counters[LEAVES]
                    for i in range(size):
                        leaf = leaves[i]
                        nodes[i] = leaf
                        stamps[i] = records[leaf, at.STAMP]
                        keys[i] = key_of(
                            who, score, globals_, tree, records, flat, statistics, slots, numbers, classes,
                            leaf, now, life,
                        )  # fmt: skip
                    for i in range(size // 2 - 1, -1, -1):
                        sift_down(keys, stamps, nodes, size, i)
                    while counters[FREE] < need and size > 0:
                        leaf, key = nodes[0], keys[0]
                        size -= 1
                        keys[0], stamps[0], nodes[0] = keys[size], stamps[size], nodes[size]
                        sift_down(keys, stamps, nodes, size, 0)
                        dropped = tree[leaf, LENGTH]
                        if by_blocks and dropped > need - counters[FREE]:
                            dropped = need - counters[FREE]
                        if host_capacity > 0:
                            end = tree[leaf, REF] + tree[leaf, LENGTH]
                            for i in range(end - 1, end - 1 - dropped, -1):
                                in_host = _keep_in_host(earlier, later, block_count, in_host, host_capacity, blocks[i])
                        digest = digest * U(6364136223846793005) + U(tree[leaf, SERIAL])
                        life += 0.01 * (now - records[leaf, at.LAST_HIT] - life)
                        inflation = max(inflation, key)
                        if dropped < tree[leaf, LENGTH]:
                            globals_[at.EVICTED_PRIORITY] = key
                            trim(tree, records, counters, leaf, dropped, block_tokens)
                            break
                        _tell(on_evict, globals_, tree, records, flat, statistics, slots, leaf)
                        _tell(leave, globals_, tree, records, flat, statistics, slots, leaf)
                        parent = tree[leaf, PARENT]
                        remove(tree, head, blocks, leaves, spare, counters, leaf)
                        globals_[at.EVICTED_PRIORITY] = key
                        globals_[at.USED] = (capacity - counters[FREE]) * tokens
                        globals_[at.LEAVES] = counters[LEAVES]
                        if parent != 0 and tree[parent, CHILDREN] == 0 and tree[parent, LOCKS] == 0:
                            nodes[size] = parent
                            stamps[size] = records[parent, at.STAMP]
                            keys[size] = key_of(
                                who, score, globals_, tree, records, flat, statistics, slots, numbers, classes,
                                parent, now, life,
                            )  # fmt: skip
                            sift_up(keys, stamps, nodes, size)
                            size += 1
                counters[FREE] -= need
                loaded = 0
                if host_capacity > 0:
                    while matched + loaded < limit and earlier[blocks[begin + matched + loaded]] >= 0:
                        in_host = _keep_in_host(
                            earlier, later, block_count, in_host, host_capacity, blocks[begin + matched + loaded]
                        )
                        loaded += 1
                cached = (matched + loaded) * tokens
                took = (
                    numbers[at.OVERHEAD]
                    + loaded * tokens * numbers[at.SECONDS_PER_TRANSFER]
                    + prefill_seconds(numbers, prompt_tokens[r] - cached, cached)
                )
                found[r], found_in_host[r], seconds[r] = matched, loaded, took
                free_at = now + took
                now = free_at
                waits[r] = now - arrivals[r]
                is_computed = True
                continue
            else:
                # the prompt is computed
                if is_bypassed:
                    break
                first, last = begin, prompt_blocks[r]
            # Match, or insert, `last` blocks of the trace from `first` on
            inserts = finishing or is_computed
            globals_[at.NOW] = time
            counters[CLOCK] += 1
            stamp = float(counters[CLOCK])
            at_node = 0
            done = 0
            while done < last:
                child = head[blocks[first + done]]
                if child < 0:
                    break
                records[child, at.LAST_ACCESS] = time
                records[child, at.STAMP] = stamp
                length = tree[child, LENGTH]
                same = same_blocks(blocks, tree[child, REF], first + done, min(length, last - done))
                is_whole = same == length
                if not is_whole:
                    child = split(tree, records, head, blocks, spare, counters, child, same, block_tokens, time)
                    for i in range(slots):
                        statistics[child * slots + i] = initial[i]
                    _tell(enter, globals_, tree, records, flat, statistics, slots, child)
                    _tell(on_insert, globals_, tree, records, flat, statistics, slots, child)
                tree[child, REF] = first + done
                at_node = child
                done += same
                if inserts:
                    records[child, at.PRIORITY] = max(records[child, at.PRIORITY], float(priorities[who_inserts]))
                    if done > inserted:
                        c = class_of(records, child)
                        classes[c, 1] += 1.0
                        classes[c, 2] += time - records[child, at.LAST_HIT]
                        records[child, at.HITS] += 1.0
                        records[child, at.GAP] = time - records[child, at.LAST_HIT]
                        records[child, at.LAST_HIT] = time
                        records[child, at.BASE] = inflation
                        records[child, at.TURN] = turns[who_inserts]
                        records[child, at.KIND] = kinds[who_inserts]
                        records[child, at.SESSION] = sessions[who_inserts]
                        records[child, at.ENDED] = 0.0
                        classes[class_of(records, child), 0] += 1.0
                        _tell(update, globals_, tree, records, flat, statistics, slots, child)
                        _tell(on_hit, globals_, tree, records, flat, statistics, slots, child)
                if not is_whole:
                    break
            if not inserts:
                matched, node = done, at_node
                pin(tree, leaves, counters, node)
                need = 0 if is_bypassed else total - matched
                continue
            if done < last:
                leaf = new_slot(tree, spare, counters)
                tree[leaf, REF] = first + done
                tree[leaf, LENGTH] = last - done
                tree[leaf, PARENT] = at_node
                head[blocks[first + done]] = leaf
                tree[at_node, CHILDREN] += 1
                records[at_node, at.CHILDREN_HAD] += 1.0
                counters[EVICTABLE] += last - done
                counters[CLOCK] += 1
                records[leaf, at.ID] = tree[leaf, SERIAL]
                records[leaf, at.TOKENS] = (last - done) * tokens
                records[leaf, at.DEPTH] = last * tokens
                records[leaf, at.HITS] = 1.0
                records[leaf, at.LAST_ACCESS] = time
                records[leaf, at.CREATED] = time
                records[leaf, at.GAP] = 0.0
                records[leaf, at.CHILDREN_HAD] = 0.0
                records[leaf, at.ENDED] = 0.0
                records[leaf, at.SESSION] = sessions[who_inserts]
                records[leaf, at.PRIORITY] = priorities[who_inserts]
                records[leaf, at.TURN] = turns[who_inserts]
                records[leaf, at.KIND] = kinds[who_inserts]
                records[leaf, at.STAMP] = counters[CLOCK]
                records[leaf, at.LAST_HIT] = time
                records[leaf, at.BASE] = inflation
                records[leaf, at.RELEASED] = counters[CLOCK]
                records[leaf, at.HISTORY] = last * tokens
                classes[class_of(records, leaf), 0] += 1.0
                above = at_node
                while above != 0 and records[above, at.HISTORY] < last * tokens:
                    records[above, at.HISTORY] = last * tokens
                    above = tree[above, PARENT]
                update_leaf(tree, leaves, counters, at_node)
                update_leaf(tree, leaves, counters, leaf)
                for i in range(slots):
                    statistics[leaf * slots + i] = initial[i]
                _tell(enter, globals_, tree, records, flat, statistics, slots, leaf)
                _tell(on_insert, globals_, tree, records, flat, statistics, slots, leaf)
                at_node = leaf
            if finishing:
                above = at_node
                while above != 0 and ends_session[who_inserts] != 0:
                    if records[above, at.SESSION] == sessions[who_inserts]:
                        records[above, at.ENDED] = 1.0
                    above = tree[above, PARENT]
                # what others had inserted meanwhile, and a block that is not full, are free again
                counters[FREE] += max(done - inserted, 0)
                whole = prompt_tokens[who_inserts] + output_tokens[who_inserts]
                if whole % block_tokens != 0:
                    counters[FREE] += 1
                release(tree, records, leaves, counters, last_node[who_inserts], time)
                continue
            counters[FREE] += done - matched
            release(tree, records, leaves, counters, node, now)
            pin(tree, leaves, counters, at_node)
            last_node[r] = at_node
            ends[count] = now + output_tokens[r] * numbers[at.SECONDS_PER_OUTPUT]
            numbered[count] = r
            running[count] = r
            sift_up(ends, numbered, running, count)
            count += 1
            break
    return digest
