"""4-ary heap for kernels: siblings share one cache line, and comparisons are branch-free.

`nodes` is uint64, aligned to 64 bytes. The four children of a node lie together: four keys, then their four entries,
eight words in all. A key is a priority in a form whose unsigned order is that of the numbers; an entry is the time of
an object's last touch above its id, so that of equal priorities the one untouched for longest comes first. What is
behind the last node has the largest key there is, so a missing child is never chosen. `places` (uint32) says where each
object's node is. Node 0 is the least.

Which child is the least is computed with conditional moves, not jumps, for each outcome is as likely as the others;
this halves the time of a sift.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vulcan.anvil.native.runtime import bits_of
from vulcan.kernel_support import allocating_helper, helper
from vulcan_cache.kernels.intrinsics import choose, count_of, precedes

U = np.uint64
LAST = U(0xFFFFFFFFFFFFFFFF)
_SIGN = U(0x8000000000000000)
_ID = U(0xFFFFFFFF)
ROOT_KEY = U(3)
ROOT_ENTRY = U(7)
FIRST_ENTRY = U(12)  # of the root's four children
WORDS_PER_NODE = 2
SPARE_WORDS = 32


@helper
def key_of(priority):
    """Unsigned order of keys is the order of priorities; -0.0 and 0.0 are one key."""
    bits = U(bits_of(priority + 0.0))
    return bits ^ choose(bits >= _SIGN, LAST, _SIGN)


@helper
def entry_of(time, object_):
    return (time << U(32)) | object_


@helper
def object_in(entry):
    return entry & _ID


@helper
def _word(node):
    """Return the offset of a node's key; its entry is four words on."""
    place = node + U(3)
    return ((place >> U(2)) << U(3)) | (place & U(3))


@helper
def sift_up(nodes, places, node, key, entry):
    """Put the entry at the node, or as far above it as it belongs."""
    while node > U(0):
        parent = (node - U(1)) >> U(2)
        word = _word(parent)
        above = nodes[word]
        above_entry = nodes[word | U(4)]
        if not precedes(key, entry, above, above_entry):
            break
        word = _word(node)
        nodes[word] = above
        nodes[word | U(4)] = above_entry
        places[object_in(above_entry)] = np.uint32(node)
        node = parent
    word = _word(node)
    nodes[word] = key
    nodes[word | U(4)] = entry
    places[object_in(entry)] = np.uint32(node)


@helper
def sift_down(nodes, places, node, count, key, entry):
    """Put the entry at the node, or as far below it as it belongs, in a heap of `count` nodes."""
    while True:
        child = (node << U(2)) + U(1)
        if child >= count:
            break
        word = (node + U(1)) << U(3)
        key0 = nodes[word]
        key1 = nodes[word | U(1)]
        key2 = nodes[word | U(2)]
        key3 = nodes[word | U(3)]
        entry0 = nodes[word | U(4)]
        entry1 = nodes[word | U(5)]
        entry2 = nodes[word | U(6)]
        entry3 = nodes[word | U(7)]
        in_first = precedes(key1, entry1, key0, entry0)
        in_second = precedes(key3, entry3, key2, entry2)
        first_key = choose(in_first, key1, key0)
        first_entry = choose(in_first, entry1, entry0)
        second_key = choose(in_second, key3, key2)
        second_entry = choose(in_second, entry3, entry2)
        in_pair = precedes(second_key, second_entry, first_key, first_entry)
        least_key = choose(in_pair, second_key, first_key)
        least_entry = choose(in_pair, second_entry, first_entry)
        if not precedes(least_key, least_entry, key, entry):
            break
        first = count_of(in_first)
        child += first + ((U(0) - count_of(in_pair)) & (U(2) + count_of(in_second) - first))
        word = _word(node)
        nodes[word] = least_key
        nodes[word | U(4)] = least_entry
        places[object_in(least_entry)] = np.uint32(node)
        node = child
    word = _word(node)
    nodes[word] = key
    nodes[word | U(4)] = entry
    places[object_in(entry)] = np.uint32(node)


@helper
def settle(nodes, places, node, count, key, entry):
    """Put the entry in the place of the node's, or as far above or below it as it belongs."""
    word = _word(node)
    if precedes(key, entry, nodes[word], nodes[word | U(4)]):
        sift_up(nodes, places, node, key, entry)
    else:
        sift_down(nodes, places, node, count, key, entry)


@helper
def push(nodes, places, count, key, entry):
    """Add an entry to a heap of `count` nodes. Returns the count of nodes there are then."""
    if count & U(3) == U(1):  # the first child of its parent: its brothers to come are missing
        word = _word(count)
        for missing in range(8):
            nodes[word + U(missing)] = LAST
    sift_up(nodes, places, count, key, entry)
    return count + U(1)


@helper
def fill_root(nodes, places, count):
    """Fill the place of a root that was removed with the last node. Returns the number of nodes left."""
    count -= U(1)
    word = _word(count)
    key = nodes[word]
    entry = nodes[word | U(4)]
    nodes[word] = LAST
    nodes[word | U(4)] = LAST
    if count > U(0):
        sift_down(nodes, places, U(0), count, key, entry)
    return count


@helper
def entry_at(nodes, node):
    return nodes[_word(node) | U(4)]


@helper
def take_out(nodes, places, count, node):
    """Take the entry at the node out of a heap of `count` nodes. Returns the number of nodes left."""
    count -= U(1)
    last = _word(count)
    key = nodes[last]
    entry = nodes[last | U(4)]
    nodes[last] = LAST
    nodes[last | U(4)] = LAST
    if node < count:
        settle(nodes, places, node, count, key, entry)
    return count


@allocating_helper
def empty(objects):
    """Return the nodes and places of an empty heap for kernels that allocate; its nodes need not be aligned."""
    return np.empty(WORDS_PER_NODE * objects + SPARE_WORDS, np.uint64), np.empty(objects, np.uint32)


def new_nodes(objects: int) -> NDArray[np.uint64]:
    """Return an empty heap with room for that many objects; its memory is touched only as it fills."""
    words = WORDS_PER_NODE * objects + SPARE_WORDS
    block = np.empty(words + 8, np.uint64)
    offset = (-block.ctypes.data // 8) % 8
    return block[offset : offset + words]
