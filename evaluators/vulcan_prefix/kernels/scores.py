"""Priorities of leaves, of the policy or of a known one, and the heap that they are taken from, the lowest first."""

from __future__ import annotations

import math

from vulcan.anvil.native.policy_calls import call_rank
from vulcan.kernel_support import helper, types
from vulcan_prefix import layout as at
from vulcan_prefix.kernels.tree import CHILDREN, PARENT, SERIAL, prefill_seconds

U = types.uint64
TURNS = 8
"""Turns that the workload-aware policy tells apart; later ones are one class."""


@helper
def _before(keys, stamps, i, key, stamp):
    return keys[i] < key or (keys[i] == key and stamps[i] < stamp)


@helper
def sift_down(keys, stamps, nodes, size, hole):
    key, stamp, node = keys[hole], stamps[hole], nodes[hole]
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        if child + 1 < size and _before(keys, stamps, child + 1, keys[child], stamps[child]):
            child += 1
        if not _before(keys, stamps, child, key, stamp):
            break
        keys[hole], stamps[hole], nodes[hole] = keys[child], stamps[child], nodes[child]
        hole = child
    keys[hole], stamps[hole], nodes[hole] = key, stamp, node


@helper
def sift_up(keys, stamps, nodes, hole):
    key, stamp, node = keys[hole], stamps[hole], nodes[hole]
    while hole > 0:
        parent = (hole - 1) // 2
        if not key < keys[parent] and not (key == keys[parent] and stamp < stamps[parent]):
            break
        keys[hole], stamps[hole], nodes[hole] = keys[parent], stamps[parent], nodes[parent]
        hole = parent
    keys[hole], stamps[hole], nodes[hole] = key, stamp, node


@helper
def class_of(records, node):
    turn = int(records[node, at.TURN])
    return int(records[node, at.KIND]) * TURNS + (turn if turn < TURNS else TURNS) - 1


@helper
def _reuse_probability(records, classes, node, now, life):
    """Return the probability of a request while nodes stay unused, reuse times being exponential in its class."""
    c = class_of(records, node)
    uses, reuses, gaps = classes[c, 0], classes[c, 1], classes[c, 2]
    rate = (reuses + 1.0) / (gaps + 60.0)
    idle = now - records[node, at.LAST_HIT]
    return (reuses + 1.0) / (uses + 2.0) * math.exp(-rate * idle) * -math.expm1(-rate * life)


@helper
def key_of(who, score, globals_, tree, records, flat, statistics, slots, numbers, classes, node, now, life):
    """Return the priority of a leaf to stay; the lowest leaves first."""
    if who == at.POLICY:
        records[node, at.SIBLINGS] = tree[tree[node, PARENT], CHILDREN] - 1
        return call_rank(score, globals_, flat, U(node * at.RECORD), statistics, U(node * slots), records[node, at.ID])
    if who == at.LFU:
        return records[node, at.HITS]
    if who == at.FIFO:
        return float(tree[node, SERIAL])
    if who == at.SLRU:
        return 1.0 if records[node, at.HITS] >= 2.0 else 0.0
    if who == at.BY_PRIORITY:
        return records[node, at.PRIORITY]
    if who == at.TLRU:
        budget = max(records[node, at.HISTORY] + numbers[at.TLRU_ESTIMATE] - numbers[at.TLRU_THRESHOLD], 0.0)
        return -1.0 if records[node, at.DEPTH] - records[node, at.TOKENS] >= budget else 0.0
    if who == at.VLLM:
        return records[node, at.RELEASED]
    if who == at.WORKLOAD_AWARE:
        return _reuse_probability(records, classes, node, now, life)
    if who == at.GREEDY_DUAL:
        tokens = records[node, at.TOKENS]
        cost = prefill_seconds(numbers, tokens, records[node, at.DEPTH] - tokens)
        return records[node, at.BASE] + cost / tokens
    return 0.0
