"""A radix tree of token blocks, as SGLang's `RadixCache` has it.

Equal block numbers mean equal prefixes (`vulcan_traces.prompts.PromptTrace`). So a node is found by the number of its
first block alone, `head[block]`, its blocks are a range of the trace, and where it parts from a prompt is found by
bisection: work grows with the nodes on a path, not with its blocks. Node 0 is the root.

What SGLang does is done here too: a match and an insertion refresh every node that they touch, the lower part of a node
that they split included; the upper part is a node of now, with the hits of the lower one; a hit is counted when blocks
are inserted, once for a request.
"""

from __future__ import annotations

from vulcan.kernel_support import helper
from vulcan_prefix import layout as at

# Columns of a node: where its blocks begin in the trace, how many, its parent, children, who pins it, where it is among
# the evictable leaves (-1 where it is not), and its number
REF, LENGTH, PARENT, CHILDREN, LOCKS, PLACE, SERIAL, COLUMNS = range(8)

# Counters: free blocks, evictable blocks, evictable leaves, free slots, nodes ever made, accesses, evicted nodes
FREE, EVICTABLE, LEAVES, SPARE, MADE, CLOCK, EVICTED, COUNTERS = range(8)


@helper
def update_leaf(tree, leaves, counters, node):
    """Add a node to the evictable leaves, or take it out."""
    is_leaf = node != 0 and tree[node, CHILDREN] == 0 and tree[node, LOCKS] == 0
    place = tree[node, PLACE]
    if is_leaf and place < 0:
        tree[node, PLACE] = counters[LEAVES]
        leaves[counters[LEAVES]] = node
        counters[LEAVES] += 1
    elif not is_leaf and place >= 0:
        counters[LEAVES] -= 1
        last = leaves[counters[LEAVES]]
        leaves[place] = last
        tree[last, PLACE] = place
        tree[node, PLACE] = -1


@helper
def pin(tree, leaves, counters, node):
    """Protect the path to a node from eviction."""
    while node != 0:
        if tree[node, LOCKS] == 0:
            counters[EVICTABLE] -= tree[node, LENGTH]
        tree[node, LOCKS] += 1
        update_leaf(tree, leaves, counters, node)
        node = tree[node, PARENT]


@helper
def release(tree, records, leaves, counters, node, now):
    """Undo `pin`."""
    while node != 0:
        tree[node, LOCKS] -= 1
        if tree[node, LOCKS] == 0:
            counters[EVICTABLE] += tree[node, LENGTH]
            # the deeper one first, as vLLM releases blocks
            counters[CLOCK] += 1
            records[node, at.RELEASED] = counters[CLOCK]
        update_leaf(tree, leaves, counters, node)
        node = tree[node, PARENT]


@helper
def same_blocks(blocks, first, second, most):
    """Return the number of blocks, of `most`, up to which two ranges are equal; at least one is."""
    if blocks[first + most - 1] == blocks[second + most - 1]:
        return most
    low, high = 1, most - 1
    while low < high:
        middle = (low + high + 1) // 2
        if blocks[first + middle - 1] == blocks[second + middle - 1]:
            low = middle
        else:
            high = middle - 1
    return low


@helper
def new_slot(tree, spare, counters):
    counters[SPARE] -= 1
    node = spare[counters[SPARE]]
    tree[node, PLACE] = -1
    tree[node, CHILDREN] = 0
    tree[node, LOCKS] = 0
    counters[MADE] += 1
    tree[node, SERIAL] = counters[MADE]
    return node


@helper
def split(tree, records, head, blocks, spare, counters, lower, count, block_tokens, now):
    """Divide a node after so many blocks; return the new node, the upper part."""
    upper = new_slot(tree, spare, counters)
    ref = tree[lower, REF]
    tree[upper, REF] = ref
    tree[upper, LENGTH] = count
    tree[upper, PARENT] = tree[lower, PARENT]
    tree[upper, CHILDREN] = 1
    tree[upper, LOCKS] = tree[lower, LOCKS]
    for column in range(at.RECORD):
        records[upper, column] = records[lower, column]
    records[upper, at.CHILDREN_HAD] = 1.0
    tree[lower, PARENT] = upper
    tree[lower, REF] = ref + count
    tree[lower, LENGTH] -= count
    head[blocks[ref]] = upper
    head[blocks[ref + count]] = lower
    counters[CLOCK] += 1
    records[upper, at.ID] = tree[upper, SERIAL]
    records[upper, at.TOKENS] = count * block_tokens
    records[lower, at.TOKENS] -= count * block_tokens
    records[upper, at.DEPTH] = records[lower, at.DEPTH] - records[lower, at.TOKENS]
    records[upper, at.CREATED] = now
    records[upper, at.LAST_ACCESS] = now
    records[upper, at.STAMP] = counters[CLOCK]
    return upper


@helper
def remove(tree, head, blocks, leaves, spare, counters, node):
    """Delete an evictable leaf."""
    head[blocks[tree[node, REF]]] = -1
    counters[EVICTABLE] -= tree[node, LENGTH]
    counters[FREE] += tree[node, LENGTH]
    counters[EVICTED] += 1
    tree[node, LOCKS] = 1
    update_leaf(tree, leaves, counters, node)
    parent = tree[node, PARENT]
    tree[parent, CHILDREN] -= 1
    update_leaf(tree, leaves, counters, parent)
    spare[counters[SPARE]] = node
    counters[SPARE] += 1


@helper
def trim(tree, records, counters, node, count, block_tokens):
    """Drop the last blocks of an evictable leaf, fewer than it has."""
    tree[node, LENGTH] -= count
    counters[EVICTABLE] -= count
    counters[FREE] += count
    records[node, at.TOKENS] -= count * block_tokens
    records[node, at.DEPTH] -= count * block_tokens


@helper
def prefill_seconds(numbers, new, cached):
    """Return the time to compute `new` tokens after `cached` ones: a part for each, and one for each attending pair."""
    pairs = new * cached + 0.5 * new * new
    return new * numbers[at.SECONDS_PER_TOKEN] + pairs * numbers[at.SECONDS_PER_PAIR]
